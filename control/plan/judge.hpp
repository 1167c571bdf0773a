// Which filter judges denied hosts in compact mode: every form that the configuration leaves is sized for the same budgets, or
// the same memory, and the best is taken.
#pragma once

#include "control/plan/chained_size.hpp"
#include "control/plan/deny_filter.hpp"

namespace weir::plan {

[[nodiscard]] inline double as_double(std::uint64_t count) { return static_cast<double>(count); }
[[nodiscard]] std::string percent(double share); // 0.00125 is "0.125 %"

// What is known of the traffic, for sizes: the sources of `known_cost`, and how much others ask.
[[nodiscard]] CostCurve curve_of(const DenyFilterPlan &plan);
[[nodiscard]] StackTask stack_task(const DenyFilterPlan &plan, StackBase base, std::uint64_t positives);
[[nodiscard]] ChainTask chain_task(const DenyFilterPlan &plan, DenyForm form, double more_known);

// Fills in form, stack, planned_keys, chosen, why and what was tried, of a plan that has its keys and what is known.
// `allowed`: hosts that are known besides. Errors: refused, when no form keeps unknown_budget in the memory.
[[nodiscard]] Status choose_judge(DenyFilterPlan &plan, const DenyFilterTask &task, double allowed);

// In front of tables: what a chained filter of no more bits would cost, beside what was planned.
void show_chained_front(DenyFilterPlan &plan, const DenyFilterTask &task, Family family, const Sizes &sizes);

} // namespace weir::plan
