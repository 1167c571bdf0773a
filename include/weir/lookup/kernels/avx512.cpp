// The lookup's inner loops for AVX-512 (F, VL, BW, DQ): eight hashes at a time; a compare leaves its
// answer in a mask register, so a probe has no branch.
//
// Every function here has internal linkage and carries the target itself, so that no instruction
// beyond the baseline can leak into code that others share.
#include "weir/lookup/kernels/choose.hpp"

#include <bit>
#include <immintrin.h>

// g++ 12 sees its own headers' "undefined" vectors as uninitialised.
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#pragma GCC diagnostic ignored "-Wuninitialized"
#endif

#define WEIR_TARGET __attribute__((target("avx2,bmi,bmi2,avx512f,avx512vl,avx512bw,avx512dq")))
#define WEIR_INLINE WEIR_TARGET __attribute__((always_inline)) inline

namespace weir::lookup {
namespace {

WEIR_INLINE __m512i same64(std::uint64_t v) noexcept { return _mm512_set1_epi64(static_cast<long long>(v)); }
template <int N> WEIR_INLINE __m512i xor_shifted(__m512i v) noexcept {
  return _mm512_xor_si512(v, _mm512_srli_epi64(v, N));
}
WEIR_INLINE __m512i multiply(__m512i a, std::uint64_t factor) noexcept {
  return _mm512_mullo_epi64(a, same64(factor));
}

// Both halves of eight products, xored.
WEIR_INLINE __m512i fold_product(__m512i a, __m512i b) noexcept {
  const __m512i low32 = same64(0xFFFFFFFF);
  const __m512i a1 = _mm512_srli_epi64(a, 32), b1 = _mm512_srli_epi64(b, 32);
  const __m512i p01 = _mm512_mul_epu32(a, b1), p10 = _mm512_mul_epu32(a1, b);
  const __m512i middle =
      _mm512_add_epi64(_mm512_srli_epi64(_mm512_mul_epu32(a, b), 32),
                       _mm512_add_epi64(_mm512_and_si512(p01, low32), _mm512_and_si512(p10, low32)));
  const __m512i high =
      _mm512_add_epi64(_mm512_add_epi64(_mm512_mul_epu32(a1, b1), _mm512_srli_epi64(middle, 32)),
                       _mm512_add_epi64(_mm512_srli_epi64(p01, 32), _mm512_srli_epi64(p10, 32)));
  return _mm512_xor_si512(high, _mm512_mullo_epi64(a, b));
}

WEIR_INLINE __m512i swap_bytes(__m512i v) noexcept {
  const __m128i order = _mm_setr_epi8(7, 6, 5, 4, 3, 2, 1, 0, 15, 14, 13, 12, 11, 10, 9, 8);
  return _mm512_shuffle_epi8(v, _mm512_broadcast_i32x4(order));
}

WEIR_TARGET void hash_v4(const std::uint32_t *keys, const std::uint64_t *flips, unsigned count,
                         KeyHash *hashes) noexcept {
  for (unsigned i = 0; i < count; i += 8) {
    __m512i h = _mm512_cvtepu32_epi64(_mm256_loadu_si256(reinterpret_cast<const __m256i *>(keys + i)));
    h = _mm512_xor_si512(_mm512_or_si512(h, _mm512_slli_epi64(h, 32)), _mm512_loadu_si512(flips + i));
    h = _mm512_xor_si512(h, _mm512_xor_si512(_mm512_rol_epi64(h, 49), _mm512_rol_epi64(h, 24)));
    h = multiply(h, xxh3::rrmxmx_factor);
    h = _mm512_xor_si512(h, _mm512_add_epi64(_mm512_srli_epi64(h, 35), same64(4)));
    h = multiply(h, xxh3::rrmxmx_factor);
    _mm512_storeu_si512(hashes + i, xor_shifted<28>(h));
  }
}

WEIR_TARGET void hash_v6(const KeyV6 *keys, const std::uint64_t *seeds, unsigned count,
                         KeyHash *hashes) noexcept {
  const __m512i even = _mm512_setr_epi64(0, 2, 4, 6, 8, 10, 12, 14);
  const __m512i odd = _mm512_setr_epi64(1, 3, 5, 7, 9, 11, 13, 15);
  for (unsigned i = 0; i < count; i += 8) {
    const __m512i a = _mm512_loadu_si512(keys + i), b = _mm512_loadu_si512(keys + i + 4);
    const __m512i low = _mm512_permutex2var_epi64(a, even, b), high = _mm512_permutex2var_epi64(a, odd, b);
    const __m512i seed = _mm512_loadu_si512(seeds + i);
    const __m512i x = _mm512_xor_si512(low, _mm512_add_epi64(same64(xxh3::secret_v6_low), seed));
    const __m512i y = _mm512_xor_si512(high, _mm512_sub_epi64(same64(xxh3::secret_v6_high), seed));
    __m512i h = _mm512_add_epi64(_mm512_add_epi64(same64(16), swap_bytes(x)), y);
    h = xor_shifted<37>(_mm512_add_epi64(h, fold_product(x, y)));
    _mm512_storeu_si512(hashes + i, xor_shifted<32>(multiply(h, xxh3::avalanche_factor)));
  }
}

// Where the high half of each hash points to in an array of `size` elements of 2^bytes_log2 bytes.
template <int bytes_log2>
WEIR_INLINE void places(const void *hashes, unsigned count, const void *first, std::uint32_t size,
                        const void **to) noexcept {
  const __m512i base = same64(reinterpret_cast<std::uintptr_t>(first)), sizes = same64(size);
  const __m512i whole = same64(~((std::uint64_t{1} << bytes_log2) - 1));
  for (unsigned i = 0; i < count; i += 8) {
    const __m512i half =
        _mm512_srli_epi64(_mm512_loadu_si512(static_cast<const std::uint64_t *>(hashes) + i), 32);
    const __m512i product = _mm512_mul_epu32(half, sizes);
    const __m512i offset = _mm512_and_si512(_mm512_srli_epi64(product, 32 - bytes_log2), whole);
    _mm512_storeu_si512(to + i, _mm512_add_epi64(base, offset));
  }
}

WEIR_TARGET void lines1(const KeyHash *hashes, unsigned count, const void *first, std::uint32_t size,
                        const void **lines) noexcept {
  places<6>(hashes, count, first, size, lines);
}

WEIR_TARGET void blocks(const filter::SplitBlockBloom &filter, const std::uint64_t *mixed, unsigned count,
                        const void **targets) noexcept {
  places<5>(mixed, count, filter.blocks(), filter.count(), targets);
}

WEIR_TARGET void lines_led(const KeyHash *hashes, unsigned count, const LedTable &table,
                           const void **lines) noexcept {
  const auto &f = table.predictor;
  const __m512i base = same64(reinterpret_cast<std::uintptr_t>(table.first));
  const __m512i count1 = same64(table.count1), count2 = same64(table.count2);
  const __m512i group_mask = same64(f.group_mask), low5 = same64(31), one = same64(1);
  const __m128i group_shift = _mm_cvtsi32_si128(static_cast<int>(f.group_shift));
  for (unsigned i = 0; i < count; i += 8) {
    const __m512i h = _mm512_loadu_si512(hashes + i);
    const __m512i line1 = _mm512_srli_epi64(_mm512_mul_epu32(_mm512_srli_epi64(h, 32), count1), 32);
    const __m512i line2 = _mm512_add_epi64(_mm512_srli_epi64(_mm512_mul_epu32(h, count2), 32), count1);
    const __m512i bit =
        _mm512_or_si512(_mm512_sll_epi64(line1, group_shift), _mm512_and_si512(h, group_mask));
    const __m512i word = _mm512_cvtepu32_epi64(_mm512_i64gather_epi32(_mm512_srli_epi64(bit, 5), f.words, 4));
    const __m512i asked = _mm512_sllv_epi64(one, _mm512_and_si512(bit, low5));
    const __m512i line = _mm512_mask_blend_epi64(_mm512_test_epi64_mask(word, asked), line1, line2);
    _mm512_storeu_si512(lines + i, _mm512_add_epi64(base, _mm512_slli_epi64(line, 6)));
  }
}

// The mask says which slot of v answers.
WEIR_INLINE void take(std::uint32_t *to, __m256i v, __mmask8 same) noexcept {
  *to = static_cast<std::uint32_t>(_mm256_cvtsi256_si32(_mm256_maskz_compress_epi32(same, v)));
}

// Takes the group bits off the values; a set bit of the result is a probe that found nothing.
WEIR_INLINE std::uint64_t misses(std::uint32_t *values, unsigned count) noexcept {
  const __m512i without_group = _mm512_set1_epi32(static_cast<int>(~value::group_bit));
  std::uint64_t missed = 0;
  for (unsigned i = 0; i < count; i += 16) {
    const __m512i v = _mm512_and_si512(_mm512_loadu_si512(values + i), without_group);
    _mm512_storeu_si512(values + i, v);
    missed |= std::uint64_t{_mm512_testn_epi32_mask(v, v)} << i;
  }
  return _bzhi_u64(missed, count);
}

// Bit i: the bit of probe i's own group.
template <class Line> WEIR_INLINE std::uint64_t group_bits(const FirstAnswers &a) noexcept {
  std::uint64_t set = 0;
  for (unsigned i = 0; i < a.count; i += 8) {
    const __m512i group = _mm512_and_si512(_mm512_loadu_si512(a.hashes + i), same64(Line::groups - 1));
    const __m256i bits = _mm256_loadu_si256(reinterpret_cast<const __m256i *>(a.groups + i));
    const __m512i own = _mm512_srlv_epi64(_mm512_cvtepu32_epi64(bits), group);
    set |= std::uint64_t{_mm512_test_epi64_mask(own, same64(1))} << i;
  }
  return set;
}

// Of one line, to be read after its values.
WEIR_INLINE std::uint32_t groups_of(const LineV4 &line) noexcept {
  table::compiler_fence();
  return static_cast<std::uint32_t>(
      _mm256_movemask_ps(_mm256_load_ps(reinterpret_cast<const float *>(line.value))));
}
WEIR_INLINE std::uint32_t groups_of(const LineV6 &line) noexcept {
  table::compiler_fence();
  return table::read_relaxed(line.group_bits);
}

WEIR_INLINE void probe_one(const ProbeArrays<LineV4> &p, unsigned i, std::uint32_t *values) noexcept {
  const LineV4 &line = *p.lines[i];
  __m256i v = _mm256_load_si256(reinterpret_cast<const __m256i *>(line.value));
  asm volatile("" : "+x"(v) : : "memory"); // loaded by now: keys come after values
  const __m256i keys = _mm256_load_si256(reinterpret_cast<const __m256i *>(line.key));
  __mmask8 same = _mm256_cmpeq_epi32_mask(keys, _mm256_set1_epi32(static_cast<int>(p.keys[i])));
  const __m256i length = _mm256_and_si256(v, _mm256_set1_epi32(length_mask));
  same = _mm256_mask_cmpeq_epi32_mask(same, length, _mm256_set1_epi32(static_cast<int>(p.tags[i])));
  take(values + i, v, same); // an empty slot has no length, and no tag is 0
}

WEIR_INLINE void probe_one(const ProbeArrays<LineV6> &p, unsigned i, std::uint32_t *values) noexcept {
  const LineV6 &line = *p.lines[i];
  __m128i v = _mm_load_si128(reinterpret_cast<const __m128i *>(line.value)); // lane 3: group bits
  asm volatile("" : "+x"(v) : : "memory");
  const __m128i key = _mm_load_si128(reinterpret_cast<const __m128i *>(&p.keys[i]));
  const unsigned words = _mm512_cmpeq_epi64_mask(_mm512_load_si512(&line), _mm512_broadcast_i64x2(key));
  auto same = static_cast<__mmask8>(_pext_u32(words & words >> 1, 0x15)); // both halves of keys 0, 1, 2
  const __m128i length = _mm_and_si128(v, _mm_set1_epi32(length_mask));
  same = _mm_mask_cmpeq_epi32_mask(same, length, _mm_set1_epi32(static_cast<int>(p.tags[i])));
  same = _mm_mask_test_epi32_mask(same, v, _mm_set1_epi32(value::list_mask));
  take(values + i, _mm256_zextsi128_si256(v), same);
}

template <bool grouped, class Line>
WEIR_INLINE void probe_all(const ProbeArrays<Line> &probes, std::uint32_t *values,
                           std::uint32_t *groups) noexcept {
  const auto p = probes; // in registers: a fence would reload what a reference names
  unsigned i = 0;
  for (; i < p.behind_count; ++i) {
    prefetch_line(p.behind[i]);
    probe_one(p, i, values);
    if constexpr (grouped) groups[i] = groups_of(*p.lines[i]);
  }
  for (; i < p.count; ++i) {
    probe_one(p, i, values);
    if constexpr (grouped) groups[i] = groups_of(*p.lines[i]);
  }
}

template <class Line>
WEIR_TARGET void probe(const ProbeArrays<Line> &p, std::uint32_t *values, std::uint32_t *groups) noexcept {
  groups != nullptr ? probe_all<true>(p, values, groups) : probe_all<false>(p, values, groups);
}

template <class Line> WEIR_TARGET std::uint64_t settle(const FirstAnswers &answers) noexcept {
  const std::uint64_t missed = misses(answers.values, answers.count);
  return answers.hashes == nullptr ? 0 : missed & group_bits<Line>(answers);
}

WEIR_TARGET void cells(const std::uint64_t *map, const std::uint32_t *wires, unsigned count,
                       std::uint32_t *shorts, std::uint32_t *lengths) noexcept {
  const __m256i low8 = _mm256_set1_epi32(0xFF), low16 = _mm256_set1_epi32(0xFFFF);
  const __m256i length = _mm256_set1_epi32(length_mask);
  const __m256i longest_short = _mm256_set1_epi32(length_tag(table::short_length_max));
  for (unsigned i = 0; i < count; i += 8) {
    const __m256i w = _mm256_loadu_si256(reinterpret_cast<const __m256i *>(wires + i));
    const __m256i index = _mm256_or_si256(_mm256_slli_epi32(_mm256_and_si256(w, low8), 8),
                                          _mm256_and_si256(_mm256_srli_epi32(w, 8), low8));
    const __m512i cell = _mm512_i32gather_epi64(index, map, 8);
    const __m256i used = _mm256_and_si256(_mm512_cvtepi64_epi32(_mm512_srli_epi64(cell, 32)), low16);
    const __m256i value = _mm512_cvtepi64_epi32(cell);
    const __mmask8 is_short = _mm256_cmple_epu32_mask(_mm256_and_si256(value, length), longest_short);
    _mm256_storeu_si256(reinterpret_cast<__m256i *>(shorts + i), _mm256_maskz_mov_epi32(is_short, value));
    _mm256_storeu_si256(reinterpret_cast<__m256i *>(lengths + i), used);
  }
}

WEIR_TARGET void or_else(std::uint32_t *values, const std::uint32_t *otherwise, unsigned count) noexcept {
  for (unsigned i = 0; i < count; i += 16) {
    const __m512i v = _mm512_loadu_si512(values + i);
    _mm512_storeu_si512(values + i, _mm512_mask_loadu_epi32(v, _mm512_testn_epi32_mask(v, v), otherwise + i));
  }
}

WEIR_TARGET CellSigns signs(const std::uint32_t *map, const std::uint32_t *wires, unsigned count) noexcept {
  const __m512i word_high = _mm512_set1_epi32(0xFF0), word_low = _mm512_set1_epi32(0xF);
  const __m512i place = _mm512_set1_epi32(2 * (table::signs_a_word - 1));
  const __m512i hosts = _mm512_set1_epi32(table::sign_hosts), more = _mm512_set1_epi32(table::sign_more);
  CellSigns out{};
  for (unsigned i = 0; i < count; i += 16) { // an address's first byte is its lowest, the second the next
    const __m512i w = _mm512_loadu_si512(wires + i);
    const __m512i word = _mm512_or_si512(_mm512_and_si512(_mm512_slli_epi32(w, 4), word_high),
                                         _mm512_and_si512(_mm512_srli_epi32(w, 12), word_low));
    const __m512i shift = _mm512_and_si512(_mm512_srli_epi32(w, 7), place);
    const __m512i sign = _mm512_srlv_epi32(_mm512_i32gather_epi32(word, map, 4), shift);
    out.hosts |= std::uint64_t{_mm512_test_epi32_mask(sign, hosts)} << i;
    out.more |= std::uint64_t{_mm512_test_epi32_mask(sign, more)} << i;
  }
  return {_bzhi_u64(out.hosts, count), _bzhi_u64(out.more, count)};
}

WEIR_TARGET std::uint64_t listed(const std::uint32_t *values, unsigned count) noexcept {
  const __m512i list = _mm512_set1_epi32(value::list_mask);
  std::uint64_t set = 0;
  for (unsigned i = 0; i < count; i += 16)
    set |= std::uint64_t{_mm512_test_epi32_mask(_mm512_loadu_si512(values + i), list)} << i;
  return _bzhi_u64(set, count);
}

WEIR_TARGET void part(void *const *pointers, unsigned count, std::uint64_t mask, void **zeros,
                      void **ones) noexcept {
  for (unsigned i = 0; i < count; i += 8, mask >>= 8) {
    const __m512i p = _mm512_loadu_si512(pointers + i);
    const auto bits = static_cast<__mmask8>(mask);
    _mm512_storeu_si512(zeros, _mm512_maskz_compress_epi64(_knot_mask8(bits), p));
    _mm512_storeu_si512(ones, _mm512_maskz_compress_epi64(bits, p));
    const int set = std::popcount(bits);
    zeros += 8 - set;
    ones += set;
  }
}

WEIR_TARGET std::uint64_t sum(const std::uint32_t *values, unsigned count, std::uint64_t mask) noexcept {
  __m512i sum = _mm512_setzero_si512();
  mask = _bzhi_u64(mask, count);
  for (unsigned i = 0; i < count; i += 8, mask >>= 8) {
    const __m512i v =
        _mm512_cvtepu32_epi64(_mm256_loadu_si256(reinterpret_cast<const __m256i *>(values + i)));
    sum = _mm512_mask_add_epi64(sum, static_cast<__mmask8>(mask), sum, v);
  }
  const __m256i halves = _mm256_add_epi64(_mm512_castsi512_si256(sum), _mm512_extracti64x4_epi64(sum, 1));
  const __m128i pair = _mm_add_epi64(_mm256_castsi256_si128(halves), _mm256_extracti128_si256(halves, 1));
  return static_cast<std::uint64_t>(_mm_cvtsi128_si64(pair) + _mm_extract_epi64(pair, 1));
}

WEIR_TARGET void weave(const std::uint32_t *zeros, const std::uint32_t *ones, unsigned count,
                       std::uint64_t mask, std::uint32_t *out) noexcept {
  for (unsigned i = 0; i < count; i += 16, mask >>= 16) {
    const auto bits = static_cast<__mmask16>(mask);
    const auto set = static_cast<unsigned>(std::popcount(bits));
    const auto first = [](unsigned lanes) { return static_cast<__mmask16>((1u << lanes) - 1); };
    const __m512i z = _mm512_maskz_loadu_epi32(first(16 - set), zeros);
    const __m512i o = _mm512_maskz_loadu_epi32(first(set), ones);
    _mm512_storeu_si512(out + i,
                        _mm512_mask_expand_epi32(_mm512_maskz_expand_epi32(_knot_mask16(bits), z), bits, o));
    zeros += 16 - set;
    ones += set;
  }
}

WEIR_TARGET void mix(const KeyHash *hashes, unsigned count, std::uint64_t layer,
                     std::uint64_t *mixed) noexcept {
  for (unsigned i = 0; i < count; i += 8) {
    __m512i x = xor_shifted<33>(_mm512_xor_si512(_mm512_loadu_si512(hashes + i), same64(layer)));
    x = xor_shifted<33>(multiply(x, remix_factor_1));
    _mm512_storeu_si512(mixed + i, xor_shifted<33>(multiply(x, remix_factor_2)));
  }
}

} // namespace

namespace kernels {
const Kernels avx512{"avx512",      hash_v4,       hash_v6,        lines1,         lines_led,
                     probe<LineV4>, probe<LineV6>, settle<LineV4>, settle<LineV6>, cells,
                     or_else,       signs,         listed,         part,           sum,
                     weave,         mix,           blocks,         bloom_avx2,     &ranges_avx512,
                     &words_avx512};
}

} // namespace weir::lookup
