// After a build every key is asked through the real view, as a worker would ask.
#pragma once

#include "weir/base/result.hpp"
#include "weir/build/input.hpp"
#include "weir/image/view.hpp"
#include "weir/key/address.hpp"

#include <span>

namespace weir::build::detail {

// Errors: bad_image, a key that the view does not answer as the input says.
[[nodiscard]] Status verify_side(const image::ImageView &view, Side side, const SideInput &in,
                                 unsigned threads);

// Every key is asked for; `accepts` becomes the share of guarded keys that it takes for allowed.
[[nodiscard]] Status verify_allow_filter(const image::ImageView &view, const BuildInput &in, double &accepts);

// The share of known negatives that the filter of denied hosts accepts.
[[nodiscard]] double stack_accepts(const image::ImageView &view, std::span<const Address> known);

} // namespace weir::build::detail
