// How often values fell below fixed bounds, since the process began: what a scrape of metrics takes for a histogram.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace weir {

template <std::size_t n> class Histogram {
public:
  // Bounds rise; a value falls into the first that is not below it, or beyond all.
  constexpr explicit Histogram(const std::array<double, n> &bounds) noexcept : bounds_(bounds) {}

  constexpr void observe(double value) noexcept {
    std::size_t at = 0;
    while (at < n && bounds_[at] < value) ++at;
    ++counts_[at];
    sum_ += value;
  }
  [[nodiscard]] constexpr const std::array<double, n> &bounds() const noexcept { return bounds_; }
  [[nodiscard]] constexpr const std::array<std::uint64_t, n + 1> &counts() const noexcept { return counts_; }
  [[nodiscard]] constexpr double sum() const noexcept { return sum_; }

private:
  std::array<double, n> bounds_;
  std::array<std::uint64_t, n + 1> counts_{}; // the last: beyond all bounds
  double sum_ = 0;
};

} // namespace weir
