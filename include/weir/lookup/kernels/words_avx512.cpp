// The inner loops of lines of words for AVX-512: sixteen addresses at a time; a compare leaves its answer in a mask register.
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

WEIR_INLINE __m512i same32(std::uint32_t v) noexcept { return _mm512_set1_epi32(static_cast<int>(v)); }
WEIR_INLINE __m512i same64(std::uint64_t v) noexcept { return _mm512_set1_epi64(static_cast<long long>(v)); }

template <unsigned r> WEIR_INLINE __m512i scatter_round(__m512i x, const table::Scatter &by) noexcept {
  x = _mm512_mullo_epi32(_mm512_xor_si512(x, same32(by.key[r])), same32(table::Scatter::factor[r]));
  return _mm512_xor_si512(x, _mm512_srli_epi32(x, table::Scatter::shift[r]));
}
// The lines that eight scattered addresses name: the high halves of their products.
WEIR_INLINE void store_lines(__m256i x, const table::WordTableView &table, const void **to) noexcept {
  const __m512i product = _mm512_mul_epu32(_mm512_cvtepu32_epi64(x), same64(table.count));
  const __m512i offset = _mm512_and_si512(_mm512_srli_epi64(product, 26), same64(~std::uint64_t{63}));
  const __m512i base = same64(reinterpret_cast<std::uintptr_t>(table.lines));
  _mm512_storeu_si512(to, _mm512_add_epi64(base, offset));
}

WEIR_TARGET void aim(const table::WordTableView &table, const std::uint32_t *wires, unsigned count,
                     const void **lines, std::uint32_t *first_words) noexcept {
  const auto t = table; // in registers
  for (unsigned i = 0; i < count; i += 16) {
    __m512i x = scatter_round<0>(_mm512_loadu_si512(wires + i), t.scatter);
    x = scatter_round<1>(x, t.scatter);
    x = scatter_round<2>(x, t.scatter);
    const __m512i rest = _mm512_and_si512(_mm512_mullo_epi32(x, same32(t.count)), same32(~t.below_rest()));
    _mm512_storeu_si512(first_words + i, _mm512_or_si512(rest, same32(1u << 1)));
    store_lines(_mm512_castsi512_si256(x), t, lines + i);
    store_lines(_mm512_extracti64x4_epi64(x, 1), t, lines + i + 8);
  }
}

WEIR_INLINE void probe_one(const WordProbes &p, unsigned i, __m256i words_a_key, std::uint32_t *values,
                           std::uint32_t *groups) noexcept {
  const table::WordLine *const line = p.lines[i];
  const std::uint32_t first_word = p.first_words[i];
  __m256i a = _mm256_load_si256(reinterpret_cast<const __m256i *>(line->word));
  __m256i b = _mm256_load_si256(reinterpret_cast<const __m256i *>(line->word + 8));
  asm volatile("" : "+x"(a), "+x"(b) : : "memory"); // loaded by now: the group bit comes after words
  const __m256i first = _mm256_set1_epi32(static_cast<int>(first_word));
  const __mmask8 same_a = _mm256_cmplt_epu32_mask(_mm256_sub_epi32(a, first), words_a_key);
  const __mmask8 same_b = _mm256_cmplt_epu32_mask(_mm256_sub_epi32(b, first), words_a_key);
  const __m256i word =
      _mm256_maskz_compress_epi32(_kor_mask8(same_a, same_b), _mm256_mask_mov_epi32(a, same_b, b));
  values[i] = static_cast<std::uint32_t>(_mm256_cvtsi256_si32(word));
  groups[i] = line->word[first_word >> 28] & table::WordTableView::group_bit;
}

WEIR_TARGET void probe(const WordProbes &probes, std::uint32_t *values, std::uint32_t *groups) noexcept {
  const auto p = probes; // in registers: a fence would reload what a reference names
  const __m256i words_a_key = _mm256_set1_epi32(static_cast<int>(p.words_a_key));
  unsigned i = 0;
#pragma GCC unroll 4
  for (; i < p.behind_count; ++i) {
    prefetch_line(p.behind[i]);
    probe_one(p, i, words_a_key, values, groups);
  }
  for (; i < p.count; ++i) probe_one(p, i, words_a_key, values, groups);
}

WEIR_TARGET std::uint64_t settle(const WordAnswers &a) noexcept {
  const __m512i list_bits = same32(a.list_bits), host = same32(length_tag(32));
  std::uint64_t going_on = 0;
  for (unsigned i = 0; i < a.count; i += 16) {
    const __m512i word = _mm512_loadu_si512(a.values + i), own = _mm512_loadu_si512(a.groups + i);
    const __mmask16 found = _mm512_test_epi32_mask(word, word);
    const __m512i list = _mm512_srli_epi32(_mm512_and_si512(word, list_bits), 1);
    _mm512_storeu_si512(a.values + i, _mm512_maskz_or_epi32(found, list, host));
    going_on |= std::uint64_t{_mm512_mask_test_epi32_mask(_knot_mask16(found), own, own)} << i;
  }
  return _bzhi_u64(going_on, a.count);
}

} // namespace

namespace kernels {
const WordKernels words_avx512{aim, probe, settle};
}

} // namespace weir::lookup
