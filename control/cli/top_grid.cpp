#include "control/cli/top_grid.hpp"

#include "control/cli/text.hpp"
#include "weir/key/text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <numeric>

namespace weir::cli {

namespace {

constexpr std::size_t gap = 2;        // between columns
constexpr std::size_t rows_least = 2; // of a part: its title and a row

bool has_word(std::string_view text, std::string_view word) {
  const auto same = [](char a, char b) {
    return std::tolower(static_cast<unsigned char>(a)) == std::tolower(static_cast<unsigned char>(b));
  };
  return !std::ranges::search(text, word, same).empty() || word.empty();
}

// The title says how many rows there are beside those that are shown.
std::string first_title(const Grid &grid, std::size_t skip, std::size_t shown) {
  const std::string &title = grid.columns.front().title;
  if (shown == grid.rows.size()) return title;
  if (skip == 0) return fmt::format("{} ({} of {})", title, shown, grid.rows.size());
  return fmt::format("{} ({}-{} of {})", title, skip + 1, skip + shown, grid.rows.size());
}

struct Shown {
  std::vector<std::size_t> columns, widths;

  [[nodiscard]] std::size_t width() const {
    return std::accumulate(widths.begin(), widths.end(), gap * (widths.size() - 1));
  }
};

// Without the sparest columns until the others fit.
Shown fitting(const Grid &grid, const std::vector<std::string> &titles, std::size_t from, std::size_t to,
              std::size_t columns_max) {
  Shown shown;
  for (std::size_t i = 0; i < grid.columns.size(); ++i) {
    std::size_t width = std::max(width_of(titles[i]), grid.columns[i].least);
    for (std::size_t row = from; row < to; ++row)
      width = std::max(width, width_of(grid.rows[row].cells[i].text));
    shown.columns.push_back(i);
    shown.widths.push_back(width);
  }
  while (columns_max != 0 && shown.columns.size() > 1 && shown.width() > columns_max) {
    std::size_t goes = 0;
    for (std::size_t i = 0; i < shown.columns.size(); ++i)
      if (grid.columns[shown.columns[i]].spare >= grid.columns[shown.columns[goes]].spare) goes = i;
    if (grid.columns[shown.columns[goes]].spare == 0) break;
    shown.columns.erase(shown.columns.begin() + static_cast<std::ptrdiff_t>(goes));
    shown.widths.erase(shown.widths.begin() + static_cast<std::ptrdiff_t>(goes));
  }
  return shown;
}

std::string padded(const std::string &text, std::size_t width, bool to_the_right) {
  const std::string blanks(width - std::min(width, width_of(text)), ' ');
  return to_the_right ? blanks + text : text + blanks;
}

} // namespace

void sort_rows(Grid &grid, const Sorting &by) {
  if (by.column >= grid.columns.size()) return;
  const bool number = grid.columns[by.column].number;
  std::ranges::stable_sort(grid.rows, [&](const Grid::Row &a, const Grid::Row &b) {
    const Cell &one = a.cells[by.column], &other = b.cells[by.column];
    if (number && (one.value < 0 || other.value < 0))
      return one.value > other.value; // what is not known last
    const Cell &left = by.reversed ? other : one, &right = by.reversed ? one : other;
    return number ? left.value > right.value : left.text < right.text;
  });
}

void filter_rows(Grid &grid, std::string_view filter) {
  if (filter.empty()) return;
  const auto prefix = parse_prefix(filter);
  grid.left_out = std::erase_if(grid.rows, [&](const Grid::Row &row) {
    if (prefix && row.address) return !prefix->covers(*row.address);
    return std::ranges::none_of(row.cells, [&](const Cell &cell) { return has_word(cell.text, filter); });
  });
}

Frame lay_out(const Grid &grid, const Place &place) {
  if (grid.columns.empty() || grid.rows.empty() || (place.rows != 0 && place.rows < rows_least)) return {};
  const std::size_t room = place.rows == 0 ? grid.rows.size() : place.rows - 1;
  const std::size_t skip = std::min(place.skip, grid.rows.size() - std::min(room, grid.rows.size()));
  const std::size_t shown = std::min(room, grid.rows.size() - skip);
  std::vector<std::string> titles;
  for (const Grid::Column &column : grid.columns) titles.push_back(column.title);
  titles.front() = first_title(grid, skip, shown);
  const Shown fits = fitting(grid, titles, skip, skip + shown, place.columns);

  Frame frame;
  const Style of_titles = place.chosen ? Style::chosen : Style::title;
  const auto line = [&](const auto &cell_of, const auto &style_of) {
    Line made;
    for (std::size_t i = 0; i < fits.columns.size(); ++i) {
      const std::size_t column = fits.columns[i];
      const bool last_word = i + 1 == fits.columns.size() && !grid.columns[column].number;
      const std::string &text = cell_of(column);
      if (i > 0) made.add(std::string(gap, ' '), style_of(grid.columns.size()));
      made.add(last_word ? text : padded(text, fits.widths[i], grid.columns[column].number),
               style_of(column));
    }
    made.cut(place.columns);
    frame.push_back(std::move(made));
  };
  line([&](std::size_t i) -> const std::string & { return titles[i]; },
       [&](std::size_t i) { return place.sorted == i ? Style::strong : of_titles; });
  for (std::size_t row = skip; row < skip + shown; ++row)
    line([&](std::size_t i) -> const std::string & { return grid.rows[row].cells[i].text; },
         [&](std::size_t) { return grid.rows[row].style; });
  return frame;
}

std::vector<std::size_t> share_rows(const std::vector<std::size_t> &needed, std::size_t rows) {
  std::vector<std::size_t> shares(needed.size(), 0);
  for (std::size_t i = 0; i < needed.size() && rows >= rows_least; ++i)
    if (needed[i] >= rows_least) {
      shares[i] = rows_least;
      rows -= rows_least;
    }
  for (bool given = true; given && rows > 0;) {
    given = false;
    for (std::size_t i = 0; i < needed.size() && rows > 0; ++i)
      if (shares[i] != 0 && shares[i] < needed[i]) {
        ++shares[i];
        --rows;
        given = true;
      }
  }
  return shares;
}

} // namespace weir::cli
