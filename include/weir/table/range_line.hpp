// A range line: sixteen neighbouring ranges of 16-bit keys in one cache line.
//
//   RangeLine   | key 0..15: u16 ascending, key 0 counts as 0 | value 0..15: u16 |
//
//   value   0 lead  14..0 the answer, a number of the section's dictionary, below 16,384
//           1 lead  14..0 ahead: the same step again, so many lines further on, at least 1
//
// The range of a key is the last one that begins at or before it: one compare of all keys, one count of bits,
// one load. Places that are not needed repeat the last range with key 0xFFFF, so that the count needs no
// number of ranges and always names a place of the line, whatever stands in it. Bit 14 of an answer is 0; it
// is kept free for lines that hold single addresses beside ranges.
//
// A line in force never changes. A writer fills lines that nobody reads, and then stores the one word that
// leads to them (range_writer_v4.hpp).
#pragma once

#include "weir/base/bits.hpp"
#include "weir/table/line.hpp"

#include <array>
#include <bit>
#include <cstdint>
#include <smmintrin.h>

namespace weir::table {

struct alignas(cache_line_bytes) RangeLine {
  static constexpr unsigned slots = 16;
  std::uint16_t key[slots];
  std::uint16_t value[slots];
};
static_assert(sizeof(RangeLine) == cache_line_bytes && std::has_unique_object_representations_v<RangeLine>);

inline constexpr std::uint32_t range_values_max = 16'384; // answers have 14 bits
inline constexpr std::uint16_t range_lead = 0x8000;
inline constexpr std::uint32_t range_ahead_max = 0x7FFF;
inline constexpr unsigned range_steps_max = 255; // of an address; maps with more are refused

[[nodiscard]] constexpr bool leads_on(std::uint16_t value) noexcept { return (value & range_lead) != 0; }
[[nodiscard]] constexpr std::uint32_t lines_ahead(std::uint16_t value) noexcept {
  return value & range_ahead_max;
}

// Word by word: the portable form, and the one that the thread sanitizer understands.
[[nodiscard]] inline std::uint16_t range_step_wordwise(const RangeLine &line, std::uint16_t key) noexcept {
  unsigned place = 0;
  for (unsigned s = 1; s < RangeLine::slots; ++s) place += read_relaxed(line.key[s]) <= key;
  return read_relaxed(line.value[place]);
}

// What the line says of a key.
[[nodiscard]] inline std::uint16_t range_step(const RangeLine &line, std::uint16_t key) noexcept {
#ifdef WEIR_WORDWISE
  return range_step_wordwise(line, key);
#else
  const auto *keys = reinterpret_cast<const __m128i *>(line.key);
  const __m128i wanted = _mm_set1_epi16(static_cast<short>(key));
  const __m128i low = _mm_cmpeq_epi16(_mm_max_epu16(_mm_load_si128(keys), wanted), wanted);
  const __m128i high = _mm_cmpeq_epi16(_mm_max_epu16(_mm_load_si128(keys + 1), wanted), wanted);
  const auto begun = static_cast<unsigned>(_mm_movemask_epi8(_mm_packs_epi16(low, high)));
  return read_relaxed(line.value[std::popcount(begun | 1) - 1]);
#endif
}

} // namespace weir::table
