// The page of metrics: every counter of the catalogue, lists in bounded number, and names that alerts and the dashboard rely on.
#include "control/metrics/exposition.hpp"

#include "weir/base/version.hpp"
#include "weir/wire/counters.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <filesystem>
#include <fstream>
#include <regex>
#include <set>
#include <sstream>

namespace weir::test::exposition_test {
namespace {

using Json = nlohmann::json;
using testing::HasSubstr, testing::Not;

Json status() {
  return Json::parse(R"({"generation":7,"uptime_s":90,"error":"","pending_confirm_s":0,
    "dataplane":{"answers":true,"in_sync":true,"generation":7,"warnings":["a","b"]},
    "memory":{"image_bytes":4096,"resident_bytes":9000},"store":{"bytes":1000,"full":false,"free_bytes":5000}})");
}
Json stats() {
  Json json = Json::parse(R"({"lost":0,
    "verdicts":[{"verdict":"drop","reason":"deny","family":"ipv4","packets":12}],
    "swap_seconds":{"bounds":[0.001,0.1],"counts":[3,2,1],"sum":4.5},
    "ports":[{"name":"wan","rx_packets":5,"link":"down","link_losses":2},{"name":"lan","link":"up"},{"name":"old"}],"workers":[{"id":0,"busy_cycles":70}]})");
  json["lookups"] = {{"probes", 44}};
  return json;
}
Json lists(std::size_t count) {
  Json rows = Json::array();
  for (std::size_t i = 0; i < count; ++i)
    rows.push_back({{"name", fmt::format("list{}", i)},
                    {"hits", 2},
                    {"v4_hosts", 10},
                    {"v4_prefixes", 3},
                    {"v6", 1},
                    {"updated_at", 1000 + i}});
  return {{"lists", rows}};
}
std::string page(const Json &s, const Json &t, const Json &l, const control::ChangeTally &changes = {}) {
  return metrics::exposition({s, t, l, changes});
}
std::string page() { return page(status(), stats(), lists(2)); }

std::set<std::string> families_of(const std::string &text) {
  std::set<std::string> names;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);)
    if (line.starts_with("# TYPE ")) {
      std::istringstream words(line);
      std::string skip, name, type;
      words >> skip >> skip >> name >> type;
      names.insert(name);
      if (type == "histogram")
        for (const char *part : {"_bucket", "_sum", "_count"}) names.insert(name + part);
    }
  return names;
}

std::string text_of(const std::filesystem::path &file) {
  std::ifstream in(file);
  std::ostringstream out;
  out << in.rdbuf();
  return out.str();
}

TEST(Metrics, have_what_was_counted) {
  const std::string text = page();
  EXPECT_THAT(text, HasSubstr(std::string("\nweir_build_info{version=\"") + version_text + "\"} 1\n"));
  EXPECT_THAT(text, HasSubstr("\nweir_generation{of=\"dataplane\"} 7\n"));
  EXPECT_THAT(text, HasSubstr("\nweir_dataplane_warnings 2\n"));
  EXPECT_THAT(
      text, HasSubstr("\nweir_verdict_packets_total{verdict=\"drop\",reason=\"deny\",family=\"ipv4\"} 12\n"));
  EXPECT_THAT(text, HasSubstr("\nweir_port_rx_packets_total{port=\"wan\"} 5\n"));
  EXPECT_THAT(text, HasSubstr("\nweir_worker_busy_cycles_total{worker=\"0\"} 70\n"));
  EXPECT_THAT(text, HasSubstr("\nweir_lookups_probes_total 44\n"));
  EXPECT_THAT(text, HasSubstr("\nweir_list_hits_total{list=\"list1\"} 2\n"));
  EXPECT_THAT(text, HasSubstr("\nweir_list_entries{list=\"list0\",kind=\"ipv4_prefixes\"} 3\n"));
  EXPECT_THAT(text, HasSubstr("weir_swap_duration_seconds_bucket{le=\"0.001\"} 3\n"
                              "weir_swap_duration_seconds_bucket{le=\"0.1\"} 5\n"
                              "weir_swap_duration_seconds_bucket{le=\"+Inf\"} 6\n"
                              "weir_swap_duration_seconds_sum 4.5\nweir_swap_duration_seconds_count 6\n"));
}

TEST(Metrics, have_a_family_for_each_counter_of_the_catalogue) {
  const std::set<std::string> families = families_of(page());
  std::size_t counters = 0;
  for (const std::string &name : families) counters += name.ends_with("_total") ? 1 : 0;
  constexpr std::size_t of_rules = 3,
                        others = 5; // lost links, verdicts, hits of lists, failed changes, uptime
  std::size_t wanted = wire::port_counters.size() + of_rules + others;
  for (const wire::CounterInfo &info : wire::counters)
    wanted += info.group != wire::CounterGroup::internal && info.kind == wire::CounterKind::counter ? 1 : 0;
  EXPECT_EQ(counters, wanted);
}

TEST(Metrics, of_many_lists_the_last_are_one) {
  const std::string text = page(status(), stats(), lists(510));
  EXPECT_THAT(text, HasSubstr("weir_list_hits_total{list=\"list499\"} 2\n"));
  EXPECT_THAT(text, Not(HasSubstr("list500")));
  EXPECT_THAT(text, HasSubstr("weir_list_hits_total{list=\"other\"} 20\n"));
  EXPECT_THAT(text, HasSubstr("weir_list_entries{list=\"other\",kind=\"ipv4_hosts\"} 100\n"));
  EXPECT_THAT(text, HasSubstr("weir_list_updated_timestamp_seconds{list=\"other\"} 1500\n"));
}

TEST(Metrics, only_a_list_of_a_file_can_be_stale) {
  Json some = lists(3);
  some["lists"][0]["format"] = "dynamic";
  some["lists"][1]["format"] = "inline";
  some["lists"][2]["format"] = "plain";
  const std::string text = page(status(), stats(), some);
  EXPECT_THAT(text, Not(HasSubstr("weir_list_updated_timestamp_seconds{list=\"list0\"}")));
  EXPECT_THAT(text, Not(HasSubstr("weir_list_updated_timestamp_seconds{list=\"list1\"}")));
  EXPECT_THAT(text, HasSubstr("weir_list_updated_timestamp_seconds{list=\"list2\"} 1002\n"));
}

TEST(Metrics, without_a_dataplane_say_so_and_claim_no_counts) {
  Json silent = status();
  silent["dataplane"]["answers"] = false;
  const std::string text = page(silent, Json::object(), lists(1));
  EXPECT_THAT(text, HasSubstr("\nweir_dataplane_up 0\n"));
  EXPECT_THAT(text, Not(HasSubstr("weir_verdict_packets_total")));
  EXPECT_THAT(text, Not(HasSubstr("weir_list_hits_total")));
  EXPECT_THAT(text, HasSubstr("weir_list_entries{list=\"list0\""));
}

TEST(Metrics, a_name_with_quotes_or_a_line_break_stays_within_its_label) {
  Json odd = lists(1);
  odd["lists"][0]["name"] = "a\"b\\c\nd";
  EXPECT_THAT(page(status(), stats(), odd), HasSubstr(R"({list="a\"b\\c\nd"})"));
}

TEST(Metrics, nonsense_from_a_dataplane_makes_no_nonsense) {
  const Json odd = Json::parse(R"({"lost":"x","verdicts":7,"ports":[3],"workers":null,"swap_seconds":[]})");
  EXPECT_THAT(page(Json::array(), odd, Json()), HasSubstr("weir_lost_packets 0\n"));
}

TEST(Metrics, changes_are_counted_by_how_long_they_took) {
  control::ChangeTally changes;
  changes.failed = 3;
  changes.seconds.observe(0.01);
  changes.seconds.observe(2);
  changes.seconds.observe(1e6);
  const std::string text = page(status(), stats(), lists(1), changes);
  EXPECT_THAT(text, HasSubstr("weir_changes_failed_total 3\n"));
  EXPECT_THAT(text, HasSubstr("weir_change_duration_seconds_bucket{le=\"0.05\"} 1\n"));
  EXPECT_THAT(text, HasSubstr("weir_change_duration_seconds_bucket{le=\"1800\"} 2\n"));
  EXPECT_THAT(text, HasSubstr("weir_change_duration_seconds_bucket{le=\"+Inf\"} 3\n"));
}

TEST(Metrics, of_a_ports_link_are_there_where_it_is_known) {
  const std::string text = page();
  EXPECT_THAT(text, HasSubstr("weir_port_up{port=\"wan\"} 0\nweir_port_up{port=\"lan\"} 1\n"));
  EXPECT_THAT(text, HasSubstr("weir_port_link_losses_total{port=\"wan\"} 2\n"));
  EXPECT_THAT(text, Not(HasSubstr("weir_port_up{port=\"old\"}")));
}

// Alerts and the dashboard name no family that there is not.
TEST(Metrics, are_what_alerts_and_the_dashboard_ask_for) {
  const std::set<std::string> families = families_of(page());
  const std::regex name(R"(\bweir_[a-z0-9_]+)");
  std::set<std::string> used;
  for (const char *file : {"packaging/prometheus/weir.rules.yml", "packaging/grafana/weir.json"}) {
    const std::string text = text_of(file);
    ASSERT_FALSE(text.empty()) << file;
    for (std::sregex_iterator at(text.begin(), text.end(), name), end; at != end; ++at) {
      EXPECT_TRUE(families.contains(at->str())) << file << " asks for " << at->str();
      used.insert(at->str());
    }
  }
  EXPECT_GT(used.size(), 25u);
}

} // namespace
} // namespace weir::test::exposition_test
