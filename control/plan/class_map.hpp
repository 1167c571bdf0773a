// What the class map of compact mode will take: which list a host is on that the judge denies.
#pragma once

#include "weir/build/input.hpp"

#include <cstdint>

namespace weir::plan {

// Bytes of the section, about: as the model has them for so many hosts a list [Chained §5.2].
[[nodiscard]] std::uint64_t class_map_bytes(const build::SideInput &deny);
// What building it takes besides.
[[nodiscard]] std::uint64_t class_map_scratch_bytes(const build::SideInput &deny);

} // namespace weir::plan
