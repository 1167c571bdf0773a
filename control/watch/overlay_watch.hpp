// When is the image in force too full? Additions behind a chained predictor, and those that a full table does
// not take, go to the overlay. Lookups ask it first while it holds anything, so it is emptied early: when one
// is half full, an image with all that is built and swapped in while the old one goes on taking changes. The
// same happens when the filter in front of the allow tables holds more keys than it was planned for, or many
// counts that stay for ever, and when the stacked filter of denied hosts has outgrown its plan: their answers
// are right all the same, and refuse less. So are those of a table beside a range map that has the other hosts, but
// whoever has to ask both is slower.
#pragma once

#include "control/watch/image_load.hpp"
#include "control/watch/reason.hpp"

namespace weir::watch {

inline constexpr double fill_that_rebuilds = 0.5;

[[nodiscard]] std::optional<Reason> look_at_load(const ImageLoad &load);

} // namespace weir::watch
