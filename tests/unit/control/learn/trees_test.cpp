// What XGBoost trains is asked in our own form, and answers the same.
#include "control/learn/trees.hpp"

#include "tests/support/seed.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

namespace weir::learn::trees_test {
namespace {

// Members have larger bytes in the first half of the features.
Samples some_samples(std::size_t count, unsigned features, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  std::normal_distribution<double> byte(128, 50);
  Samples samples{.features = features, .bytes = {}, .labels = {}};
  for (std::size_t i = 0; i < count; ++i) {
    const bool member = random() % 2 == 0;
    samples.labels.push_back(member ? 1 : 0);
    for (unsigned f = 0; f < features; ++f)
      samples.bytes.push_back(static_cast<std::uint8_t>(
          std::clamp(byte(random) + (member && f < features / 2 ? 20 : 0), 0.0, 255.0)));
  }
  return samples;
}

TEST(BoostedTrees, are_asked_as_xgboost_asks_them_within_a_millionth) {
  const std::uint64_t seed = test::seed_or(51);
  WEIR_TRACE_SEED(seed);
  const Samples training = some_samples(4'000, 12, seed), asked = some_samples(20'000, 12, seed + 1);
  for (const TreesTask &task :
       {TreesTask{.trees = 200, .depth = 3, .seed = seed}, TreesTask{.trees = 120, .depth = 4, .seed = seed},
        TreesTask{.trees = 60, .depth = 6, .min_weight = 20, .subsample = 0.7, .seed = seed}}) {
    const auto boosted = BoostedTrees::train(training, task);
    ASSERT_TRUE(boosted) << boosted.error().message;
    const auto trees = boosted->flatten();
    ASSERT_TRUE(trees) << trees.error().message;
    EXPECT_EQ(trees->view().trees(), task.trees);
    const std::vector<float> ours = margins_of(trees->view(), asked);
    const auto margins = boosted->margins(asked), probabilities = boosted->probabilities(asked);
    ASSERT_TRUE(margins && probabilities);
    ASSERT_EQ(margins->size(), asked.count());
    for (std::size_t i = 0; i < asked.count(); ++i) {
      ASSERT_NEAR(ours[i], (*margins)[i], 1e-6) << "depth " << task.depth << ", sample " << i;
      ASSERT_NEAR(probability_of(ours[i]), (*probabilities)[i], 1e-6)
          << "depth " << task.depth << ", sample " << i;
    }
  }
}

TEST(BoostedTrees, learn_what_can_be_learned) {
  const Samples training = some_samples(4'000, 12, 1), asked = some_samples(4'000, 12, 2);
  const auto boosted = BoostedTrees::train(training, {.trees = 40, .depth = 3});
  ASSERT_TRUE(boosted) << boosted.error().message;
  const std::vector<float> margins = margins_of(boosted->flatten()->view(), asked);
  std::size_t right = 0;
  for (std::size_t i = 0; i < asked.count(); ++i) right += (margins[i] > 0) == (asked.labels[i] == 1);
  // Six features, each 0.4 standard deviations apart: 0.98 together, and Phi(0.49) at best.
  EXPECT_GT(static_cast<double>(right) / 4'000, 0.62);
  EXPECT_LT(static_cast<double>(right) / 4'000, 0.72);
}

TEST(BoostedTrees, are_the_same_for_the_same_seed_alone) {
  const Samples training = some_samples(2'000, 8, 3);
  const auto section = [&](std::uint64_t seed) {
    const auto boosted =
        BoostedTrees::train(training, {.trees = 20, .depth = 4, .subsample = 0.5, .seed = seed});
    return Trees(boosted->flatten().value());
  };
  const Trees first = section(1), again = section(1), other = section(2);
  EXPECT_TRUE(std::ranges::equal(first.section(), again.section()));
  EXPECT_FALSE(std::ranges::equal(first.section().subspan(sizeof(TreesHeader)),
                                  other.section().subspan(sizeof(TreesHeader))));
}

TEST(BoostedTrees, refuse_samples_that_teach_nothing) {
  Samples samples = some_samples(100, 4, 4);
  std::ranges::fill(samples.labels, std::uint8_t{1});
  EXPECT_FALSE(BoostedTrees::train(samples, {}));
  EXPECT_FALSE(BoostedTrees::train({}, {}));
  samples = some_samples(100, 4, 4);
  const auto strange = BoostedTrees::train(samples, {.step = -1});
  ASSERT_FALSE(strange);
  EXPECT_NE(strange.error().message.find("XGBoost"), std::string::npos) << strange.error().message;
  const auto boosted = BoostedTrees::train(samples, {.trees = 2});
  ASSERT_TRUE(boosted);
  EXPECT_FALSE(boosted->margins(some_samples(10, 5, 5)));
}

} // namespace
} // namespace weir::learn::trees_test
