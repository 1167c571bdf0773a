// A range line: sixteen neighbouring ranges of 16-bit keys in one cache line.
//
//   RangeLine   | key 0..15: u16 ascending, key 0 counts as 0 | value 0..15: u16 |
//
//   value   00 lead, point  13..0 the answer, a number of the section's dictionary
//           01 lead, point  13..0 the answer to this key alone
//           1  lead         14..0 ahead: the same step again, so many lines further on, at least 1
//
// The range of a key is the last one that begins at or before it: one compare of all keys, the highest
// bit, one load. Places that are not needed repeat the last range with key 0xFFFF, so that nobody needs the number of
// ranges, and a place of the line is always named, whatever stands in it.
//
// A point is a single address inside a range: it takes one place, where an address and what goes on behind it would
// take two. To all other keys points are not there; the range before them answers. Sections that are built with points
// (range_sections.hpp) have some, none of them in place 0; bit 14 of what leads on is 0 there.
//
// Of IPv6 a line may be wide, in sections that were built with such lines. Its keys have 80 bits, so that an answer that stands alone below a short prefix takes one line in
// place of five, of which each but the last would say nothing but where the next one is:
//
//   WideRangeLine | 8 | first window: u16 | value 0..5: u16 | key 1..5: low 16 bits each, then high 64 bits each |
//
// First lines of IPv6, which the array leads to (range_map_v6.hpp), look at 32 bits:
//
//   FirstLineV6   | 16 | value 0..10: u16 | key 1..10: u32 |
//
// Value n of both answers where n keys are at or below those bits of the address. Keys that are not needed are all ones and repeat
// the last value.
//
// A line in force never changes. A writer fills lines that nobody reads, and then stores the one word that
// leads to them (range_writer_v4.hpp).
#pragma once

#include "weir/base/bits.hpp"
#include "weir/table/line.hpp"

#include <array>
#include <bit>
#include <compare>
#include <cstdint>
#include <smmintrin.h>
#include <span>

namespace weir::table {

struct alignas(cache_line_bytes) RangeLine {
  static constexpr unsigned slots = 16;
  std::uint16_t key[slots];
  std::uint16_t value[slots];
};
static_assert(sizeof(RangeLine) == cache_line_bytes && std::has_unique_object_representations_v<RangeLine>);

// The same memory where `range_wide` is set in the first word.
struct [[gnu::may_alias]] alignas(cache_line_bytes) WideRangeLine {
  static constexpr unsigned keys = 5, slots = keys + 1, windows = 5; // of 16 bits each, that a key has
  std::uint16_t first_window;                                        // with range_wide
  std::uint16_t value[slots];
  std::uint16_t low[keys];
  std::uint64_t high[keys];
};
static_assert(sizeof(WideRangeLine) == sizeof(RangeLine) &&
              std::has_unique_object_representations_v<WideRangeLine>);
// The same memory where the first word is `range_first`.
struct [[gnu::may_alias]] alignas(cache_line_bytes) FirstLineV6 {
  static constexpr unsigned keys = 10, slots = keys + 1;
  std::uint16_t kind;
  std::uint16_t value[slots];
  std::uint32_t key[keys];
};
static_assert(sizeof(FirstLineV6) == sizeof(RangeLine) &&
              std::has_unique_object_representations_v<FirstLineV6>);
inline constexpr std::uint16_t range_wide = 8, range_first = 16; // windows are from 0 to 7
inline constexpr unsigned range_wide_window_max = 3;             // that a wide line begins with
inline constexpr unsigned range_first_shift_max = 9;             // of a place: at most 512 first lines
// Of IPv6; the first word of a line of IPv4 is a key.
[[nodiscard]] inline bool is_wide(const RangeLine &line) noexcept {
  return (read_relaxed(line.key[0]) & range_wide) != 0;
}
[[nodiscard]] inline bool is_first(const RangeLine &line) noexcept {
  return read_relaxed(line.key[0]) == range_first;
}
[[nodiscard]] inline const WideRangeLine &as_wide(const RangeLine &line) noexcept {
  return reinterpret_cast<const WideRangeLine &>(line);
}
[[nodiscard]] inline const FirstLineV6 &as_first(const RangeLine &line) noexcept {
  return reinterpret_cast<const FirstLineV6 &>(line);
}
[[nodiscard]] inline std::span<const std::uint16_t> values_of_v6(const RangeLine &line) noexcept {
  if (is_first(line)) return as_first(line).value;
  if (is_wide(line)) return as_wide(line).value;
  return line.value;
}

inline constexpr std::uint32_t range_values_max = 16'384; // answers have 14 bits
inline constexpr std::uint16_t range_lead = 0x8000, range_point = 0x4000;
inline constexpr std::uint32_t range_ahead_max = 0x7FFF;
inline constexpr std::uint32_t range_ahead_max_beside_points = range_point - 1;
inline constexpr unsigned range_steps_max = 255; // of an address; maps with more are refused

[[nodiscard]] constexpr bool leads_on(std::uint16_t value) noexcept { return (value & range_lead) != 0; }
[[nodiscard]] constexpr std::uint32_t lines_ahead(std::uint16_t value) noexcept {
  return value & range_ahead_max;
}

[[nodiscard]] constexpr bool is_point(std::uint16_t value) noexcept {
  return (value & (range_lead | range_point)) == range_point;
}
[[nodiscard]] constexpr std::uint16_t without_point(std::uint16_t value) noexcept {
  return static_cast<std::uint16_t>(is_point(value) ? value & ~range_point : value);
}

// Word by word: the portable form, and the one that the thread sanitizer understands.
[[nodiscard]] inline std::size_t range_place_wordwise(const RangeLine &line, std::uint16_t key) noexcept {
  std::size_t place = 0;
  for (unsigned s = 1; s < RangeLine::slots; ++s) {
    const std::uint16_t first = read_relaxed(line.key[s]);
    if (first == key || (first < key && !is_point(read_relaxed(line.value[s])))) place = s;
  }
  return place;
}

// The place that answers a key.
[[nodiscard]] inline std::size_t range_place(const RangeLine &line, std::uint16_t key) noexcept {
#ifdef WEIR_WORDWISE
  return range_place_wordwise(line, key);
#else
  const auto load = [](const std::uint16_t *from) {
    return _mm_load_si128(reinterpret_cast<const __m128i *>(from));
  };
  const __m128i wanted = _mm_set1_epi16(static_cast<short>(key)), point = _mm_set1_epi16(range_point);
  const __m128i kind = _mm_set1_epi16(static_cast<short>(range_lead | range_point));
  const auto answers = [&](unsigned from) { // of eight places
    const __m128i keys = load(line.key + from);
    const __m128i begun = _mm_cmpeq_epi16(_mm_max_epu16(keys, wanted), wanted);
    const __m128i points = _mm_cmpeq_epi16(_mm_and_si128(load(line.value + from), kind), point);
    const __m128i others = _mm_andnot_si128(_mm_cmpeq_epi16(keys, wanted), points);
    return _mm_andnot_si128(others, begun);
  };
  const auto some = static_cast<unsigned>(_mm_movemask_epi8(_mm_packs_epi16(answers(0), answers(8)))) | 1;
  return static_cast<std::size_t>(std::bit_width(some)) - 1;
#endif
}

// What the line says of a key: the number of its answer, or how far it leads on.
[[nodiscard]] inline std::uint16_t range_step(const RangeLine &line, std::uint16_t key) noexcept {
  return without_point(read_relaxed(line.value[range_place(line, key)]));
}

// 80 bits of an address, as a wide line has them.
struct WideKey {
  std::uint64_t high;
  std::uint16_t low;
  friend constexpr auto operator<=>(const WideKey &, const WideKey &) = default;
};
[[nodiscard]] inline std::uint16_t wide_step(const WideRangeLine &line, WideKey wanted) noexcept {
  unsigned place = 0;
  for (unsigned k = 0; k < WideRangeLine::keys; ++k)
    place += WideKey{read_relaxed(line.high[k]), read_relaxed(line.low[k])} <= wanted ? 1 : 0;
  return read_relaxed(line.value[place]);
}
[[nodiscard]] inline std::uint16_t first_step(const FirstLineV6 &line, std::uint32_t wanted) noexcept {
  unsigned place = 0;
  for (unsigned k = 0; k < FirstLineV6::keys; ++k) place += read_relaxed(line.key[k]) <= wanted ? 1 : 0;
  return read_relaxed(line.value[place]);
}

} // namespace weir::table
