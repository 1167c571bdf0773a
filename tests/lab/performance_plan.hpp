// Layers for stacks of three, by trying all combinations of a small choice: fingerprints of whole bits for cuckoo
// filters, half bits a key for the others. Rates are those of the filters' own models.
#pragma once

#include "weir/build/stacked_builder.hpp"

#include <array>
#include <optional>
#include <vector>

namespace weir::lab {

using ThreeLayers = std::array<build::LayerSize, 3>; // bits for one key each

// What a layer of many keys may be.
template <class Base> [[nodiscard]] std::vector<build::LayerSize> layer_choices() {
  constexpr double keys = 1 << 16;
  std::vector<build::LayerSize> choices;
  const auto add = [&choices](const typename Base::Shape &shape, unsigned digits) {
    const double rate = Base::rate(shape, keys);
    choices.push_back({rate, rate, 1, static_cast<double>(shape.bits()) / keys, digits});
  };
  if constexpr (requires(typename Base::Shape s) { s.fingerprint_bits; }) {
    for (unsigned digits = 2; digits <= Base::fingerprint_bits_max; ++digits)
      if (const auto shape = build::shape_of_digits<Base>(keys, digits)) add(*shape, digits);
  } else {
    for (double bits = 1; bits <= 24; bits += 0.5)
      if (const auto shape = Base::shape_for(keys, static_cast<std::uint64_t>(bits * keys))) add(*shape, 0);
  }
  return choices;
}

[[nodiscard]] inline std::array<double, 3> rates_of(const ThreeLayers &layers) noexcept {
  return {layers[0].rate, layers[1].rate, layers[2].rate};
}

// The least EFPR in so many bits a positive; nothing when none of the choices is small enough.
[[nodiscard]] inline std::optional<ThreeLayers> least_errors(const std::vector<build::LayerSize> &choices,
                                                             double psi, double known_per_key, double bits) {
  std::optional<ThreeLayers> best;
  double least = 1;
  for (const auto &first : choices)
    for (const auto &second : choices) {
      const double left = bits - first.bits - second.bits * known_per_key * first.rate;
      for (const auto &third : choices) {
        if (third.bits * second.rate > left) continue;
        const std::array rates{first.rate, second.rate, third.rate};
        const double efpr = build::stacked_efpr(rates, psi);
        if (efpr >= least) continue;
        least = efpr;
        best = ThreeLayers{first, second, third};
      }
    }
  return best;
}

} // namespace weir::lab
