#include "control/plan/allow_stack_size.hpp"

#include "weir/build/stacked_size.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

namespace weir::plan {
namespace {

using filter::CountingBloom;
using Layer = filter::CountingBloomShape;

constexpr unsigned words_a_line = 8;
constexpr std::uint64_t line_bits = 64 * words_a_line;

double mean_of(const Layer &layer, double keys) {
  return keys * layer.hashes / static_cast<double>(layer.cells());
}

// The rate of layer 3. How many keys layer 2 lets through is a matter of chance, and many functions make much
// of it: the mean over that number. `share` gives the share of cells in use for a mean count.
double settled_rate(const Layer &layer, double keys, const auto &share) {
  constexpr double many = 1e5, few = 64;
  const auto with = [&](double n) { return std::pow(share(mean_of(layer, n)), layer.hashes); };
  if (keys <= 0) return 0;
  if (keys > many) return with(keys);
  double rate = 0, weights = 0;
  if (keys > few) {
    for (double z = -6; z <= 6; z += 0.5) { // normal
      const double weight = std::exp(-z * z / 2);
      rate += weight * with(keys + z * std::sqrt(keys));
      weights += weight;
    }
    return rate / weights;
  }
  double weight = std::exp(-keys); // Poisson
  for (double n = 1; n < keys + 8 * std::sqrt(keys) + 8; ++n) {
    weight *= keys / n;
    rate += weight * with(n);
  }
  return rate;
}

// Share of the cells in use after churn, for any mean, by interpolation: a search asks tens of thousands of
// times.
class Wear {
public:
  Wear(unsigned cell_bits, double turnover) : most_((1u << cell_bits) - 1), turnover_(turnover) {
    for (std::size_t i = 0; i < shares_.size(); ++i)
      shares_[i] = occupied(static_cast<double>(i) * step, most_, turnover).share;
  }
  [[nodiscard]] double share(double mean) const {
    const double at = mean / step;
    const auto below = static_cast<std::size_t>(at);
    if (below + 1 >= shares_.size()) return occupied(mean, most_, turnover_).share;
    return shares_[below] + (at - static_cast<double>(below)) * (shares_[below + 1] - shares_[below]);
  }
  [[nodiscard]] double rate(const Layer &layer, double keys) const {
    return std::pow(share(mean_of(layer, keys)), layer.hashes);
  }
  // With the best k: the rate falls up to it and rises beyond.
  [[nodiscard]] Layer best(std::uint64_t words, unsigned cell_bits, double keys) const {
    Layer layer{static_cast<std::uint32_t>(words), cell_bits, 1};
    double least = rate(layer, keys);
    for (Layer next = layer; ++next.hashes <= CountingBloom::hashes_max;) {
      const double now = rate(next, keys);
      if (now >= least) break;
      least = now;
      layer = next;
    }
    return layer;
  }

private:
  static constexpr double step = 0.02;

  unsigned most_;
  double turnover_;
  std::array<double, 200> shares_{};
};

class Search {
public:
  explicit Search(const AllowStackTask &task) : task_(task), keys_(static_cast<double>(task.keys)) {
    const filter::StackedCountingShape least{{words_a_line}, {words_a_line}, {words_a_line}};
    const std::uint64_t around = 8 * least.bytes() - 3 * line_bits;
    lines_ = task.bits_total > around ? (task.bits_total - around) / line_bits : 0;
  }
  [[nodiscard]] bool possible() const { return lines_ >= 3 && lines_ * words_a_line < UINT32_MAX; }

  void try_all() {
    const std::uint64_t all = task_.costs.negatives();
    for (const unsigned cell_bits : {2u, 3u, 4u}) {
      const Wear wear(cell_bits, task_.turnover);
      try_layers(wear, cell_bits, 0, {words_a_line, 1, 1}, 1);
      for (std::uint64_t known = all; known > 0 && known * 64 > all; known /= 2)
        for (unsigned second = 1; second <= 28; ++second) // half a bit of rate each
          if (!try_second(wear, cell_bits, known, std::exp2(-0.5 * second))) break;
    }
  }
  [[nodiscard]] const filter::StackedCountingShape &best() const { return best_; }
  [[nodiscard]] std::uint64_t known() const { return known_; }

private:
  [[nodiscard]] static std::uint64_t lines_for(double keys, double rate, unsigned cell_bits) {
    return (build::bits_for_rate(keys, rate, cell_bits) + line_bits - 1) / line_bits;
  }

  // False: there is no room for such a layer 2, nor for a better one.
  bool try_second(const Wear &wear, unsigned cell_bits, std::uint64_t known, double rate) {
    const std::uint64_t lines = lines_for(static_cast<double>(known), rate, 1);
    if (lines + 2 > lines_) return false;
    const Layer negatives = CountingBloom::shape_for(static_cast<double>(known), lines * line_bits, 1);
    const double passing = keys_ * CountingBloom::rate(negatives, static_cast<double>(known));
    for (unsigned third = 1; third <= 40; ++third) {
      const std::uint64_t settled = lines_for(passing, std::exp2(-0.5 * third), cell_bits);
      if (lines + settled + 1 > lines_) break;
      try_layers(wear, cell_bits, known, negatives, settled);
    }
    return true;
  }

  void try_layers(const Wear &wear, unsigned cell_bits, std::uint64_t known, const Layer &negatives,
                  std::uint64_t settled_lines) {
    const auto negatives_known = static_cast<double>(known);
    const double a2 = known == 0 ? 0 : CountingBloom::rate(negatives, negatives_known);
    const Layer settled = wear.best(settled_lines * words_a_line, cell_bits, keys_ * a2);
    const std::uint64_t rest = lines_ - settled_lines - negatives.words / words_a_line;
    const Layer positives = wear.best(rest * words_a_line, cell_bits, keys_);
    const double a1 = wear.rate(positives, keys_);
    const double a3 = settled_rate(settled, keys_ * a2, [&](double mean) { return wear.share(mean); });
    const AllowStackForecast forecast{.known = a1 * a3, .others = a1 * (1 - a2 + a2 * a3)};
    const double weighted = forecast.weighted(task_.costs.share_of(negatives_known));
    if (weighted >= least_) return;
    least_ = weighted;
    known_ = known;
    best_ = {positives, negatives, settled};
  }

  const AllowStackTask &task_;
  double keys_;
  std::uint64_t lines_ = 0; // for all layers together
  double least_ = 2;
  std::uint64_t known_ = 0;
  filter::StackedCountingShape best_;
};

} // namespace

AllowStackForecast forecast_stack(const filter::StackedCountingShape &shape, double keys, double known,
                                  double turnover) {
  const auto in_use = [&](const Layer &layer, double entries) {
    return occupied(mean_of(layer, entries), (1u << layer.cell_bits) - 1, turnover);
  };
  const double a2 = known > 0 ? CountingBloom::rate(shape.negatives, known) : 0;
  const Occupied first = in_use(shape.positives, keys), third = in_use(shape.settled, keys * a2);
  const double a1 = std::pow(first.share, shape.positives.hashes);
  const unsigned most = (1u << shape.settled.cell_bits) - 1;
  const double a3 = settled_rate(shape.settled, keys * a2,
                                 [&](double mean) { return occupied(mean, most, turnover).share; });
  const auto cells1 = static_cast<double>(shape.positives.cells()),
             cells3 = static_cast<double>(shape.settled.cells());
  return {.known = a1 * a3,
          .others = a1 * (1 - a2 + a2 * a3),
          .stuck_share = (cells1 * first.stuck + cells3 * third.stuck) / (cells1 + cells3)};
}

std::optional<AllowStackPlan> size_allow_stack(const AllowStackTask &task) {
  Search search(task);
  if (task.keys == 0 || !search.possible()) return std::nullopt;
  search.try_all();
  AllowStackPlan plan;
  plan.params = {task.keys, search.best()};
  plan.known = search.known();
  plan.known_cost = task.costs.share_of(static_cast<double>(plan.known));
  const auto keys = static_cast<double>(task.keys), known = static_cast<double>(plan.known);
  plan.fresh = forecast_stack(plan.params.shape, keys, known, 0);
  plan.churned = forecast_stack(plan.params.shape, keys, known, task.turnover);
  return plan;
}

const AllowFilterPlanner allow_stack_planner{
    .name = "stacked",
    .noun = "a stack",
    .guarded_word = "known",
    .size = [](const AllowFilterTask &task) -> Result<SizedAllowFilter> {
      const auto sized =
          size_allow_stack({.keys = task.planned_keys, .bits_total = task.bits_total, .costs = task.costs});
      if (!sized)
        return fail(Errc::usage, fmt::format("a stack for {} keys does not fit into {} bits; give it more "
                                             "with allow.bits_per_key",
                                             task.planned_keys, task.bits_total));
      const filter::StackedCountingShape &s = sized->params.shape;
      return SizedAllowFilter{.params = sized->params,
                              .rates = {sized->weighted_fresh(), sized->fresh.others,
                                        sized->weighted_churned(), sized->churned.others},
                              .guarded = sized->known,
                              .guarded_cost = sized->known_cost,
                              .json = fmt::format(R"("hashes":{},"cell_bits":{},"layer_bytes":[{},{},{}])",
                                                  s.positives.hashes, s.positives.cell_bits,
                                                  s.positives.bits() / 8, s.negatives.bits() / 8,
                                                  s.settled.bits() / 8),
                              .text = {}};
    }};

} // namespace weir::plan
