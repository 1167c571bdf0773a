// Forms of the evaluation of boosted trees (trees.hpp) for the instruction sets of processors. All give the same bits
// for the same burst; tests hold each against TreesView::score_one().
#pragma once

#include "weir/learn/trees.hpp"

#include <span>

namespace weir::learn {

struct TreeKernel {
  const char *name; // as WEIR_KERNELS names sets
  // margins[i] of sample i of 64; `rows` has features() of them.
  void (*score)(const TreesView &trees, const FeatureRow *rows, float *margins) noexcept;
};

// All that this processor can run, the portable one first, the fastest last.
[[nodiscard]] std::span<const TreeKernel *const> available_tree_kernels();

// The last of them, or the one that the environment variable WEIR_KERNELS names if this processor has it. Chosen at the
// first call.
[[nodiscard]] const TreeKernel &best_tree_kernel() noexcept;

// For the files beside this one; must be called only where the processor has the instructions.
namespace kernels {
extern const TreeKernel trees_portable, trees_avx2, trees_avx512;
} // namespace kernels

} // namespace weir::learn
