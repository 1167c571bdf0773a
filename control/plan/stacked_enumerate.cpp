// Digits and |N_k| of a stack whose layers have whole numbers of fingerprint bits [Stacked §3.5].
#include "control/plan/stacked_search.hpp"

namespace weir::plan {
namespace {

constexpr double infinite = std::numeric_limits<double>::infinity();

// Goes through the layers from the first one down, with sums for those that have been chosen.
class Enumeration {
public:
  Enumeration(const Goal &goal, unsigned depth, double worth)
      : goal_(goal), depth_(depth), rates_(depth), digits_(depth),
        rate_max_(goal.task().rate_max.value_or(infinite)),
        bits_max_(goal.bits_max() - overhead_bits(depth)) {
    best_.worth = worth;
    const ProbePrice &price = goal.task().price;
    price_min_ = depth == 1 ? 1 : 1 + 2 * price.positive + price.known + price.unknown;
    odd_ = worthwhile(above_);
    even_ = worthwhile(below_);
  }

  [[nodiscard]] StackedChoice run() {
    descend(0, {});
    return std::move(best_);
  }

private:
  struct Sums {
    double positives = 1, known = 1;   // shares that reach the next layer of theirs
    double bits = 0;                   // of odd layers
    double bits_a_negative = 0;        // of even layers, for each known negative
    double reaching = 1, accepted = 0; // of unknown negatives, so far
  };

  struct Candidate : Digits {
    unsigned digits = 0;
  };
  // Rising in bits and falling in rate: cuckoo tables with the shortest fingerprints stay so empty that
  // longer ones take less.
  [[nodiscard]] static std::vector<Candidate> worthwhile(StackBase base) {
    std::vector<Candidate> list;
    for (unsigned d = digits_max; d > 0; --d)
      if (const Digits of = digits_of(base, d); list.empty() || of.bits_per_key < list.back().bits_per_key)
        list.push_back({of, d});
    std::ranges::reverse(list);
    return list;
  }

  // Every choice of the layers left.
  void descend(unsigned layer, const Sums &sums) {
    const bool odd_layer = layer % 2 == 0;
    for (const Candidate &digits : odd_layer ? odd_ : even_) {
      Sums next = sums;
      if (odd_layer) {
        const double keys = goal_.task().positives * sums.positives;
        next.bits += keys * bits_per_key(above_, digits, digits.digits, keys);
        next.known *= digits.rate;
      } else {
        const double keys_max = goal_.mass().negatives() * sums.known;
        next.bits_a_negative += sums.known * bits_per_key(below_, digits, digits.digits, keys_max);
        next.positives *= digits.rate;
        next.accepted += sums.reaching * (1 - digits.rate);
      }
      next.reaching *= digits.rate;
      rates_[layer] = digits.rate;
      digits_[layer] = digits.digits;
      if (odd_layer && too_many_bits(next)) break; // and more with more digits
      if (layer + 1 == depth_)
        settle(next);
      else if (!hopeless(next))
        descend(layer + 1, next);
    }
  }

  [[nodiscard]] bool too_many_bits(const Sums &sums) const {
    return sums.bits > bits_max_ || (!goal_.for_bits() && sums.bits * price_min_ >= best_.worth);
  }

  // Whatever comes below, more unknown negatives are accepted, and no more known ones fit.
  [[nodiscard]] bool hopeless(const Sums &sums) const {
    if (sums.accepted > goal_.efpb_max()) return true;
    if (sums.bits_a_negative == 0) return false;
    if (goal_.for_bits()) {
      const double known = (bits_max_ - sums.bits) / sums.bits_a_negative;
      return (1 - weighted_psi(known)) * sums.accepted * price_min_ >= best_.worth;
    }
    if (sums.accepted <= rate_max_) return false;
    return (sums.bits + sums.bits_a_negative * known_for(0, sums.accepted)) * price_min_ >= best_.worth;
  }

  // The last layer is chosen: |N_k| follows from the constraint.
  void settle(const Sums &sums) {
    const double known_rate = sums.known, unknown_rate = sums.accepted + sums.reaching;
    if (unknown_rate > goal_.efpb_max()) return;
    double known = 0;
    if (depth_ > 1)
      known = goal_.for_bits()
                  ? std::min((bits_max_ - sums.bits) / sums.bits_a_negative, goal_.mass().negatives())
                  : known_for(known_rate, unknown_rate);
    const double bits = sums.bits + sums.bits_a_negative * known;
    if (known < 0 || !(bits <= bits_max_ * (1 + 1e-12))) return;
    const double psi = weighted_psi(known), wrong = psi * known_rate + (1 - psi) * unknown_rate;
    if (wrong > rate_max_ * (1 + 1e-9)) return;
    if (const double worth = goal_.worth(rates_, bits, wrong); worth < best_.worth)
      best_ = {rates_, digits_, known, bits, wrong, worth};
  }

  [[nodiscard]] double weighted_psi(double known) const {
    return goal_.weight() * goal_.mass().share_of(known);
  }
  // Known negatives that bring wrong answers down to rate_max.
  [[nodiscard]] double known_for(double known_rate, double unknown_rate) const {
    if (unknown_rate <= rate_max_) return 0;
    if (known_rate >= rate_max_) return infinite;
    const double psi = (unknown_rate - rate_max_) / (unknown_rate - known_rate);
    return goal_.mass().count_for(psi / goal_.weight());
  }

  const Goal &goal_;
  StackBase above_ = goal_.task().base, below_ = goal_.task().fuse_below ? StackBase::fuse : above_;
  unsigned depth_;
  std::vector<double> rates_;
  std::vector<unsigned> digits_;
  double rate_max_, bits_max_;
  double price_min_; // a positive is asked twice at least
  std::vector<Candidate> odd_, even_;
  StackedChoice best_;
};

} // namespace

StackedChoice enumerate(const Goal &goal, unsigned depth, const StackedChoice &so_far) {
  return Enumeration(goal, depth, so_far.worth).run();
}

} // namespace weir::plan
