// How weirctl writes numbers, times and tables for people. Everything here is pure: the current
// time is an argument, so that tests can pin it.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace weir::cli {

// 1826004 -> "1,826,004"
[[nodiscard]] std::string thousands(std::uint64_t number);

// 32505856 -> "31 MiB"; below 10 of a unit with one decimal, "1.5 KiB"
[[nodiscard]] std::string bytes_text(std::uint64_t bytes);

// 2100 -> "2.1 us"; the unit is chosen so that one to four digits stand before it
[[nodiscard]] std::string nanoseconds_text(double nanoseconds);

// 0.4 -> "0.4 ms", 18 -> "18 ms", 2500 -> "2.5 s"
[[nodiscard]] std::string milliseconds_text(double milliseconds);

// The two largest units: 93784 -> "1d 2h", 45 -> "45s"
[[nodiscard]] std::string duration_text(std::uint64_t seconds);

// The largest unit and its direction: "3m ago", "in 3m", "now"; 0 (never set) is "-"
[[nodiscard]] std::string when_text(std::int64_t epoch_seconds, std::int64_t now);

// Local wall clock, "20:41:07", with the date before it when it is not the day of `now`.
[[nodiscard]] std::string clock_text(std::int64_t epoch_seconds, std::int64_t now);

// "90", "90s", "10m", "1h30m", "2d", "1w"; nullopt for anything else, zero or an overflow.
[[nodiscard]] std::optional<std::chrono::seconds> parse_duration(std::string_view text);

// Packets per second: 1.9e6 -> "1.9 Mpps"
[[nodiscard]] std::string rate_text(double packets_per_second);

// The candidate nearest to `word` by edit distance; empty when none is near enough to be meant.
[[nodiscard]] std::string nearest(std::string_view word, const std::vector<std::string> &candidates);

// Columns on a terminal, not bytes: continuation bytes of UTF-8 take none.
[[nodiscard]] std::size_t width_of(std::string_view text);

[[nodiscard]] std::string in_capitals(std::string_view text); // of ASCII

// An aligned table. Cells that hold numbers are set to the right by the caller's choice of columns.
class Table {
public:
  enum class Align : std::uint8_t { left, right };
  struct Column {
    std::string title;
    Align align = Align::left;
  };

  explicit Table(std::vector<Column> columns) : columns_(std::move(columns)) {}

  void add(std::vector<std::string> cells) { rows_.push_back(std::move(cells)); }
  [[nodiscard]] bool empty() const { return rows_.empty(); }
  // One line for the titles and one for each row, two spaces between columns, none at the end.
  [[nodiscard]] std::string text() const;

private:
  std::vector<Column> columns_;
  std::vector<std::vector<std::string>> rows_;
};

} // namespace weir::cli
