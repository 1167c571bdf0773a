// What learned filters are made of: trees trained with a share of the keys, and a threshold.
#pragma once

#include "tests/lab/learnable.hpp"
#include "weir/base/result.hpp"

#include <optional>
#include <span>
#include <vector>

namespace weir::lab {

// The first `members` and `others` of both sides, labelled.
[[nodiscard]] learn::Samples training_of(const LearnableSet &set, std::size_t members, std::size_t others);

// The lowest threshold that at most `allowed` of these margins reach. With all of them allowed: minus infinity.
[[nodiscard]] float threshold_for(std::vector<float> margins, std::size_t allowed);

// Which keys reach a threshold, and which are left to the backup filter.
struct Sorted {
  std::vector<KeyHash> accepted, left;
};
[[nodiscard]] Sorted sort_by(std::span<const KeyHash> keys, std::span<const float> margins, float threshold);

} // namespace weir::lab
