#include "weir/learn/tree_kernels.hpp"

#include <cstdlib>
#include <cstring>
#include <string_view>

namespace weir::learn {
namespace {

// Sixteen bytes, as g++ and clang have them for every processor.
using Vector = std::uint8_t __attribute__((vector_size(16)));

[[gnu::always_inline]] inline Vector same(unsigned v) noexcept {
  return Vector{} + static_cast<std::uint8_t>(v);
}

// The number of the leaf below heap node `at`, for sixteen samples.
template <unsigned depth, unsigned at>
[[gnu::always_inline]] inline Vector leaf_below(const TreeNode *nodes, const std::uint8_t *samples) noexcept {
  constexpr unsigned inner = (1u << depth) - 1;
  if constexpr (at >= inner) {
    return same(at - inner);
  } else {
    Vector x;
    std::memcpy(&x, samples + nodes[at].feature * sizeof(FeatureRow), sizeof x);
    const auto left = x < same(nodes[at].below);
    return left ? leaf_below<depth, 2 * at + 1>(nodes, samples)
                : leaf_below<depth, 2 * at + 2>(nodes, samples);
  }
}

template <unsigned depth>
void add_tree(const TreeNode *nodes, const float *leaves, const FeatureRow *rows, float *margins) noexcept {
  for (unsigned first = 0; first < burst_samples; first += sizeof(Vector)) {
    const Vector found = leaf_below<depth, 0>(nodes, rows->of.data() + first);
    for (unsigned i = 0; i < sizeof(Vector); ++i) margins[first + i] += leaves[found[i]];
  }
}

void score(const TreesView &trees, const FeatureRow *rows, float *margins) noexcept {
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

const TreeKernel kernels::trees_portable{"portable", score};

std::span<const TreeKernel *const> available_tree_kernels() {
  static const std::vector<const TreeKernel *> all = [] {
    std::vector<const TreeKernel *> found{&kernels::trees_portable};
    const bool avx2 = __builtin_cpu_supports("avx2");
    if (avx2) found.push_back(&kernels::trees_avx2);
    if (avx2 && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
        __builtin_cpu_supports("avx512vl"))
      found.push_back(&kernels::trees_avx512);
    return found;
  }();
  return all;
}

const TreeKernel &best_tree_kernel() noexcept {
  static const TreeKernel *const chosen = [] {
    const char *wanted = std::getenv("WEIR_KERNELS");
    for (const TreeKernel *kernel : available_tree_kernels())
      if (wanted != nullptr && std::string_view(wanted) == kernel->name) return kernel;
    return available_tree_kernels().back();
  }();
  return *chosen;
}

} // namespace weir::learn
