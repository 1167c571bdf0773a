// What the lists say about the neighbourhood of an address, as a feature (image/offenders.hpp).
#pragma once

#include "weir/build/entry.hpp"

#include <cstddef>
#include <span>
#include <vector>

namespace weir::offenders {

// Of each net of image::offender_net(): 16 for each doubling of the denied entries in it, 0 where there are none.
[[nodiscard]] std::vector<std::byte> neighbours_of(std::span<const build::EntryV4> v4,
                                                   std::span<const build::EntryV6> v6);

} // namespace weir::offenders
