// Batches of questions to tables of binary fuse form (binary_fuse.hpp, retrieval.hpp, chained_and_shared.hpp), for the
// vector instructions of processors: eight keys are mixed side by side, and what their slots hold is gathered. The same
// answers as one question after the other; tests hold them together.
#pragma once

#include "weir/base/hash.hpp"
#include "weir/filter/batch.hpp"

#include <span>

namespace weir::filter {

// A table as kernels read it; slots() of its shape are at most 2^32 - 1.
struct FuseTable {
  const std::byte *slots;
  std::uint64_t family; // of remix()
  std::uint32_t segments, segment_log;
  std::uint32_t slot_bits;
};

// For tables of `ways` slots a key, and up to batch_max keys.
struct FuseKernels {
  HitMask (*accepted)(const FuseTable &filter, std::span<const KeyHash> keys) noexcept;
  void (*values)(const FuseTable &retrieval, std::span<const KeyHash> keys, std::uint32_t *values) noexcept;
  HitMask (*in_both)(const FuseTable &chained, std::span<const KeyHash> keys) noexcept;
};

// From so many keys on a kernel is faster than one question after the other.
inline constexpr std::size_t fuse_kernel_keys = 5;

namespace kernels {
struct FuseKernelSet {
  FuseKernels of_ways[2]; // three, four
};
extern const FuseKernelSet fuse_avx512; // only where the processor has the instructions
extern const FuseKernelSet *const fuse_best;
} // namespace kernels

// Null: this processor has none, or WEIR_KERNELS names another set. Chosen when the program starts.
template <unsigned ways> [[nodiscard]] inline const FuseKernels *fuse_kernels() noexcept {
  return kernels::fuse_best == nullptr ? nullptr : &kernels::fuse_best->of_ways[ways - 3];
}

} // namespace weir::filter
