// How many lines of words so many hosts get (table/word_line.hpp), and for how many the table behind them has room: from
// the number of hosts alone, and how many of them are on a list that no word of so many lines can name.
//
// Eleven hosts a line: hosts fall to lines by chance, so that one line in eighteen gets more than sixteen and 1.1 % of all
// hosts go behind. Fourteen a line are 0.5 bytes a host less, but 5 % go behind and one absent address in fifty asks
// there: up to 100,000 hosts that is slower than a table alone (docs/decisions.md). Ten a line are no faster than eleven.
//
// The table behind has room for what the build sends there and for what comes of a sixteenth more hosts, which meet one line in
// ten full at first and one in seven at the end: 1.8 % in all. Its own load is that of any table.
#pragma once

#include "weir/build/entry.hpp"
#include "weir/build/table_size.hpp"
#include "weir/table/word_line.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <span>

namespace weir::build {

inline constexpr double word_hosts_a_line = 11;
inline constexpr double word_share_behind = 0.019;  // whole groups go, so a little more than has no room
inline constexpr double word_absent_behind = 0.004; // of absent addresses, how many ask the table behind

[[nodiscard]] inline std::uint32_t word_lines(std::uint64_t hosts) noexcept {
  return std::max(lines_min,
                  static_cast<std::uint32_t>(std::ceil(static_cast<double>(hosts) / word_hosts_a_line)));
}
[[nodiscard]] constexpr std::uint64_t word_bytes(std::uint32_t lines) noexcept {
  return sizeof(table::WordHeader) + std::uint64_t{lines} * cache_line_bytes;
}

// Keys that the table behind is sized for: four standard deviations above what is to be expected of so many hosts, and
// all whose list has too large a number.
[[nodiscard]] inline std::uint64_t keys_behind_words(std::uint64_t hosts, std::uint64_t unnamable) noexcept {
  const double expected = static_cast<double>(hosts) * word_share_behind;
  return static_cast<std::uint64_t>(std::ceil(expected + 4 * std::sqrt(expected))) + unnamable;
}

struct WordSize {
  std::uint32_t lines = 0;
  std::uint64_t keys_behind = 0;
};
// Of entries among which there are prefixes, which count for nothing.
[[nodiscard]] inline WordSize word_size(std::span<const EntryV4> entries) noexcept {
  const auto is_host = [](const EntryV4 &e) { return e.length == 32; };
  const auto hosts = static_cast<std::uint64_t>(std::ranges::count_if(entries, is_host));
  const std::uint32_t lines = word_lines(hosts), lists = table::WordTableView::lists_of(lines);
  const auto unnamable =
      std::ranges::count_if(entries, [&](const EntryV4 &e) { return is_host(e) && e.list.value() >= lists; });
  return {lines, keys_behind_words(hosts, static_cast<std::uint64_t>(unnamable))};
}

} // namespace weir::build
