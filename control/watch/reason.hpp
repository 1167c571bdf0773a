// Why there should be another image although the rules stay: what a watch says when it has looked.
#pragma once

#include "control/watch/image_budget.hpp"

#include <chrono>
#include <optional>
#include <string>

namespace weir::watch {

struct Reason {
  ImageCause cause = ImageCause::entries;
  std::chrono::steady_clock::duration first_wait{}; // between images for this cause, at least
  std::string words;                                // for `weirctl generations`
};

} // namespace weir::watch
