// Rates and |N_k| of a stack whose layers may have any rate [Stacked §9.2].
#include "control/plan/stacked_search.hpp"

#include <nlopt.hpp>

namespace weir::plan {
namespace {

constexpr double halvings_max = 40; // of a rate
constexpr int global_evaluations = 900, local_evaluations = 2000;
constexpr double first_step = 0.7, step_shrink = 0.4, steps_end = 0.02; // COBYLA begins anew with each

// A point is halvings of the rates and doublings of |N_k|: (h_1 .. h_T, d), or (h, d) for equal rates.
struct Problem {
  const Goal &goal;
  unsigned depth;
  bool equal;
  bool smooth = false;         // as if functions could be counted in fractions: no kinks to be caught in
  bool pinned = false;         // halvings of fuse layers are whole and stay as they are
  std::vector<double> rates{}; // room for one point

  [[nodiscard]] double known(const std::vector<double> &point) const {
    return std::min(std::exp2(point.back()), goal.mass().negatives());
  }
  void set(const std::vector<double> &point) {
    rates.resize(depth);
    for (unsigned i = 0; i < depth; ++i) rates[i] = std::exp2(-point[equal ? 0 : i]);
  }
  [[nodiscard]] bool is_fuse(unsigned layer) const { return goal.task().fuse_below && layer % 2 == 1; }
  [[nodiscard]] double bits_a_key(unsigned layer, double keys) const {
    const double rate = rates[layer];
    if (is_fuse(layer)) return fuse_slots_per_key(keys) * -std::log2(rate);
    const StackBase base = goal.task().base;
    return smooth && base == StackBase::bloom && rate < 0.5 ? -std::log2(rate) / build::ln2
                                                            : bits_for_rate(base, rate);
  }
  [[nodiscard]] double bits(double known_count) const {
    double positives = goal.task().positives, bits = overhead_bits(depth), variance = 0;
    for (unsigned i = 0; i < depth; ++i) {
      double &keys = i % 2 == 0 ? positives : known_count, &others = i % 2 == 0 ? known_count : positives;
      const double of_layer = keys * bits_a_key(i, keys);
      bits += of_layer;
      variance += i > 0 ? chance_of(of_layer, keys) : 0;
      others *= rates[i];
    }
    return bits + room_for(variance);
  }
};

double log_worth(const std::vector<double> &point, std::vector<double> &, void *data) {
  auto &p = *static_cast<Problem *>(data);
  p.set(point);
  const double known = p.known(point);
  const double least = p.goal.for_bits() ? p.goal.wrong(p.rates, known) : p.bits(known);
  return std::log2(std::max(least * p.goal.priced(p.rates), 1e-300));
}

// At most 0 where the constraint is kept.
double excess(const std::vector<double> &point, std::vector<double> &, void *data) {
  auto &p = *static_cast<Problem *>(data);
  p.set(point);
  const double known = p.known(point);
  const StackTask &task = p.goal.task();
  return p.goal.for_bits() ? std::log2(std::max(p.bits(known), 1e-9) / p.goal.bits_max())
                           : std::log2(std::max(p.goal.wrong(p.rates, known), 1e-300) / *task.rate_max);
}
double efpb_excess(const std::vector<double> &point, std::vector<double> &, void *data) {
  auto &p = *static_cast<Problem *>(data);
  p.set(point);
  return std::log2(std::max(build::unknown_rate(p.rates), 1e-300) / p.goal.efpb_max());
}

bool solve(nlopt::algorithm algorithm, int evaluations, double step, Problem &problem,
           std::vector<double> &point) {
  const auto n = static_cast<unsigned>(point.size());
  nlopt::opt solver(algorithm, n);
  std::vector<double> low(n, 0.0), high(n, halvings_max);
  high.back() = std::log2(std::max(problem.goal.mass().negatives(), 2.0));
  if (problem.equal) low[0] = 0.01;
  for (unsigned i = 0; i < n; ++i) point[i] = std::clamp(point[i], low[i], high[i]);
  for (unsigned i = 1; problem.pinned && i + 1 < n; i += 2) low[i] = high[i] = point[i];
  solver.set_lower_bounds(low);
  solver.set_upper_bounds(high);
  solver.set_min_objective(log_worth, &problem);
  solver.add_inequality_constraint(excess, &problem, 1e-6);
  if (problem.goal.efpb_max() < 1) solver.add_inequality_constraint(efpb_excess, &problem, 1e-6);
  solver.set_maxeval(evaluations);
  solver.set_initial_step(step);
  solver.set_xtol_abs(1e-4);
  double least = 0;
  try {
    solver.optimize(point, least);
  } catch (const nlopt::roundoff_limited &) {
    return true; // what was found is as good as it gets
  } catch (const std::exception &) {
    return false;
  }
  return true;
}

// A solver stops a little on the wrong side of a constraint: layer 1 makes up for it.
void keep_constraint(Problem &p, std::vector<double> &point) {
  for (unsigned step = 0; step < 60; ++step) {
    std::vector<double> none;
    const double over = excess(point, none, &p);
    if (over <= 1e-7) return;
    const double change = std::max(over, 1e-6) * 4;
    point[0] = std::clamp(point[0] + (p.goal.for_bits() ? -change : change), 0.0, halvings_max);
  }
}

StackedChoice choice_at(Problem &p, std::vector<double> point) {
  keep_constraint(p, point);
  std::vector<double> none;
  StackedChoice choice;
  const bool kept =
      excess(point, none, &p) <= 1e-6 && (p.goal.efpb_max() >= 1 || efpb_excess(point, none, &p) <= 1e-4);
  if (!kept) return choice;
  choice.known = p.known(point);
  choice.rates = p.rates;
  for (unsigned i = 0; p.pinned && i < p.depth; ++i)
    choice.digits.push_back(i % 2 == 1 ? static_cast<unsigned>(point[i]) : 0);
  choice.bits = p.bits(choice.known);
  choice.wrong = p.goal.wrong(p.rates, choice.known);
  choice.worth = p.goal.worth(p.rates, choice.bits, choice.wrong);
  return choice;
}

// One layer: the constraint says its rate.
StackedChoice one_layer(const Goal &goal) {
  double low = 0, high = halvings_max; // halvings
  const StackTask &task = goal.task();
  const double rate_max = std::min(task.rate_max.value_or(1), goal.efpb_max());
  if (!goal.for_bits()) low = high = -std::log2(rate_max);
  for (unsigned step = 0; step < 60 && goal.for_bits(); ++step) {
    const double middle = (low + high) / 2;
    const bool fits =
        task.positives * bits_for_rate(task.base, std::exp2(-middle)) <= goal.bits_max() - overhead_bits(1);
    (fits ? low : high) = middle;
  }
  StackedChoice choice;
  choice.rates = {std::exp2(-low)};
  choice.wrong = choice.rates[0];
  choice.bits = task.positives * bits_for_rate(task.base, choice.wrong);
  if (choice.wrong <= rate_max * (1 + 1e-9))
    choice.worth = goal.worth(choice.rates, choice.bits, choice.wrong);
  return choice;
}

// Free rates: (h_1 .. h_T, d).
std::vector<double> free_point(const std::vector<double> &halvings, double doublings, unsigned depth) {
  std::vector<double> point = halvings;
  point.resize(depth, 0.02); // as good as no layer, but with a slope
  point.push_back(doublings);
  return point;
}

// The best of COBYLA's ends: first without kinks from every start, then as it is from the best of those,
// with smaller and smaller first steps.
StackedChoice best_from(const Goal &goal, unsigned depth, std::vector<std::vector<double>> starts) {
  Problem free{goal, depth, false};
  StackedChoice best;
  std::vector<double> best_point;
  const auto look_at = [&](const std::vector<double> &at) {
    StackedChoice found = choice_at(free, at);
    if (found.worth < best.worth) best = std::move(found), best_point = at;
  };
  for (std::vector<double> &start : starts) {
    look_at(start);
    free.smooth = true;
    const bool solved = solve(nlopt::LN_COBYLA, local_evaluations, first_step, free, start);
    free.smooth = false;
    if (solved) look_at(start);
  }
  if (goal.task().fuse_below && !best_point.empty()) {
    free.pinned = true;
    for (unsigned i = 1; i < depth; i += 2) best_point[i] = std::clamp(std::round(best_point[i]), 1.0, 20.0);
    best = {};
    look_at(best_point);
  }
  for (double step = first_step * step_shrink; step > steps_end; step *= step_shrink) {
    std::vector<double> from = best_point;
    if (from.empty() || !solve(nlopt::LN_COBYLA, local_evaluations, step, free, from)) break;
    look_at(from);
  }
  return best;
}

} // namespace

StackedChoice solve_continuous(const Goal &goal, unsigned depth, const StackedChoice &so_far) {
  if (depth == 1) return one_layer(goal);
  const double first_guess =
      std::log2(std::max(2.0, std::min(goal.task().positives, goal.mass().negatives())));
  nlopt::srand(goal.task().seed);
  Problem equal{goal, depth, true};
  std::vector<double> point{3, first_guess};
  if (!solve(nlopt::GN_ISRES, global_evaluations, first_step, equal, point)) point = {3, first_guess};

  std::vector<std::vector<double>> starts{free_point(std::vector<double>(depth, point[0]), point[1], depth)};
  if (!so_far.rates.empty()) {
    std::vector<double> halvings;
    for (const double rate : so_far.rates) halvings.push_back(-std::log2(rate));
    starts.push_back(so_far.rates.size() == 1 ? free_point(halvings, first_guess, depth)
                                              : free_point(halvings, std::log2(so_far.known), depth));
  }
  return best_from(goal, depth, std::move(starts));
}

} // namespace weir::plan
