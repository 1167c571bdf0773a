// What an image cannot be built from, found before anything is written.
#pragma once

#include "weir/base/result.hpp"
#include "weir/build/input.hpp"

namespace weir::build {

// Does the filter of denied hosts judge the hosts of this side, instead of a table?
[[nodiscard]] bool without_hosts(const BuildInput &in, Side side) noexcept;

// Errors: usage, with the entry, list or filter that cannot be.
[[nodiscard]] Status check_input(const BuildInput &in);

} // namespace weir::build
