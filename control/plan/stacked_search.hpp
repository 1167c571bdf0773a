// What both ways of sizing a stack share: what layers cost, what a choice is worth, and psi by table.
#pragma once

#include "control/plan/stacked_size.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

namespace weir::plan {

// ---- layers ------------------------------------------------------------------------------------------

// Whether any number of bits a key makes sense.
[[nodiscard]] constexpr bool is_continuous(StackBase base) noexcept {
  return base == StackBase::bloom || base == StackBase::split_block;
}

inline constexpr unsigned digits_max = 20;

// A layer's header, and half a line that rounding takes on average.
inline constexpr double layer_overhead_bits = 8 * 64 + 256;
[[nodiscard]] constexpr double overhead_bits(unsigned layers) noexcept {
  return (layers + 1) * layer_overhead_bits + 128 * layers;
}
// How many keys come to a layer is a matter of chance: the variance of the bits that they take, and room
// for four standard deviations, since what one layer lets through too much adds to the layers below.
[[nodiscard]] inline double chance_of(double bits, double keys) noexcept {
  return bits * bits / std::max(keys, 1.0);
}
[[nodiscard]] inline double room_for(double variance) noexcept { return 4 * std::sqrt(variance); }

// Bits a key of a continuous base with this rate, for very many keys.
[[nodiscard]] double bits_for_rate(StackBase base, double rate) noexcept;

// Of a full table whose fingerprints or remainders have so many bits.
struct Digits {
  double rate = 1, bits_per_key = 0;
};
[[nodiscard]] Digits digits_of(StackBase base, unsigned digits) noexcept;
// Slots a key of a fuse filter: small ones need more.
[[nodiscard]] double fuse_slots_per_key(double keys) noexcept;
[[nodiscard]] inline double bits_per_key(StackBase base, const Digits &of, unsigned digits,
                                         double keys) noexcept {
  return base == StackBase::fuse ? digits * fuse_slots_per_key(keys) : of.bits_per_key;
}

// ---- psi ---------------------------------------------------------------------------------------------

// A CostCurve at some two thousand places, for solvers that ask a hundred thousand times.
class MassTable {
public:
  // Of no more than `count_max` negatives.
  explicit MassTable(const CostCurve &curve, double count_max = 1e300);

  [[nodiscard]] double negatives() const noexcept { return negatives_; }
  // Of the `count` hottest.
  [[nodiscard]] double share_of(double count) const noexcept;
  // The least count with at least this share; more than there are when there is none.
  [[nodiscard]] double count_for(double share) const noexcept;

private:
  static constexpr double steps_per_doubling = 96;

  double negatives_;
  std::vector<double> counts_, shares_;
};

// ---- what a choice is worth --------------------------------------------------------------------------

struct StackedChoice {
  std::vector<double> rates;
  std::vector<unsigned> digits; // empty where bits are continuous
  double known = 0;
  double bits = 0, wrong = 1;
  double worth = std::numeric_limits<double>::infinity(); // what is made least; infinite: nothing found
};

class Goal {
public:
  explicit Goal(const StackTask &task) : task_(task), mass_(task.negatives, task.known_max) {}

  [[nodiscard]] const StackTask &task() const noexcept { return task_; }
  [[nodiscard]] const MassTable &mass() const noexcept { return mass_; }
  [[nodiscard]] bool for_bits() const noexcept { return task_.bits_total.has_value(); }

  // What the sums may come to: less than what there is by what they have been found to leave out.
  [[nodiscard]] double bits_max() const noexcept {
    return task_.bits_total.value_or(std::numeric_limits<double>::infinity()) - left_out_;
  }
  void leave_out(double bits) noexcept { left_out_ += bits; }
  // A little less than asked: real layers come out a little different.
  [[nodiscard]] double efpb_max() const noexcept { return task_.efpb_max < 1 ? 0.999 * task_.efpb_max : 1; }

  [[nodiscard]] double weight() const noexcept { return std::min(task_.weight, 1 - 1e-6); }
  // w EFPR + (1 - w) EFPB: as if psi were w psi. A millionth always counts for EFPB: where next to nothing
  // is left to gain for known negatives, the others are worth the bits.
  [[nodiscard]] double wrong(build::LayerRates rates, double known) const {
    return build::stacked_efpr(rates, weight() * mass_.share_of(known));
  }
  [[nodiscard]] double priced(build::LayerRates rates) const {
    const ProbePrice &p = task_.price;
    if (p.positive == 0 && p.known == 0 && p.unknown == 0) return 1;
    return 1 + p.positive * build::positive_probes(rates) + p.known * build::known_probes(rates) +
           p.unknown * build::unknown_probes(rates);
  }
  [[nodiscard]] double worth(build::LayerRates rates, double bits, double wrong) const {
    return (for_bits() ? wrong : bits) * priced(rates);
  }

private:
  const StackTask &task_;
  MassTable mass_;
  double left_out_ = 0;
};

// A choice in memory: without layers, when it is none or the base filter has no such shape.
struct AllocatedStack {
  StackPlan plan;
  double spare = 0; // bits of the budget that it leaves; below 0 it takes too many
};
[[nodiscard]] AllocatedStack allocate_stack(const Goal &goal, const StackedChoice &choice);

// The best stack of `depth` layers, or one of infinite worth. `so_far` is the best of fewer layers.
[[nodiscard]] StackedChoice solve_continuous(const Goal &goal, unsigned depth, const StackedChoice &so_far);
[[nodiscard]] StackedChoice enumerate(const Goal &goal, unsigned depth, const StackedChoice &so_far);

} // namespace weir::plan
