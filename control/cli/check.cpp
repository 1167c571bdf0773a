#include "control/cli/check.hpp"

#include "control/config/config.hpp"
#include "control/rules/feed.hpp"
#include "control/rules/guard.hpp"
#include "control/rules/normalise.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace weir::cli {

using Json = nlohmann::json;

namespace {

Json list_json(const config::List &list, const rules::ListContent &content, const rules::ListCounts &counts) {
  return {
      {"name", list.name},
      {"action", list.action == image::Side::allow ? "allow" : "deny"},
      {"format", list.file.empty() ? (list.dynamic ? "dynamic" : "inline") : rules::name_of(content.format)},
      {"v4_hosts", counts.v4_hosts},
      {"v4_prefixes", counts.v4_prefixes},
      {"v6", counts.v6},
      {"duplicates", content.duplicates},
      {"skipped", content.skipped_count}};
}

void warn_of(const config::List &list, const rules::ListContent &content, Json &warnings) {
  if (content.skipped_count > 0)
    warnings.push_back(
        fmt::format("list {}: {} bad lines are left out (on_error: skip), the first is {}:{}: \"{}\": {}",
                    list.name, content.skipped_count, list.file.string(), content.skipped.front().line,
                    content.skipped.front().text, content.skipped.front().reason));
  if (content.empty() && !list.dynamic) warnings.push_back(fmt::format("list {} has no entries", list.name));
}

} // namespace

Result<Json> check_configuration(const std::filesystem::path &file) {
  const auto config = config::load(file);
  if (!config) return std::unexpected(config.error());
  std::vector<rules::ListContent> contents;
  std::string faults;
  for (const config::List &list : config->lists) {
    auto content = rules::load_list(list);
    if (!content) faults += (faults.empty() ? "" : "\n") + content.error().message;
    contents.push_back(content ? std::move(*content) : rules::ListContent{});
  }
  if (!faults.empty()) return fail(Errc::parse, faults);

  const rules::NeverDeny never_deny(config->guard.never_deny);
  std::vector<rules::ListSource> sources{never_deny.source(0)};
  for (std::size_t i = 0; i < contents.size(); ++i)
    sources.push_back({config->lists[i].name, static_cast<std::uint16_t>(i + 1), config->lists[i].action,
                       contents[i].v4, contents[i].v6});
  const auto effective = rules::normalise(sources);
  if (!effective) return std::unexpected(effective.error());
  if (auto filled = rules::check_not_empty(*config, *effective, false); !filled)
    return std::unexpected(std::move(filled.error()));

  Json answer{{"ok", true},
              {"config", file.string()},
              {"lists", Json::array()},
              {"conflicts", Json::array()},
              {"warnings", Json::array()}};
  for (std::size_t i = 0; i < contents.size(); ++i) {
    answer["lists"].push_back(list_json(config->lists[i], contents[i], effective->counts[i + 1]));
    warn_of(config->lists[i], contents[i], answer["warnings"]);
  }
  for (const rules::Conflict &conflict : effective->conflicts) answer["conflicts"].push_back(conflict.text());
  return answer;
}

} // namespace weir::cli
