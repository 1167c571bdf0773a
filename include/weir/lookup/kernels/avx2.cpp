// The lookup's inner loops for AVX2: four hashes at a time, one compare a line of eight keys.
//
// Every function here has internal linkage and carries the target itself, so that no instruction
// beyond the baseline can leak into code that others share.
#include "weir/lookup/kernels/choose.hpp"

#include <array>
#include <bit>
#include <immintrin.h>

#define WEIR_TARGET __attribute__((target("avx2,bmi,bmi2")))
#define WEIR_INLINE WEIR_TARGET __attribute__((always_inline)) inline

namespace weir::lookup {
namespace {

WEIR_INLINE __m256i load(const void *from) noexcept {
  return _mm256_loadu_si256(static_cast<const __m256i *>(from));
}
WEIR_INLINE void store(void *to, __m256i v) noexcept { _mm256_storeu_si256(static_cast<__m256i *>(to), v); }
WEIR_INLINE __m256i same64(std::uint64_t v) noexcept { return _mm256_set1_epi64x(static_cast<long long>(v)); }
template <int N> WEIR_INLINE __m256i rotate_left(__m256i v) noexcept {
  return _mm256_or_si256(_mm256_slli_epi64(v, N), _mm256_srli_epi64(v, 64 - N));
}
template <int N> WEIR_INLINE __m256i xor_shifted(__m256i v) noexcept {
  return _mm256_xor_si256(v, _mm256_srli_epi64(v, N));
}

// Low halves of four products.
WEIR_INLINE __m256i multiply(__m256i a, std::uint64_t factor) noexcept {
  const __m256i low = same64(factor & 0xFFFFFFFF), high = same64(factor >> 32);
  const __m256i cross =
      _mm256_add_epi64(_mm256_mul_epu32(_mm256_srli_epi64(a, 32), low), _mm256_mul_epu32(a, high));
  return _mm256_add_epi64(_mm256_mul_epu32(a, low), _mm256_slli_epi64(cross, 32));
}

// Both halves of four products, xored.
WEIR_INLINE __m256i fold_product(__m256i a, __m256i b) noexcept {
  const __m256i low32 = same64(0xFFFFFFFF);
  const __m256i a1 = _mm256_srli_epi64(a, 32), b1 = _mm256_srli_epi64(b, 32);
  const __m256i p00 = _mm256_mul_epu32(a, b), p01 = _mm256_mul_epu32(a, b1);
  const __m256i p10 = _mm256_mul_epu32(a1, b), p11 = _mm256_mul_epu32(a1, b1);
  const __m256i middle =
      _mm256_add_epi64(_mm256_srli_epi64(p00, 32),
                       _mm256_add_epi64(_mm256_and_si256(p01, low32), _mm256_and_si256(p10, low32)));
  const __m256i high =
      _mm256_add_epi64(_mm256_add_epi64(p11, _mm256_srli_epi64(middle, 32)),
                       _mm256_add_epi64(_mm256_srli_epi64(p01, 32), _mm256_srli_epi64(p10, 32)));
  const __m256i low = _mm256_or_si256(_mm256_slli_epi64(middle, 32), _mm256_and_si256(p00, low32));
  return _mm256_xor_si256(high, low);
}

WEIR_INLINE __m256i swap_bytes(__m256i v) noexcept {
  const __m256i order = _mm256_setr_epi8(7, 6, 5, 4, 3, 2, 1, 0, 15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3,
                                         2, 1, 0, 15, 14, 13, 12, 11, 10, 9, 8);
  return _mm256_shuffle_epi8(v, order);
}

WEIR_TARGET void hash_v4(const std::uint32_t *keys, const std::uint64_t *flips, unsigned count,
                         KeyHash *hashes) noexcept {
  for (unsigned i = 0; i < count; i += 4) {
    __m256i h = _mm256_cvtepu32_epi64(_mm_loadu_si128(reinterpret_cast<const __m128i *>(keys + i)));
    h = _mm256_xor_si256(_mm256_or_si256(h, _mm256_slli_epi64(h, 32)), load(flips + i));
    h = _mm256_xor_si256(h, _mm256_xor_si256(rotate_left<49>(h), rotate_left<24>(h)));
    h = multiply(h, xxh3::rrmxmx_factor);
    h = _mm256_xor_si256(h, _mm256_add_epi64(_mm256_srli_epi64(h, 35), same64(4)));
    h = multiply(h, xxh3::rrmxmx_factor);
    store(hashes + i, xor_shifted<28>(h));
  }
}

WEIR_TARGET void hash_v6(const KeyV6 *keys, const std::uint64_t *seeds, unsigned count,
                         KeyHash *hashes) noexcept {
  for (unsigned i = 0; i < count; i += 4) {
    const __m256i a = load(keys + i), b = load(keys + i + 2), seed = load(seeds + i);
    const __m256i low = _mm256_permute4x64_epi64(_mm256_unpacklo_epi64(a, b), 0xD8);
    const __m256i high = _mm256_permute4x64_epi64(_mm256_unpackhi_epi64(a, b), 0xD8);
    const __m256i x = _mm256_xor_si256(low, _mm256_add_epi64(same64(xxh3::secret_v6_low), seed));
    const __m256i y = _mm256_xor_si256(high, _mm256_sub_epi64(same64(xxh3::secret_v6_high), seed));
    __m256i h = _mm256_add_epi64(_mm256_add_epi64(same64(16), swap_bytes(x)), y);
    h = xor_shifted<37>(_mm256_add_epi64(h, fold_product(x, y)));
    store(hashes + i, xor_shifted<32>(multiply(h, xxh3::avalanche_factor)));
  }
}

// Where the high half of each hash points to in an array of `size` elements of 2^bytes_log2 bytes.
template <int bytes_log2>
WEIR_INLINE void places(const void *hashes, unsigned count, const void *first, std::uint32_t size,
                        const void **to) noexcept {
  const __m256i base = same64(reinterpret_cast<std::uintptr_t>(first)), sizes = same64(size);
  const __m256i whole = same64(~((std::uint64_t{1} << bytes_log2) - 1));
  for (unsigned i = 0; i < count; i += 4) {
    const __m256i half = _mm256_srli_epi64(load(static_cast<const std::uint64_t *>(hashes) + i), 32);
    const __m256i offset =
        _mm256_and_si256(_mm256_srli_epi64(_mm256_mul_epu32(half, sizes), 32 - bytes_log2), whole);
    store(to + i, _mm256_add_epi64(base, offset));
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
  const auto *words = reinterpret_cast<const int *>(f.words);
  const __m256i base = same64(reinterpret_cast<std::uintptr_t>(table.first));
  const __m256i count1 = same64(table.count1), count2 = same64(table.count2);
  const __m256i group_mask = same64(f.group_mask), low5 = same64(31), one = same64(1);
  const __m128i group_shift = _mm_cvtsi32_si128(static_cast<int>(f.group_shift));
  for (unsigned i = 0; i < count; i += 4) {
    const __m256i h = load(hashes + i);
    const __m256i line1 = _mm256_srli_epi64(_mm256_mul_epu32(_mm256_srli_epi64(h, 32), count1), 32);
    const __m256i line2 = _mm256_add_epi64(_mm256_srli_epi64(_mm256_mul_epu32(h, count2), 32), count1);
    const __m256i bit =
        _mm256_or_si256(_mm256_sll_epi64(line1, group_shift), _mm256_and_si256(h, group_mask));
    const __m256i word = _mm256_cvtepu32_epi64(_mm256_i64gather_epi32(words, _mm256_srli_epi64(bit, 5), 4));
    const __m256i says = _mm256_and_si256(_mm256_srlv_epi64(word, _mm256_and_si256(bit, low5)), one);
    const __m256i line = _mm256_blendv_epi8(line1, line2, _mm256_cmpeq_epi64(says, one));
    store(lines + i, _mm256_add_epi64(base, _mm256_slli_epi64(line, 6)));
  }
}

// The first set lane of `same`, taken from v; 0 when there is none.
WEIR_INLINE std::uint32_t pick(__m256i v, unsigned same) noexcept {
  const __m256i lane = _mm256_castsi128_si256(_mm_cvtsi32_si128(static_cast<int>(_tzcnt_u32(same))));
  const auto value = static_cast<std::uint32_t>(_mm256_cvtsi256_si32(_mm256_permutevar8x32_epi32(v, lane)));
  return same != 0 ? value & ~value::group_bit : 0;
}

WEIR_INLINE std::uint32_t probe_one(const ProbeArrays<LineV4> &p, unsigned i) noexcept {
  const LineV4 &line = *p.lines[i];
  __m256i v = _mm256_load_si256(reinterpret_cast<const __m256i *>(line.value));
  asm volatile("" : "+x"(v) : : "memory"); // loaded by now: keys come after values
  const __m256i keys = _mm256_load_si256(reinterpret_cast<const __m256i *>(line.key));
  const __m256i same = _mm256_cmpeq_epi32(keys, _mm256_set1_epi32(static_cast<int>(p.keys[i])));
  const __m256i length = _mm256_and_si256(v, _mm256_set1_epi32(length_mask));
  const __m256i fits = _mm256_cmpeq_epi32(length, _mm256_set1_epi32(static_cast<int>(p.tags[i])));
  const __m256i answers = _mm256_and_si256(same, fits); // an empty slot has no length, and no tag is 0
  return pick(v, static_cast<unsigned>(_mm256_movemask_ps(_mm256_castsi256_ps(answers))));
}

WEIR_INLINE std::uint32_t probe_one(const ProbeArrays<LineV6> &p, unsigned i) noexcept {
  const LineV6 &line = *p.lines[i];
  __m128i v = _mm_load_si128(reinterpret_cast<const __m128i *>(line.value)); // lane 3: group bits
  asm volatile("" : "+x"(v) : : "memory");
  const __m128i key = _mm_load_si128(reinterpret_cast<const __m128i *>(&p.keys[i]));
  const __m256i two = _mm256_cmpeq_epi64(load(&line.key[0]), _mm256_broadcastsi128_si256(key));
  const __m128i third = _mm_cmpeq_epi64(_mm_load_si128(reinterpret_cast<const __m128i *>(&line.key[2])), key);
  const unsigned words = static_cast<unsigned>(_mm256_movemask_pd(_mm256_castsi256_pd(two))) |
                         static_cast<unsigned>(_mm_movemask_pd(_mm_castsi128_pd(third))) << 4;
  const __m128i length = _mm_and_si128(v, _mm_set1_epi32(length_mask));
  const __m128i list = _mm_and_si128(v, _mm_set1_epi32(value::list_mask));
  const __m128i fits = _mm_andnot_si128(_mm_cmpeq_epi32(list, _mm_setzero_si128()),
                                        _mm_cmpeq_epi32(length, _mm_set1_epi32(static_cast<int>(p.tags[i]))));
  const unsigned same =
      _pext_u32(words & words >> 1, 0x15) & static_cast<unsigned>(_mm_movemask_ps(_mm_castsi128_ps(fits)));
  return pick(_mm256_castsi128_si256(v), same);
}

// Of one line, to be read after its values.
WEIR_INLINE std::uint32_t groups_of(const LineV4 &line) noexcept {
  table::compiler_fence();
  return static_cast<std::uint32_t>(_mm256_movemask_ps(_mm256_castsi256_ps(load(line.value))));
}
WEIR_INLINE std::uint32_t groups_of(const LineV6 &line) noexcept {
  table::compiler_fence();
  return table::read_relaxed(line.group_bits);
}

template <bool grouped, class Line>
WEIR_INLINE void probe_all(const ProbeArrays<Line> &probes, std::uint32_t *values,
                           std::uint32_t *groups) noexcept {
  const auto p = probes; // in registers: a fence would reload what a reference names
  for (unsigned i = 0; i < p.count; ++i) {
    if (i < p.behind_count) prefetch_line(p.behind[i]);
    values[i] = probe_one(p, i);
    if constexpr (grouped) groups[i] = groups_of(*p.lines[i]);
  }
}

template <class Line>
WEIR_TARGET void probe(const ProbeArrays<Line> &p, std::uint32_t *values, std::uint32_t *groups) noexcept {
  groups != nullptr ? probe_all<true>(p, values, groups) : probe_all<false>(p, values, groups);
}

// Bit i: probe i found nothing, and the bit of its own group is set.
template <class Line> WEIR_INLINE std::uint64_t going_on(const FirstAnswers &a) noexcept {
  std::uint64_t set = 0;
  for (unsigned i = 0; i < a.count; i += 4) {
    const __m256i group = _mm256_and_si256(load(a.hashes + i), same64(Line::groups - 1));
    const __m256i bits =
        _mm256_cvtepu32_epi64(_mm_loadu_si128(reinterpret_cast<const __m128i *>(a.groups + i)));
    const __m256i own = _mm256_slli_epi64(_mm256_srlv_epi64(bits, group), 63);
    const __m128i value = _mm_loadu_si128(reinterpret_cast<const __m128i *>(a.values + i));
    const __m256i nothing = _mm256_cvtepi32_epi64(_mm_cmpeq_epi32(value, _mm_setzero_si128()));
    const __m256i both = _mm256_and_si256(own, nothing);
    set |= static_cast<std::uint64_t>(_mm256_movemask_pd(_mm256_castsi256_pd(both))) << i;
  }
  return _bzhi_u64(set, a.count);
}

template <class Line> WEIR_TARGET std::uint64_t settle(const FirstAnswers &answers) noexcept {
  return answers.hashes == nullptr ? 0 : going_on<Line>(answers);
}

// Of every lane the bit that `up` places lift to the top.
template <int up> WEIR_INLINE std::uint64_t lanes_with_bit(__m256i v) noexcept {
  return static_cast<std::uint64_t>(_mm256_movemask_ps(_mm256_castsi256_ps(_mm256_slli_epi32(v, up))));
}

WEIR_TARGET void cells(const std::uint64_t *map, const std::uint32_t *wires, unsigned count,
                       std::uint32_t *shorts, std::uint32_t *lengths) noexcept {
  const __m128i low8 = _mm_set1_epi32(0xFF), low16 = _mm_set1_epi32(0xFFFF);
  const __m128i length = _mm_set1_epi32(length_mask);
  const __m128i longest_short = _mm_set1_epi32(length_tag(table::short_length_max));
  for (unsigned i = 0; i < count; i += 4) {
    const __m128i w = _mm_loadu_si128(reinterpret_cast<const __m128i *>(wires + i));
    const __m128i index =
        _mm_or_si128(_mm_slli_epi32(_mm_and_si128(w, low8), 8), _mm_and_si128(_mm_srli_epi32(w, 8), low8));
    const __m256 cell = _mm256_castsi256_ps(
        _mm256_i32gather_epi64(reinterpret_cast<const long long *>(map), index, 8)); // four cells, in halves
    const __m128 first = _mm256_castps256_ps128(cell), second = _mm256_extractf128_ps(cell, 1);
    const __m128i low = _mm_castps_si128(_mm_shuffle_ps(first, second, 0x88));
    const __m128i used = _mm_and_si128(_mm_castps_si128(_mm_shuffle_ps(first, second, 0xDD)), low16);
    const __m128i lone = _mm_cmpgt_epi32(_mm_and_si128(low, length), longest_short);
    _mm_storeu_si128(reinterpret_cast<__m128i *>(shorts + i), _mm_andnot_si128(lone, low));
    _mm_storeu_si128(reinterpret_cast<__m128i *>(lengths + i), used);
  }
}

WEIR_TARGET void or_else(std::uint32_t *values, const std::uint32_t *otherwise, unsigned count) noexcept {
  for (unsigned i = 0; i < count; i += 8) {
    const __m256i v = load(values + i), none = _mm256_cmpeq_epi32(v, _mm256_setzero_si256());
    store(values + i, _mm256_blendv_epi8(v, load(otherwise + i), none));
  }
}

WEIR_TARGET CellSigns signs(const std::uint32_t *map, const std::uint32_t *wires, unsigned count) noexcept {
  const __m256i word_high = _mm256_set1_epi32(0xFF0), word_low = _mm256_set1_epi32(0xF);
  const __m256i place = _mm256_set1_epi32(2 * (table::signs_a_word - 1));
  CellSigns out{};
  for (unsigned i = 0; i < count; i += 8) { // an address's first byte is its lowest, the second the next
    const __m256i w = load(wires + i);
    const __m256i word = _mm256_or_si256(_mm256_and_si256(_mm256_slli_epi32(w, 4), word_high),
                                         _mm256_and_si256(_mm256_srli_epi32(w, 12), word_low));
    const __m256i shift = _mm256_and_si256(_mm256_srli_epi32(w, 7), place);
    const __m256i sign =
        _mm256_srlv_epi32(_mm256_i32gather_epi32(reinterpret_cast<const int *>(map), word, 4), shift);
    out.hosts |= lanes_with_bit<std::countl_zero(table::sign_hosts)>(sign) << i;
    out.more |= lanes_with_bit<std::countl_zero(table::sign_more)>(sign) << i;
  }
  return {_bzhi_u64(out.hosts, count), _bzhi_u64(out.more, count)};
}

WEIR_TARGET std::uint64_t listed(const std::uint32_t *values, unsigned count) noexcept {
  const __m256i list = _mm256_set1_epi32(value::list_mask);
  std::uint64_t unset = 0;
  for (unsigned i = 0; i < count; i += 8) {
    const __m256i nothing =
        _mm256_cmpeq_epi32(_mm256_and_si256(load(values + i), list), _mm256_setzero_si256());
    unset |= static_cast<std::uint64_t>(_mm256_movemask_ps(_mm256_castsi256_ps(nothing))) << i;
  }
  return _bzhi_u64(~unset, count);
}

// The halves of four pointers whose bits are set, in order, in front.
constexpr auto halves_of_ones = [] {
  std::array<std::array<std::uint32_t, 8>, 16> halves{};
  for (unsigned mask = 0; mask < 16; ++mask)
    for (unsigned bit = 0, at = 0; bit < 4; ++bit)
      if ((mask >> bit & 1) != 0) {
        halves[mask][at++] = 2 * bit;
        halves[mask][at++] = 2 * bit + 1;
      }
  return halves;
}();

WEIR_TARGET void part(void *const *pointers, unsigned count, std::uint64_t mask, void **zeros,
                      void **ones) noexcept {
  for (unsigned i = 0; i < count; i += 4, mask >>= 4) {
    const __m256i p = load(pointers + i);
    const auto bits = static_cast<unsigned>(mask & 0xF);
    store(zeros, _mm256_permutevar8x32_epi32(p, load(halves_of_ones[bits ^ 0xF].data())));
    store(ones, _mm256_permutevar8x32_epi32(p, load(halves_of_ones[bits].data())));
    const int set = std::popcount(bits);
    zeros += 4 - set;
    ones += set;
  }
}

WEIR_TARGET std::uint64_t sum(const std::uint32_t *values, unsigned count, std::uint64_t mask) noexcept {
  const __m256i bit = _mm256_setr_epi64x(1, 2, 4, 8);
  __m256i sum = _mm256_setzero_si256();
  mask = _bzhi_u64(mask, count);
  for (unsigned i = 0; i < count; i += 4, mask >>= 4) {
    const __m256i v = _mm256_cvtepu32_epi64(_mm_loadu_si128(reinterpret_cast<const __m128i *>(values + i)));
    const __m256i set = _mm256_cmpeq_epi64(_mm256_and_si256(same64(mask), bit), bit);
    sum = _mm256_add_epi64(sum, _mm256_and_si256(v, set));
  }
  const __m128i pair = _mm_add_epi64(_mm256_castsi256_si128(sum), _mm256_extracti128_si256(sum, 1));
  return static_cast<std::uint64_t>(_mm_cvtsi128_si64(pair) + _mm_extract_epi64(pair, 1));
}

WEIR_TARGET void mix(const KeyHash *hashes, unsigned count, std::uint64_t layer,
                     std::uint64_t *mixed) noexcept {
  for (unsigned i = 0; i < count; i += 4) {
    __m256i x = xor_shifted<33>(_mm256_xor_si256(load(hashes + i), same64(layer)));
    x = xor_shifted<33>(multiply(x, remix_factor_1));
    store(mixed + i, xor_shifted<33>(multiply(x, remix_factor_2)));
  }
}

// 1 where a block has all bits of a hash.
WEIR_INLINE unsigned has_bits(const filter::Block &block, std::uint64_t mixed, __m256i odd) noexcept {
  const __m256i product = _mm256_mullo_epi32(_mm256_set1_epi32(static_cast<int>(mixed)), odd);
  const __m256i bits = _mm256_sllv_epi32(_mm256_set1_epi32(1), _mm256_srli_epi32(product, 27));
  return static_cast<unsigned>(_mm256_testc_si256(load(&block), bits));
}

} // namespace

namespace kernels {
WEIR_TARGET unsigned bloom_avx2(const BloomProbes &probes, std::uint16_t *kept) noexcept {
  const auto p = probes; // in registers
  const __m256i odd = load(filter::SplitBlockBloom::odd.data());
  unsigned left = 0, i = 0;
  for (; i < p.behind_count; ++i) {
    prefetch_line(p.behind[i]);
    kept[left] = static_cast<std::uint16_t>(i);
    left += has_bits(*p.blocks[i], p.mixed[i], odd);
  }
  for (; i < p.count; ++i) {
    kept[left] = static_cast<std::uint16_t>(i);
    left += has_bits(*p.blocks[i], p.mixed[i], odd);
  }
  return left;
}

const Kernels avx2{"avx2",          hash_v4,       hash_v6,        lines1,         lines_led,
                   probe<LineV4>,   probe<LineV6>, settle<LineV4>, settle<LineV6>, cells,
                   or_else,         signs,         listed,         part,           sum,
                   portable::weave, mix,           blocks,         bloom_avx2,     &ranges_avx2,
                   &words_avx2};
} // namespace kernels

} // namespace weir::lookup
