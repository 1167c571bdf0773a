// Filters behind a classifier's score, and pairs of Bloom filters that take turns.
#include "weir/filter/score_groups.hpp"

#include "tests/support/seed.hpp"
#include "weir/build/score_groups_model.hpp"

#include <gtest/gtest.h>

#include <cmath>

namespace weir::test::score_groups_test {
namespace {

using namespace weir::filter;

KeyHash told(std::uint64_t i, std::uint64_t seed) { return {remix({2 * i}, seed)}; }
KeyHash other(std::uint64_t i, std::uint64_t seed) { return {remix({2 * i + 1}, seed)}; }
float score_of(KeyHash key) { return static_cast<float>(remix(key, 0x5C0) >> 40) * 0x1p-24f; }

StableGroups three_groups(std::uint64_t seed) {
  std::vector<StableGroups::Group> groups;
  groups.push_back({StableBloom::make({2'000, 3, 3, 10}, 0, seed).value()});
  groups.push_back({std::nullopt, GroupAnswer::reject});
  groups.push_back({std::nullopt, GroupAnswer::accept});
  return StableGroups::make({0.5f, 0.75f}, std::move(groups)).value();
}

TEST(ScoreGroups, ask_the_group_of_the_score_and_no_other) {
  StableGroups filter = three_groups(1);
  EXPECT_EQ(filter.group_of(0.5f), 0u); // the upper end belongs to the group
  EXPECT_EQ(filter.group_of(0.50001f), 1u);
  EXPECT_EQ(filter.group_of(1), 2u);
  const KeyHash key = told(1, 1);
  filter.insert(key, 0.3f);
  EXPECT_TRUE(filter.contains(key, 0.3f));
  EXPECT_FALSE(filter.contains(other(1, 1), 0.3f));
  filter.insert(key, 0.6f);
  EXPECT_FALSE(filter.contains(key, 0.6f)); // a group that was left out
  EXPECT_TRUE(filter.contains(other(1, 1), 0.9f));
}

// Why a score must be a function of what is remembered.
TEST(ScoreGroups, miss_a_key_that_comes_with_another_score) {
  const std::uint64_t seed = seed_or(21);
  WEIR_TRACE_SEED(seed);
  std::vector<StableGroups::Group> groups;
  for (unsigned j = 0; j < 2; ++j) groups.push_back({StableBloom::make({5'000, 7, 4, 30}, j, seed).value()});
  auto filter = StableGroups::make({0.5f}, std::move(groups)).value();
  unsigned same = 0, changed = 0;
  for (std::uint64_t i = 0; i < 2'000; ++i) filter.insert(told(i, seed), 0.2f);
  for (std::uint64_t i = 0; i < 2'000; ++i) {
    same += filter.contains(told(i, seed), 0.4f) ? 1 : 0;
    changed += filter.contains(told(i, seed), 0.8f) ? 1 : 0;
  }
  EXPECT_GT(same, 1'950u);
  EXPECT_EQ(changed, 0u);
}

TEST(ScoreGroups, answer_and_fill_in_batches_as_one_by_one) {
  const std::uint64_t seed = seed_or(22);
  WEIR_TRACE_SEED(seed);
  StableGroups one = three_groups(seed), many = three_groups(seed);
  std::uint64_t next = 0, hit = 0;
  for (std::size_t size = 0; size <= batch_max; ++size) {
    std::vector<KeyHash> keys;
    std::vector<float> scores;
    for (std::size_t i = 0; i < size; ++i) {
      keys.push_back(told(next++, seed));
      scores.push_back(score_of(keys.back()));
      one.insert(keys.back(), scores.back());
    }
    many.insert_batch(keys, scores);
    for (std::size_t i = 0; i < size; i += 3) keys[i] = other(i, seed);
    const HitMask hits = many.contains_batch(keys, scores);
    for (std::size_t i = 0; i < size; ++i)
      EXPECT_EQ(hits >> i & 1, one.contains(keys[i], scores[i]) ? 1u : 0u);
    hit += static_cast<unsigned>(std::popcount(hits));
  }
  EXPECT_GT(hit, 500u);
  EXPECT_LT(hit, next);
}

TEST(ScoreGroups, refuse_thresholds_that_do_not_rise_or_do_not_fit) {
  const auto made = [](std::vector<float> thresholds, std::size_t groups) {
    return LearnedBloom::make(std::move(thresholds), std::vector<LearnedBloom::Group>(groups)).has_value();
  };
  EXPECT_TRUE(made({}, 1));
  EXPECT_TRUE(made({0.1f, 0.2f}, 3));
  EXPECT_FALSE(made({}, 0));
  EXPECT_FALSE(made({0.1f}, 1));
  EXPECT_FALSE(made({0.2f, 0.2f}, 3));
  EXPECT_FALSE(made({NAN}, 2));
  EXPECT_FALSE(made(build::uniform_thresholds(257), 257));
}

TEST(RotatingBloom, misses_none_of_the_last_turn_and_forgets_after_two) {
  const std::uint64_t seed = seed_or(23), turn = 500;
  WEIR_TRACE_SEED(seed);
  auto filter = RotatingBloom::make(RotatingBloomShape::for_bits(turn, 40 * turn), seed).value();
  EXPECT_EQ(filter.shape().turn, turn);
  for (std::uint64_t i = 0; i < 10 * turn; ++i) {
    filter.insert(told(i, seed));
    for (const std::uint64_t back : {std::uint64_t{0}, turn / 2, turn - 1, turn})
      ASSERT_TRUE(i < back || filter.contains(told(i - back, seed))) << i << ' ' << back;
  }
  unsigned old = 0;
  for (std::uint64_t i = 0; i < 8 * turn; ++i) old += filter.contains(told(i, seed)) ? 1 : 0;
  EXPECT_LT(old, turn / 50);
}

TEST(RotatingBloom, accepts_no_more_than_its_bound_at_any_time) {
  const std::uint64_t seed = seed_or(24), turn = 20'000;
  WEIR_TRACE_SEED(seed);
  const auto shape = RotatingBloomShape::for_bits(turn, 153 * turn / 10);
  EXPECT_NEAR(shape.rate(turn, turn), 0.05, 0.001); // 15.3 bits for each key of a turn at 5 %
  auto filter = RotatingBloom::make(shape, seed).value();
  for (std::uint64_t i = 1; i <= 3 * turn; ++i) {
    filter.insert(told(i, seed));
    if (i % (turn / 4) != 0) continue;
    std::uint64_t accepted = 0;
    for (std::uint64_t k = 0; k < 20'000; ++k) accepted += filter.contains(other(k, seed)) ? 1 : 0;
    const double young = static_cast<double>((i - 1) % turn + 1), old = i > turn ? turn : 0;
    EXPECT_NEAR(static_cast<double>(accepted) / 20'000, shape.rate(old, young), 0.008) << i;
  }
}

TEST(RotatingGroups, turn_together_and_miss_none_of_the_last_turn_whatever_its_scores) {
  const std::uint64_t seed = seed_or(25), turn = 900;
  WEIR_TRACE_SEED(seed);
  const auto make = [&] {
    std::vector<ScoreGroups<RotatingBloom>::Group> groups;
    for (unsigned j = 0; j < 3; ++j) {
      auto shape = RotatingBloomShape::for_bits(300, 5'000);
      shape.turn = 0;
      groups.push_back({RotatingBloom::make(shape, j).value()});
    }
    return RotatingGroups(ScoreGroups<RotatingBloom>::make({0.1f, 0.9f}, std::move(groups)).value(), turn);
  };
  RotatingGroups one = make(), many = make();
  for (std::uint64_t i = 0; i < 6 * turn; i += 60) {
    std::vector<KeyHash> keys;
    std::vector<float> scores;
    for (std::uint64_t k = i; k < i + 60; ++k) {
      keys.push_back(told(k, seed));
      scores.push_back(score_of(keys.back()));
      one.insert(keys.back(), scores.back());
    }
    many.insert_batch(keys, scores);
    EXPECT_EQ(one.contains_batch(keys, scores), (HitMask{1} << 60) - 1);
    for (std::uint64_t back = 0; back < turn && back < i; back += 7) {
      const KeyHash key = told(i + 59 - back, seed), absent = other(back, seed);
      ASSERT_TRUE(one.contains(key, score_of(key))) << i << ' ' << back;
      ASSERT_TRUE(many.contains(key, score_of(key)));
      ASSERT_EQ(one.contains(absent, score_of(absent)), many.contains(absent, score_of(absent)));
    }
  }
}

} // namespace
} // namespace weir::test::score_groups_test
