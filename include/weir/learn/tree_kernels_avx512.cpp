// Boosted trees for AVX-512 (F, BW, VL): a node is compared for all 64 samples at once, and leaves are looked up in
// registers.
//
// Every function here has internal linkage and carries the target itself, as in tree_kernels_avx2.cpp.
#include "weir/learn/tree_kernels.hpp"

#include <immintrin.h>

// g++ 12 sees its own headers' "undefined" vectors as uninitialised.
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#pragma GCC diagnostic ignored "-Wuninitialized"
#endif

#define WEIR_TARGET __attribute__((target("avx2,avx512f,avx512bw,avx512vl")))
#define WEIR_INLINE WEIR_TARGET __attribute__((always_inline)) inline

namespace weir::learn {
namespace {

WEIR_INLINE __m512i same(unsigned v) noexcept { return _mm512_set1_epi8(static_cast<char>(v)); }

// The number of the leaf below heap node `at`, for 64 samples.
template <unsigned depth, unsigned at>
WEIR_INLINE __m512i leaf_below(const TreeNode *nodes, const FeatureRow *rows) noexcept {
  constexpr unsigned inner = (1u << depth) - 1;
  if constexpr (at >= inner) {
    return same(at - inner);
  } else {
    const __m512i x = _mm512_load_si512(rows + nodes[at].feature);
    const __mmask64 right = _mm512_cmple_epu8_mask(same(nodes[at].below), x);
    return _mm512_mask_blend_epi8(right, leaf_below<depth, 2 * at + 1>(nodes, rows),
                                  leaf_below<depth, 2 * at + 2>(nodes, rows));
  }
}

// Leaves 0 to 2^depth - 1 of a tree, and what sixteen of their numbers stand for.
template <unsigned depth> struct Leaves {
  static constexpr unsigned registers = depth > 4 ? 1u << (depth - 4) : 1;
  __m512 in[registers];

  WEIR_INLINE explicit Leaves(const float *leaves) noexcept {
    if constexpr (depth < 4) {
      in[0] = _mm512_maskz_loadu_ps(static_cast<__mmask16>((1u << (1u << depth)) - 1), leaves);
    } else {
      for (unsigned r = 0; r < registers; ++r) in[r] = _mm512_loadu_ps(leaves + 16 * r);
    }
  }
  [[nodiscard]] WEIR_INLINE __m512 of(__m512i numbers) const noexcept {
    if constexpr (depth <= 4) {
      return _mm512_permutexvar_ps(numbers, in[0]);
    } else if constexpr (depth == 5) {
      return _mm512_permutex2var_ps(in[0], numbers, in[1]);
    } else {
      const __mmask16 upper = _mm512_test_epi32_mask(numbers, _mm512_set1_epi32(32));
      return _mm512_mask_blend_ps(upper, _mm512_permutex2var_ps(in[0], numbers, in[1]),
                                  _mm512_permutex2var_ps(in[2], numbers, in[3]));
    }
  }
};

struct Sums {
  __m512 of[4];
};

template <unsigned depth>
WEIR_TARGET void add_tree(const TreeNode *nodes, const float *leaves, const FeatureRow *rows,
                          Sums &sums) noexcept {
  const __m512i found = leaf_below<depth, 0>(nodes, rows);
  const Leaves<depth> table(leaves);
  const auto add = [&](__m512 &sum, __m128i numbers)
                       WEIR_TARGET { sum = _mm512_add_ps(sum, table.of(_mm512_cvtepu8_epi32(numbers))); };
  add(sums.of[0], _mm512_castsi512_si128(found));
  add(sums.of[1], _mm512_extracti32x4_epi32(found, 1));
  add(sums.of[2], _mm512_extracti32x4_epi32(found, 2));
  add(sums.of[3], _mm512_extracti32x4_epi32(found, 3));
}

WEIR_TARGET void score(const TreesView &trees, const FeatureRow *rows, float *margins) noexcept {
  using Add = void (*)(const TreeNode *, const float *, const FeatureRow *, Sums &) noexcept;
  static constexpr std::array<Add, tree_depth_max + 1> add{add_tree<0>, add_tree<1>, add_tree<2>, add_tree<3>,
                                                           add_tree<4>, add_tree<5>, add_tree<6>};
  Sums sums;
  for (__m512 &sum : sums.of) sum = _mm512_set1_ps(trees.base());
  const TreeNode *nodes = trees.nodes();
  const float *leaves = trees.leaves();
  for (unsigned t = 0; t < trees.trees(); ++t) {
    const unsigned depth = trees.depths()[t];
    add[depth](nodes, leaves, rows, sums);
    leaves += leaves_of_depth(depth);
    nodes += leaves_of_depth(depth) - 1;
  }
  for (unsigned i = 0; i < 4; ++i) _mm512_storeu_ps(margins + 16 * i, sums.of[i]);
}

} // namespace

const TreeKernel kernels::trees_avx512{"avx512", score};

} // namespace weir::learn
