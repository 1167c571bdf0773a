#include "control/offenders/train.hpp"

#include "control/learn/trees.hpp"
#include "weir/image/offenders.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <random>

namespace weir::offenders {
namespace {

struct Split {
  learn::Samples learned;                              // both sides
  std::vector<std::vector<std::uint8_t>> told, others; // held back
};

std::vector<std::uint8_t> features_of(const Element &element, const TrainingTask &task) {
  const std::uint8_t neighbours =
      std::to_integer<std::uint8_t>(task.neighbours[image::offender_net(element.address)]);
  const auto all = image::offender_features_of(element.address, element.traits, neighbours);
  return {all.begin(), all.begin() + image::offender_features(task.element)};
}

Split split(const TrainingTask &task) {
  Split out;
  out.learned.features = image::offender_features(task.element);
  std::mt19937_64 random(task.seed);
  const auto deal = [&](const std::vector<Element> &elements, std::uint8_t label, auto &held_back) {
    for (const Element &element : elements) {
      const auto features = features_of(element, task);
      if (random() % 5 == 0) {
        held_back.push_back(features);
        continue;
      }
      out.learned.bytes.insert(out.learned.bytes.end(), features.begin(), features.end());
      out.learned.labels.push_back(label);
    }
  };
  deal(task.told, 1, out.told);
  deal(task.others, 0, out.others);
  return out;
}

std::vector<float> margins(const learn::TreesView &trees,
                           const std::vector<std::vector<std::uint8_t>> &samples) {
  std::vector<float> out;
  for (const auto &sample : samples) out.push_back(trees.score_one(sample));
  return out;
}

// How often a told one scores higher than another; ties count half.
double auc_of(std::vector<float> told, const std::vector<float> &others) {
  std::ranges::sort(told);
  double above = 0;
  for (const float score : others) {
    const auto [low, high] = std::ranges::equal_range(told, score);
    above += static_cast<double>(told.end() - high) + 0.5 * static_cast<double>(high - low);
  }
  return above / static_cast<double>(told.size()) / static_cast<double>(others.size());
}

// Uniform in probability [SLBF §4], as margins: the dataplane compares these.
std::vector<float> thresholds_for(unsigned groups) {
  std::vector<float> out;
  for (const float t : build::uniform_thresholds(groups)) out.push_back(std::log(t / (1 - t)));
  return out;
}

unsigned groups_for(const TrainingTask &task, const std::vector<float> &told,
                    const std::vector<float> &others) {
  if (task.groups != 0) return task.groups;
  const auto probabilities = [](const std::vector<float> &margins) {
    std::vector<float> out;
    for (const float margin : margins) out.push_back(static_cast<float>(learn::probability_of(margin)));
    return out;
  };
  return std::max(2u,
                  build::auto_groups(probabilities(told), probabilities(others), image::offender_groups_max));
}

} // namespace

Result<Model> train(const TrainingTask &task) {
  if (task.told.size() < samples_least || task.others.size() < samples_least)
    return fail(
        Errc::refused,
        fmt::format("{} samples of offenders and {} of others are too few to learn from, {} of either are "
                    "needed; wait for more traffic",
                    task.told.size(), task.others.size(), samples_least));
  const Split samples = split(task);
  const auto boosted = TRY(learn::BoostedTrees::train(
      samples.learned,
      {.trees = task.trees, .depth = task.depth, .step = 0.2, .min_weight = 4, .seed = task.seed}));
  const learn::Trees trees = TRY(boosted.flatten());
  const std::vector<float> told = margins(trees.view(), samples.told),
                           others = margins(trees.view(), samples.others);
  Model model{.number = task.number,
              .trained_at = task.now_s,
              .element = task.element,
              .told = task.told.size(),
              .others = task.others.size(),
              .auc = auc_of(told, others),
              .thresholds = {},
              .groups = {},
              .gains = {},
              .neighbours = task.neighbours,
              .trees = {}};
  if (model.auc < auc_least)
    return fail(
        Errc::refused,
        fmt::format("nothing to learn: offenders look like others (AUC {:.2f}, at least {:.2f} would do)",
                    model.auc, auc_least));
  model.thresholds = thresholds_for(groups_for(task, told, others));
  model.groups = build::estimate_groups(model.thresholds, told, others);
  model.gains = TRY(boosted.gains());
  model.trees.assign(trees.section().begin(), trees.section().end());
  return model;
}

} // namespace weir::offenders
