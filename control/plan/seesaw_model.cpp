#include "control/plan/seesaw_model.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>

namespace weir::plan {
namespace {

constexpr unsigned states_max = 64; // counters longer than that are never filled at loads of sense

// What keys that come do to an empty counter.
enum class Empty : std::uint8_t { counts, stays };

// Change of the chain's states in a turnover; state `maximum` is not among them.
void flow(std::span<const double> states, double mean, Empty empty, std::span<double> change) {
  const std::size_t n = states.size();
  const auto coming = [&](std::size_t j) { return j == 0 && empty == Empty::stays ? 0 : mean * states[j]; };
  for (std::size_t j = 0; j < n; ++j) {
    change[j] = -coming(j) - static_cast<double>(j) * states[j];
    if (j > 0) change[j] += coming(j - 1);
    if (j + 1 < n) change[j] += static_cast<double>(j + 1) * states[j + 1];
  }
}

// Runge and Kutta's classical step, short against the fastest rate.
void integrate(std::span<double> states, double mean, Empty empty, double turnover) {
  const auto fastest = mean + static_cast<double>(states.size());
  const auto steps = static_cast<unsigned>(std::ceil(turnover * fastest / 0.7));
  const double h = turnover / steps;
  std::array<double, states_max> k1, k2, k3, k4, at;
  const auto n = states.size();
  const auto first = [n](std::array<double, states_max> &a) { return std::span(a).first(n); };
  const auto moved = [&](const std::array<double, states_max> &k, double by) {
    for (std::size_t j = 0; j < n; ++j) at[j] = states[j] + by * k[j];
    return first(at);
  };
  for (unsigned step = 0; step < steps; ++step) {
    flow(states, mean, empty, first(k1));
    flow(moved(k1, h / 2), mean, empty, first(k2));
    flow(moved(k2, h / 2), mean, empty, first(k3));
    flow(moved(k3, h), mean, empty, first(k4));
    for (std::size_t j = 0; j < n; ++j) states[j] += h / 6 * (k1[j] + 2 * k2[j] + 2 * k3[j] + k4[j]);
  }
}

// Shares of the cells: sealed, and with a count of those that are not and of those that are.
struct Shares {
  double q, U, V;
};

// What a question meets in the lines that its functions share. Lines differ in how many keys and guarded
// negatives they got, and what raises the rate of one function raises that of its neighbours: means are
// taken over both loads, normal ones at three points each.
class LineLoads {
public:
  LineLoads(const build::SeesawParams &p, double cells, double keys, double guarded, Shares shares)
      : cells_a_line_(8 * cells / static_cast<double>(p.cell_words)) {
    const unsigned each = filter::functions_a_line(p.hashes);
    const double lines = std::max(1.0, static_cast<double>(p.cell_words) / 8);
    double squares = 0;
    for (unsigned left = p.hashes; left > 0; left -= std::min(left, each))
      squares += std::pow(std::min(left, each), 2);
    // A line's functions come as many at a time as a key or a negative has there.
    const double spread = squares * lines / (p.hashes * p.hashes);
    const double by_keys = std::min(0.5, std::sqrt(spread / std::max(keys, 1.0)));
    const double by_guards = std::min(0.5, std::sqrt(spread / std::max(guarded, 1.0)));
    for (unsigned left = p.hashes; left > 0; left -= std::min(left, each))
      add(std::min(left, each), shares, by_keys, by_guards);
  }
  [[nodiscard]] double clear() const { return clear_; }     // no position is sealed, all have a count
  [[nodiscard]] double settled() const { return settled_; } // one is, and so has the cell that settles it
  [[nodiscard]] double guarded() const { return guarded_; } // all are

private:
  struct Line {
    double clear = 0, first = 0, sealed = 0, guarded = 0; // first: the first sealed position is here
    double clear_and = 0, first_and = 0, guarded_and = 0; // and the backup's cell, if it is here, counts

    void add(double weight, unsigned functions, Shares s) {
      const double c = (1 - s.q) * s.U, any = c + s.q * s.V;
      double now = 0;
      for (unsigned i = 0; i < functions; ++i) now += std::pow(c, i) * s.q * std::pow(any, functions - 1 - i);
      clear += weight * std::pow(c, functions), clear_and += weight * std::pow(c, functions) * any;
      first += weight * now, first_and += weight * now * any;
      sealed += weight * std::pow(any, functions);
      guarded += weight * std::pow(s.V, functions),
          guarded_and += weight * std::pow(s.V, functions - 1) * any;
    }
  };

  // Two functions may lead to one cell.
  void add(unsigned functions, const Shares &mean, double by_keys, double by_guards) {
    constexpr std::array<double, 3> at{-1.7320508, 0, 1.7320508}, weight{1.0 / 6, 2.0 / 3, 1.0 / 6};
    const double same = functions * (functions - 1) / 2.0 / cells_a_line_;
    const auto loaded = [](double share, double load) { return 1 - std::pow(1 - share, load); };
    Line line;
    for (unsigned a = 0; a < at.size(); ++a)
      for (unsigned b = 0; b < at.size(); ++b) {
        const double keys = 1 + at[a] * by_keys, guards = 1 + at[b] * by_guards, w = weight[a] * weight[b];
        const Shares here{loaded(mean.q, guards), loaded(mean.U, keys), loaded(mean.V, keys)};
        line.add(w * (1 - same), functions, here);
        if (functions > 1) line.add(w * same, functions - 1, here);
      }
    if (lines_++ == 0) {
      settled_ = line.first_and, open_ = line.clear_and, clear_ = line.clear, guarded_ = line.guarded_and;
      return;
    }
    settled_ = settled_ * line.sealed + open_ * line.first;
    open_ *= line.clear, clear_ *= line.clear, guarded_ *= line.guarded;
  }

  double cells_a_line_;
  unsigned lines_ = 0;
  double clear_ = 0, settled_ = 0, guarded_ = 0;
  double open_ = 0; // as clear_, and the backup's cell has a count
};

} // namespace

namespace {

void begin_poisson(std::span<double> states, double mean) {
  states[0] = std::exp(-mean);
  for (unsigned j = 1; j < states.size(); ++j) states[j] = states[j - 1] * mean / j;
}

// Cells and their use, in numbers of the model's page.
struct CellSizes {
  double m, mu, k;

  explicit CellSizes(const build::SeesawParams &p)
      : m(static_cast<double>(p.cell_words * (64 / width_of(p)))),
        mu(static_cast<double>(p.modulator_words * (64 / (p.count_bits + p.index_bits)))), k(p.hashes) {}
  static unsigned width_of(const build::SeesawParams &p) {
    return p.negative_bits + p.positive_bits + (p.adaptive ? 1 : 0);
  }
  [[nodiscard]] double sealed(double guarded) const { return -std::expm1(-k * guarded / m); }
  [[nodiscard]] double conflicting(double q) const { return -std::expm1(k * std::log1p(-q)); }
};

} // namespace

double never_empty(double mean, unsigned maximum, double turnover) {
  std::array<double, states_max> memory;
  const std::span<double> states = std::span(memory).first(std::min(maximum, states_max));
  begin_poisson(states, mean);
  if (turnover > 0) integrate(states, mean, Empty::stays, turnover);
  return 1 - states[0];
}

Occupied occupied(double mean, unsigned maximum, double turnover) {
  const bool never_full = mean + 8 * std::sqrt(mean) + 8 < maximum || maximum > states_max;
  if (never_full) return {-std::expm1(-mean), 0};
  std::array<double, states_max> memory;
  const std::span<double> states = std::span(memory).first(maximum);
  begin_poisson(states, mean);
  if (turnover > 0) integrate(states, mean, Empty::counts, turnover);
  return {1 - states[0], std::max(0.0, 1 - std::accumulate(states.begin(), states.end(), 0.0))};
}

SeesawForecast forecast_seesaw(const build::SeesawParams &p, double keys, double guarded, double turnover) {
  const CellSizes sizes(p);
  const auto [m, mu, k] = sizes;
  const double q = sizes.sealed(guarded), c = sizes.conflicting(q);
  const double load = std::max(keys * c / mu, 1e-12);
  const Occupied modulator = occupied(load, (1u << p.count_bits) - 1, turnover);

  const auto helped = [&](double free) { return free * (1 - std::pow(q, p.backups)) + (1 - free) * (1 - q); };
  const double stay = std::exp(-turnover);
  const double s = stay * helped(-std::expm1(-load) / load) + (1 - stay) * helped(1 - modulator.share);

  const unsigned most = (1u << p.positive_bits) - 1;
  const Occupied unsealed = occupied(keys * (k * (1 - q) + c * s) / (m * (1 - q)), most, turnover);
  Occupied sealed;
  if (q > 0) sealed = occupied(std::max(0.0, keys * (k * q - c * s) / (m * q)), most, turnover);

  const LineLoads lines(p, m, keys, guarded, {q, unsealed.share, sealed.share});
  SeesawForecast f;
  f.guarded = lines.guarded() * modulator.share;
  f.others = lines.clear() + lines.settled() * modulator.share;
  f.modulator_share = modulator.share;
  f.modulator_stuck_share = modulator.stuck;
  f.stuck_share = (1 - q) * unsealed.stuck + q * sealed.stuck;
  return f;
}

SeesawForecast forecast_seesaw_late(const build::SeesawParams &p, double keys, double guarded,
                                    double turnover) {
  const CellSizes sizes(p);
  const auto [m, mu, k] = sizes;
  const unsigned most = (1u << p.positive_bits) - 1;
  const double marked = sizes.sealed(guarded), late = -std::expm1(-turnover); // share of keys that came since
  const double open = never_empty(keys * k / m, most, turnover);
  const double q = marked * (1 - open);
  const double seen = (q + marked * (1 - never_empty(keys * k / m, most, turnover / 2))) / 2; // by those keys
  const double c = sizes.conflicting(seen), load = std::max(keys * late * c / mu, 1e-12);
  const Occupied modulator = occupied(load, (1u << p.count_bits) - 1, turnover);
  const double free = 1 - modulator.share;
  const double s = free * (1 - std::pow(seen, p.backups)) + (1 - free) * (1 - seen);

  const double in_open_cells = keys * ((1 - late) * k + late * (k * (1 - seen) + c * s));
  const Occupied unsealed = occupied(in_open_cells / (m * (1 - q)), most, turnover);
  Occupied sealed;
  if (q > 0) sealed = occupied(std::max(0.0, keys * late * (k * seen - c * s) / (m * q)), most, turnover);

  const LineLoads lines(p, m, keys, guarded, {q, unsealed.share, sealed.share});
  const double settles = modulator.share * ((1 - q) * unsealed.share + q * sealed.share);
  const double counted = open + (1 - open) * sealed.share;
  SeesawForecast f;
  f.guarded = std::pow(open, k);
  for (unsigned i = 0; i < p.hashes; ++i)
    f.guarded += std::pow(open, i) * (1 - open) * std::pow(counted, p.hashes - 1 - i) * settles;
  f.others = lines.clear() + lines.settled() * modulator.share;
  f.modulator_share = modulator.share;
  f.modulator_stuck_share = modulator.stuck;
  f.stuck_share = (1 - q) * unsealed.stuck + q * sealed.stuck;
  return f;
}

CostCurve CostCurve::zipf(std::uint64_t negatives, double skew) {
  CostCurve curve;
  curve.negatives_ = negatives;
  curve.skew_ = skew;
  curve.total_ = std::max(curve.sum_of(static_cast<double>(negatives)), 1e-300);
  return curve;
}

CostCurve CostCurve::of(std::span<const double> costs, double elsewhere) {
  CostCurve curve;
  curve.negatives_ = costs.size();
  curve.sums_.assign(costs.begin(), costs.end());
  std::ranges::sort(curve.sums_, std::greater());
  std::partial_sum(curve.sums_.begin(), curve.sums_.end(), curve.sums_.begin());
  curve.total_ = std::max((curve.sums_.empty() ? 0.0 : curve.sums_.back()) + elsewhere, 1e-300);
  return curve;
}

double CostCurve::share_of(double count) const {
  return sum_of(std::clamp(count, 0.0, static_cast<double>(negatives_))) / total_;
}

double CostCurve::sum_of(double count) const {
  if (!sums_.empty()) {
    const double whole = std::floor(count);
    const auto i = static_cast<std::size_t>(whole);
    const double below = i == 0 ? 0 : sums_[i - 1];
    return i == sums_.size() ? below : below + (count - whole) * (sums_[i] - below);
  }
  // The head one by one, the tail by Euler and Maclaurin.
  constexpr double head = 64;
  double sum = 0;
  for (double i = 1; i <= std::min(count, head); ++i) sum += std::pow(i, -skew_);
  if (count <= head) return sum;
  const double area = std::abs(skew_ - 1) < 1e-9
                          ? std::log(count / head)
                          : (std::pow(count, 1 - skew_) - std::pow(head, 1 - skew_)) / (1 - skew_);
  return sum + area + (std::pow(count, -skew_) - std::pow(head, -skew_)) / 2;
}

} // namespace weir::plan
