// What rates a Seesaw counting filter will have: the model behind its sizing, and the costs of wrong
// answers that it is weighed by [SSCF §3, §4.1.2].
//
// n keys, g guarded negatives, m cells of which a key uses k, mu modulator cells, B backups.
//
//   q   = 1 - exp(-k g / m)            share of sealed cells
//   c   = 1 - (1 - q)^k                share of keys with a sealed position, which use the modulator
//   f   = (1 - exp(-l)) / l            share of those that find their modulator cell free, l = n c / mu
//   s   = f (1 - q^B) + (1 - f)(1 - q) share of those that are counted in a backup, not in `old`
//   u   = n (k (1 - q) + c s) / (m (1 - q))    mean count of an unsealed cell
//   v   = n (k q - c s) / (m q)                mean count of a sealed one: second conflicts, failures
//
// Counts are Poisson while nothing is full. Churn makes each count a queue: arrivals with the mean's
// rate, every key leaves with rate 1 a turnover, and what reaches the maximum never comes down. occupied()
// integrates that chain, started from the Poisson state of a new filter; U, V and M are the shares of
// unsealed, sealed and modulator cells that have a count. Keys that come later find a free modulator
// cell with probability 1 - M; the ones of the start leave with exp(-turnover).
//
// A query settles a key with a sealed position with probability a = M ((1 - q) U + q V), see
// filter/seesaw.hpp. With r = (1 - q) U + q V for any one position:
//
//   guarded    V^(k-1) a
//   others     ((1 - q) U)^k + sum over i < k of ((1 - q) U)^i q r^(k-1-i) a
//
// each factor a mean over the loads of the line that its functions share (LineLoads).
//
// Negatives that become known when the keys are in: a cell of theirs that is in use is sealed when its count
// falls to 0, and never if it is stuck before. Its chain is the same one with 0 as an end; what has not ended
// there after the turnover is the share x of marked cells that are still open. Of sealed cells there are
// q (1 - x), and keys that came before see none of them. With y = (1 - x) V
//
//   guarded    x^k + sum over i < k of x^i (1 - x) (x + y)^(k-1-i) a
//
// Left out: keys whose own positions coincide, and the words' rounding. Measured rates of a million
// keys lie within a few hundredths of the prediction for others, and within a tenth for guarded ones.
#pragma once

#include "weir/build/seesaw_builder.hpp"

#include <cstdint>
#include <span>
#include <vector>

namespace weir::plan {

// The share of all cost that the dearest negatives carry.
class CostCurve {
public:
  // Negative number i costs i^-skew.
  [[nodiscard]] static CostCurve zipf(std::uint64_t negatives, double skew);
  // In any order. `elsewhere` is what negatives cost that are not known and cannot be guarded.
  [[nodiscard]] static CostCurve of(std::span<const double> costs, double elsewhere = 0);

  [[nodiscard]] std::uint64_t negatives() const noexcept { return negatives_; }
  // Of the `count` dearest; fractions interpolate.
  [[nodiscard]] double share_of(double count) const;

private:
  [[nodiscard]] double sum_of(double count) const;

  std::uint64_t negatives_ = 0;
  double skew_ = 0, total_ = 0;
  std::vector<double> sums_; // of() alone: of the first i + 1
};

struct SeesawForecast {
  double guarded = 0;         // rate of a guarded negative
  double others = 0;          // rate of any other negative: the plain rate
  double modulator_share = 0; // of its cells that have a count
  double stuck_share = 0;     // of the cells
  double modulator_stuck_share = 0;

  // The mean over all cost when `guarded_cost` of it is guarded.
  [[nodiscard]] double weighted(double guarded_cost) const noexcept {
    return guarded_cost * guarded + (1 - guarded_cost) * others;
  }
};

// `keys` keys and `guarded` negatives, all known before the first key, after `turnover` times all keys
// have been replaced at random (0: as built).
[[nodiscard]] SeesawForecast forecast_seesaw(const build::SeesawParams &params, double keys, double guarded,
                                             double turnover);

// The same, with the negatives known only when all keys are in; `turnover` counts from then on.
[[nodiscard]] SeesawForecast forecast_seesaw_late(const build::SeesawParams &params, double keys,
                                                  double guarded, double turnover);

// Share of counters with mean `mean` that are not 0, and of those that have reached `maximum` once.
struct Occupied {
  double share = 0, stuck = 0;
};
[[nodiscard]] Occupied occupied(double mean, unsigned maximum, double turnover);
// Share of counters with mean `mean` that have never been 0 since the turnover began.
[[nodiscard]] double never_empty(double mean, unsigned maximum, double turnover);

} // namespace weir::plan
