#include "dataplane/report/queries.hpp"

#include "dataplane/report/offenders_report.hpp"
#include "weir/base/hex.hpp"
#include "weir/config/no_image.hpp"
#include "weir/image/allow_filter_writer.hpp"
#include "weir/image/deny_filter_writer.hpp"
#include "weir/image/reader.hpp"
#include "weir/key/text.hpp"
#include "weir/lookup/explain.hpp"
#include "weir/lookup/explain_packet.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <cerrno>
#include <cstdio>
#include <cstring>

#include <unistd.h>

namespace weir::dataplane {
namespace {

using Json = nlohmann::ordered_json;

Json verdict_json(const Snapshot &s) {
  Json json{{"packets", s.packets}, {"pass", s.pass}, {"drop", s.drop}, {"lost", s.lost}};
  for (const ReasonInfo &info : reasons)
    json["reasons"][std::string(info.name)] = {{"pass", s.of(info.reason, Verdict::pass)},
                                               {"drop", s.of(info.reason, Verdict::drop)}};
  for (const FamilySlot family : {FamilySlot::ipv4, FamilySlot::ipv6, FamilySlot::other})
    json["families"][std::string(name_of(family))] = {{"pass", s.of(family, Verdict::pass)},
                                                      {"drop", s.of(family, Verdict::drop)}};
  json["verdicts"] = Json::array();
  for (const ReasonInfo &info : reasons)
    for (const Verdict verdict : {Verdict::pass, Verdict::drop})
      for (const FamilySlot family : {FamilySlot::ipv4, FamilySlot::ipv6, FamilySlot::other})
        if (const std::uint64_t n = s.verdicts[static_cast<std::size_t>(
                info.reason)][static_cast<std::size_t>(verdict)][static_cast<std::size_t>(family)];
            n > 0)
          json["verdicts"].push_back({{"verdict", name_of(verdict)},
                                      {"reason", info.name},
                                      {"family", name_of(family)},
                                      {"packets", n}});
  return json;
}

// Those of a group, into an object.
void add_counters(Json &to, wire::CounterGroup group, const wire::CounterValues &values) {
  for (const wire::CounterInfo &info : wire::counters)
    if (info.group == group) to[std::string(info.name)] = values[info.id];
}

Json stats(const Snapshot &s) {
  Json json = verdict_json(s);
  json["lists"] = Json::object();
  auto &lists = json["lists"].get_ref<Json::object_t &>(); // names differ: looking each up would be quadratic
  for (const auto &[name, hits] : s.lists) lists.push_back({name, hits});
  json["rules"] = Json::object();
  auto &rules = json["rules"].get_ref<Json::object_t &>(); // likewise
  for (const Snapshot::Rule &rule : s.rules)
    rules.push_back(
        {rule.name, Json{{"packets", rule.packets}, {"passed", rule.passed}, {"dropped", rule.dropped}}});
  json["ethertypes"] = Json::object();
  for (const auto &[type, n] : s.ethertypes)
    json["ethertypes"][type == 0 ? "llc" : fmt::format("0x{:04x}", type)] = n;
  json["generations"] = Json::object();
  if (s.generations_earlier > 0) json["generations"]["earlier"] = s.generations_earlier;
  for (const auto &[generation, packets] : s.generations)
    json["generations"][std::to_string(generation.value())] = packets;
  add_counters(json, wire::CounterGroup::whole, s.total);
  add_counters(json["lookups"], wire::CounterGroup::lookups, s.total);
  for (const wire::CounterGroup filter :
       {wire::CounterGroup::allow_filter, wire::CounterGroup::deny_filter}) {
    const std::string name(name_of(filter));
    add_counters(json[name], filter, s.total);
    Json &under_generation = json[name + "_generation"];
    add_counters(under_generation, filter, s.under_generation);
    under_generation["generation"] = s.generation;
  }
  add_counters(json["offenders"], wire::CounterGroup::offenders, s.total);
  add_counters(json["packet_rules"], wire::CounterGroup::packet_rules, s.total);
  add_counters(json["list_actions"], wire::CounterGroup::list_actions, s.total);
  json["swaps"] = Json::array();
  for (const Swap &swap : s.swaps)
    json["swaps"].push_back({{"generation", swap.generation}, {"swap_ns", swap.swap_ns}});
  json["swap_count"] = s.swap_count;
  json["swap_seconds"] = {
      {"bounds", s.swap_times.bounds()}, {"counts", s.swap_times.counts()}, {"sum", s.swap_times.sum()}};
  json["ports"] = Json::array();
  for (const PortSnapshot &p : s.ports) {
    Json &row = json["ports"].emplace_back(Json{{"name", p.name},
                                                {"link", name_of(p.link.state)},
                                                {"link_megabits", p.link.megabits},
                                                {"link_losses", p.link.losses}});
    for (const wire::PortCounterInfo &info : wire::port_counters)
      row[std::string(info.name)] = p.counters[info.id];
  }
  json["workers"] = Json::array();
  for (const WorkerSnapshot &w : s.workers)
    add_counters(json["workers"].emplace_back(Json{{"id", w.id}, {"lcore", w.lcore}}),
                 wire::CounterGroup::worker, w.counters);
  json["mpps"] = s.mpps();
  json["seconds"] = s.seconds;
  json["memory"] = s.memory;
  json["kept"] = {{"generation", s.kept.generation}, {"waiting", s.kept.waiting}};
  json["faults"] = s.faults;
  json["warnings"] = s.warnings;
  if (s.forwarding_gap)
    json["not_forwarded_ms"] =
        std::chrono::duration_cast<std::chrono::milliseconds>(*s.forwarding_gap).count();
  json["truncated"] = s.replay && s.replay->truncated;
  if (s.replay)
    json["replay"] = {{"read", s.replay->read}, {"written", s.replay->written}, {"eof", s.replay->eof}};
  return json;
}

// How full each overlay is: control begins a new image before one is full.
Json overlays(const image::ImageView &view) {
  Json json = Json::array();
  const auto add = [&json](const char *name, const auto &overlay) {
    using Line = std::remove_cvref_t<decltype(*overlay.lines)>;
    json.push_back({{"name", name},
                    {"keys", table::read_acquire(*overlay.keys)},
                    {"room", std::uint64_t{overlay.count} * Line::slots}});
  };
  add("deny ipv4", view.v4[Side::deny].overlay);
  add("deny ipv6", view.v6[Side::deny].overlay);
  add("allow ipv4", view.v4[Side::allow].overlay);
  add("allow ipv6", view.v6[Side::allow].overlay);
  return json;
}

// The filter in front of the allow tables; null: none.
Json allow_filter_json(const image::ImageWriter &writer) {
  const image::AllowFilterWriter &filter = writer.allow_filter();
  const auto load = filter.load();
  if (!load) return nullptr;
  Json json{{"kind", writer.view().allow_filter.name()},
            {"keys", load->keys},
            {"planned_keys", load->planned_keys}};
  for (const filter::NamedCount &c : filter.counts()) json[std::string(c.name)] = c.count;
  json["saturated"] = filter.is_saturated();
  return json;
}

// The stacked filter of denied hosts, with the rates that were planned; null: none.
Json deny_filter_json(const image::ImageWriter &writer) {
  const image::DenyFilterView &stack = writer.view().deny_filter;
  if (stack.empty()) return nullptr;
  const image::DenyFilterHeader &planned = stack.planned();
  const filter::StackHeader built = stack.built();
  return {{"role", image::name_of(stack.role())},
          {"base", filter::name_of(stack.kind())},
          {"fuse_below", stack.kind_below() == filter::FilterKind::binary_fuse},
          {"depth", stack.depth()},
          {"hosts", built.positives},
          {"hosts_now", std::max(built.positives, writer.deny_filter().keys())},
          {"planned_hosts", planned.planned_keys},
          {"known", built.known},
          {"bytes", stack.bytes()},
          {"psi", image::stack_rate(planned.psi)},
          {"efpr", image::stack_rate(planned.efpr)},
          {"efpb", image::stack_rate(planned.efpb)},
          {"spared", planned.spared_v4 + planned.spared_v6},
          {"saturated", writer.deny_filter().is_saturated()}};
}

// The range map that has denied IPv4 hosts, for those that come; null: hosts stand in the table.
Json host_map_json(const image::ImageWriter &writer) {
  const image::ImageWriter::MapLoad load = writer.map_load();
  if (load.lines == 0) return nullptr;
  return {{"lines", load.lines},
          {"free_lines", load.free_lines},
          {"hosts_beside", load.hosts_beside},
          {"saturated", load.saturated()}};
}

// One for each NUMA node that has workers; null for a node that reads the first one's.
Json copies(const Dataplane &dataplane, const AttachedImage &image) {
  Json json = Json::array();
  const auto add = [&json](int node, std::string_view memory) {
    json.push_back(Json{{"node", node}, {"memory", memory}});
  };
  add(dataplane.nodes.nodes().front(), image.hugepages ? "hugepages (2 MiB)" : "ordinary pages");
  for (const auto &copy : image.further) {
    if (copy)
      add(copy->node, image::name_of(copy->memory.pages()));
    else
      json.push_back(nullptr);
  }
  return json;
}

Json info(const Dataplane &dataplane) {
  Json json{{"pid", getpid()}, {"workers", dataplane.setup.workers}, {"memory", dataplane.setup.memory}};
  const auto lock = dataplane.generations.lock();
  const AttachedImage *live = dataplane.slot.current();
  json["generation"] = live != nullptr ? live->generation : 0;
  json["sequence"] = live != nullptr ? live->sequence.load() : 0;
  json["sections"] = Json::array();
  if (live == nullptr) return json;
  json["image_bytes"] = live->image_bytes;
  json["image_memory"] = live->hugepages ? "hugepages (2 MiB)" : "ordinary pages";
  json["image_copies"] = copies(dataplane, *live);
  const auto *entry = reinterpret_cast<const image::SectionEntry *>(live->mapping.bytes().data() +
                                                                    live->view.header->header_bytes);
  for (std::uint32_t i = 0; i < live->view.header->section_count; ++i)
    json["sections"].push_back({{"kind", entry[i].kind}, {"bytes", entry[i].bytes}});
  json["lists"] = live->view.lists.size();
  json["rules"] = live->view.packet_rules.rules().size();
  json["flows"] = live->view.flows.flows();
  json["overlays"] = overlays(live->view);
  json["allow_filter"] = allow_filter_json(*live->writer);
  json["deny_filter"] = deny_filter_json(*live->writer);
  json["host_map"] = host_map_json(*live->writer);
  return json;
}

Json without_an_image(const Dataplane &dataplane) {
  return {{"verdict", name_of(config::verdict_of(dataplane.setup.no_image))},
          {"reason", name_of(Reason::no_image)},
          {"list", nullptr},
          {"path", {{{"step", "image"}, {"text", "no generation is attached"}}}}};
}

Json explanation_json(const lookup::Explanation &why, const AttachedImage &live) {
  Json json{{"verdict", name_of(why.verdict)}, {"reason", name_of(why.reason)}};
  json["list"] = why.list.empty() ? Json(nullptr) : Json(why.list);
  json["entry"] = why.entry.empty() ? Json(nullptr) : Json(why.entry);
  if (!why.rule.empty()) json["rule"] = why.rule;
  if (why.judged) json["judged"] = true;
  json["generation"] = live.generation;
  json["path"] = Json::array();
  for (const auto &[step, step_text] : why.path)
    json["path"].push_back({{"step", step}, {"text", step_text}});
  return json;
}

Result<Json> explained(const Dataplane &dataplane, const std::string &text) {
  const auto address = parse_address(text);
  if (!address) return fail(Errc::usage, fmt::format("\"{}\" is {}", text, address.error()));
  const auto lock = dataplane.generations.lock();
  const AttachedImage *live = dataplane.slot.current();
  if (live == nullptr) return without_an_image(dataplane);
  lookup::Explanation why = lookup::explain(live->view, *address);
  explain_offender(*live, *address, {}, why);
  if (const auto &rules = live->view.packet_rules; !rules.empty())
    why.path.insert(why.path.begin(), lookup::step_before_lists(rules.rules().size()));
  return explanation_json(why, *live);
}

Result<Json> explained(const Dataplane &dataplane, std::span<const std::uint8_t> frame,
                       const std::string &port) {
  const auto lock = dataplane.generations.lock();
  const AttachedImage *live = dataplane.slot.current();
  if (live == nullptr) return without_an_image(dataplane);
  const image::ImageView &view = live->view;
  const PortSide side = TRY(lookup::side_entered(dataplane.ports.all(), port, view.policy.match));
  const lookup::RulesAsked rules{&view.packet_rules, &view.flows, port};
  lookup::PacketExplanation why = lookup::explain_packet(
      view.policy, frame, side, [&](const Address &address) { return lookup::explain(view, address); },
      rules);
  if (why.address)
    explain_offender(*live, *why.address,
                     traits_of(frame.data(), frame.size(), parse_packet(frame.data(), frame.size())), why);
  Json json = explanation_json(why, *live);
  if (why.address) json["address"] = to_string(*why.address);
  return json;
}

Result<Json> explained(const Dataplane &dataplane, const Json &query) {
  const auto text = [&](const char *field) {
    const auto at = query.find(field);
    return at != query.end() && at->is_string() ? at->get<std::string>() : std::string();
  };
  if (query.contains("address")) return explained(dataplane, text("address"));
  if (!query.contains("packet")) return fail(Errc::parse, "explain needs an \"address\" or a \"packet\"");
  return explained(dataplane, TRY(bytes_of_hex(text("packet"))), text("port"));
}

Json drop_json(const DropRecord &record, const Dataplane &dataplane) {
  Json json{{"number", record.number},          {"at_ns", record.at_ns},
            {"generation", record.generation},  {"queue", record.queue},
            {"reason", name_of(record.reason)}, {"length", record.wire_bytes},
            {"left_out", record.left_out},      {"bytes", hex_of(record.bytes.data(), record.captured)}};
  const std::vector<Port> &ports = dataplane.ports.all();
  json["port"] = record.port < ports.size() ? ports[record.port].name : std::string();
  if (record.reason == Reason::rule)
    json["rule"] = dataplane.rules.slots.name_of(record.list);
  else if (record.list != no_slot)
    json["list"] = dataplane.lists.name_of(record.list);
  if (record.family != FamilySlot::other)
    json["address"] = to_string(record.family == FamilySlot::ipv4
                                    ? Address::from_wire(load_unaligned<std::uint32_t>(record.address.data()))
                                    : Address::from_v6(record.address.data()));
  return json;
}

Result<Json> dropped(const Dataplane &dataplane, const Json &query) {
  constexpr std::size_t most = 256; // a message each 20 ms is not held up by more
  if (!dataplane.drops) return fail(Errc::unreachable, "no worker runs yet");
  const auto from = query.find("from");
  const bool counts = from != query.end() && from->is_number_unsigned();
  const DropWatch::Seen seen = dataplane.drops->ask(counts ? from->get<std::uint64_t>() : 0, most);
  Json json{{"next", seen.next}, {"overwritten", seen.overwritten}, {"packets", Json::array()}};
  for (const DropRecord *record : seen.records) json["packets"].push_back(drop_json(*record, dataplane));
  return json;
}

} // namespace

std::string stats_json(const Snapshot &snapshot) {
  return stats(snapshot).dump(-1, ' ', false, Json::error_handler_t::replace);
}

Result<std::string> answer_query(const Dataplane &dataplane, std::string_view query) {
  const Json json = Json::parse(query, nullptr, false);
  if (!json.is_object() || !json.contains("what") || !json["what"].is_string())
    return fail(Errc::parse,
                R"(a query is a JSON object with "what": stats, info, offenders, explain or drops)");
  const std::string what = json["what"];
  if (what == "stats") return stats_json(take_snapshot(dataplane));
  if (what == "info") return info(dataplane).dump();
  if (what == "offenders") return offenders_json(dataplane).dump();
  if (what == "explain")
    return TRY(explained(dataplane, json)).dump(-1, ' ', false, Json::error_handler_t::replace);
  if (what == "drops")
    return TRY(dropped(dataplane, json)).dump(-1, ' ', false, Json::error_handler_t::replace);
  return fail(Errc::parse,
              fmt::format("unknown query \"{}\": stats, info, offenders, explain or drops", what));
}

Status write_report(const Dataplane &dataplane, const std::filesystem::path &file) {
  Json report = stats(take_snapshot(dataplane));
  if (Json memory = offenders_json(dataplane); memory.contains("cell_bits"))
    report["offender_memory"] = std::move(memory);
  const std::string text = report.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n";
  const std::string temporary = file.string() + ".part";
  std::FILE *out = std::fopen(temporary.c_str(), "w");
  bool good = out != nullptr && std::fwrite(text.data(), 1, text.size(), out) == text.size();
  good = (out == nullptr || std::fclose(out) == 0) && good;
  if (good && std::rename(temporary.c_str(), file.c_str()) == 0) return {};
  return fail(Errc::io,
              fmt::format("{}: the report cannot be written: {}", file.string(), std::strerror(errno)));
}

} // namespace weir::dataplane
