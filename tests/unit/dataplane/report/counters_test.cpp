// The catalogue of counters, the report made from it, and what the manual says of it.
#include "control/base/answers.hpp"
#include "dataplane/report/queries.hpp"
#include "dataplane/report/snapshot.hpp"

#include <gtest/gtest.h>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <fstream>
#include <iterator>
#include <string>

namespace weir::dataplane::counters_test {
namespace {

using Json = nlohmann::json;
using wire::CounterGroup, wire::CounterInfo, wire::PortCounterInfo;

// Every counter has another value.
std::uint64_t value_of(CounterId id) { return 1000 + static_cast<std::uint64_t>(id); }
std::uint64_t value_of(PortCounterId id) { return 2000 + static_cast<std::uint64_t>(id); }

Json report() {
  Snapshot snapshot;
  for (const CounterInfo &info : wire::counters) snapshot.total[info.id] = value_of(info.id);
  for (const CounterInfo &info : wire::counters) snapshot.under_generation[info.id] = value_of(info.id) + 50;
  snapshot.workers.push_back({.id = 0, .lcore = 1, .counters = snapshot.total});
  PortSnapshot port{.name = "wan", .counters = {}, .link = {}};
  for (const PortCounterInfo &info : wire::port_counters) port.counters[info.id] = value_of(info.id);
  snapshot.ports.push_back(port);
  return Json::parse(stats_json(snapshot));
}

// The object that a group's counters are members of.
const Json &part_of(const Json &report, CounterGroup group) {
  if (group == CounterGroup::whole) return report;
  const Json &part = report.at(std::string(name_of(group)));
  return group == CounterGroup::worker ? part.at(0) : part;
}

TEST(CounterCatalogue, gives_every_counter_its_member_of_the_report) {
  const Json all = report();
  for (const CounterInfo &info : wire::counters) {
    if (info.group == CounterGroup::internal) continue;
    const std::string name(info.name);
    EXPECT_EQ(part_of(all, info.group).value(name, std::uint64_t{0}), value_of(info.id)) << name;
  }
  for (const PortCounterInfo &info : wire::port_counters) {
    const std::string name(info.name);
    EXPECT_EQ(all["ports"][0].value(name, std::uint64_t{0}), value_of(info.id)) << name;
  }
}

TEST(CounterCatalogue, gives_filters_their_counters_under_the_generation_too) {
  const Json all = report();
  for (const CounterGroup filter : {CounterGroup::allow_filter, CounterGroup::deny_filter})
    for (const CounterInfo &info : wire::counters)
      if (info.group == filter) {
        const Json &part = all.at(std::string(name_of(filter)) + "_generation");
        EXPECT_EQ(part.value(std::string(info.name), std::uint64_t{0}), value_of(info.id) + 50) << info.name;
      }
}

TEST(CounterCatalogue, is_read_back_from_the_report_as_it_was_written) {
  const Json all = report();
  for (const CounterGroup group :
       {CounterGroup::lookups, CounterGroup::allow_filter, CounterGroup::deny_filter}) {
    const wire::CounterValues read = push::counters_in(part_of(all, group), group);
    for (const CounterInfo &info : wire::counters)
      EXPECT_EQ(read[info.id], info.group == group ? value_of(info.id) : 0) << info.name;
  }
}

// A row that is missing is printed as it should stand there.
TEST(CounterCatalogue, stands_in_the_manual_row_by_row) {
  std::ifstream file("docs/operating.md");
  const std::string manual{std::istreambuf_iterator<char>(file), {}};
  const auto expect_row = [&](std::string_view group, std::string_view name, std::string_view unit,
                              std::string_view help) {
    const std::string row =
        fmt::format("| `{}{}{}` | {} | {} |\n", group, group.empty() ? "" : ".", name, unit, help);
    EXPECT_NE(manual.find(row), std::string::npos) << row;
  };
  for (const CounterInfo &info : wire::counters)
    if (info.group != CounterGroup::internal)
      expect_row(name_of(info.group), info.name, name_of(info.unit), info.help);
  for (const PortCounterInfo &info : wire::port_counters)
    expect_row("ports", info.name, name_of(info.unit), info.help);
}

} // namespace
} // namespace weir::dataplane::counters_test
