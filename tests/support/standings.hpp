// The arithmetic of the benchmarks, apart from any clock: medians over interleaved rounds, and
// figures held against their floors and aims.
//
// Contenders of one question take turns: round 1 of each, then round 2 of each, so that a machine
// that slows down for a while slows all of them. A figure is the median over rounds; its spread is
// half the distance between the quartiles, in percent of the median. A ratio of two contenders is the
// figure of its rounds' ratios, not the ratio of their medians: what slowed a round slowed both.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

namespace weir::bench {

struct Figure {
  double median = 0;
  double spread_percent = 0;
};

[[nodiscard]] Figure figure_of(std::vector<double> samples);

// Round by round; both have the same rounds, in the same order.
[[nodiscard]] Figure ratio_of(std::span<const double> numerator, std::span<const double> denominator);

// A row of the closing table: a figure beside the floor and the aim that it is held against.
struct Standing {
  std::string what;
  double floor = 0, aim = 0;
  std::optional<double> measured; // none: not measured
  bool less_is_better = false;
  double spread_percent = 0;
  std::string left_out{}; // why a run leaves this row out on purpose; such a row misses no floor
};

[[nodiscard]] Standing standing(std::string what, double floor, double aim, const Figure &figure,
                                bool less_is_better = false);
// A target that this run does not measure. With `left_out` empty that is a miss.
[[nodiscard]] Standing not_measured(std::string what, double floor, double aim, std::string left_out = {},
                                    bool less_is_better = false);

enum class Mark { aim, floor, below_floor, not_measured, left_out };
[[nodiscard]] Mark mark_of(const Standing &standing);
[[nodiscard]] std::string words_of(const Standing &standing);

[[nodiscard]] bool misses_floor(const Standing &standing);
[[nodiscard]] std::size_t floors_missed(std::span<const Standing> standings);

// Of the program: 1 when floors are asserted and one is missed.
[[nodiscard]] int exit_code(bool floors_asserted, std::span<const Standing> standings);

// A table with one cell a column in each row.
struct Grid {
  std::vector<std::string> columns;
  std::vector<std::vector<std::string>> rows;

  [[nodiscard]] std::string text() const;     // aligned; the first column to the left
  [[nodiscard]] std::string markdown() const; // as docs/performance.md holds it
};

[[nodiscard]] Grid grid_of(std::span<const Standing> standings);

// "10k", "1M", "2.5M"; what is no round number stands as it is.
[[nodiscard]] std::string count_words(std::uint64_t count);

// Three significant digits, as far as six decimals show them, and never an exponent.
[[nodiscard]] std::string short_number(double value);

// Is `name` one of the names of a comma-separated list? An empty list names everything.
[[nodiscard]] bool is_named(const std::string &list, const std::string &name);

} // namespace weir::bench
