// What a filter with errors takes when it is built of Bloomier filters [Chained §4.2], in bits a positive and slot of the
// tables (C = 1): general membership by two stages (Corollary 4.1), and chains of any number of stages (Theorem 4.1).
// lambda negatives a positive, of which a share of `rate` may be accepted.
//
// The first stage lets 2^-alpha of the negatives through. The second has the positives and beta negatives a positive of those; others
// that come there are accepted with a probability that the strategy promises:
//
//   a   1/2            what is stored is a coin of the key's own, turned over for negatives
//   b   1/(beta + 1)   what is stored is 1 for positives, 0 for negatives. Peeled tables break the promise: a key that
//                      they do not have reads 1 with 0.49 to 0.50 whatever beta is (tests/property/.../chained_general_test.cpp).
//                      Never chosen
#pragma once

#include "weir/build/chained_model.hpp"

#include <cstdint>
#include <numbers>
#include <span>

namespace weir::build {

enum class UnseenCoin : std::uint8_t { fair, always }; // strategies a and b

struct GeneralForm {
  unsigned alpha = 0;      // bits of fingerprint of the first stage; 0: there is none
  bool has_second = false; // otherwise the first stage is enough
  double beta = 0;         // negatives a positive in the second stage
  [[nodiscard]] double bits() const noexcept { return alpha + (has_second ? 1 + beta : 0); }
};

// The cheapest with a whole number of bits in front.
[[nodiscard]] inline GeneralForm general_form(double rate, double lambda,
                                              UnseenCoin coin = UnseenCoin::fair) noexcept {
  constexpr unsigned alpha_max = 20;
  GeneralForm best{.alpha = 0, .has_second = true, .beta = lambda}; // exact
  for (unsigned alpha = 0; alpha <= alpha_max; ++alpha) {
    const double passed = std::exp2(-static_cast<double>(alpha));
    GeneralForm form{.alpha = alpha};
    if (passed > rate) {
      form.has_second = true;
      form.beta = coin == UnseenCoin::fair ? (passed - 2 * rate) * lambda
                                           : (passed - rate) * lambda / (rate * lambda + 1);
      form.beta = std::max(0.0, form.beta);
      // Without negatives the second stage halves, by either strategy.
      if (form.beta == 0 && passed / 2 > rate) continue;
    }
    if (form.bits() < best.bits()) best = form;
  }
  return best;
}

// The same where bits need not be whole: what Corollary 4.1 (a) has within its range, which is 1 / ln 2 < lambda and
// 2 rate lambda ln 2 < 1.
[[nodiscard]] inline double general_bits_unrounded(double rate, double lambda) noexcept {
  using std::numbers::e, std::numbers::ln2;
  return std::log2(2 * e * lambda * ln2) - 2 * lambda * rate;
}

// One Bloomier filter: approximate, or exact for some of the negatives and a coin for the others (inequality (a)).
[[nodiscard]] inline double single_bloomier_bits(double rate, double lambda) noexcept {
  const double exact = rate <= 0.5 ? lambda + 1 - 2 * rate * lambda : INFINITY;
  return rate > 0 ? std::min(exact, -std::log2(rate)) : exact;
}

// Stages one behind another, each one table of inequality (a) with its rate: what all of them take.
[[nodiscard]] inline double stages_bits(std::span<const double> rates, double lambda) noexcept {
  double bits = 0;
  for (const double rate : rates) {
    bits += lambda + 1 - 2 * rate * lambda;
    lambda *= rate;
  }
  return bits;
}

} // namespace weir::build
