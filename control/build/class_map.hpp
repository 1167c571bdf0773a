// The class map of compact mode as a section of the image to come. Apart from the rest of building, since its builder is heavy.
#pragma once

#include "weir/build/input.hpp"

#include <cstddef>
#include <vector>

namespace weir::build {

// For the entries and the seed of `input`. Errors: those of build_class_map().
[[nodiscard]] Result<std::vector<std::byte>> make_class_map(const BuildInput &input);

} // namespace weir::build
