// A ChainedFilter that changes with Othello hashing behind its Bloom filter: exact over what it was told of.
#include "tests/support/filter_checks.hpp"
#include "weir/build/chained_dynamic.hpp"
#include "weir/build/othello_stage.hpp"

#include <gtest/gtest.h>

namespace weir::build::othello_stage_test {
namespace {

static_assert(DynamicSecondStage<OthelloStage>);
using Filter = ChainedDynamic<OthelloStage>;

Filter sized(double keys, double lambda, std::uint64_t seed) {
  const double rate = othello_first_rate(lambda);
  return Filter::make(filter::Bloom::shape_for_rate(keys, rate).value(),
                      OthelloStage::sized(with_chance(keys * (1 + lambda * rate)), 2, seed).value(), 1)
      .value();
}

TEST(OthelloStage, is_right_for_every_key_while_positives_and_negatives_come_by_turns) {
  const std::uint64_t seed = test::seed_or(95);
  WEIR_TRACE_SEED(seed);
  constexpr std::size_t count = 40'000;
  for (const double lambda : {3.0, 6.0, 15.0}) {
    Filter filter = sized(count, lambda, seed);
    const auto positives = test::random_keys(count, seed);
    const auto negatives = test::absent_keys(static_cast<std::size_t>(lambda * count), seed);
    const std::size_t many = negatives.size() / 4;
    for (std::size_t turn = 0; turn < 4; ++turn) {
      ASSERT_TRUE(filter.insert(std::span(positives).subspan(turn * count / 4, count / 4)));
      EXPECT_EQ(test::missed(filter, std::span(positives).first((turn + 1) * count / 4)), 0u);
      // With all positives in, what the first stage accepts stays as it is.
      ASSERT_TRUE(
          filter.exclude(turn == 3 ? std::span(negatives) : std::span(negatives).subspan(turn * many, many)));
    }
    EXPECT_EQ(test::missed(filter, positives), 0u);
    EXPECT_EQ(test::accepted(filter, negatives), 0u);
    EXPECT_TRUE(test::batch_equals_single(filter, positives));
    const double bits = static_cast<double>(filter.bits()) / count;
    std::printf("lambda %.0f: %.3f bits a positive, WhitelistLayers by the model %.3f\n", lambda, bits,
                1.4427 * std::log2(8 * lambda));
    EXPECT_NEAR(bits, 1.4427 * std::log2(lambda) + 4.65, 0.15);
  }
}

TEST(OthelloStage, leaves_a_positive_in_that_is_to_be_excluded) {
  const auto keys = test::random_keys(100, 96);
  Filter filter = sized(100, 2, 1);
  ASSERT_TRUE(filter.insert(keys));
  const auto others = test::absent_keys(50, 96);
  std::vector<KeyHash> both(keys.begin(), keys.begin() + 1);
  both.insert(both.end(), others.begin(), others.end());
  const Status refused = filter.exclude(both);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Errc::refused);
  EXPECT_EQ(test::missed(filter, keys), 0u);
  EXPECT_EQ(test::accepted(filter, others), 0u);
}

TEST(OthelloStage, takes_an_excluded_key_as_positive_later) {
  const auto keys = test::random_keys(100, 97);
  Filter filter = sized(100, 2, 1);
  ASSERT_TRUE(filter.insert(std::span(keys).first(50)));
  ASSERT_TRUE(filter.exclude(std::span(keys).subspan(50)));
  ASSERT_TRUE(filter.insert(std::span(keys).subspan(50)));
  EXPECT_EQ(test::missed(filter, keys), 0u);
}

TEST(OthelloStage, says_when_there_is_no_room) {
  auto stage = OthelloStage::sized(100, 1).value();
  const auto keys = test::random_keys(1'000, 98);
  const Status full = stage.include(keys);
  ASSERT_FALSE(full);
  EXPECT_EQ(full.error().code, Errc::needs_rebuild);
}

} // namespace
} // namespace weir::build::othello_stage_test
