// Does a filter err more often than it should? A question of counts: enough wrong answers to tell chance from
// a fault, and enough above the prediction to be worth a new image.
#pragma once

#include <cmath>
#include <cstdint>

namespace weir::watch {

struct MeasuredRate {
  std::uint64_t asked = 0, wrong = 0; // questions about absent keys, and how many were accepted

  [[nodiscard]] double rate() const noexcept {
    return asked == 0 ? 0 : static_cast<double>(wrong) / static_cast<double>(asked);
  }
};

inline constexpr double rate_band_sigmas = 3, rate_band_factor = 1.5;
inline constexpr std::uint64_t rate_band_wrong_min = 30; // fewer say nothing

// Beyond three standard deviations of the binomial count and half as much again as predicted.
[[nodiscard]] inline bool is_beyond_band(double predicted, MeasuredRate measured) noexcept {
  const auto asked = static_cast<double>(measured.asked), wrong = static_cast<double>(measured.wrong);
  const double expected = predicted * asked;
  return measured.wrong >= rate_band_wrong_min && wrong > rate_band_factor * expected &&
         wrong > expected + rate_band_sigmas * std::sqrt(expected * (1 - predicted));
}

} // namespace weir::watch
