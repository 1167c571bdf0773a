// Which form of the lookup's inner loops this processor can run (weir/table/kernels.hpp).
#pragma once

#include "weir/table/kernels.hpp"

#include <span>
#include <string_view>

namespace weir::dataplane {

// All that this processor can run, the portable one first, the one that wins last. Under
// ThreadSanitizer only the portable one: it reads word by word.
[[nodiscard]] std::span<const table::Kernels *const> available_kernels();

// The last of them, or the one that the environment variable WEIR_KERNELS names; a name that is not
// available is ignored. Chosen at the first call.
[[nodiscard]] const table::Kernels &best_kernels();

// For avx2.cpp and avx512.cpp; must be called only where the processor has the instructions.
namespace kernels {
extern const table::Kernels avx2, avx512;
}

} // namespace weir::dataplane
