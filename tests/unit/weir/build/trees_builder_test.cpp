// Trained trees become complete ones that answer every byte alike; what cannot be a tree is refused by name.
#include "weir/build/trees_builder.hpp"

#include "tests/support/seed.hpp"

#include <gtest/gtest.h>

#include <limits>
#include <random>

namespace weir::build::trees_builder_test {
namespace {

TrainedNode leaf(double value) { return {.leaf = value}; }
TrainedNode split(std::int64_t feature, double threshold, std::int64_t left, std::int64_t right) {
  return {.feature = feature, .threshold = threshold, .left = left, .right = right};
}

double walk(const TrainedTree &tree, std::span<const std::uint8_t> sample) {
  std::int64_t at = 0;
  while (tree[static_cast<std::size_t>(at)].feature >= 0) {
    const TrainedNode &node = tree[static_cast<std::size_t>(at)];
    at = sample[static_cast<std::size_t>(node.feature)] < node.threshold ? node.left : node.right;
  }
  return tree[static_cast<std::size_t>(at)].leaf;
}

// Of at most `depth` levels, with early leaves and thresholds between bytes and beyond them.
std::int64_t grow(TrainedTree &tree, unsigned depth, unsigned features, std::mt19937_64 &random) {
  const std::size_t at = tree.size();
  tree.emplace_back();
  if (depth == 0 || random() % 5 == 0) {
    tree[at].leaf = static_cast<double>(random() % 4096) / 4096 - 0.5;
  } else {
    tree[at].feature = static_cast<std::int64_t>(random() % features);
    tree[at].threshold = static_cast<double>(random() % 1100) / 4 - 8; // -8 to 266.75
    tree[at].left = grow(tree, depth - 1, features, random);
    tree[at].right = grow(tree, depth - 1, features, random);
  }
  return static_cast<std::int64_t>(at);
}

TEST(TreesBuilder, answers_every_sample_like_the_trained_trees) {
  const std::uint64_t seed = test::seed_or(41);
  WEIR_TRACE_SEED(seed);
  std::mt19937_64 random(seed);
  for (unsigned depth = 0; depth <= learn::tree_depth_max; ++depth) {
    TrainedTrees trained{.features = 6, .base = 0, .seed = seed, .trees = std::vector<TrainedTree>(20)};
    for (TrainedTree &tree : trained.trees) grow(tree, depth, trained.features, random);
    const auto trees = flatten_trees(trained);
    ASSERT_TRUE(trees) << trees.error().message;
    std::vector<std::uint8_t> sample(trained.features);
    for (unsigned asked = 0; asked < 3'000; ++asked) {
      for (std::uint8_t &byte : sample)
        byte = static_cast<std::uint8_t>(random() % 3 == 0 ? random() % 2 * 255 : random());
      double sum = 0;
      for (const TrainedTree &tree : trained.trees) sum += walk(tree, sample);
      ASSERT_EQ(trees->view().score_one(sample), static_cast<float>(sum))
          << depth; // sums of 4096ths are exact
    }
  }
}

TEST(TreesBuilder, leaves_out_what_no_byte_or_every_byte_is_below) {
  for (const double threshold : {-3.0, 0.0, 255.5, 300.0}) {
    const auto trees =
        flatten_trees({.features = 1, .trees = {{split(0, threshold, 1, 2), leaf(1), leaf(2)}}});
    ASSERT_TRUE(trees) << trees.error().message;
    EXPECT_EQ(trees->view().depths()[0], 0) << threshold;
    EXPECT_EQ(trees->view().leaves()[0], threshold <= 0 ? 2 : 1) << threshold;
  }
}

TEST(TreesBuilder, refuses_what_is_no_tree_of_bytes) {
  const double infinite = std::numeric_limits<double>::infinity(),
               none = std::numeric_limits<double>::quiet_NaN();
  TrainedTree deep;
  for (std::int64_t i = 0; i < 7; ++i) {
    deep.push_back(split(0, 9, 2 * i + 1, 2 * i + 2));
    deep.push_back(leaf(0));
  }
  deep.push_back(leaf(0));
  TrainedTree nested;
  for (std::int64_t i = 0; i < 100; ++i) {
    nested.push_back(split(0, 0, 2 * i + 1, 2 * i + 2));
    nested.push_back(leaf(0));
  }
  nested.push_back(leaf(0));
  const std::vector<std::pair<TrainedTree, const char *>> bad{
      {{split(0, 9, 0, 1), leaf(1)}, "node 0 is reached twice, a cycle"},
      {{split(0, 9, 1, 2), split(0, 5, 2, 0), leaf(1)}, "is reached twice"},
      {{split(0, 9, 1, 1), leaf(1)}, "node 1 is reached twice"},
      {{split(0, 9, 1, 7), leaf(1)}, "no node 7 of 2"},
      {{split(0, 9, 1, -1), leaf(1)}, "no node -1"},
      {{}, "no node 0 of 0"},
      {{split(3, 9, 1, 2), leaf(1), leaf(2)}, "feature 3 of 3"},
      {{split(0, infinite, 1, 2), leaf(1), leaf(2)}, "no finite threshold"},
      {{split(0, none, 1, 2), leaf(1), leaf(2)}, "no finite threshold"},
      {{split(0, 9, 1, 2), leaf(1), leaf(none)}, "leaf 2 is no finite number"},
      {{split(0, 9, 1, 2), leaf(1), leaf(1e300)}, "leaf 2 is no finite number"},
      {deep, "deeper than 6"},
      {nested, "nested deeper than 64"},
  };
  for (const auto &[tree, reason] : bad) {
    const auto trees = flatten_trees({.features = 3, .trees = {{leaf(1)}, tree}});
    ASSERT_FALSE(trees) << reason;
    EXPECT_NE(trees.error().message.find("tree 1: "), std::string::npos) << trees.error().message;
    EXPECT_NE(trees.error().message.find(reason), std::string::npos) << trees.error().message;
  }
}

TEST(TreesBuilder, refuses_no_trees_too_many_and_impossible_features) {
  EXPECT_FALSE(flatten_trees({.features = 1, .trees = {}}));
  EXPECT_FALSE(
      flatten_trees({.features = 1, .trees = std::vector<TrainedTree>(learn::trees_max + 1, {leaf(1)})}));
  EXPECT_FALSE(flatten_trees({.features = 257, .trees = {{leaf(1)}}}));
  EXPECT_TRUE(flatten_trees({.features = 256, .trees = {{leaf(1)}}}));
}

} // namespace
} // namespace weir::build::trees_builder_test
