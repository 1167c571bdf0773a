// How large the tables of a side, their chains and overlays become: from the number of keys alone. And what a
// build of them reports.
#pragma once

#include "weir/base/bits.hpp"
#include "weir/build/input.hpp"
#include "weir/table/line.hpp"
#include "weir/table/sections.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>

namespace weir::build {

// What the training of a chained predictor came to.
struct ChainReport {
  unsigned layers = 0; // 0: no chain
  std::array<std::uint64_t, 1 + table::chain_deep_layers_max> keys_of_layer{};
  std::uint64_t bytes = 0;
  double bits_per_key = 0;       // of the whole section; 0 without keys
  std::uint64_t lines_split = 0; // lines of table 1 with a group in both tables
  std::uint64_t wrong = 0;       // keys that the chain sends to the wrong table; 0 when exact
  double train_ms = 0;           // the chain alone, without the tables
  [[nodiscard]] bool exact() const noexcept { return layers > 0 && wrong == 0; }
};

struct TableReport {
  std::uint64_t keys = 0, in_table2 = 0, in_stash = 0, group_bits_set = 0, bytes = 0;
  double load = 0;         // keys / slots of both tables
  double lines_hit = 0;    // expected lines of a lookup that finds its key; 0 without keys
  double lines_absent = 0; // the same for an absent key
  ChainReport chain;
};

struct TableSize {
  std::uint32_t lines1 = 0, lines2 = 0, stash_lines = 0;
  [[nodiscard]] std::uint64_t bytes() const noexcept {
    return sizeof(table::TableHeader) + (std::uint64_t{lines1} + lines2 + stash_lines) * cache_line_bytes;
  }
};

// Keys per line of table 1 before overflow, and keys per line of table 2, that the sizes aim at.
struct Density {
  double keys_per_line1, share2, keys_per_line2;
  unsigned whole_groups = 0; // chained: groups a line that stay whole, one bit each in the first layer
};
template <class Line> inline constexpr Density inline_density{};
template <> inline constexpr Density inline_density<table::LineV4>{7.0, 0.090, 6.0};
template <> inline constexpr Density inline_density<table::LineV6>{3.4, 0.29, 2.5};
template <class Line> inline constexpr Density chained_density{};
template <> inline constexpr Density chained_density<table::LineV4>{8.0, 0.151, 5.2, 4};
template <> inline constexpr Density chained_density<table::LineV6>{4.0, 0.342, 2.1, 8};

template <class Line> [[nodiscard]] constexpr const Density &density(Predictor predictor) noexcept {
  return predictor == Predictor::chained ? chained_density<Line> : inline_density<Line>;
}

// What is to be expected of lines of table 1 that get more keys than they have slots: keys fall to lines by chance, so that
// their number in a line is Poisson's.
struct OverfullLines {
  double lines = 0, keys = 0; // keys: all that want such a line
};
template <class Line>
[[nodiscard]] OverfullLines overfull_expected(std::uint64_t keys, const Density &d) noexcept {
  const double load = d.keys_per_line1, lines = static_cast<double>(keys) / load;
  double chance = std::exp(-load), fitting = 0, keys_fitting = 0;
  for (unsigned k = 0; k <= Line::slots; ++k) {
    fitting += chance;
    keys_fitting += k * chance;
    chance *= load / (k + 1);
  }
  return {lines * (1 - fitting), lines * (load - keys_fitting)};
}
// Keys beyond the slots.
template <class Line> [[nodiscard]] double surplus_expected(std::uint64_t keys, const Density &d) noexcept {
  const OverfullLines overfull = overfull_expected<Line>(keys, d);
  return overfull.keys - Line::slots * overfull.lines;
}

// Of a table whose hosts stand in the range map: keys that come later.
[[nodiscard]] constexpr std::uint64_t room_beside_map(std::uint64_t hosts) noexcept { return hosts / 16; }

inline constexpr std::uint32_t lines_min = 16; // a small table still takes additions in place

// Keys that no chain of moves finds a place for are a matter of chance, key by key, so that their number grows with
// that of the keys. None was seen in 256 million; a reader looks into lines that are in use alone.
[[nodiscard]] constexpr std::uint32_t stash_lines(std::uint64_t keys) noexcept {
  constexpr std::uint32_t at_least = 4;
  constexpr std::uint64_t keys_a_line = std::uint64_t{1} << 22;
  return at_least + static_cast<std::uint32_t>(keys / keys_a_line);
}

template <class Line>
[[nodiscard]] TableSize table_size(std::uint64_t keys, Predictor predictor = Predictor::inline_bits,
                                   SizeRule rule = {}) {
  const Density &d = density<Line>(predictor);
  const auto n = static_cast<double>(keys);
  const auto lines = [rule](double wanted) {
    return rule(std::max(lines_min, static_cast<std::uint32_t>(std::ceil(wanted))));
  };
  return {lines(n / d.keys_per_line1), lines(n * d.share2 / d.keys_per_line2), stash_lines(keys)};
}

struct ChainSize {
  std::uint32_t lines1 = 0, groups = 0;
  std::array<std::uint32_t, table::chain_deep_layers_max> deep_words{};

  [[nodiscard]] std::uint64_t first_bytes() const noexcept {
    return round_up((std::uint64_t{lines1} * groups + 7) / 8, cache_line_bytes);
  }
  [[nodiscard]] std::uint64_t bytes() const noexcept {
    std::uint64_t words = 0;
    for (const std::uint32_t w : deep_words) words += w;
    return sizeof(table::ChainHeader) + first_bytes() + words * sizeof(std::uint64_t);
  }
};

inline constexpr std::uint32_t deep_words_min = 8; // a floor: a tiny layer accepts everything

// Room for deeper layers is kept before it is known how many are needed: one bit for 64 keys in F2, and
// half as many in each layer after it. A plan that knows better gives `words`.
template <class Line>
[[nodiscard]] ChainSize chain_size(std::uint64_t keys, const ChainWords &words = {}, SizeRule rule = {}) {
  ChainSize size{
      table_size<Line>(keys, Predictor::chained, rule).lines1, chained_density<Line>.whole_groups, {}};
  for (unsigned i = 0; i < size.deep_words.size(); ++i)
    size.deep_words[i] = rule(
        std::max(deep_words_min, words[0] != 0 ? words[i] : static_cast<std::uint32_t>(keys >> (12 + i))));
  return size;
}

inline constexpr unsigned front_bits_per_key = 14; // 0.26 % false positives; docs/decisions.md
inline constexpr std::uint32_t overlay_lines_min = 32;

// An overlay holds about one entry in 64 of the table, and has `least` lines.
template <class Line>
[[nodiscard]] constexpr std::uint32_t overlay_lines(std::uint64_t keys, SizeRule rule = {},
                                                    std::uint32_t least = 0) noexcept {
  rule.doublings = 0; // nothing that is built needs more of it
  return rule(std::max({overlay_lines_min, least, static_cast<std::uint32_t>(keys / 64 / Line::slots + 1)}));
}

} // namespace weir::build
