#include "control/plan/layers.hpp"

#include <fmt/format.h>
#include <nlopt.hpp>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <optional>

namespace weir::plan {
namespace {

constexpr double word_bits = 64, bits_a_key = 3;
constexpr double keys_per_word_max = 64; // such a layer accepts everything
constexpr unsigned loads_max = 180;      // 64 + 12 deviations + 12, and some

struct Problem {
  const ChainKeys &keys;
  const SizingOptions &options;
};

std::vector<double> words_of(const std::vector<double> &logs) {
  std::vector<double> words;
  for (const double x : logs) words.push_back(std::exp2(x));
  return words;
}

// Bits a key, so that the steps of a solver have a sensible size.
double bits_of(const std::vector<double> &logs, std::vector<double> &, void *data) {
  const auto &p = *static_cast<const Problem *>(data);
  const std::vector<double> words = words_of(logs);
  const double bits = word_bits * std::accumulate(words.begin(), words.end(), 0.0);
  return bits / static_cast<double>(p.keys.in_table1 + p.keys.in_table2);
}

// At most 0 when the promise holds.
double broken_by(const std::vector<double> &logs, std::vector<double> &, void *data) {
  const auto &p = *static_cast<const Problem *>(data);
  const double wrong = expected_wrong(p.keys, words_of(logs));
  return std::log2(std::max(wrong, 1e-12) / p.options.wrong_max);
}

bool solve(nlopt::algorithm algorithm, int evaluations, Problem &problem, std::vector<double> &logs,
           const std::vector<double> &low, const std::vector<double> &high) {
  nlopt::opt solver(algorithm, static_cast<unsigned>(logs.size()));
  solver.set_lower_bounds(low);
  solver.set_upper_bounds(high);
  solver.set_min_objective(bits_of, &problem);
  solver.add_inequality_constraint(broken_by, &problem, 1e-3);
  solver.set_maxeval(evaluations);
  solver.set_xtol_rel(1e-4);
  double least = 0;
  try {
    solver.optimize(logs, least);
  } catch (const nlopt::roundoff_limited &) {
    return true; // what was found is as good as it gets
  } catch (const std::exception &) {
    return false;
  }
  return true;
}

LayerSizes rounded(const ChainKeys &keys, const std::vector<double> &words, const SizingOptions &options) {
  LayerSizes sizes;
  sizes.first_bits = keys.form == LayerForm::bucket_aligned ? keys.first_bits : 0;
  double bits = static_cast<double>(sizes.first_bits);
  std::vector<double> whole;
  for (const double w : words) {
    sizes.words.push_back(std::max(options.words_min, static_cast<std::uint32_t>(std::ceil(w))));
    whole.push_back(sizes.words.back());
    bits += word_bits * whole.back();
  }
  sizes.expected_wrong = expected_wrong(keys, whole);
  sizes.bits_per_key =
      bits / static_cast<double>(std::max<std::uint64_t>(1, keys.in_table1 + keys.in_table2));
  return sizes;
}

// The least words in so many layers; none when they cannot keep the promise.
std::optional<LayerSizes> size_so_many(unsigned layers, Problem &problem) {
  const double most = std::log2(static_cast<double>(problem.keys.in_table1 + problem.keys.in_table2) + 2) + 2;
  const std::vector<double> low(layers, std::log2(problem.options.words_min)),
      high(layers, std::max(most, low[0] + 1));
  std::vector<double> logs(layers);
  for (unsigned i = 0; i < layers; ++i) // each layer a few times smaller than the one before
    logs[i] = std::max(low[i], high[i] - 3 - 2.0 * i);
  nlopt::srand(problem.options.seed);
  if (!solve(nlopt::GN_ISRES, 800, problem, logs, low, high)) return std::nullopt;
  if (!solve(nlopt::LN_COBYLA, 600, problem, logs, low, high)) return std::nullopt;
  const LayerSizes sizes = rounded(problem.keys, words_of(logs), problem.options);
  if (sizes.expected_wrong > problem.options.wrong_max * 1.01) return std::nullopt;
  return sizes;
}

} // namespace

// A word's load is Poisson; a foreign key needs its three bits among those that the word's keys set.
double layer_rate(double keys_per_word) {
  static const std::vector<double> rate_at = [] { // by load
    std::vector<double> rates;
    for (unsigned load = 0; load < loads_max; ++load)
      rates.push_back(std::pow(1 - std::pow(1 - 1 / word_bits, bits_a_key * load), bits_a_key));
    return rates;
  }();
  const double mean = std::min(keys_per_word, keys_per_word_max);
  double rate = 0, weight = std::exp(-mean);
  const auto loads = static_cast<unsigned>(mean + 12 * std::sqrt(mean) + 12);
  for (unsigned load = 0; load <= loads; ++load) {
    rate += weight * rate_at[load];
    weight *= mean / (load + 1);
  }
  return std::min(rate, 1.0);
}

double expected_wrong(const ChainKeys &keys, const std::vector<double> &words) {
  const bool aligned = keys.form == LayerForm::bucket_aligned;
  double held = aligned ? keys.mistaken : static_cast<double>(keys.in_table2);
  double others = static_cast<double>(aligned ? keys.in_table2 : keys.in_table1);
  for (const double w : words) {
    const double taken = others * layer_rate(held / w);
    others = held;
    held = taken;
  }
  return held;
}

Result<LayerSizes> size_layers(const ChainKeys &keys, const SizingOptions &options) {
  if (expected_wrong(keys, {}) <= options.wrong_max) return rounded(keys, {}, options);
  Problem problem{keys, options};
  std::optional<LayerSizes> best;
  for (unsigned layers = 1; layers <= std::min(options.layers_max, sized_layers_max); ++layers) {
    const auto sizes = size_so_many(layers, problem);
    if (!sizes) continue;
    if (best && sizes->bits_per_key > best->bits_per_key * 0.999) break; // more layers save no more
    best = sizes;
  }
  if (!best)
    return fail(Errc::refused,
                fmt::format("no {} layers bring {} and {} keys to {} wrong ones", options.layers_max,
                            keys.in_table1, keys.in_table2, options.wrong_max));
  return *best;
}

} // namespace weir::plan
