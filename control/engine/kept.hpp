// Generations that the store keeps, by their numbers.
#pragma once

#include "control/store/store.hpp"

namespace weir::control {

// not_found says where those that are kept are shown.
[[nodiscard]] Result<store::GenerationRecord> kept_generation(const store::Store &store, Generation id);
// The one before it among those that are kept.
[[nodiscard]] Result<store::GenerationRecord> generation_before(const store::Store &store, Generation id);

} // namespace weir::control
