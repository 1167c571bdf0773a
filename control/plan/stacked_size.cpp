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

StackPlan plan_of(const Goal &goal, const Choice &choice) {
  const StackTask &task = goal.task();
  StackPlan plan;
  plan.known = choice.rates.size() == 1 ? 0
               : goal.for_bits()        ? std::floor(choice.known)
                                        : std::ceil(choice.known);
  plan.psi = task.negatives.share_of(plan.known);
  for (std::size_t i = 0; i < choice.rates.size(); ++i) {
    build::LayerSize layer;
    layer.rate = choice.rates[i];
    layer.keys = build::keys_in_layer(choice.rates, i, task.positives, plan.known);
    layer.digits = choice.digits.empty() ? 0 : choice.digits[i];
    const StackBase base = task.fuse_below && i % 2 == 1 ? StackBase::fuse : task.base;
    layer.bits = layer.keys * (layer.digits == 0 ? bloom_bits_per_key(layer.rate)
                                                 : digits_of(base, layer.digits).bits_per_key);
    plan.bits += layer.bits;
    plan.layers.push_back(layer);
  }
  plan.efpr = build::stacked_efpr(choice.rates, plan.psi);
  plan.efpb = build::unknown_rate(choice.rates);
  plan.known_rate = build::known_rate(choice.rates);
  return plan;
}

} // namespace

const char *name_of(StackBase base) noexcept {
  switch (base) {
  case StackBase::bloom: return "bloom";
  case StackBase::cuckoo: return "cuckoo";
  case StackBase::quotient: return "cqf";
  case StackBase::fuse: return "fuse";
  }
  return "unknown";
}

Result<StackPlan> size_stack(const StackTask &task) {
  if (const Status ok = check(task); !ok) return std::unexpected(ok.error());
  const Goal goal(task);
  const auto solve = is_continuous(task.base) ? solve_continuous : enumerate;
  Choice best = solve(goal, 1, {});
  const Choice single = best;
  for (unsigned depth = 3; depth <= task.depth_max; depth += 2) {
    Choice deeper = solve(goal, depth, best);
    const bool enough = deeper.worth > best.worth * (1 - task.gain_min);
    if (deeper.worth < best.worth) best = std::move(deeper);
    if (enough && depth > 3) break; // three layers that gain nothing say nothing of five
  }
  if (!std::isfinite(best.worth))
    return fail(Errc::refused, "stacked filter: no sizes keep the constraint, allow more bits or errors");
  StackPlan plan = plan_of(goal, best);
  if (std::isfinite(single.worth)) {
    plan.single_rate = single.rates[0];
    plan.single_bits = single.bits;
  }
  return plan;
}

// ---- what is in stacked_search.hpp ---------------------------------------------------------------

double bloom_bits_per_key(double rate) noexcept {
  if (rate >= 1) return 0;
  const double best = std::floor(std::max(1.0, -std::log2(rate)));
  const auto bits = [rate](double k) { return -k / std::log1p(-std::pow(rate, 1 / k)); };
  return std::min(bits(best), bits(best + 1));
}

MassTable::MassTable(const CostCurve &curve) : negatives_(static_cast<double>(curve.negatives())) {
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
