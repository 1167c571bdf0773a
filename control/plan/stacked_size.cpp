#include "control/plan/stacked_search.hpp"

#include <fmt/format.h>

namespace weir::plan {
namespace {

Status check(const StackTask &task) {
  const auto wrong = [](const std::string &what) { return fail(Errc::usage, "stacked filter: " + what); };
  if (task.positives < 1) return wrong("no keys to size it for");
  if (task.bits_total.has_value() == task.rate_max.has_value())
    return wrong("give either its bits or the rate that it is to keep");
  if (task.rate_max && !(*task.rate_max > 0 && *task.rate_max < 1))
    return wrong(fmt::format("a rate lies between 0 and 1, not at {}", *task.rate_max));
  if (task.bits_total && *task.bits_total < 64) return wrong("fewer than 64 bits");
  if (!(task.weight >= 0 && task.weight <= 1))
    return wrong(fmt::format("the weight of the workload is 0 to 1, not {}", task.weight));
  if (task.depth_max % 2 == 0) return wrong(fmt::format("{} layers: the number is odd", task.depth_max));
  return {};
}

// What a plan is worth: Goal::worth() of what it really takes and gives.
double worth_of(const Goal &goal, const StackPlan &plan) {
  if (plan.layers.empty()) return std::numeric_limits<double>::infinity();
  const double wrong = goal.weight() * plan.efpr + (1 - goal.weight()) * plan.efpb;
  return goal.worth(plan.rates(), plan.bits, wrong);
}

constexpr unsigned attempts_max = 6;
constexpr double close_enough = 0.0005; // of the bits left over

StackedChoice solve(const Goal &goal, unsigned depth, const StackedChoice &so_far) {
  return is_continuous(goal.task().base) ? solve_continuous(goal, depth, so_far)
                                         : enumerate(goal, depth, so_far);
}

// Three layers that gain nothing say nothing of five. Free rates are found so fast that all depths are tried:
// with many bits five and seven may gain nothing over three, and nine a factor of sixteen.
StackedChoice best_depth(const Goal &goal) {
  const StackTask &task = goal.task();
  StackedChoice best = solve(goal, 1, {});
  double wanted = 1; // share of the best one's worth
  for (unsigned depth = 3; depth <= task.depth_max; depth += 2) {
    wanted *= 1 - task.gain_min; // for every two layers more
    StackedChoice deeper = solve(goal, depth, best);
    const bool gains = deeper.worth <= best.worth * wanted, at_once = best.rates.size() + 2 == depth;
    if (deeper.worth < best.worth && (gains || at_once)) {
      best = std::move(deeper);
      wanted = 1;
    }
    if (!gains && depth > 3 && !is_continuous(task.base)) break;
  }
  return best;
}

} // namespace

const char *name_of(StackBase base) noexcept {
  switch (base) {
  case StackBase::bloom: return "bloom";
  case StackBase::cuckoo: return "cuckoo";
  case StackBase::quotient: return "cqf";
  case StackBase::fuse: return "fuse";
  case StackBase::split_block: return "split_block";
  }
  return "unknown";
}

Result<StackPlan> size_stack(const StackTask &task) {
  TRY(check(task));
  Goal goal(task);
  const StackedChoice single = solve(goal, 1, {});
  const auto fits = [&task](const StackPlan &plan) {
    return plan.bits <= task.bits_total.value_or(plan.bits);
  };
  StackPlan one = allocate_stack(goal, single).plan;
  if (!fits(one)) one = {}; // not even its headers do
  StackPlan best = one;
  for (unsigned attempt = 0; attempt < attempts_max; ++attempt) {
    AllocatedStack stack = allocate_stack(goal, best_depth(goal));
    if (stack.plan.layers.empty()) break;
    if (stack.spare >= 0 && fits(stack.plan) && worth_of(goal, stack.plan) < worth_of(goal, best))
      best = std::move(stack.plan);
    if (stack.spare >= 0 && stack.spare < close_enough * task.bits_total.value_or(1)) break;
    goal.leave_out(-stack.spare * (1 + attempt)); // real sizes have steps, which small changes miss
  }
  if (best.layers.empty())
    return fail(Errc::refused, "stacked filter: no sizes keep the constraint, allow more bits or errors");
  if (!one.layers.empty()) best.single_rate = one.efpr, best.single_bits = one.bits;
  return best;
}

// ---- what is in stacked_search.hpp ---------------------------------------------------------------

MassTable::MassTable(const CostCurve &curve, double count_max)
    : negatives_(std::min(static_cast<double>(curve.negatives()), count_max)) {
  const double last = steps_per_doubling * std::log2(std::max(negatives_, 1.0));
  for (double step = 0; step < last; ++step) counts_.push_back(std::exp2(step / steps_per_doubling));
  counts_.push_back(std::max(negatives_, 1.0));
  for (const double count : counts_) shares_.push_back(curve.share_of(count));
}

double MassTable::share_of(double count) const noexcept {
  if (count <= 1) return shares_[0] * std::max(count, 0.0);
  if (count >= negatives_) return shares_.back();
  const auto at =
      std::min(static_cast<std::size_t>(steps_per_doubling * std::log2(count)), counts_.size() - 2);
  const double part = (count - counts_[at]) / (counts_[at + 1] - counts_[at]);
  return shares_[at] + part * (shares_[at + 1] - shares_[at]);
}

double MassTable::count_for(double share) const noexcept {
  if (share <= 0) return 0;
  if (share <= shares_[0]) return share / shares_[0];
  const auto at = static_cast<std::size_t>(std::ranges::lower_bound(shares_, share) - shares_.begin());
  if (at == shares_.size()) return std::numeric_limits<double>::infinity();
  const double part = (share - shares_[at - 1]) / (shares_[at] - shares_[at - 1]);
  return counts_[at - 1] + part * (counts_[at] - counts_[at - 1]);
}

} // namespace weir::plan
