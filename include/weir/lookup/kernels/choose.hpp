// Which form of the lookup's inner loops this processor can run (weir/lookup/kernels.hpp).
#pragma once

#include "weir/base/result.hpp"
#include "weir/lookup/kernels.hpp"

#include <span>
#include <string_view>

namespace weir::lookup {

// All that this processor can run, the portable one first, the one that wins last. Under
// ThreadSanitizer only the portable one: it reads word by word.
[[nodiscard]] std::span<const Kernels *const> available_kernels();

// The last of them, or the one that the environment variable WEIR_KERNELS names if this processor has it.
// Chosen at the first call.
[[nodiscard]] const Kernels &best_kernels();

// An error when WEIR_KERNELS names a set that is not available.
[[nodiscard]] Status check_wanted_kernels();

// For the files beside this one; must be called only where the processor has the instructions.
namespace kernels {
extern const Kernels avx2, avx512;
extern const RangeKernels ranges_avx2, ranges_avx512;
extern const WordKernels words_avx2, words_avx512;
// Of both sets: a block is as long as a vector of AVX2.
unsigned bloom_avx2(const BloomProbes &probes, std::uint16_t *kept) noexcept;
} // namespace kernels

} // namespace weir::lookup
