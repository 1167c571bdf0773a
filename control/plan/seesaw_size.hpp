// Sizes a Seesaw counting filter: keys, what wrong answers cost, and bits in, parameters and their
// predicted rates out [SSCF §4.2; model: seesaw_model.hpp].
//
// The cost-weighted rate after churn is made least over
//
//   whole numbers  hashes, backups, bits of the positive count, of the modulator's count and of its index:
//                  enumerated, each tried on a coarse grid of the rest
//   continuous     share of the bits for the modulator, share of the negatives that is guarded: NLopt's
//                  Sbplx from the best point of the grid, for the best few of the whole numbers
//
// A further hash function is a further line of memory for every key, so it is taken only if it lowers the
// rate by an eighth; with more than one backup, its place waits for what the modulator says, so more must
// gain a tenth.
//
// Counts of a single bit never come down, which is good for few rounds and ruins a filter that lives
// long: at least two bits are taken for either count.
//
// Guarding more negatives covers more cost and seals more cells: the rate of all others rises,
// which is the price of the whole. From about twelve bits a key a cuckoo filter is better for every key;
// docs/filters.md compares.
#pragma once

#include "control/plan/allow_filter_kinds.hpp"
#include "control/plan/seesaw_model.hpp"
#include "weir/base/result.hpp"

namespace weir::plan {

struct SeesawTask {
  std::uint64_t keys = 0;
  std::uint64_t bits_total = 0; // of the section, header and padding included
  CostCurve costs;
  unsigned churn_rounds = 40;
  double churn_share = 0.02; // of the keys replaced a round
  bool adaptive = false;     // negatives will be learnt: a bit more a cell
  bool late = false;         // adaptive, and none of them is known before the keys are in
  unsigned hashes_max = 8;
  HashFamily family = HashFamily::xxh3; // jhash: its one kind of shape, bits rounded up to powers of two
};

struct SeesawPlan {
  build::SeesawParams params;
  std::uint64_t guarded = 0;  // the dearest so many negatives
  double guarded_cost = 0;    // their share of all cost
  double modulator_share = 0; // of the words
  SeesawForecast fresh, churned;

  [[nodiscard]] double weighted_fresh() const noexcept { return fresh.weighted(guarded_cost); }
  [[nodiscard]] double weighted_churned() const noexcept { return churned.weighted(guarded_cost); }
};

// Errors: usage, when there are no keys or no room for a filter.
[[nodiscard]] Result<SeesawPlan> size_seesaw(const SeesawTask &task);

extern const AllowFilterPlanner seesaw_planner;

} // namespace weir::plan
