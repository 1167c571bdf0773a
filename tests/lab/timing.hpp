// What an insertion, a question and a deletion take: all contenders take turns in one thread, and a
// figure is the median of the rounds.
#pragma once

#include "tests/lab/contenders.hpp"

namespace weir::lab {

// Fills ns and ratios of `outcomes`, which stand in the order of `entries`. Errors: as Entry::make.
[[nodiscard]] Status time_all(const std::vector<Entry> &entries, std::span<const KeyHash> positives,
                              std::span<const KeyHash> negatives, std::vector<Outcome> &outcomes);

} // namespace weir::lab
