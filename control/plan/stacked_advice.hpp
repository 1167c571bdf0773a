// Is it worth learning which negatives are asked for, and stacking? [Stacked §6]
//
// From a desired rate and how concentrated negative questions are, without sizing anything: Theorem 6.1
// says when a stack is certainly smaller than one filter, the bound on stacks of equal rates says by how
// many bits at least. Both are about stacks as deep as one likes, so size_stack() may save more or, in a
// small filter with its headers, a little less.
#pragma once

#include "control/plan/stacked_size.hpp"

#include <string>

namespace weir::plan {

struct StackAdvice {
  bool stack = false;    // the theorem holds for some number of known negatives
  double known = 0;      // the number that saves most
  double psi = 0;        // their share of negative questions
  double psi_needed = 1; // with so many known negatives; 1: no share is enough
  build::SizeGain gain;  // bits a positive
  std::string words;     // for people, with the numbers that led to it
};

[[nodiscard]] build::SizeLaw size_law(StackBase base) noexcept;

// Errors: usage, when there are no keys or `rate` is none.
[[nodiscard]] Result<StackAdvice> advise_stack(StackBase base, double positives, const CostCurve &negatives,
                                               double rate);

} // namespace weir::plan
