// Sizes of a three-layer stack on counting layers of one rate within a budget [Stacked §4]. The layers' rates
// follow from the words really given to them: one model for the sizes and the prediction. For the best stack
// see control/plan/allow_stack_size.hpp.
#pragma once

#include "weir/filter/stacked_counting.hpp"

#include <algorithm>
#include <optional>
#include <span>

namespace weir::build {

struct StackNeeds {
  std::uint64_t keys = 0;
  std::uint64_t bits = 0;
  std::uint64_t known = 0;      // negatives, the dearest, that may be stored
  std::span<const double> mass; // mass[i]: cost of the i dearest negatives; the last is the cost of all
};

struct StackSize {
  filter::StackedCounting::Shape shape;
  std::uint64_t known = 0;      // of them stored
  double weighted = 1;          // predicted share of the cost
  double unknown = 1, kept = 1; // predicted rates of the rest and of the known
};

// What is left of the budget after layers 2 and 3 goes to layer 1; nothing when that is nothing.
[[nodiscard]] inline std::optional<StackSize> size_stack(const StackNeeds &needs, std::uint64_t known,
                                                         std::uint64_t negatives_bits,
                                                         std::uint64_t settled_bits, unsigned cell_bits,
                                                         unsigned negative_cell_bits) {
  using filter::CountingBloom;
  if (negatives_bits + settled_bits + 64 > needs.bits) return std::nullopt;
  StackSize size;
  size.known = known;
  auto &[positives, negatives, settled] = size.shape;
  negatives = CountingBloom::shape_for(known, negatives_bits, negative_cell_bits);
  const double passing = static_cast<double>(needs.keys) * CountingBloom::rate(negatives, known);
  settled = CountingBloom::shape_for(static_cast<std::uint64_t>(passing), settled_bits, cell_bits);
  const std::uint64_t used = negatives.bits() + settled.bits();
  if (used + 64 > needs.bits) return std::nullopt;
  positives = CountingBloom::shape_for(needs.keys, needs.bits - used, cell_bits);
  const auto rates = filter::StackedCounting::rates(size.shape, needs.keys, known);
  const double guarded = needs.mass[known] / needs.mass.back();
  size.kept = rates.known;
  size.unknown = rates.unknown;
  size.weighted = guarded * rates.known + (1 - guarded) * rates.unknown;
  return size;
}

// The least bits with which a layer of `keys` keys has this rate.
[[nodiscard]] inline std::uint64_t bits_for_rate(double keys, double rate, unsigned cell_bits) {
  double least = 1e300;
  for (unsigned k = 1; k <= 16; ++k) // m = 1 / (1 - (1 - a^(1/k))^(1/(k n))) cells
    least =
        std::min(least, -1 / std::expm1(std::log1p(-std::pow(rate, 1.0 / k)) / (k * std::max(keys, 1.0))));
  const double per_word = 64 / cell_bits;
  return static_cast<std::uint64_t>(std::ceil(least / per_word)) * 64;
}

// One rate for all three layers, all known negatives stored. As the paper's authors build their rival, cells
// have four bits throughout [SSCF §4.1.1].
[[nodiscard]] inline std::optional<StackSize>
size_equal_stack(const StackNeeds &needs, unsigned cell_bits = 4, unsigned negative_cell_bits = 4) {
  std::optional<StackSize> best;
  double low = 1e-9, high = 0.7; // the rate that just fits lies between
  for (unsigned step = 0; step < 60; ++step) {
    const double rate = std::sqrt(low * high), keys = static_cast<double>(needs.keys);
    const std::uint64_t first = bits_for_rate(keys, rate, cell_bits);
    const std::uint64_t second = bits_for_rate(static_cast<double>(needs.known), rate, negative_cell_bits);
    const std::uint64_t third = bits_for_rate(keys * rate, rate, cell_bits);
    const bool fits = first + second + third <= needs.bits;
    if (fits) best = size_stack(needs, needs.known, second, third, cell_bits, negative_cell_bits);
    (fits ? high : low) = rate;
  }
  return best;
}

} // namespace weir::build
