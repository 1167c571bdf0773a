#include "control/metrics/exposition.hpp"

#include "control/base/answers.hpp"
#include "control/metrics/page.hpp"
#include "weir/base/version.hpp"
#include "weir/wire/counters.hpp"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <vector>

namespace weir::metrics {
namespace {

using Json = nlohmann::json;
using push::child, push::count_in, push::number_in;

std::string text_in(const Json &object, const char *name) {
  const Json &value = child(object, name);
  return value.is_string() ? value.get<std::string>() : std::string();
}
bool flag_in(const Json &object, const char *name) {
  const Json &value = child(object, name);
  return value.is_boolean() && value.get<bool>();
}
std::uint64_t one_if(bool condition) { return condition ? 1 : 0; }

// As the catalogue has it: weir_lookups_probes_total, weir_worker_busy_cycles_total.
std::string name_of(std::string_view group, std::string_view name, wire::CounterUnit unit) {
  const std::string_view of_unit = wire::name_of(unit);
  const bool says_unit = name.ends_with(of_unit);
  return fmt::format("weir_{}{}{}{}{}_total", group, group.empty() ? "" : "_", name, says_unit ? "" : "_",
                     says_unit ? "" : of_unit);
}

void add_group(Page &page, const Json &stats, wire::CounterGroup group) {
  const std::string_view in = wire::name_of(group);
  const Json &from = in.empty() ? stats : child(stats, std::string(in).c_str());
  for (const wire::CounterInfo &info : wire::counters) {
    if (info.group != group || info.kind != wire::CounterKind::counter) continue;
    page.counter(name_of(in, info.name, info.unit), info.help);
    page.value({}, count_in(from, std::string(info.name).c_str()));
  }
}

void add_workers(Page &page, const Json &stats) {
  for (const wire::CounterInfo &info : wire::counters) {
    if (info.group != wire::CounterGroup::worker) continue;
    page.counter(name_of("worker", info.name, info.unit), info.help);
    for (const Json &worker : child(stats, "workers"))
      page.value({{"worker", std::to_string(count_in(worker, "id"))}},
                 count_in(worker, std::string(info.name).c_str()));
  }
}

void add_ports(Page &page, const Json &stats) {
  for (const wire::PortCounterInfo &info : wire::port_counters) {
    page.counter(name_of("port", info.name, info.unit), info.help);
    for (const Json &port : child(stats, "ports"))
      page.value({{"port", text_in(port, "name")}}, count_in(port, std::string(info.name).c_str()));
  }
}

void add_links(Page &page, const Json &stats) {
  const auto known = [](const Json &port) {
    return !text_in(port, "link").empty() && text_in(port, "link") != "unknown";
  };
  page.gauge("weir_port_up", "1: the port has a link");
  for (const Json &port : child(stats, "ports"))
    if (known(port)) page.value({{"port", text_in(port, "name")}}, one_if(text_in(port, "link") == "up"));
  page.counter("weir_port_link_losses_total", "times that the port lost its link");
  for (const Json &port : child(stats, "ports"))
    if (known(port)) page.value({{"port", text_in(port, "name")}}, count_in(port, "link_losses"));
}

void add_verdicts(Page &page, const Json &stats) {
  page.counter("weir_verdict_packets_total",
               "packets that left with a verdict, by what decided and by family");
  for (const Json &row : child(stats, "verdicts"))
    page.value({{"verdict", text_in(row, "verdict")},
                {"reason", text_in(row, "reason")},
                {"family", text_in(row, "family")}},
               count_in(row, "packets"));
  page.gauge("weir_lost_packets", "received and never judged: 0, or a bug");
  page.value({}, count_in(stats, "lost"));
}

// The first lists_max rules have a row each; the last row has the sums of all others.
void add_rules(Page &page, const Json &stats) {
  struct Row {
    std::string rule;
    std::uint64_t packets = 0, passed = 0, dropped = 0;
  };
  std::vector<Row> rows;
  for (const auto &[name, counts] : child(stats, "rules").items()) {
    if (rows.size() <= lists_max) rows.push_back({.rule = rows.size() < lists_max ? name : "other"});
    rows.back().packets += count_in(counts, "packets");
    rows.back().passed += count_in(counts, "passed");
    rows.back().dropped += count_in(counts, "dropped");
  }
  const auto add = [&](const char *name, const char *help, std::uint64_t Row::*count) {
    page.counter(name, help);
    for (const Row &row : rows) page.value({{"rule", row.rule}}, row.*count);
  };
  add("weir_rule_packets_total", "packets that a packet rule matched", &Row::packets);
  add("weir_rule_passed_packets_total", "packets that a packet rule passed", &Row::passed);
  add("weir_rule_dropped_packets_total", "packets that a packet rule dropped", &Row::dropped);
}

void add_swaps(Page &page, const Json &stats) {
  const Json &swaps = child(stats, "swap_seconds");
  std::vector<double> bounds;
  std::vector<std::uint64_t> counts;
  for (const Json &bound : child(swaps, "bounds"))
    bounds.push_back(bound.is_number() ? bound.get<double>() : 0);
  for (const Json &count : child(swaps, "counts"))
    counts.push_back(count.is_number_unsigned() ? count.get<std::uint64_t>() : 0);
  page.histogram("weir_swap_duration_seconds", "from publishing an image until every worker had it", bounds,
                 counts, number_in(swaps, "sum"));
}

void add_dataplane(Page &page, const Json &stats) {
  if (!stats.is_object() || stats.empty()) return;
  add_verdicts(page, stats);
  add_ports(page, stats);
  add_links(page, stats);
  add_workers(page, stats);
  for (const auto group :
       {wire::CounterGroup::whole, wire::CounterGroup::lookups, wire::CounterGroup::allow_filter,
        wire::CounterGroup::deny_filter, wire::CounterGroup::offenders, wire::CounterGroup::packet_rules,
        wire::CounterGroup::list_actions})
    add_group(page, stats, group);
  add_rules(page, stats);
  add_swaps(page, stats);
}

// The first lists_max lists have a row each; the last row has the sums of all others.
struct ListRow {
  std::string name;
  std::uint64_t hits = 0, hosts_v4 = 0, nets_v4 = 0, v6 = 0, updated_at = 0;
};
std::vector<ListRow> rows_of(const Json &lists) {
  std::vector<ListRow> rows;
  for (const Json &list : child(lists, "lists")) {
    const bool beyond = rows.size() >= lists_max;
    if (!beyond) rows.push_back({.name = text_in(list, "name")});
    if (beyond && rows.size() == lists_max) rows.push_back({.name = "other"});
    ListRow &row = rows.back();
    row.hits += count_in(list, "hits");
    row.hosts_v4 += count_in(list, "v4_hosts");
    row.nets_v4 += count_in(list, "v4_prefixes");
    row.v6 += count_in(list, "v6");
    // Of several the one that has waited longest; what stands in the configuration or is added by hand is not fetched.
    const std::string format = text_in(list, "format");
    if (format == "inline" || format == "dynamic") continue;
    const std::uint64_t at = count_in(list, "updated_at");
    row.updated_at = row.updated_at == 0 ? at : std::min(row.updated_at, at);
  }
  return rows;
}

void add_lists(Page &page, const Scrape &scrape) {
  const std::vector<ListRow> rows = rows_of(scrape.lists);
  page.gauge("weir_list_entries", "entries of a list");
  for (const ListRow &row : rows) {
    page.value({{"list", row.name}, {"kind", "ipv4_hosts"}}, row.hosts_v4);
    page.value({{"list", row.name}, {"kind", "ipv4_prefixes"}}, row.nets_v4);
    page.value({{"list", row.name}, {"kind", "ipv6"}}, row.v6);
  }
  page.gauge("weir_list_updated_timestamp_seconds", "when a list's file was last taken");
  for (const ListRow &row : rows)
    if (row.updated_at != 0) page.value({{"list", row.name}}, row.updated_at);
  if (scrape.stats.empty()) return;
  page.counter("weir_list_hits_total", "packets that a list decided about");
  for (const ListRow &row : rows) page.value({{"list", row.name}}, row.hits);
}

void add_control(Page &page, const Scrape &scrape) {
  const Json &dataplane = child(scrape.status, "dataplane"), &store = child(scrape.status, "store");
  page.gauge("weir_build_info", "1, with the release of weir-control");
  page.value({{"version", version_text}}, std::uint64_t{1});
  page.gauge("weir_dataplane_up", "1: the dataplane answers");
  page.value({}, one_if(flag_in(dataplane, "answers")));
  page.gauge("weir_dataplane_in_sync", "1: what is in force is what weir-control has");
  page.value({}, one_if(flag_in(dataplane, "in_sync")));
  page.gauge("weir_dataplane_warnings", "sentences that status shows");
  page.value({}, std::uint64_t{child(dataplane, "warnings").size()});
  page.gauge("weir_generation", "of the rules; 0: none yet");
  page.value({{"of", "control"}}, count_in(scrape.status, "generation"));
  page.value({{"of", "dataplane"}}, count_in(dataplane, "generation"));
  page.gauge("weir_change_waits_for_confirmation_seconds", "left until it is taken back; 0: none waits");
  page.value({}, count_in(scrape.status, "pending_confirm_s"));
  page.counter("weir_changes_failed_total", "changes that were refused or taken back");
  page.value({}, scrape.changes.failed);
  page.gauge("weir_last_change_failed", "1: the last change or push failed");
  page.value({}, one_if(!text_in(scrape.status, "error").empty()));
  page.histogram("weir_change_duration_seconds", "from the request until the rules were live",
                 scrape.changes.seconds.bounds(), scrape.changes.seconds.counts(),
                 scrape.changes.seconds.sum());
  page.gauge("weir_image_bytes", "of the image in force");
  page.value({}, count_in(child(scrape.status, "memory"), "image_bytes"));
  page.gauge("weir_control_resident_bytes", "memory of weir-control");
  page.value({}, count_in(child(scrape.status, "memory"), "resident_bytes"));
  page.gauge("weir_store_bytes", "of the rule store on the disk");
  page.value({}, count_in(store, "bytes"));
  page.gauge("weir_store_full", "1: the disk has no room, changes are refused");
  page.value({}, one_if(flag_in(store, "full")));
  if (child(store, "free_bytes").is_number()) {
    page.gauge("weir_store_free_bytes", "left on the disk of the store");
    page.value({}, count_in(store, "free_bytes"));
  }
  page.counter("weir_control_uptime_seconds_total", "since weir-control began");
  page.value({}, count_in(scrape.status, "uptime_s"));
}

} // namespace

std::string exposition(const Scrape &scrape) {
  Page page;
  add_control(page, scrape);
  add_lists(page, scrape);
  add_dataplane(page, scrape.stats);
  return std::move(page).text();
}

} // namespace weir::metrics
