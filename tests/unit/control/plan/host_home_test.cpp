#include "control/plan/host_home.hpp"

#include "tests/support/image_memory.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <string>
#include <vector>

namespace weir::plan::host_home_test {
namespace {

using build::EntryV4;
using build::HostHome;

constexpr std::uint32_t a_net = 50;

std::vector<EntryV4> sorted(std::vector<EntryV4> entries) {
  std::ranges::sort(entries);
  const auto again = std::ranges::unique(
      entries, [](const EntryV4 &a, const EntryV4 &b) { return a.host == b.host && a.length == b.length; });
  entries.erase(again.begin(), again.end());
  return entries;
}
std::vector<EntryV4> in_a_row(std::uint32_t count) {
  std::vector<EntryV4> entries;
  for (std::uint32_t i = 0; i < count; ++i) entries.push_back({.host = (10u << 24) + i});
  return entries;
}
std::vector<EntryV4> anywhere(std::uint32_t count) {
  std::mt19937 random(3);
  std::vector<EntryV4> entries(count);
  for (EntryV4 &e : entries) e.host = static_cast<std::uint32_t>(random());
  return sorted(std::move(entries));
}
std::vector<EntryV4> clustered(std::uint32_t count) {
  std::mt19937 random(4);
  std::vector<EntryV4> entries;
  for (std::uint32_t net = 0; net < count / a_net; ++net) {
    const auto first = static_cast<std::uint32_t>(random()) & ~0xFFu;
    for (std::uint32_t i = 0; i < a_net; ++i) entries.push_back({.host = first | (i * 77 & 0xFF)});
  }
  return sorted(std::move(entries));
}
std::vector<EntryV4> beside_prefixes(std::vector<EntryV4> entries, std::uint32_t count) {
  std::mt19937 random(5);
  for (std::uint32_t i = 0; i < count; ++i) {
    const auto length = static_cast<std::uint8_t>(14 + random() % 11);
    entries.push_back({.host = static_cast<std::uint32_t>(random()) & (~0u << (32 - length)),
                       .length = length,
                       .list = ListId(1)});
  }
  return sorted(std::move(entries));
}

// What the planner counts in one pass, against a map that is built.
TEST(MapShape, is_that_of_a_real_map) {
  const std::vector<std::vector<EntryV4>> sets{in_a_row(70'000), anywhere(200'000), clustered(200'000),
                                               beside_prefixes(anywhere(100'000), 3000),
                                               beside_prefixes(clustered(100'000), 3000)};
  for (std::size_t set = 0; set < sets.size(); ++set)
    for (const HostHome home : {HostHome::ranges, HostHome::points}) {
      const std::string which = "set " + std::to_string(set) + ", " + name_of(home);
      const auto &entries = sets[set];
      build::BuildInput in;
      in.lists = {{"hosts", ListId(0)}, {"nets", ListId(1)}};
      in.deny.v4 = entries;
      in.deny.hosts_v4 = home;
      const auto memory = test::ImageMemory::build(in);
      const auto view = memory.view();
      const table::RangeMapV4 &map = view.ranges_v4[Side::deny];
      double hit = 0, hosts = 0, absent = 0;
      for (const EntryV4 &e : entries)
        if (e.length == 32) hit += map.lines_asked(byteswap32(e.host)), ++hosts;
      constexpr unsigned some = 200'000;
      std::mt19937 random(6);
      for (unsigned i = 0; i < some; ++i) absent += map.lines_asked(static_cast<std::uint32_t>(random()));
      const MapShape shape = map_shape(entries, home == HostHome::points);
      EXPECT_NEAR(static_cast<double>(shape.lines), map.header().lines_used,
                  0.1 * map.header().lines_used + 20)
          << which;
      EXPECT_NEAR(shape.lines_hit, hit / hosts, 0.1) << which;
      EXPECT_NEAR(shape.lines_absent, absent / some, 0.02) << which;
    }
}

HostHome home_of(const std::vector<EntryV4> &entries, const config::Config &config = {}, double hits = 0.1) {
  build::BuildInput input;
  input.deny.v4 = entries;
  return choose_home(input, config, hits, built_in_calibration()).home;
}

TEST(HostHome, is_the_map_for_hosts_in_a_row_and_words_for_others_that_stand_alone) {
  EXPECT_EQ(home_of({}), HostHome::table);
  EXPECT_EQ(home_of(in_a_row(4000)), HostHome::table) << "not worth it";
  EXPECT_EQ(home_of(in_a_row(3'000'000)), HostHome::ranges);
  EXPECT_EQ(home_of(anywhere(4000)), HostHome::table) << "not worth it";
  EXPECT_EQ(home_of(anywhere(500'000)), HostHome::words);
  EXPECT_EQ(home_of(clustered(500'000)), HostHome::words);
}

TEST(HostHome, is_the_map_beside_prefixes_unless_many_hits_are_of_clusters) {
  EXPECT_EQ(home_of(beside_prefixes(anywhere(500'000), 3000)), HostHome::ranges);
  EXPECT_EQ(home_of(beside_prefixes(clustered(500'000), 3000)), HostHome::ranges);
  EXPECT_EQ(home_of(beside_prefixes(clustered(500'000), 3000), {}, 1), HostHome::words);
  EXPECT_EQ(home_of(beside_prefixes({}, 3000)), HostHome::table) << "there is none";
}

Calibration with_slow_memory(double times) {
  Calibration c = built_in_calibration();
  for (auto &path : c.touch)
    for (TouchPoint &point : path)
      if (point.bytes > 4u << 20) point.ns *= times;
  return c;
}

// Where lines of a table come from memory, those of words are 0.6 times as many, and those of points a little more. With half of
// the questions hitting no front filter pays.
TEST(HostHome, is_words_where_bytes_decide) {
  const Calibration slow = with_slow_memory(4);
  const auto entries = anywhere(1'500'000);
  const HomeChoice choice = weigh_homes(entries, 0.5, slow);
  EXPECT_EQ(choice.home, HostHome::words);
  EXPECT_NEAR(static_cast<double>(choice.costs.back().bytes) / 1.5e6, 64.0 / 11, 0.1);
  EXPECT_NE(choice.why.find("a table"), std::string::npos) << choice.why;
  EXPECT_NE(weigh_homes(beside_prefixes(entries, 3000), 0.5, slow).home, HostHome::words);
}

TEST(HostHome, pays_for_the_memory_of_each_line_of_a_map) {
  const auto entries = clustered(1'500'000);
  const Calibration slow = with_slow_memory(4), slower = with_slow_memory(8);
  const HomeChoice now = weigh_homes(entries, 1, slow), then = weigh_homes(entries, 1, slower);
  for (const std::size_t map : {1, 2}) {
    const MapShape shape = map_shape(entries, now.costs[map].home == HostHome::points);
    ASSERT_GT(shape.lines_hit, 1.5);
    const std::uint64_t bytes = shape.lines * 64;
    const double more = slower.touch_ns(Path::line, bytes) - slow.touch_ns(Path::line, bytes);
    EXPECT_NEAR(then.costs[map].ns - now.costs[map].ns, more * shape.lines_hit, 1e-9);
  }
}

// All figures of words and of maps are those that were measured.
TEST(HostHome, costs_what_hosts_there_were_measured_to_cost) {
  const auto entries = anywhere(1'500'000), row = in_a_row(1'500'000);
  Calibration c = built_in_calibration();
  c.touch.fill({{1024, 0}});
  c.in_words = {3, 4, 6, 5};
  c.in_ranges = {2, 7};
  c.in_points = {1, 9};
  for (const double hits : {0.0, 0.5, 1.0}) {
    const HomeChoice choice = weigh_homes(entries, hits, c);
    EXPECT_DOUBLE_EQ(choice.costs.back().ns, hits == 0 ? 3 : hits == 1 ? 5 : 6);
  }
  const auto maps = [&](double hits) { return weigh_homes(row, hits, c).costs; };
  EXPECT_DOUBLE_EQ(maps(0)[1].ns, 7) << "any /16";
  EXPECT_DOUBLE_EQ(maps(0)[2].ns, 9);
  EXPECT_NEAR(maps(1)[1].ns, 2, 0.1) << "one of 23";
  EXPECT_NEAR(maps(1)[2].ns, 1, 0.1);
}

TEST(HostHome, is_words_unless_a_table_saves_a_tenth) {
  const auto entries = anywhere(200'000);
  for (const auto &[work, home] :
       {std::pair{8.9, HostHome::table}, {9.1, HostHome::words}, {12.0, HostHome::words}}) {
    Calibration c = built_in_calibration();
    c.touch.fill({{1024, 0}});
    for (const Option &option : all_options) c.work_of(Family::ipv4, option) = {work, work, work, work};
    c.in_words = {10, 10, 10, 10};
    c.in_ranges = c.in_points = {20, 20};
    EXPECT_EQ(weigh_homes(entries, 1, c).home, home) << work;
  }
}

TEST(HostHome, is_a_map_where_that_saves_a_twentieth_beside_the_better_of_the_others) {
  const auto row = in_a_row(200'000);
  const auto home_of_row = [&](double table, double words, double map) {
    Calibration c = built_in_calibration();
    c.touch.fill({{1024, 0}});
    for (const Option &option : all_options) c.work_of(Family::ipv4, option) = {table, table, table, table};
    c.in_words = {words, words, words, words};
    c.in_ranges = {map, map};
    c.in_points = {30, 30};
    return weigh_homes(row, 1, c).home;
  };
  EXPECT_EQ(home_of_row(20, 10, 9.4), HostHome::ranges);
  EXPECT_EQ(home_of_row(20, 10, 9.6), HostHome::words);
  EXPECT_EQ(home_of_row(10, 20, 9.4), HostHome::ranges);
  EXPECT_EQ(home_of_row(10, 20, 9.6), HostHome::table);
}

// Beside words that take as long, blocks of a filter are made cheaper and cheaper.
TEST(HostHome, is_a_table_behind_a_filter_only_where_that_saves_a_tenth) {
  const auto entries = anywhere(1'500'000);
  unsigned tables = 0, words = 0, words_though_dearer = 0;
  for (double part = 1; part > 0; part -= 1.0 / 64) {
    Calibration c = with_slow_memory(4);
    for (const Path path : {Path::block, Path::few, Path::several})
      for (TouchPoint &point : c.touch[static_cast<std::size_t>(path)]) point.ns *= part;
    const HomeChoice choice = weigh_homes(entries, 0.01, c);
    const HomeCost &table = choice.costs.front(), &other = choice.costs.back();
    ASSERT_EQ(other.home, HostHome::words);
    if (!table.filtered) continue;
    if (table.ns < 0.9 * other.ns) {
      EXPECT_EQ(choice.home, HostHome::table) << part;
      EXPECT_EQ(choice.why.find("not 10 % less"), std::string::npos) << choice.why;
      ++tables;
    } else if (table.ns > 0.93 * other.ns) {
      EXPECT_EQ(choice.home, HostHome::words) << part;
      const bool dearer = table.ns < other.ns;
      EXPECT_EQ(choice.why.find(", a table behind a filter ") != std::string::npos, true) << choice.why;
      EXPECT_EQ(choice.why.find("not 10 % less") != std::string::npos, dearer) << choice.why;
      ++words;
      words_though_dearer += dearer ? 1 : 0;
    }
  }
  EXPECT_GT(tables, 0u);
  EXPECT_GT(words, 0u);
  EXPECT_GT(words_though_dearer, 0u);
}

TEST(HostHome, is_not_words_where_most_lists_have_too_large_a_number_or_ipv6_has_more_keys) {
  const Calibration slow = with_slow_memory(4);
  const auto entries = anywhere(1'500'000);
  const std::vector<build::EntryV6> more(entries.size() + 1);
  build::BuildInput input;
  input.deny.v4 = entries;
  EXPECT_EQ(choose_home(input, {}, 0.5, slow).home, HostHome::words);
  input.deny.v6 = more;
  EXPECT_NE(choose_home(input, {}, 0.5, slow).home, HostHome::words);
  auto few = anywhere(5000); // lines that have room for 127 lists
  for (EntryV4 &e : few) e.list = ListId(200);
  for (const HomeCost &cost : weigh_homes(few, 0.5, slow).costs) EXPECT_NE(cost.home, HostHome::words);
}

TEST(HostHome, is_points_where_bytes_decide_and_words_may_not_be) {
  const Calibration slow = with_slow_memory(4);
  const auto entries = anywhere(1'500'000);
  const HomeChoice choice = weigh_homes(entries, 0.5, slow, false, false);
  EXPECT_EQ(choice.home, HostHome::points);
  EXPECT_LT(choice.costs[2].bytes, choice.costs[1].bytes);
  EXPECT_NE(choice.why.find("a table"), std::string::npos) << choice.why;
}

TEST(HostHome, is_the_table_where_the_configuration_is_about_tables) {
  const auto entries = in_a_row(500'000);
  config::Config compact, predictor, filter, plain;
  compact.compact.emplace();
  predictor.predictor = config::Predictor::chained;
  filter.front_filter = config::FrontFilter::split_block_bloom;
  for (const config::Config &config : {compact, predictor, filter})
    EXPECT_EQ(home_of(entries, config), HostHome::table);
  build::BuildInput input;
  input.deny.v4 = entries;
  input.family = HashFamily::jhash;
  EXPECT_EQ(choose_home(input, plain, 0.1, built_in_calibration()).home, HostHome::table);
}

// A host that comes has all lines of its /16 written anew.
TEST(HostHome, is_the_table_where_a_dynamic_list_would_change_a_crowded_map) {
  const Calibration slow = with_slow_memory(20);
  const auto crowded = anywhere(6'000'000);
  EXPECT_EQ(weigh_homes(crowded, 1, slow, false, false).home, HostHome::points);
  const HomeChoice dynamic = weigh_homes(crowded, 1, slow, true, false);
  EXPECT_EQ(dynamic.home, HostHome::table);
  EXPECT_NE(dynamic.why.find("a dynamic list changes slowly there"), std::string::npos) << dynamic.why;
  EXPECT_EQ(weigh_homes(crowded, 1, slow, true).home, HostHome::words);
  EXPECT_EQ(weigh_homes(in_a_row(3'000'000), 0.1, built_in_calibration(), true).home, HostHome::ranges);
}

} // namespace
} // namespace weir::plan::host_home_test
