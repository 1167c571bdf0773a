// Batches of questions to fuse tables for AVX-512 (F, DQ, VL): eight keys side by side.
//
// Every function here has internal linkage and carries the target itself, as in learn/tree_kernels_avx2.cpp.
#include "weir/filter/fuse_kernels.hpp"

#include <immintrin.h>

#include <algorithm>

// g++ 12 sees its own headers' "undefined" vectors as uninitialised.
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#pragma GCC diagnostic ignored "-Wuninitialized"
#endif

#define WEIR_TARGET __attribute__((target("avx2,avx512f,avx512dq,avx512vl")))
#define WEIR_INLINE WEIR_TARGET __attribute__((always_inline)) inline

namespace weir::filter {
namespace {

constexpr std::size_t lanes = 8;

WEIR_INLINE __m512i all(std::uint64_t v) noexcept { return _mm512_set1_epi64(static_cast<long long>(v)); }
WEIR_INLINE __m128i by(unsigned shift) noexcept { return _mm_cvtsi32_si128(static_cast<int>(shift)); }
WEIR_INLINE __m512i times(__m512i x, std::uint64_t factor) noexcept {
  return _mm512_mullo_epi64(x, all(factor));
}
WEIR_INLINE __m512i fold(__m512i x) noexcept { return _mm512_xor_si512(x, _mm512_srli_epi64(x, 33)); }

// remix() of hash.hpp.
WEIR_INLINE __m512i remix(__m512i keys, __m512i family) noexcept {
  const __m512i x = times(fold(_mm512_xor_si512(keys, family)), remix_factor_1);
  return fold(times(fold(x), remix_factor_2));
}

WEIR_INLINE __mmask8 first_lanes(std::size_t count) noexcept {
  return static_cast<__mmask8>((1u << std::min(count, lanes)) - 1);
}

template <unsigned ways> struct Table {
  const std::byte *slots;
  __m512i family, starts, length, slot_bits;

  WEIR_INLINE explicit Table(const FuseTable &table) noexcept
      : slots(table.slots), family(all(table.family)),
        starts(all(std::uint64_t{table.segments} << table.segment_log)),
        length(all(std::uint64_t{1} << table.segment_log)), slot_bits(all(table.slot_bits)) {}

  WEIR_INLINE __m512i mixed(std::span<const KeyHash> keys, std::size_t at) const noexcept {
    return remix(_mm512_maskz_loadu_epi64(first_lanes(keys.size() - at), keys.data() + at), family);
  }

  // Slot `slot` of eight keys, and what stands above it.
  WEIR_INLINE __m256i load(__m512i slot) const noexcept {
    const __m512i bit = _mm512_mul_epu32(slot, slot_bits);
    const __m256i word = _mm512_i64gather_epi32(_mm512_srli_epi64(bit, 3), slots, 1);
    return _mm256_srlv_epi32(word, _mm512_cvtepi64_epi32(_mm512_and_si512(bit, all(7))));
  }

  // `from`, combined with what the slots of eight keys hold: FuseShape::slots_of().
  WEIR_INLINE __m256i combined(__m256i from, __m512i h, __m512i turns) const noexcept {
    const __m512i low = _mm512_srli_epi64(_mm512_mul_epu32(h, starts), 32);
    const __m512i high = _mm512_mul_epu32(_mm512_srli_epi64(h, 32), starts);
    __m512i base = _mm512_srli_epi64(_mm512_add_epi64(high, low), 32);
    const __m512i within = _mm512_sub_epi64(length, all(1));
    constexpr unsigned last_turn = ways == 3 ? 0 : 10;
    __m256i bits = _mm256_xor_si256(from, load(base));
#pragma GCC unroll 4
    for (unsigned i = 1; i < ways; ++i) {
      base = _mm512_add_epi64(base, length);
      const __m512i turn =
          _mm512_and_si512(_mm512_srl_epi64(turns, by(last_turn + 18 * (ways - 1 - i))), within);
      bits = _mm256_xor_si256(bits, load(_mm512_xor_si512(base, turn)));
    }
    return bits;
  }
};

template <unsigned ways>
WEIR_TARGET HitMask accepted(const FuseTable &filter, std::span<const KeyHash> keys) noexcept {
  const Table<ways> table(filter);
  const __m256i mask = _mm256_set1_epi32(static_cast<int>((1u << filter.slot_bits) - 1));
  HitMask hits = 0;
  for (std::size_t at = 0; at < keys.size(); at += lanes) {
    const __m512i h = table.mixed(keys, at);
    const __m512i fingerprint = _mm512_srl_epi64(times(h, remix_factor_1), by(64 - filter.slot_bits));
    const __m256i differ =
        table.combined(_mm512_cvtepi64_epi32(fingerprint), h, ways == 3 ? h : times(h, remix_factor_2));
    hits |= HitMask{_mm256_mask_testn_epi32_mask(first_lanes(keys.size() - at), differ, mask)} << at;
  }
  return hits;
}

template <unsigned ways>
WEIR_TARGET void values_of(const FuseTable &retrieval, std::span<const KeyHash> keys,
                           std::uint32_t *values) noexcept {
  const Table<ways> table(retrieval);
  const std::uint32_t mask = (1u << retrieval.slot_bits) - 1;
  for (std::size_t at = 0; at < keys.size(); at += lanes) {
    const __m512i h = table.mixed(keys, at);
    const __m512i turns = times(_mm512_srl_epi64(h, by(retrieval.slot_bits)), remix_factor_2);
    const __m256i found = table.combined(_mm256_setzero_si256(), _mm512_andnot_si512(all(mask), h), turns);
    _mm256_mask_storeu_epi32(values + at, first_lanes(keys.size() - at),
                             _mm256_and_si256(found, _mm256_set1_epi32(static_cast<int>(mask))));
  }
}

// SharedKey of chained_and_shared.hpp.
template <unsigned ways>
WEIR_TARGET HitMask in_both(const FuseTable &chained, std::span<const KeyHash> keys) noexcept {
  const Table<ways> table(chained);
  const unsigned f = chained.slot_bits - 2;
  HitMask hits = 0;
  for (std::size_t at = 0; at < keys.size(); at += lanes) {
    const __m512i h = table.mixed(keys, at), rest = _mm512_srli_epi64(h, 1);
    const __m512i stirred = times(rest, remix_factor_1);
    const __m512i fingerprint = _mm512_srl_epi64(stirred, by(64 - f));
    const __m512i which = _mm512_and_si512(_mm512_srli_epi64(stirred, 31), all(1));
    const __m512i column = _mm512_sllv_epi64(all(std::uint64_t{1} << f), which);
    const __m256i wanted = _mm512_cvtepi64_epi32(_mm512_or_si512(fingerprint, column));
    const __m256i mask = _mm512_cvtepi64_epi32(_mm512_or_si512(column, all((std::uint64_t{1} << f) - 1)));
    const __m256i differ = table.combined(wanted, _mm512_or_si512(h, all(1)), times(rest, remix_factor_2));
    hits |= HitMask{_mm256_mask_testn_epi32_mask(first_lanes(keys.size() - at), differ, mask)} << at;
  }
  return hits;
}

template <unsigned ways> constexpr FuseKernels kernels_of{accepted<ways>, values_of<ways>, in_both<ways>};

} // namespace

const kernels::FuseKernelSet kernels::fuse_avx512{{kernels_of<3>, kernels_of<4>}};

} // namespace weir::filter
