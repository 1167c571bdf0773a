#include "tests/support/standings.hpp"

#include <gtest/gtest.h>

namespace weir::bench::standings_test {
namespace {

TEST(Standings, the_median_and_its_spread_do_not_care_for_the_order_of_rounds) {
  const Figure figure = figure_of({50, 10, 30, 20, 40});
  EXPECT_EQ(figure.median, 30);
  EXPECT_NEAR(figure.spread_percent, 50.0 * (40 - 20) / 30, 1e-9);
}

TEST(Standings, one_wild_round_moves_neither_median_nor_spread) {
  const Figure figure = figure_of({10, 10, 10, 10, 10, 10, 9000});
  EXPECT_EQ(figure.median, 10);
  EXPECT_EQ(figure.spread_percent, 0);
}

TEST(Standings, no_samples_make_a_zero_and_no_division_by_it) {
  EXPECT_EQ(figure_of({}).median, 0);
  EXPECT_EQ(figure_of({0, 0, 0}).spread_percent, 0);
}

TEST(Standings, a_round_that_slowed_both_contenders_leaves_their_ratio_alone) {
  const std::vector<double> fast{80, 40, 80, 20}, slow{40, 20, 40, 10};
  const Figure ratio = ratio_of(fast, slow);
  EXPECT_EQ(ratio.median, 2);
  EXPECT_EQ(ratio.spread_percent, 0);
}

TEST(Standings, a_ratio_is_marked_by_the_aim_and_floor_that_it_reaches) {
  EXPECT_EQ(mark_of(standing("x", 0.85, 0.95, {0.95, 0})), Mark::aim);
  EXPECT_EQ(mark_of(standing("x", 0.85, 0.95, {0.85, 0})), Mark::floor);
  EXPECT_EQ(mark_of(standing("x", 0.85, 0.95, {0.84, 0})), Mark::below_floor);
}

TEST(Standings, where_less_is_better_the_aim_is_the_smaller_figure) {
  EXPECT_EQ(mark_of(standing("us", 5, 2, {2, 0}, true)), Mark::aim);
  EXPECT_EQ(mark_of(standing("us", 5, 2, {5, 0}, true)), Mark::floor);
  EXPECT_EQ(mark_of(standing("us", 5, 2, {5.1, 0}, true)), Mark::below_floor);
  EXPECT_EQ(mark_of(standing("faults", 0, 0, {0, 0}, true)), Mark::aim);
  EXPECT_EQ(mark_of(standing("faults", 0, 0, {1, 0}, true)), Mark::below_floor);
}

TEST(Standings, what_was_not_measured_is_a_miss_unless_the_run_says_why_it_left_it_out) {
  const std::vector<Standing> rows{standing("reached", 1, 2, {1.5, 0}), standing("below", 1, 2, {0.5, 0}),
                                   not_measured("forgotten", 1, 2),
                                   not_measured("64M keys", 1, 2, "quick run")};
  EXPECT_FALSE(misses_floor(rows[0]));
  EXPECT_TRUE(misses_floor(rows[1]));
  EXPECT_TRUE(misses_floor(rows[2]));
  EXPECT_FALSE(misses_floor(rows[3]));
  EXPECT_EQ(floors_missed(rows), 2u);
  EXPECT_EQ(words_of(rows[3]), "left out: quick run");
}

TEST(Standings, a_missed_floor_fails_the_program_only_when_floors_are_asserted) {
  const std::vector<Standing> good{standing("reached", 1, 2, {1, 0}),
                                   not_measured("64M keys", 1, 2, "quick run")},
      bad{standing("below", 1, 2, {0.9, 0})}, forgotten{not_measured("forgotten", 1, 2)};
  EXPECT_EQ(exit_code(true, good), 0);
  EXPECT_EQ(exit_code(true, bad), 1);
  EXPECT_EQ(exit_code(true, forgotten), 1);
  EXPECT_EQ(exit_code(false, bad), 0);
}

TEST(Standings, the_table_shows_what_was_reached_and_a_dash_for_what_was_not) {
  const std::vector<Standing> rows{standing("lookup / LIMIT", 0.85, 0.95, {0.912, 3}),
                                   not_measured("restart, s", 1, 0.3, {}, true)};
  EXPECT_EQ(grid_of(rows).markdown(), "| target | floor | aim | reached | spread | standing |\n"
                                      "|---|---:|---:|---:|---:|---:|\n"
                                      "| lookup / LIMIT | 0.850 | 0.950 | 0.912 | 3 % | floor |\n"
                                      "| restart, s | 1 | 0.300 | - | - | not measured |\n");
}

TEST(Standings, columns_of_the_printed_table_stand_below_each_other) {
  const Grid grid{{"what", "n"}, {{"a longer name", "1"}, {"b", "1 ±2"}}};
  EXPECT_EQ(grid.text(), "what              n\n"
                         "a longer name     1\n"
                         "b              1 ±2\n");
}

TEST(Standings, counts_and_numbers_are_short) {
  EXPECT_EQ(count_words(64'000'000), "64M");
  EXPECT_EQ(count_words(100'000), "100k");
  EXPECT_EQ(count_words(2'500'000), "2.5M");
  EXPECT_EQ(count_words(1'234'567), "1234567");
  EXPECT_EQ(short_number(0.8512), "0.851");
  EXPECT_EQ(short_number(9.416), "9.42");
  EXPECT_EQ(short_number(123.45), "123");
  EXPECT_EQ(short_number(200'000), "200000");
}

TEST(Standings, a_filter_names_whole_benchmarks_only) {
  EXPECT_TRUE(is_named("", "swap"));
  EXPECT_TRUE(is_named("lookup,swap", "swap"));
  EXPECT_FALSE(is_named("lookup,swap", "look"));
}

} // namespace
} // namespace weir::bench::standings_test
