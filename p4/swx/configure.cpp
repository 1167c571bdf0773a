#include "p4/swx/configure.hpp"

#include "p4/swx/dpdk.hpp"

#include <algorithm>
#include <cstring>
#include <fmt/format.h>

namespace weir::p4::swx {
namespace {

constexpr unsigned metadata_slack_bits = 64;
constexpr const char *slack_name = "weir_slack";

std::vector<const char *> pointers_to(const std::vector<std::string> &lines) {
  std::vector<const char *> out;
  for (const std::string &line : lines) out.push_back(line.c_str());
  return out;
}

class Configuration {
public:
  Configuration(rte_swx_pipeline *pipeline, const Spec &spec) : pipeline_(pipeline), spec_(spec) {}

  Status structs() const;
  Status headers() const;
  Status arrays(const std::map<std::string, std::uint32_t, std::less<>> &sizes) const;
  Status actions() const;
  Status tables() const;
  Status apply() const;

private:
  Status said(int status, unsigned line, std::string_view what) const {
    if (status == 0) return {};
    return fail(status == -ENOMEM ? Errc::no_memory : Errc::io,
                fmt::format("{}:{}: DPDK refuses {}: {}", spec_.file, line, what, std::strerror(-status)));
  }
  Status table(const Table &table) const;

  rte_swx_pipeline *pipeline_;
  const Spec &spec_;
};

Status Configuration::structs() const {
  for (unsigned i = 0; i < spec_.structs.size(); ++i) {
    const Struct &type = spec_.structs[i];
    std::vector<rte_swx_field_params> fields;
    for (const Field &field : type.fields) fields.push_back({field.name.c_str(), field.bits});
    if (i == *spec_.metadata) fields.push_back({slack_name, metadata_slack_bits});
    if (fields.empty()) continue; // DPDK has no empty structs, and nothing can name a field of this one
    const int status = rte_swx_pipeline_struct_type_register(pipeline_, type.name.c_str(), fields.data(),
                                                             static_cast<std::uint32_t>(fields.size()), 0);
    if (auto taken = said(status, type.line, "struct " + type.name); !taken) return taken;
  }
  return {};
}

Status Configuration::headers() const {
  for (const Header &header : spec_.headers) {
    const int status = rte_swx_pipeline_packet_header_register(pipeline_, header.name.c_str(),
                                                               spec_.type_of(header).name.c_str());
    if (auto taken = said(status, header.line, "header " + header.name); !taken) return taken;
  }
  const Struct &metadata = spec_.structs[*spec_.metadata];
  return said(rte_swx_pipeline_packet_metadata_register(pipeline_, metadata.name.c_str()), metadata.line,
              "metadata " + metadata.name);
}

Status Configuration::arrays(const std::map<std::string, std::uint32_t, std::less<>> &sizes) const {
  for (const RegisterArray &array : spec_.arrays) {
    const std::uint32_t size = sizes.find(array.name)->second;
    const int status = rte_swx_pipeline_regarray_config(pipeline_, array.name.c_str(), size, array.initial);
    if (auto taken = said(status, array.line, fmt::format("regarray {} of {} registers", array.name, size));
        !taken)
      return taken;
  }
  return {};
}

Status Configuration::actions() const {
  for (const Action &action : spec_.actions) {
    const std::vector<std::string> lines = lines_for_dpdk(action.block);
    std::vector<const char *> pointers = pointers_to(lines);
    const char *arguments = action.arguments ? spec_.structs[*action.arguments].name.c_str() : nullptr;
    const int status =
        rte_swx_pipeline_action_config(pipeline_, action.name.c_str(), arguments, pointers.data(),
                                       static_cast<std::uint32_t>(pointers.size()));
    if (auto taken = said(status, action.line, "action " + action.name); !taken) return taken;
  }
  return {};
}

Status Configuration::table(const Table &table) const {
  std::vector<rte_swx_match_field_params> key;
  for (const KeyField &field : table.key) {
    const auto kind = field.kind == MatchKind::exact ? RTE_SWX_TABLE_MATCH_EXACT
                      : field.kind == MatchKind::lpm ? RTE_SWX_TABLE_MATCH_LPM
                                                     : RTE_SWX_TABLE_MATCH_WILDCARD;
    key.push_back({field.name.c_str(), kind});
  }
  std::vector<const char *> names;
  std::vector<int> entries, by_default;
  for (const TableAction &action : table.actions) {
    names.push_back(spec_.actions[action.action].name.c_str());
    entries.push_back(action.entries);
    by_default.push_back(action.by_default);
  }
  rte_swx_pipeline_table_params params{};
  params.fields = key.empty() ? nullptr : key.data();
  params.n_fields = static_cast<std::uint32_t>(key.size());
  params.action_names = names.data();
  params.action_is_for_table_entries = entries.data();
  params.action_is_for_default_entry = by_default.data();
  params.n_actions = static_cast<std::uint32_t>(names.size());
  params.default_action_name = table.default_action.c_str();
  params.default_action_args = table.default_arguments.empty() ? nullptr : table.default_arguments.c_str();
  params.default_action_is_const = table.default_is_const;
  const int status =
      rte_swx_pipeline_table_config(pipeline_, table.name.c_str(), &params, nullptr, nullptr, table.size);
  return said(status, table.line, "table " + table.name);
}

Status Configuration::tables() const {
  for (const Table &each : spec_.tables) TRY(table(each));
  return {};
}

Status Configuration::apply() const {
  const std::vector<std::string> lines = lines_for_dpdk(spec_.apply);
  std::vector<const char *> pointers = pointers_to(lines);
  const int status = rte_swx_pipeline_instructions_config(pipeline_, pointers.data(),
                                                          static_cast<std::uint32_t>(pointers.size()));
  return said(status, spec_.apply.front().line, "the apply block");
}

} // namespace

std::vector<std::string> lines_for_dpdk(const Block &block) {
  std::vector<std::string> lines;
  unsigned guards = 0;
  for (const Instruction &instruction : block) {
    const std::string label = instruction.label.empty() ? "" : instruction.label + " : ";
    if (instruction.op == Op::drop || (instruction.op == Op::tx && !instruction.operands[0].field)) {
      const std::uint64_t port = instruction.op == Op::drop ? no_port : instruction.operands[0].number;
      lines.push_back(fmt::format("{}tx {}", label, std::min<std::uint64_t>(port, no_port)));
    } else if (instruction.op == Op::tx) {
      const std::string field = instruction.text.substr(instruction.text.find(' ') + 1);
      const std::string safe = fmt::format("WEIR_TX_{}", guards++);
      lines.push_back(fmt::format("{}jmplt {} {} {}", label, safe, field, output_ports));
      lines.push_back(fmt::format("mov {} {}", field, no_port));
      lines.push_back(fmt::format("{} : {}", safe, instruction.text));
    } else {
      lines.push_back(label + instruction.text);
    }
  }
  return lines;
}

Status configure(rte_swx_pipeline *pipeline, const Spec &spec,
                 const std::map<std::string, std::uint32_t, std::less<>> &sizes) {
  const Configuration configuration(pipeline, spec);
  Status status = configuration.structs();
  if (status) status = configuration.headers();
  if (status) status = configuration.arrays(sizes);
  if (status) status = configuration.actions();
  if (status) status = configuration.tables();
  if (status) status = configuration.apply();
  return status;
}

} // namespace weir::p4::swx
