#include "tests/lab/linear.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <random>

namespace weir::lab {
namespace {

constexpr unsigned passes = 8;
constexpr double decay = 1e-5; // of the weights, a step's share

struct Scale {
  std::vector<double> mean, deviation;
};

Scale scale_of(const learn::Samples &samples) {
  const auto count = static_cast<double>(samples.count());
  Scale scale{std::vector<double>(samples.features), std::vector<double>(samples.features)};
  std::vector<double> squares(samples.features);
  for (std::size_t i = 0; i < samples.count(); ++i)
    for (unsigned f = 0; f < samples.features; ++f) {
      const double x = samples.sample(i)[f];
      scale.mean[f] += x / count;
      squares[f] += x * x / count;
    }
  for (unsigned f = 0; f < samples.features; ++f)
    scale.deviation[f] = std::sqrt(std::max(squares[f] - scale.mean[f] * scale.mean[f], 1e-6));
  return scale;
}

} // namespace

std::vector<float> LinearModel::scores(const learn::Samples &samples) const {
  std::vector<float> out(samples.count());
  for (std::size_t i = 0; i < out.size(); ++i) {
    const auto sample = samples.sample(i);
    float sum = base;
    for (std::size_t f = 0; f < weights.size(); ++f) sum += weights[f] * static_cast<float>(sample[f]);
    out[i] = sum;
  }
  return out;
}

LinearModel train_linear(const learn::Samples &samples, LinearLoss loss, std::uint64_t seed) {
  const Scale scale = scale_of(samples);
  const unsigned features = samples.features;
  std::vector<double> weights(features), x(features), mean_weights(features);
  double base = 0, mean_base = 0;
  std::vector<std::size_t> order(samples.count());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::mt19937_64 random(seed);
  std::uint64_t step = 0, averaged = 0;
  for (unsigned pass = 0; pass < passes; ++pass) {
    std::ranges::shuffle(order, random);
    for (const std::size_t i : order) {
      const auto sample = samples.sample(i);
      const double side = samples.labels[i] == 1 ? 1 : -1;
      double sum = base;
      for (unsigned f = 0; f < features; ++f) {
        x[f] = (sample[f] - scale.mean[f]) / scale.deviation[f];
        sum += weights[f] * x[f];
      }
      const double push =
          loss == LinearLoss::logistic ? 1 / (1 + std::exp(side * sum)) : (side * sum < 1 ? 1 : 0);
      const double rate = 0.05 / (1 + 1e-4 * static_cast<double>(++step));
      for (unsigned f = 0; f < features; ++f) weights[f] += rate * (push * side * x[f] - decay * weights[f]);
      base += rate * push * side;
      if (pass + 1 < passes) continue; // the mean of the last pass steadies the result
      ++averaged;
      for (unsigned f = 0; f < features; ++f) mean_weights[f] += weights[f];
      mean_base += base;
    }
  }
  LinearModel model;
  const auto steps = static_cast<double>(averaged);
  double moved = mean_base / steps;
  for (unsigned f = 0; f < features; ++f) {
    const double weight = mean_weights[f] / steps / scale.deviation[f];
    model.weights.push_back(static_cast<float>(weight));
    moved -= weight * scale.mean[f];
  }
  model.base = static_cast<float>(moved);
  return model;
}

} // namespace weir::lab
