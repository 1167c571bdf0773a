#include "control/cli/top_grid.hpp"

#include "tests/support/seed.hpp"
#include "weir/key/text.hpp"

#include <gtest/gtest.h>

#include <numeric>
#include <random>

namespace weir::cli::top_grid_test {
namespace {

Grid rivers() {
  Grid grid{.name = "rivers", .columns = {{"RIVER"}, {"KM", true, 1, 5}, {"SEA", false, 2}}, .rows = {}};
  for (const auto &[name, km, sea] :
       {std::tuple{"Elbe", 1094.0, "North Sea"}, {"Weser", 452.0, "North Sea"}, {"Oder", 742.0, "Baltic"}})
    grid.rows.push_back(
        {.cells = {Cell::word(name), {std::to_string(static_cast<int>(km)), km}, Cell::word(sea)}});
  return grid;
}

std::string text_of(const Frame &frame) {
  std::string text;
  for (const Line &line : frame) text += line.text() + '\n';
  return text;
}

std::string names(const Grid &grid) {
  std::string names;
  for (const Grid::Row &row : grid.rows) names += row.cells[0].text + ' ';
  return names;
}

TEST(TopGrid, numbers_are_sorted_from_the_largest_and_words_from_a) {
  Grid grid = rivers();
  sort_rows(grid, {.column = 1});
  EXPECT_EQ(names(grid), "Elbe Oder Weser ");
  sort_rows(grid, {.column = 1, .reversed = true});
  EXPECT_EQ(names(grid), "Weser Oder Elbe ");
  sort_rows(grid, {.column = 0});
  EXPECT_EQ(names(grid), "Elbe Oder Weser ");
  sort_rows(grid, {.column = 2, .reversed = true});
  EXPECT_EQ(names(grid), "Elbe Weser Oder ") << "equal rows stay as they were";
  sort_rows(grid, {.column = 99});
  EXPECT_EQ(names(grid), "Elbe Weser Oder ");
}

TEST(TopGrid, what_is_not_known_stands_last_whichever_way_it_is_sorted) {
  Grid grid = rivers();
  grid.rows[0].cells[1] = Cell();
  sort_rows(grid, {.column = 1});
  EXPECT_EQ(names(grid), "Oder Weser Elbe ");
  sort_rows(grid, {.column = 1, .reversed = true});
  EXPECT_EQ(names(grid), "Weser Oder Elbe ");
}

TEST(TopGrid, a_filter_is_a_word_of_any_cell_or_a_prefix_around_an_address) {
  Grid grid = rivers();
  filter_rows(grid, "north");
  EXPECT_EQ(names(grid), "Elbe Weser ");
  EXPECT_EQ(grid.left_out, 1u);
  Grid all = rivers();
  filter_rows(all, "");
  EXPECT_EQ(all.rows.size(), 3u);
  Grid addresses{.name = {}, .columns = {{"ADDRESS"}}, .rows = {}};
  for (const char *text : {"10.1.0.1", "10.2.0.1", "2001:db8::1"})
    addresses.rows.push_back({.cells = {Cell::word(text)}, .address = *parse_address(text)});
  Grid nets = addresses;
  filter_rows(nets, "10.0.0.0/15");
  EXPECT_EQ(names(nets), "10.1.0.1 ");
  filter_rows(addresses, "10.");
  EXPECT_EQ(names(addresses), "10.1.0.1 10.2.0.1 ");
}

TEST(TopGrid, all_of_it_is_laid_out_where_there_is_room) {
  EXPECT_EQ(text_of(lay_out(rivers(), {})), "RIVER     KM  SEA\n"
                                            "Elbe    1094  North Sea\n"
                                            "Weser    452  North Sea\n"
                                            "Oder     742  Baltic\n");
}

TEST(TopGrid, the_sparest_columns_go_first_and_the_last_one_is_cut) {
  EXPECT_EQ(text_of(lay_out(rivers(), {.columns = 20})), "RIVER     KM\n"
                                                         "Elbe    1094\n"
                                                         "Weser    452\n"
                                                         "Oder     742\n");
  EXPECT_EQ(text_of(lay_out(rivers(), {.columns = 10})), "RIVER\nElbe\nWeser\nOder\n");
  EXPECT_EQ(text_of(lay_out(rivers(), {.columns = 3})), "RIV\nElb\nWes\nOde\n");
}

TEST(TopGrid, the_title_says_how_many_rows_there_are_beside_those_that_fit) {
  EXPECT_EQ(text_of(lay_out(rivers(), {.columns = 40, .rows = 3})), "RIVER (2 of 3)     KM  SEA\n"
                                                                    "Elbe             1094  North Sea\n"
                                                                    "Weser             452  North Sea\n");
  const Frame last = lay_out(rivers(), {.columns = 40, .rows = 3, .skip = 1000});
  EXPECT_EQ(last[0].text(), "RIVER (2-3 of 3)     KM  SEA");
  EXPECT_EQ(last[2].text(), "Oder                742  Baltic");
  EXPECT_TRUE(lay_out(rivers(), {.rows = 1}).empty()) << "a title alone says nothing";
}

TEST(TopGrid, rows_of_a_screen_are_shared_and_none_is_wasted) {
  using Rows = std::vector<std::size_t>;
  EXPECT_EQ(share_rows({3, 8, 6}, 100), (Rows{3, 8, 6}));
  EXPECT_EQ(share_rows({3, 8, 6}, 12), (Rows{3, 5, 4}));
  EXPECT_EQ(share_rows({3, 8, 6}, 5), (Rows{3, 2, 0})) << "the first ones come first";
  EXPECT_EQ(share_rows({3, 8, 6}, 1), (Rows{0, 0, 0}));
  EXPECT_EQ(share_rows({0, 8, 0}, 4), (Rows{0, 4, 0}));
  const std::uint64_t seed = test::seed_or(11);
  WEIR_TRACE_SEED(seed);
  std::mt19937_64 random(seed);
  for (int round = 0; round < 2000; ++round) {
    Rows needed(random() % 7);
    for (std::size_t &rows : needed) rows = random() % 3 == 0 ? 0 : 2 + random() % 20;
    const std::size_t rows = random() % 60;
    const Rows shares = share_rows(needed, rows);
    const std::size_t wanted = std::accumulate(needed.begin(), needed.end(), std::size_t{0});
    const std::size_t given = std::accumulate(shares.begin(), shares.end(), std::size_t{0});
    EXPECT_LE(given, rows);
    bool all_there = true;
    for (std::size_t i = 0; i < needed.size(); ++i) {
      EXPECT_LE(shares[i], needed[i]);
      EXPECT_NE(shares[i], 1u);
      all_there = all_there && (needed[i] == 0 || shares[i] > 0);
    }
    if (all_there) {
      EXPECT_EQ(given, std::min(wanted, rows));
    }
  }
}

} // namespace
} // namespace weir::cli::top_grid_test
