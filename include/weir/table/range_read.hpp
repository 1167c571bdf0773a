// The ranges of a part of a map as they are in force, for who changes them: of a /16 of IPv4, or of a place of the
// array of IPv6. Neighbours of one answer are one range. Values are table values, and 0 where no prefix of one bit
// and more answers.
#pragma once

#include "weir/table/range_prefix.hpp"
#include "weir/table/range_windows.hpp"
#include "weir/table/range_writer_v4.hpp"
#include "weir/table/range_writer_v6.hpp"

#include <algorithm>
#include <bit>
#include <cstdint>
#include <cstring>
#include <vector>

namespace weir::table {

namespace detail {

// Calls visit(first key, key behind, what the line says) for each place of a line, within [from, to), and for what
// goes on behind a point.
void for_each_step(const RangeLine &line, std::uint32_t from, std::uint32_t to, const auto &visit) {
  std::uint16_t around = line.value[0];
  for (unsigned s = 0; s < RangeLine::slots; ++s) {
    std::uint32_t first = s == 0 ? from : std::max<std::uint32_t>(line.key[s], from);
    const std::uint32_t end = s + 1 < RangeLine::slots ? std::min<std::uint32_t>(line.key[s + 1], to) : to;
    if (!is_point(line.value[s])) {
      around = line.value[s];
    } else if (first < end && first == line.key[s]) {
      visit(first, first + 1, without_point(line.value[s]));
      ++first;
    }
    if (first < end) visit(first, end, around);
  }
}

// A line that does nothing but lead on, to what a value could not reach, is none of its window (range_packer.hpp).
[[nodiscard]] inline const RangeLine *past_hops(const RangeLine *line) noexcept {
  while (!is_wide(*line) && leads_on(line->value[0]) &&
         std::ranges::count(line->value, line->value[0]) == RangeLine::slots)
    line += lines_ahead(line->value[0]);
  return line;
}

template <class Map> [[nodiscard]] std::uint32_t value_of(const Map &map, std::uint16_t number) noexcept {
  return number == 0 ? 0 : map.value(number);
}

inline void read_line(const RangeMapV4 &map, const RangeLine *line, std::uint32_t from, std::uint32_t to,
                      std::vector<CellRange> &out) {
  for_each_step(*line, from, to, [&](std::uint32_t first, std::uint32_t end, std::uint16_t said) {
    if (leads_on(said)) return read_line(map, line + lines_ahead(said), first, end, out);
    const std::uint32_t value = value_of(map, said);
    if (out.empty() || out.back().value != value) out.push_back({static_cast<std::uint16_t>(first), value});
  });
}

inline void read_line(const RangeMapV6 &map, const RangeLine *line, const AddressV6 &base, std::uint32_t from,
                      std::uint32_t to, std::vector<PlaceRange> &out);

// The first address of key `k`. `base`: as below.
[[nodiscard]] inline AddressV6 first_of_wide(const WideRangeLine &line, unsigned k,
                                             const AddressV6 &base) noexcept {
  KeyV6 at = question_of(base);
  auto *to =
      reinterpret_cast<std::byte *>(&at) + std::size_t{2} * (line.first_window & range_wide_window_max);
  const std::uint64_t high = std::byteswap(line.high[k]);
  const std::uint16_t low = byteswap16(line.low[k]);
  std::memcpy(to, &high, sizeof high);
  std::memcpy(to + sizeof high, &low, sizeof low);
  return address_of(at);
}
inline void read_range(const RangeMapV6 &map, const AddressV6 &first, std::uint16_t number,
                       std::vector<PlaceRange> &out) {
  const std::uint32_t value = value_of(map, number);
  if (out.empty() || out.back().value != value) out.push_back({first, value});
}
// All of a line that one key leads to, which is behind the windows of that key. `base`: the address with zeros from there on.
inline void read_line_below(const RangeMapV6 &map, const RangeLine *line, const AddressV6 &base,
                            std::vector<PlaceRange> &out) {
  line = past_hops(line);
  if (!is_wide(*line)) return read_line(map, line, base, 0, 0x10000, out);
  const WideRangeLine &wide = as_wide(*line);
  for (unsigned n = 0; n < WideRangeLine::slots; ++n) {
    const bool begins = n != 0 && (wide.high[n - 1] != ~std::uint64_t{0} || wide.low[n - 1] != 0xFFFF);
    if (n != 0 && !begins && wide.value[n] == wide.value[n - 1])
      return; // no place but those that are not needed
    const AddressV6 first = n == 0 ? base : first_of_wide(wide, n - 1, base);
    if (leads_on(wide.value[n]))
      read_line_below(map, line + lines_ahead(wide.value[n]), first, out);
    else
      read_range(map, first, wide.value[n], out);
  }
}

// `base`: the address with zeros from the line's window on.
inline void read_line(const RangeMapV6 &map, const RangeLine *line, const AddressV6 &base, std::uint32_t from,
                      std::uint32_t to, std::vector<PlaceRange> &out) {
  const unsigned window = line->key[0], shift = 48 - 16 * (window % 4);
  for_each_step(*line, from, to, [&](std::uint32_t first, std::uint32_t end, std::uint16_t said) {
    AddressV6 at = base;
    (window < 4 ? at.high : at.low) |= std::uint64_t{first} << shift;
    if (!leads_on(said)) return read_range(map, at, said, out);
    const RangeLine *next = past_hops(line + lines_ahead(said));
    if (next->key[0] == window) return read_line(map, next, base, first, end, out);
    read_line_below(map, next, at, out); // of one key: it looks at the windows behind
  });
}

// What a first line says of keys from `first` to `end`, which have one answer.
inline void read_keys(const RangeMapV6 &map, const RangeLine *line, std::uint64_t root, std::uint64_t first,
                      std::uint64_t end, std::uint16_t said, std::vector<PlaceRange> &out) {
  const AddressV6 at{root << 48 | first << 16, 0};
  if (!leads_on(said)) return read_range(map, at, said, out);
  line = past_hops(line + lines_ahead(said));
  const unsigned window = is_wide(*line) ? 3 : line->key[0];
  const auto key = static_cast<std::uint32_t>(first & 0xFFFF), keys = static_cast<std::uint32_t>(end - first);
  if (window == 1 && key != 0) return; // told with the first share
  if (window == 1)
    return read_line(map, line, {root << 48, 0}, static_cast<std::uint32_t>(first >> 16),
                     static_cast<std::uint32_t>((end + 0xFFFF) >> 16), out);
  if (window == 2)
    return read_line(map, line, {at.high >> 32 << 32, 0}, key, std::min(key + keys, 0x10000u), out);
  read_line_below(map, line, at, out);
}
inline void read_first_line(const RangeMapV6 &map, const RangeLine *line, std::uint64_t root,
                            std::uint64_t from, std::uint64_t to, std::vector<PlaceRange> &out) {
  const FirstLineV6 &first = as_first(*line);
  for (unsigned n = 0; n < FirstLineV6::slots; ++n) {
    const std::uint64_t begin = n == 0 ? from : std::max<std::uint64_t>(first.key[n - 1], from);
    const std::uint64_t end = n < FirstLineV6::keys ? std::min<std::uint64_t>(first.key[n], to) : to;
    if (begin < end) read_keys(map, line, root, begin, end, first.value[n], out);
  }
}

} // namespace detail

inline void read_cell(const RangeMapV4 &map, std::uint32_t cell, std::vector<CellRange> &out) {
  out.clear();
  const std::uint64_t word = map.cells()[cell];
  const RangeLine *line = map.lines() + static_cast<std::uint32_t>(word);
  for (std::uint32_t starts = static_cast<std::uint32_t>(word >> 32) | 1; starts != 0; ++line) { // /21s
    const std::uint32_t from = static_cast<std::uint32_t>(std::countr_zero(starts)) << 11;
    starts &= starts - 1;
    const std::uint32_t to =
        starts == 0 ? 0x10000 : static_cast<std::uint32_t>(std::countr_zero(starts)) << 11;
    detail::read_line(map, line, from, to, out);
  }
}

// `root`: the first 16 bits; `place`: the next bits, as many as the root's shift says.
inline void read_place(const RangeMapV6 &map, std::uint32_t root, std::uint32_t place,
                       std::vector<PlaceRange> &out) {
  out.clear();
  const std::uint32_t keys = 0x10000u >> RangeMapV6::root_shift(map.root(root));
  const std::uint32_t from = place * keys, to = from + keys;
  const std::uint32_t word = map.array()[RangeMapV6::first_place(map.root(root)) + place];
  const RangeLine *const lines = map.lines() + RangeMapV6::first_of_place(word);
  const unsigned shift = RangeMapV6::place_shift(word);
  if (shift == 0)
    return detail::read_first_line(map, lines, root, std::uint64_t{from} << 16, std::uint64_t{to} << 16, out);
  // Each line answers its share of window 2. Keys of window 1 below which no line has a key have one answer, but for the first one of
  // the place: what a line begins with has no key.
  std::vector<std::uint32_t> crowds{from};
  for (std::uint32_t l = 0; l < 1u << shift; ++l)
    for (const std::uint32_t key : as_first(lines[l]).key)
      if (key >> 16 >= from && key >> 16 < to) crowds.push_back(key >> 16);
  std::ranges::sort(crowds);
  crowds.erase(std::ranges::unique(crowds).begin(), crowds.end());
  crowds.push_back(to);
  std::uint32_t next = from;
  for (const std::uint32_t crowd : crowds) {
    if (next < crowd)
      detail::read_first_line(map, lines, root, std::uint64_t{next} << 16, std::uint64_t{crowd} << 16, out);
    if (crowd == to) break;
    const std::uint64_t share = 0x10000u >> shift;
    for (std::uint32_t l = 0; l < 1u << shift; ++l) {
      const std::uint64_t begin = (std::uint64_t{crowd} << 16) + l * share;
      detail::read_first_line(map, lines + l, root, begin, begin + share, out);
    }
    next = crowd + 1;
  }
}

} // namespace weir::table
