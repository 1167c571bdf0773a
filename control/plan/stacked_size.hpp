// Sizes a stacked filter: how many layers, the rate of each, and how many negatives it is told of
// [Stacked §3.5, §9.2].
//
// Given bits, the wrong answers are made least; given a rate, the bits. Wrong answers are counted as
//
//   w EFPR + (1 - w) EFPB      w = 1: the workload as it is; w = 0: as if nobody knew anything of it
//
// and EFPB may have a bound of its own. A price on probes makes layers dearer that many questions reach:
// what is made least is multiplied by 1 + price x expected probes [Stacked-early §5.1].
//
//   bloom, split_block        any rate is possible. Variables are the rates and |N_k|: with one rate for all
//                             layers NLopt's ISRES finds the neighbourhood; COBYLA goes on with free rates
//                             from there and from the next shallower stack, which of three layers is
//                             "all bits in layer 1"
//   cuckoo, quotient, fuse    bits of a fingerprint are whole: all combinations of 1 to 20 are gone through
//                             with running sums, branches cut that can neither fit nor win. For given
//                             fingerprints |N_k| follows from the constraint
//
// Depths 1, 3, 5 ... are tried, of filters with whole fingerprints while one gains more than gain_min. Depth
// 1 is always among them, so the result is never worse than the plain filter.
//
// psi(|N_k|) is the share of negative questions that ask for the |N_k| hottest ones: a measured curve or a
// Zipf law. Negatives are keys, not questions.
#pragma once

#include "control/plan/seesaw_model.hpp"
#include "weir/base/result.hpp"
#include "weir/build/stacked_model.hpp"

#include <cstdint>
#include <optional>
#include <vector>

namespace weir::plan {

using build::StackBase;
[[nodiscard]] const char *name_of(StackBase base) noexcept;

// Of an expected probe of each kind of question.
struct ProbePrice {
  double positive = 0, known = 0, unknown = 0;
};

inline constexpr unsigned stack_depth_max = 9;

struct StackTask {
  StackBase base = StackBase::bloom;
  bool fuse_below = false; // even layers are static: they never change anyway
  double positives = 0;
  CostCurve negatives; // how often each is asked for

  std::optional<double> bits_total; // either this, the whole section,
  std::optional<double> rate_max;   // or this: wrong answers as counted above

  double known_max = 1e300; // |N_k|, at most
  double weight = 1;        // w
  double efpb_max = 1;      // at most so many of the negatives that nobody knew of
  ProbePrice price;

  unsigned depth_max = stack_depth_max;
  double gain_min = 0.01; // of what is made least, for two layers more
  std::uint64_t seed = 1;
};

struct StackPlan {
  std::vector<build::LayerSize> layers; // from layer 1
  double known = 0;                     // |N_k|: the hottest so many
  double psi = 0, efpr = 1, efpb = 1;
  double known_rate = 1;                   // of a known negative
  double bits = 0;                         // of the section: headers and rounding included
  double single_rate = 1, single_bits = 0; // of one layer under the same constraint

  [[nodiscard]] std::vector<double> rates() const {
    std::vector<double> rates;
    for (const build::LayerSize &layer : layers) rates.push_back(layer.expected);
    return rates;
  }
};

// Errors: usage, when the task contradicts itself; refused, when not even one layer keeps the constraint.
[[nodiscard]] Result<StackPlan> size_stack(const StackTask &task);

} // namespace weir::plan
