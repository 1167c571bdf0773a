// Training of gradient boosted trees by XGBoost, and what XGBoost itself says of samples. The same samples, settings
// and seed give the same trees: one thread, histograms of whole bytes.
#pragma once

#include "weir/learn/trees.hpp"

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

namespace weir::learn {

// Features of many samples, one sample behind the other, each with a label.
struct Samples {
  unsigned features = 0;
  std::vector<std::uint8_t> bytes;  // features a sample
  std::vector<std::uint8_t> labels; // 1: a member

  [[nodiscard]] std::size_t count() const noexcept { return features == 0 ? 0 : bytes.size() / features; }
  [[nodiscard]] std::span<const std::uint8_t> sample(std::size_t at) const noexcept {
    return std::span(bytes).subspan(at * features, features);
  }
};

struct TreesTask {
  unsigned trees = 100, depth = 4;
  double step = 0.3;        // learning rate
  double min_weight = 1;    // of the samples of a leaf, as second derivatives
  double subsample = 1;     // of the samples, for each tree
  double member_weight = 1; // of a member among other samples
  std::uint64_t seed = 1;
};

// Trees as XGBoost has them.
class BoostedTrees {
public:
  // Errors: usage, for samples without both labels or settings that XGBoost refuses.
  [[nodiscard]] static Result<BoostedTrees> train(const Samples &samples, const TreesTask &task);

  // XGBoost's own word on every sample. Errors: usage, for other numbers of features.
  [[nodiscard]] Result<std::vector<float>> margins(const Samples &samples) const;
  [[nodiscard]] Result<std::vector<float>> probabilities(const Samples &samples) const;

  // What each feature has gained in the training, as a share of all.
  [[nodiscard]] Result<std::vector<double>> gains() const;

  // The first trees of them, in the form that is asked. Errors: those of build::flatten_trees().
  [[nodiscard]] Result<Trees> flatten(unsigned trees_most = trees_max) const;

  BoostedTrees(BoostedTrees &&) noexcept;
  BoostedTrees &operator=(BoostedTrees &&) noexcept;
  ~BoostedTrees();

private:
  struct Model;
  explicit BoostedTrees(std::unique_ptr<Model> model);

  std::unique_ptr<Model> model_;
};

// Margins of many samples by bursts of the trees.
[[nodiscard]] std::vector<float> margins_of(const TreesView &trees, const Samples &samples);

} // namespace weir::learn
