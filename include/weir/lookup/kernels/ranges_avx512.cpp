// The inner loops of range maps for AVX-512: a compare leaves its answer in a mask register; sixteen places of cells at a time.
//
// Every function here has internal linkage and carries the target itself, as in avx512.cpp.
#include "weir/lookup/kernels/choose.hpp"

#include <immintrin.h>

// g++ 12 sees its own headers' "undefined" vectors as uninitialised.
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#endif

#define WEIR_TARGET __attribute__((target("avx2,bmi,bmi2,lzcnt,popcnt,avx512f,avx512vl,avx512bw,avx512dq")))
#define WEIR_INLINE WEIR_TARGET __attribute__((always_inline)) inline

namespace weir::lookup {
namespace {

WEIR_INLINE __m512i same64(std::uint64_t v) noexcept { return _mm512_set1_epi64(static_cast<long long>(v)); }

// Pointers to sixteen elements of 2^shift bytes.
template <unsigned shift>
WEIR_INLINE void store_pointers(const void *first, __m512i index, const void **to) noexcept {
  const __m512i base = same64(reinterpret_cast<std::uintptr_t>(first));
  const __m512i low = _mm512_cvtepu32_epi64(_mm512_castsi512_si256(index));
  const __m512i high = _mm512_cvtepu32_epi64(_mm512_extracti64x4_epi64(index, 1));
  _mm512_storeu_si512(to, _mm512_add_epi64(base, _mm512_slli_epi64(low, shift)));
  _mm512_storeu_si512(to + 8, _mm512_add_epi64(base, _mm512_slli_epi64(high, shift)));
}

// As numbers.
WEIR_INLINE __m512i load_hosts(const std::uint32_t *wires) noexcept {
  const __m128i order = _mm_setr_epi8(3, 2, 1, 0, 7, 6, 5, 4, 11, 10, 9, 8, 15, 14, 13, 12);
  return _mm512_shuffle_epi8(_mm512_loadu_si512(wires), _mm512_broadcast_i32x4(order));
}

// How many bits are set in each of sixteen words.
WEIR_INLINE __m512i count_bits(__m512i v) noexcept {
  const __m512i bits = _mm512_broadcast_i32x4(_mm_setr_epi8(0, 1, 1, 2, 1, 2, 2, 3, 1, 2, 2, 3, 2, 3, 3, 4));
  const __m512i nibble = _mm512_set1_epi8(15);
  const __m512i low = _mm512_shuffle_epi8(bits, _mm512_and_si512(v, nibble));
  const __m512i high = _mm512_shuffle_epi8(bits, _mm512_and_si512(_mm512_srli_epi32(v, 4), nibble));
  const __m512i pairs = _mm512_maddubs_epi16(_mm512_add_epi8(low, high), _mm512_set1_epi8(1));
  return _mm512_madd_epi16(pairs, _mm512_set1_epi16(1));
}

WEIR_TARGET void words_v4(const table::RangeMapV4 &map, const std::uint32_t *wires, unsigned count,
                          const void **words) noexcept {
  for (unsigned i = 0; i < count; i += 16)
    store_pointers<3>(map.cells(), _mm512_srli_epi32(load_hosts(wires + i), 16), words + i);
}

WEIR_INLINE __m512i joined(__m128i a, __m128i b, __m128i c, __m128i d) noexcept {
  const __m256i low = _mm256_inserti128_si256(_mm256_castsi128_si256(a), b, 1);
  const __m256i high = _mm256_inserti128_si256(_mm256_castsi128_si256(c), d, 1);
  return _mm512_inserti64x4(_mm512_castsi256_si512(low), high, 1);
}
// What pointers lead to. A load each takes less than half as long as a gather (docs/decisions.md).
WEIR_INLINE __m128i load_two(const void *const *from) noexcept {
  const __m128i low = _mm_loadl_epi64(static_cast<const __m128i *>(from[0]));
  return _mm_castps_si128(_mm_loadh_pi(_mm_castsi128_ps(low), static_cast<const __m64 *>(from[1])));
}
WEIR_INLINE __m512i load_eight(const void *const *from) noexcept {
  return joined(load_two(from), load_two(from + 2), load_two(from + 4), load_two(from + 6));
}

WEIR_TARGET void places_v4(const table::RangeMapV4 &map, const std::uint32_t *wires, const void *const *words,
                           unsigned count, const table::RangeLine **lines, std::uint16_t *keys) noexcept {
  const __m512i even = _mm512_setr_epi32(0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30);
  const __m512i one = _mm512_set1_epi32(1), two = _mm512_set1_epi32(2), low5 = _mm512_set1_epi32(31);
  for (unsigned i = 0; i < count; i += 16) {
    const __m512i host = load_hosts(wires + i);
    const __m512i a = load_eight(words + i), b = load_eight(words + i + 8);
    const __m512i first = _mm512_permutex2var_epi32(a, even, b);
    const __m512i bitmap = _mm512_permutex2var_epi32(a, _mm512_or_si512(even, one), b);
    const __m512i part = _mm512_and_si512(_mm512_srli_epi32(host, 11), low5);
    const __m512i up_to = _mm512_sub_epi32(_mm512_sllv_epi32(two, part), one);
    const __m512i line = _mm512_add_epi32(first, count_bits(_mm512_and_si512(bitmap, up_to)));
    store_pointers<6>(map.lines(), line, reinterpret_cast<const void **>(lines + i));
    _mm256_storeu_si256(reinterpret_cast<__m256i *>(keys + i), _mm512_cvtepi32_epi16(host));
  }
}

// The first eight bytes of eight addresses.
WEIR_INLINE __m512i load_first_halves(const table::KeyV6 *addresses) noexcept {
  const __m512i firsts = _mm512_setr_epi64(0, 2, 4, 6, 8, 10, 12, 14);
  return _mm512_permutex2var_epi64(_mm512_loadu_si512(addresses), firsts, _mm512_loadu_si512(addresses + 4));
}

WEIR_TARGET std::uint64_t may_have_hosts(const table::HostMarks &marks, const table::KeyV6 *addresses,
                                         unsigned count) noexcept {
  if (marks.words() == nullptr) return _bzhi_u64(~std::uint64_t{0}, count);
  const __m512i spread = same64(table::HostMarks::spread);
  const __m128i shift = _mm_cvtsi32_si128(static_cast<int>(marks.shift()));
  std::uint64_t out = 0;
  for (unsigned i = 0; i < count; i += 8) {
    const auto asked = static_cast<__mmask8>(_bzhi_u32(0xFF, count - i));
    const __m512i net = _mm512_slli_epi64(load_first_halves(addresses + i), 16);
    const __m512i bit = _mm512_srl_epi64(_mm512_mullo_epi64(net, spread), shift);
    const __m256i word = _mm512_mask_i64gather_epi32(_mm256_setzero_si256(), asked, _mm512_srli_epi64(bit, 5),
                                                     marks.words(), 4);
    const __m256i in_word = _mm256_and_si256(_mm512_cvtepi64_epi32(bit), _mm256_set1_epi32(31));
    out |= std::uint64_t{_mm256_test_epi32_mask(_mm256_srlv_epi32(word, in_word), _mm256_set1_epi32(1))} << i;
  }
  return out;
}

// The first four bytes of sixteen addresses, as numbers.
WEIR_INLINE __m512i load_beginnings(const table::KeyV6 *addresses) noexcept {
  const __m512i a = _mm512_loadu_si512(addresses), b = _mm512_loadu_si512(addresses + 4);
  const __m512i c = _mm512_loadu_si512(addresses + 8), d = _mm512_loadu_si512(addresses + 12);
  const __m512i firsts = _mm512_setr_epi32(0, 4, 8, 12, 16, 20, 24, 28, 0, 4, 8, 12, 16, 20, 24, 28);
  const __m512i ab = _mm512_permutex2var_epi32(a, firsts, b), cd = _mm512_permutex2var_epi32(c, firsts, d);
  const __m128i order = _mm_setr_epi8(3, 2, 1, 0, 7, 6, 5, 4, 11, 10, 9, 8, 15, 14, 13, 12);
  return _mm512_shuffle_epi8(_mm512_mask_blend_epi64(0xF0, ab, cd), _mm512_broadcast_i32x4(order));
}

// The roots of four addresses.
WEIR_INLINE __m128i load_roots(const std::uint32_t *roots, const table::KeyV6 *addresses) noexcept {
  const auto root = [&](unsigned i) __attribute__((always_inline)) {
    return static_cast<int>(roots[table::RangeMapV6::window(addresses[i], 0)]);
  };
  __m128i four = _mm_cvtsi32_si128(root(0));
  four = _mm_insert_epi32(four, root(1), 1);
  four = _mm_insert_epi32(four, root(2), 2);
  return _mm_insert_epi32(four, root(3), 3);
}

WEIR_TARGET void words_v6(const table::RangeMapV6 &map, const table::KeyV6 *addresses, unsigned count,
                          const void **words) noexcept {
  const __m512i low16 = _mm512_set1_epi32(0xFFFF), bits16 = _mm512_set1_epi32(16);
  const __m512i first_mask = _mm512_set1_epi32(table::RangeMapV6::first_mask);
  for (unsigned i = 0; i < count; i += 16) {
    const __m512i beginning = load_beginnings(addresses + i);
    const __m512i root =
        joined(load_roots(map.roots(), addresses + i), load_roots(map.roots(), addresses + i + 4),
               load_roots(map.roots(), addresses + i + 8), load_roots(map.roots(), addresses + i + 12));
    const __m512i shift = _mm512_srli_epi32(root, 32 - table::RangeMapV6::shift_bits);
    const __m512i place =
        _mm512_srlv_epi32(_mm512_and_si512(beginning, low16), _mm512_sub_epi32(bits16, shift));
    store_pointers<2>(map.array(), _mm512_add_epi32(_mm512_and_si512(root, first_mask), place), words + i);
  }
}

// The third to the sixth byte of eight addresses, as numbers.
WEIR_INLINE __m512i load_first_keys(const table::KeyV6 *addresses) noexcept {
  const __m128i order = _mm_setr_epi8(5, 4, 3, 2, -1, -1, -1, -1, 13, 12, 11, 10, -1, -1, -1, -1);
  return _mm512_shuffle_epi8(load_first_halves(addresses), _mm512_broadcast_i32x4(order));
}

WEIR_TARGET void places_v6(const table::RangeMapV6 &map, const table::KeyV6 *addresses,
                           const void *const *words, unsigned count, const table::RangeLine **lines,
                           std::uint32_t *keys) noexcept {
  constexpr unsigned first_bits = 32 - table::RangeMapV6::shift_bits;
  const __m512i low16 = same64(0xFFFF), first_mask = same64(table::RangeMapV6::first_mask),
                bits16 = same64(16);
  const __m512i base = same64(reinterpret_cast<std::uintptr_t>(map.lines()));
  for (unsigned i = 0; i < count; i += 8) {
    const auto asked = static_cast<__mmask8>(_bzhi_u32(0xFF, count - i));
    const __m512i key = load_first_keys(addresses + i);
    const __m512i at = _mm512_loadu_si512(words + i);
    const __m512i place =
        _mm512_cvtepu32_epi64(_mm512_mask_i64gather_epi32(_mm256_setzero_si256(), asked, at, nullptr, 1));
    const __m512i behind = _mm512_srlv_epi64(_mm512_and_si512(key, low16),
                                             _mm512_sub_epi64(bits16, _mm512_srli_epi64(place, first_bits)));
    const __m512i line = _mm512_add_epi64(_mm512_and_si512(place, first_mask), behind);
    _mm512_storeu_si512(lines + i, _mm512_add_epi64(base, _mm512_slli_epi64(line, 6)));
    _mm256_storeu_si256(reinterpret_cast<__m256i *>(keys + i), _mm512_cvtepi64_epi32(key));
  }
}

template <bool points>
WEIR_TARGET void numbers(const std::uint32_t *dictionary, const std::uint16_t *said, unsigned count,
                         std::uint32_t *values) noexcept {
  for (unsigned i = 0; i < count; i += 16) {
    const auto asked = static_cast<__mmask16>(_bzhi_u32(0xFFFF, count - i));
    __m512i v = _mm512_cvtepu16_epi32(_mm256_loadu_si256(reinterpret_cast<const __m256i *>(said + i)));
    if constexpr (points) v = _mm512_andnot_si512(_mm512_set1_epi32(table::range_point), v);
    const __mmask16 given = _mm512_mask_cmplt_epu32_mask(asked, v, _mm512_set1_epi32(table::range_lead));
    _mm512_storeu_si512(values + i,
                        _mm512_mask_i32gather_epi32(_mm512_setzero_si512(), given, v, dictionary, 4));
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
  unsigned answers = _cvtmask16_u32(_mm256_cmple_epu16_mask(keys, wanted));
  if constexpr (points) {
    const __m256i values = _mm256_load_si256(reinterpret_cast<const __m256i *>(line.value));
    const __mmask16 ranges = _mm256_testn_epi16_mask(values, _mm256_set1_epi16(table::range_point));
    answers = _mm256_mask_cmple_epu16_mask(ranges, keys, wanted) | _mm256_cmpeq_epu16_mask(keys, wanted);
  }
  return line.value[31 ^ _lzcnt_u32(answers | 1)];
}

// Below and equal, of the keys of a wide line: words 3 to 7 of its memory, and as many low halves, which are in the same places
// of the words of 16 bits from the fifth on.
WEIR_INLINE std::uint16_t wide_step(const table::RangeLine &line, const table::KeyV6 &address) noexcept {
  const table::WideKey wanted = table::RangeMapV6::wide_key(address, line.key[0]);
  const __m512i words = _mm512_load_si512(&line), high = same64(wanted.high);
  const __m128i lows = _mm_loadu_si128(reinterpret_cast<const __m128i *>(line.key + 4));
  const unsigned less = _cvtmask8_u32(_mm512_cmplt_epu64_mask(words, high));
  const unsigned equal = _cvtmask8_u32(_mm512_cmpeq_epu64_mask(words, high));
  const unsigned low =
      _cvtmask8_u32(_mm_cmple_epu16_mask(lows, _mm_set1_epi16(static_cast<short>(wanted.low))));
  return table::as_wide(line).value[_mm_popcnt_u32((less | (equal & low)) >> 3)];
}

// Keys of a first line are the last ten of its sixteen words of 32 bits.
WEIR_INLINE std::uint16_t first_step(const table::RangeLine &line, std::uint32_t wanted) noexcept {
  const __m512i words = _mm512_load_si512(&line);
  const unsigned begun =
      _cvtmask16_u32(_mm512_cmple_epu32_mask(words, _mm512_set1_epi32(static_cast<int>(wanted))));
  return table::as_first(line).value[_mm_popcnt_u32(begun >> 6)];
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
  const std::uint64_t first = _mm512_movepi16_mask(_mm512_loadu_si512(said));
  const std::uint64_t second = _mm512_movepi16_mask(_mm512_loadu_si512(said + 32));
  return _bzhi_u64(first | second << 32, r.count);
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
const RangeKernels ranges_avx512{may_have_hosts,
                                 words_v4,
                                 places_v4,
                                 words_v6,
                                 places_v6,
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
