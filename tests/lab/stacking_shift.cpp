// Stacks sized for one workload and asked by another [Stacked §4.4, §5.3, figure 6a].
//
// Known negatives keep a share s of their questions; the rest goes to negatives that nobody knew of:
//
//   EFPR(s) = s psi k + (1 - s psi) u      k, u: rates of known and unknown negatives
//
// A plain filter of the same size, with rate p, is better below s = (u - p) / (psi (u - k)), and the stack is
// u / p times as bad at worst.
#include "tests/lab/stacking.hpp"

#include "control/plan/stacked_size.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <nlohmann/json.hpp>
#include <optional>

namespace weir::lab {
namespace {

using Json = nlohmann::ordered_json;

constexpr double shifted_positives = 1'000'000;

struct Sized {
  unsigned layers = 1;
  double known = 0, psi = 0, known_rate = 1, unknown_rate = 1, single_rate = 1;

  [[nodiscard]] double efpr() const { return psi * known_rate + (1 - psi) * unknown_rate; }
};

plan::StackTask task_of(const plan::CostCurve &curve, double bits) {
  plan::StackTask task;
  task.positives = shifted_positives;
  task.negatives = curve;
  task.bits_total = bits * shifted_positives;
  return task;
}
Sized planned(const plan::StackTask &task) {
  const plan::StackPlan plan = plan::size_stack(task).value_or(plan::StackPlan{});
  return {static_cast<unsigned>(plan.layers.size()),
          plan.known,
          plan.psi,
          plan.known_rate,
          plan.efpb,
          plan.single_rate};
}

// The best of free rates and any depth.
Sized best(const plan::CostCurve &curve, double bits) { return planned(task_of(curve, bits)); }

// The best that is never more than half as bad again as the plain filter.
Sized bounded(const plan::CostCurve &curve, double bits) {
  plan::StackTask task = task_of(curve, bits);
  task.efpb_max = 1.5 * std::exp(-bits * build::bloom_law.c);
  return planned(task);
}

// The rate with which so many layers of one rate take these bits.
double equal_rate(unsigned layers, double known, double bits) {
  double low = 1e-9, high = 0.99;
  for (unsigned step = 0; step < 60; ++step) {
    const double rate = std::sqrt(low * high);
    const std::vector<double> rates(layers, rate);
    double sum = 0;
    for (std::size_t i = 0; i < layers; ++i)
      sum += build::keys_in_layer(rates, i, shifted_positives, known) * build::bloom_law.bits(rate);
    (sum > bits * shifted_positives ? low : high) = rate;
  }
  return high;
}
// One rate for all layers, as the paper's search begins; depth and |N_k| are free.
Sized equal(const plan::CostCurve &curve, double bits) {
  Sized least;
  for (const unsigned layers : {3u, 5u, 7u, 9u})
    for (double known = 1000; known <= static_cast<double>(curve.negatives()); known *= 1.1) {
      const std::vector<double> rates(layers, equal_rate(layers, known, bits));
      const Sized sized{layers, known, curve.share_of(known), build::known_rate(rates),
                        build::unknown_rate(rates)};
      if (sized.efpr() < least.efpr()) least = sized;
    }
  least.single_rate = std::exp(-bits * build::bloom_law.c);
  return least;
}

struct Way {
  const char *name;
  Sized (*size)(const plan::CostCurve &, double);
};
constexpr std::array<Way, 3> ways{{{"best", best}, {"bounded", bounded}, {"equal", equal}}};

} // namespace

Json shift_rows() {
  Json rows = Json::array();
  for (const double per_positive : {10.0, 100.0})
    for (const double skew : {0.5, 0.75, 1.0}) {
      const auto curve =
          plan::CostCurve::zipf(static_cast<std::uint64_t>(per_positive * shifted_positives), skew);
      for (const double bits : {6.0, 8.0, 10.0, 12.0})
        for (const Way &way : ways) {
          const Sized s = way.size(curve, bits);
          const double over = s.unknown_rate - s.single_rate,
                       spread = s.psi * (s.unknown_rate - s.known_rate);
          rows.push_back(
              {{"way", way.name},
               {"negatives_per_key", per_positive},
               {"zipf", skew},
               {"bits", bits},
               {"layers", s.layers},
               {"known_per_key", s.known / shifted_positives},
               {"psi", s.psi},
               {"efpr", s.efpr()},
               {"plain", s.single_rate},
               {"worst_over_plain", s.unknown_rate / s.single_rate},
               {"plain_wins_below", spread > 0 ? Json(std::clamp(over / spread, 0.0, 1.0)) : Json(nullptr)}});
        }
    }
  return rows;
}

} // namespace weir::lab
