// The inner loops of lines of words for AVX2: eight addresses at a time; a line in two compares.
//
// Every function here has internal linkage and carries the target itself, as in avx2.cpp.
#include "weir/lookup/kernels/choose.hpp"

#include <immintrin.h>

#define WEIR_TARGET __attribute__((target("avx2,bmi,bmi2")))
#define WEIR_INLINE WEIR_TARGET __attribute__((always_inline)) inline

namespace weir::lookup {
namespace {

WEIR_INLINE __m256i load(const void *from) noexcept {
  return _mm256_loadu_si256(static_cast<const __m256i *>(from));
}
WEIR_INLINE void store(void *to, __m256i v) noexcept { _mm256_storeu_si256(static_cast<__m256i *>(to), v); }
WEIR_INLINE __m256i same32(std::uint32_t v) noexcept { return _mm256_set1_epi32(static_cast<int>(v)); }
WEIR_INLINE __m256i same64(std::uint64_t v) noexcept { return _mm256_set1_epi64x(static_cast<long long>(v)); }
WEIR_INLINE unsigned lanes(__m256i v) noexcept {
  return static_cast<unsigned>(_mm256_movemask_ps(_mm256_castsi256_ps(v)));
}

template <unsigned r> WEIR_INLINE __m256i scatter_round(__m256i x, const table::Scatter &by) noexcept {
  x = _mm256_mullo_epi32(_mm256_xor_si256(x, same32(by.key[r])), same32(table::Scatter::factor[r]));
  return _mm256_xor_si256(x, _mm256_srli_epi32(x, table::Scatter::shift[r]));
}
// The lines that four scattered addresses name: the high halves of their products.
WEIR_INLINE void store_lines(__m128i x, const table::WordTableView &table, const void **to) noexcept {
  const __m256i product = _mm256_mul_epu32(_mm256_cvtepu32_epi64(x), same64(table.count));
  const __m256i offset = _mm256_and_si256(_mm256_srli_epi64(product, 26), same64(~std::uint64_t{63}));
  store(to, _mm256_add_epi64(same64(reinterpret_cast<std::uintptr_t>(table.lines)), offset));
}

WEIR_TARGET void aim(const table::WordTableView &table, const std::uint32_t *wires, unsigned count,
                     const void **lines, std::uint32_t *first_words) noexcept {
  const auto t = table; // in registers
  for (unsigned i = 0; i < count; i += 8) {
    __m256i x = scatter_round<0>(load(wires + i), t.scatter);
    x = scatter_round<1>(x, t.scatter);
    x = scatter_round<2>(x, t.scatter);
    const __m256i low = _mm256_mullo_epi32(x, same32(t.count));
    store(first_words + i, _mm256_or_si256(_mm256_and_si256(low, same32(~t.below_rest())), same32(1u << 1)));
    store_lines(_mm256_castsi256_si128(x), t, lines + i);
    store_lines(_mm256_extracti128_si256(x, 1), t, lines + i + 4);
  }
}

// All bits of each lane that is `last` or less.
WEIR_INLINE __m256i within(__m256i v, __m256i last) noexcept {
  return _mm256_cmpeq_epi32(_mm256_min_epu32(v, last), v);
}

WEIR_TARGET void probe(const WordProbes &probes, std::uint32_t *values, std::uint32_t *groups) noexcept {
  const auto p = probes; // in registers: a fence would reload what a reference names
  const __m256i last = same32(p.words_a_key - 1);
  for (unsigned i = 0; i < p.count; ++i) {
    if (i < p.behind_count) prefetch_line(p.behind[i]);
    const std::uint32_t *line = p.lines[i]->word;
    __m256i a = load(line), b = load(line + table::WordLine::slots / 2);
    asm volatile("" : "+x"(a), "+x"(b) : : "memory"); // loaded by now: the group bit comes after words
    const __m256i first = same32(p.first_words[i]);
    const __m256i same_a = within(_mm256_sub_epi32(a, first), last);
    const __m256i same_b = within(_mm256_sub_epi32(b, first), last);
    const unsigned same = lanes(_mm256_or_si256(same_a, same_b));
    const __m256i lane = _mm256_castsi128_si256(_mm_cvtsi32_si128(static_cast<int>(_tzcnt_u32(same))));
    const __m256i word = _mm256_permutevar8x32_epi32(_mm256_blendv_epi8(a, b, same_b), lane);
    values[i] = same != 0 ? static_cast<std::uint32_t>(_mm256_cvtsi256_si32(word)) : 0;
    groups[i] = line[p.first_words[i] >> 28] & table::WordTableView::group_bit;
  }
}

WEIR_TARGET std::uint64_t settle(const WordAnswers &a) noexcept {
  const __m256i list_bits = same32(a.list_bits), host = same32(length_tag(32));
  std::uint64_t going_on = 0;
  for (unsigned i = 0; i < a.count; i += 8) {
    const __m256i word = load(a.values + i), none = _mm256_cmpeq_epi32(word, _mm256_setzero_si256());
    const __m256i list = _mm256_srli_epi32(_mm256_and_si256(word, list_bits), 1);
    store(a.values + i, _mm256_andnot_si256(none, _mm256_or_si256(list, host)));
    const __m256i own = _mm256_slli_epi32(load(a.groups + i), 31);
    going_on |= std::uint64_t{lanes(_mm256_and_si256(own, none))} << i;
  }
  return _bzhi_u64(going_on, a.count);
}

} // namespace

namespace kernels {
const WordKernels words_avx2{aim, probe, settle};
}

} // namespace weir::lookup
