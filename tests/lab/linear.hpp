// Linear classifiers of bytes, beside the trees: logistic regression and a linear support vector machine. One float a
// feature and one more, trained by stochastic gradient descent.
#pragma once

#include "control/learn/trees.hpp"

#include <cstdint>
#include <vector>

namespace weir::lab {

enum class LinearLoss : std::uint8_t { logistic, hinge };

struct LinearModel {
  std::vector<float> weights; // of the features as bytes
  float base = 0;

  [[nodiscard]] std::uint64_t bits() const noexcept { return 32 * (weights.size() + 1); }
  [[nodiscard]] std::vector<float> scores(const learn::Samples &samples) const;
};

[[nodiscard]] LinearModel train_linear(const learn::Samples &samples, LinearLoss loss, std::uint64_t seed);

} // namespace weir::lab
