#include "control/cli/top_readings.hpp"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace weir::cli::top_readings_test {
namespace {

Reading reading(const Json &top, std::uint64_t pid = 7) {
  return {.status = std::make_shared<const Json>(Json{{"generation", 3}, {"dataplane", {{"pid", pid}}}}),
          .top = std::make_shared<const Json>(top)};
}

// Everything grows by `each`, in steps of its own.
Json counted(std::uint64_t seconds, std::uint64_t each) {
  const auto n = [each](std::uint64_t times) { return times * each; };
  const auto verdict = [](const char *word, const char *reason, std::uint64_t packets) {
    return Json{{"verdict", word}, {"reason", reason}, {"family", "ipv4"}, {"packets", packets}};
  };
  Json top{
      {"at_ns", (seconds + 1) * 1'000'000'000}, {"sample_one_in", 1024}, {"pass", n(30)}, {"drop", n(10)}};
  top["ports"].push_back({{"name", "wan"},
                          {"rx_packets", n(40)},
                          {"rx_bytes", n(4000)},
                          {"tx_packets", 0},
                          {"tx_bytes", 0},
                          {"rx_missed", n(5)},
                          {"tx_refused", 0},
                          {"tx_retried", 0}});
  top["ports"].push_back({{"name", "lan"},
                          {"rx_packets", 0},
                          {"rx_bytes", 0},
                          {"tx_packets", n(30)},
                          {"tx_bytes", n(3000)},
                          {"rx_missed", 0},
                          {"tx_refused", 0},
                          {"tx_retried", 0}});
  top["verdicts"].push_back(verdict("pass", "default", n(30)));
  top["verdicts"].push_back(verdict("drop", "deny", n(10)));
  top["lists"].push_back(
      {{"name", "bans"}, {"action", "deny"}, {"hits", n(10)}, {"entries", 1234}, {"updated_at", 1'000'000}});
  top["addresses"].push_back({{"address", "203.0.113.9"},
                              {"packets", each},
                              {"packets_at_most", each},
                              {"verdict", "drop"},
                              {"list", "bans"}});
  top["workers"].push_back({{"id", 1},
                            {"lcore", 2},
                            {"packets", n(40)},
                            {"bursts", n(2)},
                            {"empty_polls", n(6)},
                            {"busy_cycles", n(300)},
                            {"idle_cycles", n(100)},
                            {"timed_packets", each},
                            {"receive_cycles", n(5)},
                            {"parse_cycles", n(6)},
                            {"lookup_cycles", n(10)},
                            {"judge_cycles", n(3)},
                            {"send_cycles", n(2)},
                            {"count_cycles", n(4)}});
  top["swaps"].push_back({{"generation", 2}, {"swap_ns", 1300}});
  top["swaps"].push_back({{"generation", 3}, {"swap_ns", 2600}});
  return top;
}

std::string row(const Grid &grid, std::size_t index) {
  std::string text;
  for (const Cell &cell : grid.rows.at(index).cells) text += (text.empty() ? "" : "|") + cell.text;
  return text;
}

TEST(TopReadings, rates_are_what_grew_between_two_answers) {
  const Reading before = reading(counted(0, 1'000)), now = reading(counted(2, 3'000));
  const Readings readings(now, &before, 1'000'090);
  EXPECT_EQ(readings.seconds(), 2);
  EXPECT_EQ(row(readings.grid(Part::ports), 0), "wan|40.0k|32.0M|0|0|5.00k|0|15,000|0");
  EXPECT_EQ(row(readings.grid(Part::ports), 1), "lan|0|0|30.0k|24.0M|0|0|0|0");
  EXPECT_EQ(readings.grid(Part::ports).rows[0].style, Style::warning) << "packets are lost";
  EXPECT_EQ(row(readings.grid(Part::verdicts), 0), "pass|default|ipv4|30.0k|75.0 %|90,000");
  EXPECT_EQ(row(readings.grid(Part::verdicts), 1), "drop|deny|ipv4|10.0k|25.0 %|30,000");
  EXPECT_EQ(row(readings.grid(Part::lists), 0), "bans|deny|1,234|10.0k|30,000|1m 30s");
  EXPECT_EQ(row(readings.grid(Part::sources), 0), "203.0.113.9|drop|bans|1.02M|3,000");
  EXPECT_EQ(row(readings.grid(Part::workers), 0), "1|2|40.0k|75.0 %|75.0 %|20.0|5.0|6.0|10.0|3.0|2.0|4.0|30");
  EXPECT_EQ(row(readings.grid(Part::swaps), 0), "3|2.6 us") << "the last one first";
  const Readings::Sums sums = readings.sums();
  EXPECT_EQ(sums.rx_packets, 40'000);
  EXPECT_EQ(sums.rx_bits, 32e6);
  EXPECT_EQ(sums.tx_packets, 30'000);
  EXPECT_EQ(sums.drop, 10'000);
  EXPECT_EQ(sums.missed, 5'000);
  EXPECT_EQ(sums.refused, 0);
}

TEST(TopReadings, nothing_is_made_up_of_one_answer_of_another_dataplane_or_of_counters_that_shrank) {
  const Reading now = reading(counted(2, 3'000));
  const auto unknown = [&](const Reading *before) {
    const Readings readings(now, before, 1'000'090);
    EXPECT_EQ(row(readings.grid(Part::ports), 0), "wan|-|-|-|-|-|-|15,000|0");
    EXPECT_EQ(row(readings.grid(Part::verdicts), 0), "pass|default|ipv4|-|-|90,000");
    EXPECT_EQ(row(readings.grid(Part::workers), 0), "1|2|-|-|-|-|5.0|6.0|10.0|3.0|2.0|4.0|30")
        << "cycles since the dataplane began";
    EXPECT_EQ(readings.sums().rx_packets, -1);
    EXPECT_EQ(readings.sums().drop, -1);
  };
  unknown(nullptr);
  const Reading other = reading(counted(0, 1'000), 8);
  unknown(&other);
  const Reading larger = reading(counted(0, 9'000));
  Readings shrank(now, &larger, 1'000'090);
  EXPECT_EQ(shrank.sums().drop, -1);
  Json without = counted(0, 1'000);
  without.erase("at_ns");
  const Reading timeless = reading(without);
  unknown(&timeless);
}

TEST(TopReadings, a_verdict_that_begins_is_counted_from_its_first_packet) {
  Json first = counted(0, 1'000);
  first["verdicts"].erase(1);
  const Reading before = reading(first), now = reading(counted(2, 3'000));
  const Readings readings(now, &before, 0);
  EXPECT_EQ(row(readings.grid(Part::verdicts), 1), "drop|deny|ipv4|15.0k|33.3 %|30,000");
}

TEST(TopReadings, an_answer_without_a_dataplane_has_no_rows_but_its_samples) {
  const Reading now = reading({{"ok", true}, {"addresses", Json::array()}});
  const Readings readings(now, &now, 0);
  for (const Part part : parts) EXPECT_TRUE(readings.grid(part).rows.empty()) << name_of(part);
  EXPECT_EQ(readings.sums().rx_packets, -1);
}

TEST(TopReadings, every_row_has_a_cell_for_each_column) {
  const Reading now = reading(counted(2, 3'000));
  const Readings readings(now, nullptr, 0);
  for (const Part part : parts) {
    const Grid grid = readings.grid(part);
    EXPECT_EQ(grid.columns.size(), columns_of(part).size());
    ASSERT_FALSE(grid.rows.empty()) << name_of(part);
    for (const Grid::Row &of : grid.rows) EXPECT_EQ(of.cells.size(), grid.columns.size()) << name_of(part);
  }
}

TEST(TopReadings, counts_have_three_digits_and_a_letter) {
  EXPECT_EQ(short_count(-1), "-");
  EXPECT_EQ(short_count(0), "0");
  EXPECT_EQ(short_count(0.25), "0.2");
  EXPECT_EQ(short_count(9.4), "9.4");
  EXPECT_EQ(short_count(12.6), "13");
  EXPECT_EQ(short_count(999.4), "999");
  EXPECT_EQ(short_count(999.6), "1.00k");
  EXPECT_EQ(short_count(12'345), "12.3k");
  EXPECT_EQ(short_count(123'456), "123k");
  EXPECT_EQ(short_count(999'999), "1.00M");
  EXPECT_EQ(short_count(1.9e9), "1.90G");
}

} // namespace
} // namespace weir::cli::top_readings_test
