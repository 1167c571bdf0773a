// Sizes a stack of three counting layers for the allow side: keys, what wrong answers cost, and bits in,
// shape and predicted rates out [Stacked §4; the stack: filter/stacked_counting.hpp].
//
// Given what layers 2 and 3 take, layer 1 has the rest. Cell widths of layers 1 and 3, the share of the
// negatives that is known, and the rates of layers 2 and 3 go through a grid; the least predicted share of
// the cost after churn is taken; to know nobody and be a counting Bloom filter in effect is one of the
// choices. Layer 2 never changes: its cells have one bit.
//
// Churn makes each count a queue, as in the Seesaw filter's model (seesaw_model.hpp): what reaches its
// maximum stays there. Counts of two bits are worn the most, and yet they give the best stacks up to some
// turnovers of all keys, since they are more.
//
//   a1, a3   (share of cells in use)^k after churn; layer 3 holds about keys a2, a number left to chance, and
//   a3
//            is the mean over it
//   known    a1 a3           other negatives   a1 (1 - a2 + a2 a3)
#pragma once

#include "control/plan/allow_filter_kinds.hpp"
#include "control/plan/seesaw_model.hpp"
#include "weir/build/stacked_counting_builder.hpp"

#include <optional>

namespace weir::plan {

struct AllowStackForecast {
  double known = 0, others = 0; // rates
  double stuck_share = 0;       // of the cells of layers 1 and 3

  // The mean over all cost when `known_cost` of it is known.
  [[nodiscard]] double weighted(double known_cost) const noexcept {
    return known_cost * known + (1 - known_cost) * others;
  }
};

// After `turnover` times all keys have been replaced at random (0: as built).
[[nodiscard]] AllowStackForecast forecast_stack(const filter::StackedCountingShape &shape, double keys,
                                                double known, double turnover);

struct AllowStackTask {
  std::uint64_t keys = 0;
  std::uint64_t bits_total = 0; // of the section, headers and padding included
  CostCurve costs;
  double turnover = 40 * 0.02; // 40 rounds of 2 %
};

struct AllowStackPlan {
  build::StackedCountingParams params;
  std::uint64_t known = 0; // the dearest so many negatives
  double known_cost = 0;   // their share of all cost
  AllowStackForecast fresh, churned;

  [[nodiscard]] double weighted_fresh() const noexcept { return fresh.weighted(known_cost); }
  [[nodiscard]] double weighted_churned() const noexcept { return churned.weighted(known_cost); }
};

// Nothing when not even the smallest one fits. Without negatives it is a counting Bloom filter in effect.
[[nodiscard]] std::optional<AllowStackPlan> size_allow_stack(const AllowStackTask &task);

extern const AllowFilterPlanner allow_stack_planner;

} // namespace weir::plan
