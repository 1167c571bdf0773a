// What membership costs at least, and what ChainedFilter takes [Chained §2, §4]. For n positives and lambda n
// negatives, of which a share of `rate` may be accepted in error; all in bits a positive.
#pragma once

#include <algorithm>
#include <cmath>

namespace weir::build {

// Of a coin that falls on one side with p.
[[nodiscard]] inline double entropy(double p) noexcept {
  return p <= 0 || p >= 1 ? 0 : -p * std::log2(p) - (1 - p) * std::log2(1 - p);
}

// The bound [Chained Theorem 2.1]: f(e, l) = (l + 1) H(1 / (l + 1)) - (e l + 1) H(1 / (e l + 1)). It obeys the chain rule
// f(e1 e2, l) = f(e1, l) + f(e2, e1 l).
[[nodiscard]] inline double membership_bound(double rate, double lambda) noexcept {
  const auto exact = [](double negatives) { return (negatives + 1) * entropy(1 / (negatives + 1)); };
  return exact(lambda) - exact(rate * lambda);
}

// Bits of fingerprint of the first stage of `&` [Chained Alg. 1]; 0: it has none, below lambda = 2. The best rate
// 1 / (lambda ln 2) made a power of two.
[[nodiscard]] inline unsigned chained_and_first_bits(double lambda) noexcept {
  return lambda < 2 ? 0 : static_cast<unsigned>(std::floor(std::log2(lambda)));
}

// Keys a positive that the second stage holds.
[[nodiscard]] inline double chained_and_second_keys(double lambda) noexcept {
  return 1 + lambda * std::exp2(-static_cast<double>(chained_and_first_bits(lambda)));
}

// `slots_first`, `slots_second`: slots a key of either stage.
[[nodiscard]] inline double chained_and_bits(double lambda, double slots_first,
                                             double slots_second) noexcept {
  return slots_first * chained_and_first_bits(lambda) + slots_second * chained_and_second_keys(lambda);
}

// Of other keys that the first stage of shared slots accepts, how many the second one does, which holds so many keys: a slot that
// none of them settles is 0, and a key whose slots all are is rejected.
[[nodiscard]] inline double shared_second_rate(double slots, double second_keys, unsigned ways) noexcept {
  const double settled = std::min(1.0, second_keys / 2 / slots);
  return (1 - std::pow(1 - settled, ways)) / 2;
}

// `& ~` [Chained Alg. 2], bits a positive: the first layer with rate delta / lambda, all others with delta^2, so that layer i
// holds delta^(i-1) keys a positive. `bits_a_halving` is what a layer takes for each halving of its rate: C of a fuse
// filter, 1.44 of a Bloom filter.
[[nodiscard]] inline double chained_and_not_bits(double lambda, double delta,
                                                 double bits_a_halving) noexcept {
  return bits_a_halving * (std::log2(lambda) + std::log2(1 / delta) * (1 + delta) / (1 - delta));
}
// At delta = 1/2, with the first rate rounded to a power of two, and the infimum, which delta approaches at 1 [Chained Theorem 4.3,
// corrected: log2(e^2 lambda)].
[[nodiscard]] inline double chained_and_not_half_bits(double lambda, double bits_a_halving) noexcept {
  return bits_a_halving * std::log2(16 * lambda);
}
[[nodiscard]] inline double chained_and_not_infimum(double lambda, double bits_a_halving) noexcept {
  return bits_a_halving * (std::log2(lambda) + 2 / std::log(2.0));
}

} // namespace weir::build
