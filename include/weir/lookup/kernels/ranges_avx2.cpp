// The inner loops of range maps for AVX2: sixteen keys a compare, eight places of cells at a time.
//
// Every function here has internal linkage and carries the target itself, as in avx2.cpp.
#include "weir/lookup/kernels/choose.hpp"

#include <immintrin.h>

#define WEIR_TARGET __attribute__((target("avx2,bmi,bmi2,lzcnt,popcnt")))
#define WEIR_INLINE WEIR_TARGET __attribute__((always_inline)) inline

namespace weir::lookup {
namespace {

WEIR_INLINE __m256i load(const void *from) noexcept {
  return _mm256_loadu_si256(static_cast<const __m256i *>(from));
}
WEIR_INLINE void store(void *to, __m256i v) noexcept { _mm256_storeu_si256(static_cast<__m256i *>(to), v); }
WEIR_INLINE __m256i same64(std::uint64_t v) noexcept { return _mm256_set1_epi64x(static_cast<long long>(v)); }

// Pointers to eight elements of 2^shift bytes.
template <int shift>
WEIR_INLINE void store_pointers(const void *first, __m256i index, const void **to) noexcept {
  const __m256i base = same64(reinterpret_cast<std::uintptr_t>(first));
  const __m256i low = _mm256_cvtepu32_epi64(_mm256_castsi256_si128(index));
  const __m256i high = _mm256_cvtepu32_epi64(_mm256_extracti128_si256(index, 1));
  store(to, _mm256_add_epi64(base, _mm256_slli_epi64(low, shift)));
  store(to + 4, _mm256_add_epi64(base, _mm256_slli_epi64(high, shift)));
}

// As numbers.
WEIR_INLINE __m256i load_hosts(const std::uint32_t *wires) noexcept {
  const __m128i order = _mm_setr_epi8(3, 2, 1, 0, 7, 6, 5, 4, 11, 10, 9, 8, 15, 14, 13, 12);
  return _mm256_shuffle_epi8(load(wires), _mm256_broadcastsi128_si256(order));
}

// How many bits are set in each of eight words.
WEIR_INLINE __m256i count_bits(__m256i v) noexcept {
  const __m256i bits =
      _mm256_broadcastsi128_si256(_mm_setr_epi8(0, 1, 1, 2, 1, 2, 2, 3, 1, 2, 2, 3, 2, 3, 3, 4));
  const __m256i nibble = _mm256_set1_epi8(15);
  const __m256i low = _mm256_shuffle_epi8(bits, _mm256_and_si256(v, nibble));
  const __m256i high = _mm256_shuffle_epi8(bits, _mm256_and_si256(_mm256_srli_epi32(v, 4), nibble));
  const __m256i pairs = _mm256_maddubs_epi16(_mm256_add_epi8(low, high), _mm256_set1_epi8(1));
  return _mm256_madd_epi16(pairs, _mm256_set1_epi16(1));
}

WEIR_TARGET void words_v4(const table::RangeMapV4 &map, const std::uint32_t *wires, unsigned count,
                          const void **words) noexcept {
  for (unsigned i = 0; i < count; i += 8)
    store_pointers<3>(map.cells(), _mm256_srli_epi32(load_hosts(wires + i), 16), words + i);
}

// What pointers lead to. A load each takes less than half as long as a gather (docs/decisions.md).
WEIR_INLINE __m128i load_two(const void *const *from) noexcept {
  const __m128i low = _mm_loadl_epi64(static_cast<const __m128i *>(from[0]));
  return _mm_castps_si128(_mm_loadh_pi(_mm_castsi128_ps(low), static_cast<const __m64 *>(from[1])));
}
WEIR_INLINE __m256 joined(__m128i a, __m128i b) noexcept {
  return _mm256_castsi256_ps(_mm256_inserti128_si256(_mm256_castsi128_si256(a), b, 1));
}

WEIR_TARGET void places_v4(const table::RangeMapV4 &map, const std::uint32_t *wires, const void *const *words,
                           unsigned count, const table::RangeLine **lines, std::uint16_t *keys) noexcept {
  const __m256i one = _mm256_set1_epi32(1), two = _mm256_set1_epi32(2), low5 = _mm256_set1_epi32(31);
  const __m256i low16 = _mm256_set1_epi32(0xFFFF);
  for (unsigned i = 0; i < count; i += 8) {
    const __m256i host = load_hosts(wires + i);
    const __m256 low = joined(load_two(words + i), load_two(words + i + 4)); // cells 0, 1, 4, 5
    const __m256 high = joined(load_two(words + i + 2), load_two(words + i + 6));
    const __m256i first = _mm256_castps_si256(_mm256_shuffle_ps(low, high, 0x88));
    const __m256i bitmap = _mm256_castps_si256(_mm256_shuffle_ps(low, high, 0xDD));
    const __m256i part = _mm256_and_si256(_mm256_srli_epi32(host, 11), low5);
    const __m256i up_to = _mm256_sub_epi32(_mm256_sllv_epi32(two, part), one);
    const __m256i line = _mm256_add_epi32(first, count_bits(_mm256_and_si256(bitmap, up_to)));
    store_pointers<6>(map.lines(), line, reinterpret_cast<const void **>(lines + i));
    const __m256i key = _mm256_and_si256(host, low16);
    const __m256i packed = _mm256_permute4x64_epi64(_mm256_packus_epi32(key, key), 0xD8);
    _mm_storeu_si128(reinterpret_cast<__m128i *>(keys + i), _mm256_castsi256_si128(packed));
  }
}

template <bool points>
WEIR_TARGET void numbers(const std::uint32_t *dictionary, const std::uint16_t *said, unsigned count,
                         std::uint32_t *values) noexcept {
  const auto *words = reinterpret_cast<const int *>(dictionary);
  for (unsigned i = 0; i < count; i += 8) {
    const __m256i lane =
        _mm256_add_epi32(_mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7), _mm256_set1_epi32(static_cast<int>(i)));
    const __m256i asked = _mm256_cmpgt_epi32(_mm256_set1_epi32(static_cast<int>(count)), lane);
    __m256i v = _mm256_cvtepu16_epi32(_mm_loadu_si128(reinterpret_cast<const __m128i *>(said + i)));
    if constexpr (points) v = _mm256_andnot_si256(_mm256_set1_epi32(table::range_point), v);
    const __m256i given =
        _mm256_and_si256(asked, _mm256_cmpgt_epi32(_mm256_set1_epi32(table::range_lead), v));
    store(values + i, _mm256_mask_i32gather_epi32(_mm256_setzero_si256(), words, v, given, 4));
  }
}

// What is looked for in a line, in all places.
WEIR_INLINE __m256i wanted_in(const table::RangeLine & /*line*/, std::uint16_t key) noexcept {
  return _mm256_set1_epi16(static_cast<short>(key));
}
WEIR_INLINE __m256i wanted_in(const table::RangeLine &line, const table::KeyV6 &key) noexcept {
  const auto *words = reinterpret_cast<const std::uint8_t *>(&key);
  short window;
  __builtin_memcpy(&window, words + 2 * std::size_t{line.key[0]}, sizeof window);
  const __m128i swapped = _mm_setr_epi8(1, 0, 3, 2, 5, 4, 7, 6, 9, 8, 11, 10, 13, 12, 15, 14);
  return _mm256_shuffle_epi8(_mm256_set1_epi16(window), _mm256_broadcastsi128_si256(swapped));
}

template <bool points>
WEIR_INLINE std::uint16_t step_one(const table::RangeLine &line, __m256i wanted) noexcept {
  const __m256i keys = _mm256_load_si256(reinterpret_cast<const __m256i *>(line.key));
  __m256i answers = _mm256_cmpeq_epi16(_mm256_max_epu16(keys, wanted), wanted);
  if constexpr (points) {
    const __m256i values = _mm256_load_si256(reinterpret_cast<const __m256i *>(line.value));
    const __m256i point = _mm256_set1_epi16(table::range_point);
    const __m256i some = _mm256_cmpeq_epi16(_mm256_and_si256(values, point), point);
    answers = _mm256_andnot_si256(_mm256_andnot_si256(_mm256_cmpeq_epi16(keys, wanted), some), answers);
  }
  const auto bits = static_cast<unsigned>(_mm256_movemask_epi8(answers)) | 3; // two of each place
  return line.value[(31 - _lzcnt_u32(bits)) / 2];
}

WEIR_INLINE std::uint16_t wide_step(const table::RangeLine &line, const table::KeyV6 &address) noexcept {
  return table::wide_step(table::as_wide(line), table::RangeMapV6::wide_key(address, line.key[0]));
}

// Which of eight keys are at or below what is looked for.
WEIR_INLINE unsigned begun(const std::uint32_t *keys, __m256i wanted) noexcept {
  const __m256i answers = _mm256_cmpeq_epi32(_mm256_max_epu32(load(keys), wanted), wanted);
  return static_cast<unsigned>(_mm256_movemask_ps(_mm256_castsi256_ps(answers)));
}
// Ten keys: eight, and the last two of the eight that end with the line.
WEIR_INLINE std::uint16_t first_step(const table::RangeLine &line, std::uint32_t key) noexcept {
  const table::FirstLineV6 &first = table::as_first(line);
  const __m256i wanted = _mm256_set1_epi32(static_cast<int>(key));
  return first.value[_mm_popcnt_u32(begun(first.key, wanted) | (begun(first.key + 2, wanted) >> 6) << 8)];
}

// `special`: of a map that has points, or wide lines.
template <bool special>
WEIR_INLINE std::uint16_t step_for(const table::RangeLine &line, std::uint16_t key) noexcept {
  return step_one<special>(line, wanted_in(line, key));
}
template <bool special>
WEIR_INLINE std::uint16_t step_for(const table::RangeLine &line, const table::KeyV6 &address) noexcept {
  if (special && (line.key[0] & table::range_wide) != 0) return wide_step(line, address);
  return step_one<false>(line, wanted_in(line, address));
}

// The highest bits of 32 words.
WEIR_INLINE std::uint32_t high_bits(const std::uint16_t *words) noexcept {
  const __m256i a = _mm256_loadu_si256(reinterpret_cast<const __m256i *>(words));
  const __m256i b = _mm256_loadu_si256(reinterpret_cast<const __m256i *>(words + 16));
  const __m256i halves = _mm256_permute4x64_epi64(_mm256_packs_epi16(a, b), 0b11'01'10'00);
  return static_cast<std::uint32_t>(_mm256_movemask_epi8(halves));
}

template <bool special>
WEIR_INLINE std::uint16_t step_for(const table::RangeLine &line, std::uint32_t first_key) noexcept {
  return first_step(line, first_key);
}

// The bits that lead on are gathered at the end: in the loop they would be a fifth of its instructions.
template <class Key, bool points = false>
WEIR_TARGET std::uint64_t steps(const RangeArrays<Key> &arrays, std::uint16_t *said) noexcept {
  const auto r = arrays;
  unsigned i = 0;
#pragma GCC unroll 8
  for (; i < r.behind_count; ++i) {
    __builtin_prefetch(r.lines_behind[i], 0, 2);
    __builtin_prefetch(r.words_behind[i], 0, 2);
    said[i] = step_for<points>(*r.lines[i], r.keys[i]);
  }
  for (; i < r.count; ++i) said[i] = step_for<points>(*r.lines[i], r.keys[i]);
  return _bzhi_u64(high_bits(said) | std::uint64_t{high_bits(said + 32)} << 32, r.count);
}

// Without a branch for each question: which of them are led on again is not to be guessed.
template <class Key, bool special = false>
WEIR_TARGET unsigned follow(const RangeOpen<Key> &open, unsigned count, RangeOpen<Key> &next) noexcept {
  unsigned left = 0;
  for (unsigned i = 0; i < count; ++i) {
    const table::RangeLine *const line = open.lines[i];
    const Key *const key = open.keys[i];
    std::uint16_t *const to = open.said[i];
    const std::uint32_t said = step_for<special>(*line, *key);
    *to = static_cast<std::uint16_t>(said);
    const std::uint32_t on = said / table::range_lead;
    const table::RangeLine *const there = line + (said & (0 - on) & (table::range_lead - 1u));
    __builtin_prefetch(there, 0, 2);
    next.lines[left] = there;
    next.keys[left] = key;
    next.said[left] = to;
    left += on;
  }
  return left;
}

} // namespace

namespace kernels {
const RangeKernels ranges_avx2{portable::may_have_hosts,
                               words_v4,
                               places_v4,
                               portable::words_v6,
                               portable::places_v6,
                               steps<std::uint16_t>,
                               steps<std::uint16_t, true>,
                               steps<std::uint32_t>,
                               follow<std::uint16_t>,
                               follow<std::uint16_t, true>,
                               follow<table::KeyV6>,
                               follow<table::KeyV6, true>,
                               numbers<false>,
                               numbers<true>};
}

} // namespace weir::lookup
