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

} // namespace weir::build
