// A table of weirctl top: sorted by a column, filtered by a word, and laid out in so many columns and rows of a
// screen. Columns that matter less go first where there is no room; no line is longer than the screen is wide.
#pragma once

#include "control/cli/frame.hpp"
#include "weir/key/address.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace weir::cli {

struct Cell {
  std::string text = "-";
  double value = -1; // what numbers are sorted by; -1: not known

  static Cell word(std::string text) { return {.text = std::move(text)}; }
};

struct Grid {
  struct Column {
    std::string title;
    bool number = false;   // set to the right, and the largest first
    unsigned spare = 0;    // the larger, the sooner it goes; 0 stays
    std::size_t least = 0; // columns that it takes at least, so that it stands still while numbers change
  };
  struct Row {
    std::vector<Cell> cells; // one for each column
    Style style = Style::plain;
    std::optional<Address> address = {}; // whose row it is: for filters that are prefixes
  };

  std::string name = {}; // of the part: "lists"
  std::vector<Column> columns = {};
  std::vector<Row> rows = {};
  std::size_t left_out = 0; // rows that a filter has taken away
};

struct Sorting {
  std::size_t column = 0;
  bool reversed = false;
};

// Numbers from the largest, words from A; rows that are equal stay as they were.
void sort_rows(Grid &grid, const Sorting &by);

// Rows stay in which a cell has the word, in whatever case; with a prefix, those of addresses in it.
void filter_rows(Grid &grid, std::string_view filter);

struct Place {
  std::size_t columns = 0;                // 0: as many as it takes
  std::size_t rows = 0;                   // with the title; 0: all
  std::size_t skip = 0;                   // rows before the first that is shown
  std::optional<std::size_t> sorted = {}; // the column is marked
  bool chosen = false;
};

// The title and the rows; nothing when there is no room for both a title and a row of those that there are.
[[nodiscard]] Frame lay_out(const Grid &grid, const Place &place);

// How many rows of the screen each part gets, of those that it needs with its title: the first ones come first
// where not every part has room for a title and a row, and none has rows that it does not need while another
// lacks some.
[[nodiscard]] std::vector<std::size_t> share_rows(const std::vector<std::size_t> &needed, std::size_t rows);

} // namespace weir::cli
