// The kinds of filter in front of the allow tables as the planner sees them: each sizes itself for the keys,
// the costs and the bits that it is given, and says what it will let through.
//
//   a new kind    a planner beside its model, and a line in allow_filter_kinds.cpp
#pragma once

#include "control/plan/seesaw_model.hpp"
#include "weir/build/allow_filter_params.hpp"

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace weir::plan {

struct AllowFilterTask {
  std::uint64_t keys = 0, planned_keys = 0; // there are so many, and there is to be room for so many
  std::uint64_t bits_total = 0;             // of the section, headers and padding included
  const CostCurve &costs;                   // of vulnerable keys
  bool adaptive = false;                    // negatives will be learnt late
  HashFamily family = HashFamily::xxh3;
};

// Predicted share of absent addresses that are accepted: by cost and of those that nobody guards, new, and
// after churn and with planned_keys. 0 without a filter.
struct AllowFilterRates {
  double weighted = 0, plain = 0, weighted_churned = 0, plain_churned = 0;
};

struct SizedAllowFilter {
  build::AllowFilterParams params; // go into the build's input
  AllowFilterRates rates;
  std::uint64_t guarded = 0; // the dearest so many vulnerable keys
  double guarded_cost = 0;   // their share of all cost
  std::string json, text;    // its shape: members of an object, and the begin of a sentence or nothing
};

struct AllowFilterPlanner {
  std::string_view name;         // as image::allow_filter_kinds() has it
  std::string_view noun;         // "a cuckoo filter"
  std::string_view guarded_word; // "known"; empty: it favours no key over others
  bool for_p4 = false;           // there is a form of it for target p4
  Result<SizedAllowFilter> (*size)(const AllowFilterTask &task);
};

using AllowFilterPlanners = std::span<const AllowFilterPlanner *const>;

// Those that `auto` chooses among.
[[nodiscard]] AllowFilterPlanners allow_filter_planners() noexcept;

} // namespace weir::plan
