// Boosted trees for AVX2: a node is compared for 32 samples at a time.
//
// Every function here has internal linkage and carries the target itself, so that no instruction beyond the baseline
// can leak into code that others share.
#include "weir/learn/tree_kernels.hpp"

#include <immintrin.h>

#define WEIR_TARGET __attribute__((target("avx2")))
#define WEIR_INLINE WEIR_TARGET __attribute__((always_inline)) inline

namespace weir::learn {
namespace {

WEIR_INLINE __m256i same(unsigned v) noexcept { return _mm256_set1_epi8(static_cast<char>(v)); }

// The number of the leaf below heap node `at`, for 32 samples. x >= below where the greater of both is x.
template <unsigned depth, unsigned at>
WEIR_INLINE __m256i leaf_below(const TreeNode *nodes, const std::uint8_t *samples) noexcept {
  constexpr unsigned inner = (1u << depth) - 1;
  if constexpr (at >= inner) {
    return same(at - inner);
  } else {
    const __m256i x = _mm256_loadu_si256(
        reinterpret_cast<const __m256i *>(samples + nodes[at].feature * sizeof(FeatureRow)));
    const __m256i right = _mm256_cmpeq_epi8(_mm256_max_epu8(x, same(nodes[at].below)), x);
    return _mm256_blendv_epi8(leaf_below<depth, 2 * at + 1>(nodes, samples),
                              leaf_below<depth, 2 * at + 2>(nodes, samples), right);
  }
}

// What eight numbers of leaves stand for: looked up in registers up to 32 leaves, gathered beyond.
template <unsigned depth> WEIR_INLINE __m256 leaves_of(const float *leaves, __m256i numbers) noexcept {
  if constexpr (depth == 3) {
    return _mm256_permutevar8x32_ps(_mm256_loadu_ps(leaves), numbers);
  } else if constexpr (depth == 4 || depth == 5) {
    const __m256i half_to_sign = _mm256_slli_epi32(numbers, 32 - depth);
    return _mm256_blendv_ps(leaves_of<depth - 1>(leaves, numbers),
                            leaves_of<depth - 1>(leaves + (1u << (depth - 1)), numbers),
                            _mm256_castsi256_ps(half_to_sign));
  } else {
    return _mm256_i32gather_ps(leaves, numbers, sizeof(float));
  }
}

template <unsigned depth>
WEIR_TARGET void add_tree(const TreeNode *nodes, const float *leaves, const FeatureRow *rows,
                          float *margins) noexcept {
  alignas(32) std::array<std::uint8_t, 32> found;
  for (unsigned first = 0; first < burst_samples; first += 32) {
    _mm256_store_si256(reinterpret_cast<__m256i *>(found.data()),
                       leaf_below<depth, 0>(nodes, rows->of.data() + first));
    for (unsigned i = 0; i < 32; i += 8) {
      float *const at = margins + first + i;
      const __m256i numbers =
          _mm256_cvtepu8_epi32(_mm_loadl_epi64(reinterpret_cast<const __m128i *>(found.data() + i)));
      _mm256_storeu_ps(at, _mm256_add_ps(_mm256_loadu_ps(at), leaves_of<depth>(leaves, numbers)));
    }
  }
}

WEIR_TARGET void score(const TreesView &trees, const FeatureRow *rows, float *margins) noexcept {
  using Add = void (*)(const TreeNode *, const float *, const FeatureRow *, float *) noexcept;
  static constexpr std::array<Add, tree_depth_max + 1> add{add_tree<0>, add_tree<1>, add_tree<2>, add_tree<3>,
                                                           add_tree<4>, add_tree<5>, add_tree<6>};
  for (unsigned i = 0; i < burst_samples; ++i) margins[i] = trees.base();
  const TreeNode *nodes = trees.nodes();
  const float *leaves = trees.leaves();
  for (unsigned t = 0; t < trees.trees(); ++t) {
    const unsigned depth = trees.depths()[t];
    add[depth](nodes, leaves, rows, margins);
    leaves += leaves_of_depth(depth);
    nodes += leaves_of_depth(depth) - 1;
  }
}

} // namespace

const TreeKernel kernels::trees_avx2{"avx2", score};

} // namespace weir::learn
