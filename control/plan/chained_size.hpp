// Sizes a chained filter for denied hosts (filter/chained_filter.hpp): how many bits its first stage has, and how many known
// negatives are worth their place in the second one. A known negative costs C / 2^f bits and never errs, so that mostly all
// are taken; each bit of the first stage halves the errors of all others [Chained §4.2].
#pragma once

#include "control/plan/seesaw_model.hpp"
#include "control/plan/stacked_size.hpp"

#include <optional>

namespace weir::plan {

struct ChainTask {
  bool shared = false; // both stages in the same slots
  double positives = 0;
  CostCurve negatives;            // how often each is asked for
  double known_max = 0;           // of these, at most so many
  double more_known = 0;          // known besides, whatever they are asked for
  double efpb_max = 1;            // errors of those that nobody knew of
  std::optional<double> rate_max; // either this, of all questions about negatives,
  std::optional<double> bits_total;
};

// Two layers: the first stage, whose digits are its bits, and the second as one that holds negatives. The fewest bits or, of
// given ones, the fewest errors. Errors: refused, when nothing keeps the constraints.
[[nodiscard]] Result<StackPlan> size_chained(const ChainTask &task);

} // namespace weir::plan
