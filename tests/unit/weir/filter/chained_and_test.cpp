// ChainedFilter with `&`: exact over the declared universe, as many bits as the model says, and close to the bound.
#include "tests/support/filter_checks.hpp"
#include "weir/build/chained_and_builder.hpp"
#include "weir/build/chained_and_shared_builder.hpp"
#include "weir/filter/chained_and.hpp"

#include <gtest/gtest.h>

namespace weir::build::chained_and_test {
namespace {

using test::absent_keys;
using test::random_keys;

TEST(ChainedModel, bound_is_the_entropy_of_the_universe_at_no_error_and_log_at_no_end_of_negatives) {
  EXPECT_NEAR(membership_bound(0, 1), 2, 1e-12);
  EXPECT_NEAR(membership_bound(0, 16), 17 * entropy(1.0 / 17), 1e-12);
  EXPECT_NEAR(membership_bound(0.01, 1e9), std::log2(100), 1e-5);
}

TEST(ChainedModel, bound_obeys_the_chain_rule) {
  for (const double lambda : {0.5, 1.0, 3.0, 16.0, 1000.0})
    for (const double first : {0.5, 0.1, 0.003})
      for (const double second : {0.7, 0.2, 0.01})
        EXPECT_NEAR(membership_bound(first * second, lambda),
                    membership_bound(first, lambda) + membership_bound(second, first * lambda), 1e-9)
            << lambda << ' ' << first << ' ' << second;
}

TEST(ChainedModel, first_stage_has_a_bit_for_each_doubling_of_lambda_and_none_below_two) {
  EXPECT_EQ(chained_and_first_bits(1.99), 0u);
  EXPECT_EQ(chained_and_first_bits(2), 1u);
  EXPECT_EQ(chained_and_first_bits(15.9), 3u);
  EXPECT_EQ(chained_and_first_bits(16), 4u);
  for (double lambda = 2; lambda < 64;
       lambda += 0.25) // at most 1.108 times the bound where slots are as many as keys
    EXPECT_LT(chained_and_bits(lambda, 1, 1), 1.1083 * membership_bound(0, lambda)) << lambda;
}

template <class C> void expect_right_for_the_universe(std::uint64_t seed) {
  WEIR_TRACE_SEED(seed);
  for (const double lambda : {0.0, 0.5, 1.0, 2.0, 3.0, 7.9, 8.0, 40.0})
    for (const std::size_t count : {1u, 10u, 1'000u, 20'000u}) {
      const std::vector<KeyHash> positives = random_keys(count, seed);
      const std::vector<KeyHash> negatives =
          absent_keys(static_cast<std::size_t>(lambda * static_cast<double>(count)), seed);
      const auto chained = C::build(positives, negatives, 3, seed);
      ASSERT_TRUE(chained) << chained.error().message;
      EXPECT_EQ(test::missed(*chained, positives), 0u) << count << " keys, lambda " << lambda;
      EXPECT_EQ(test::accepted(*chained, negatives), 0u) << count << " keys, lambda " << lambda;
      EXPECT_TRUE(test::batch_equals_single(*chained, positives));
      EXPECT_TRUE(test::batch_equals_single(*chained, negatives));
    }
}

template <class C> class ChainedAnds : public ::testing::Test {};
using All = ::testing::Types<ChainedAnd<3>, ChainedAnd<4>, ChainedAndRibbon>;
TYPED_TEST_SUITE(ChainedAnds, All);

TYPED_TEST(ChainedAnds, are_right_for_every_key_of_the_universe) {
  expect_right_for_the_universe<TypeParam>(test::seed_or(81));
}

TYPED_TEST(ChainedAnds, accept_an_unseen_key_half_as_often_as_their_first_stage) {
  const std::vector<KeyHash> positives = random_keys(50'000, 4), all = absent_keys(900'000, 4);
  const auto negatives = std::span(all).first(400'000), unseen = std::span(all).subspan(400'000);
  const auto chained = TypeParam::build(positives, negatives); // lambda 8, three bits
  ASSERT_TRUE(chained) << chained.error().message;
  EXPECT_TRUE(test::rate_is(1.0 / 16, test::accepted(*chained, unseen), unseen.size()));
}

TYPED_TEST(ChainedAnds, take_the_bits_that_the_model_says) {
  const std::vector<KeyHash> positives = random_keys(100'000, 5);
  for (const double lambda : {1.0, 2.0, 5.0, 8.0}) {
    const std::vector<KeyHash> negatives = absent_keys(static_cast<std::size_t>(lambda * 1e5), 5);
    const auto chained = TypeParam::build(positives, negatives);
    ASSERT_TRUE(chained) << chained.error().message;
    const double slots_first =
        chained->first() ? static_cast<double>(chained->first()->shape().slots()) / 1e5 : 0;
    const double second_keys = chained_and_second_keys(lambda) * 1e5;
    const double slots_second =
        static_cast<double>(TypeParam::Second::Shape::for_keys(second_keys, 1)->slots()) / second_keys;
    const double predicted = chained_and_bits(lambda, slots_first, slots_second) * 1e5;
    EXPECT_NEAR(static_cast<double>(chained->bits()) / predicted, 1, 0.02) << lambda;
  }
}

TYPED_TEST(ChainedAnds, refuse_a_key_that_is_positive_and_negative) {
  const std::vector<KeyHash> positives = random_keys(1'000, 6);
  std::vector<KeyHash> negatives = absent_keys(4'000, 6);
  negatives.push_back(positives[5]);
  const auto chained = TypeParam::build(positives, negatives);
  ASSERT_FALSE(chained);
  EXPECT_EQ(chained.error().code, Errc::usage);
  EXPECT_NE(chained.error().message.find("has two values, 0 and 1"), std::string::npos)
      << chained.error().message;
}

template <class C> class ChainedAndShareds : public ::testing::Test {};
using BothShared = ::testing::Types<ChainedAndShared<3>, ChainedAndShared<4>>;
TYPED_TEST_SUITE(ChainedAndShareds, BothShared);

TYPED_TEST(ChainedAndShareds, are_right_for_every_key_of_the_universe) {
  expect_right_for_the_universe<TypeParam>(test::seed_or(82));
}

TYPED_TEST(ChainedAndShareds, take_two_bits_more_than_the_first_stage_and_accept_unseen_keys_as_predicted) {
  const std::vector<KeyHash> positives = random_keys(50'000, 7), all = absent_keys(900'000, 7);
  const auto negatives = std::span(all).first(400'000), unseen = std::span(all).subspan(400'000);
  const auto chained = TypeParam::build(positives, negatives); // lambda 8, three bits
  ASSERT_TRUE(chained) << chained.error().message;
  EXPECT_EQ(chained->first_bits(), 3u);
  EXPECT_TRUE(test::rate_is(1.0 / 16, test::accepted(*chained, unseen), unseen.size()));
  EXPECT_LT(static_cast<double>(chained->bits()) / 50'000, 5 * 1.3);
}

TYPED_TEST(ChainedAndShareds, take_repeated_keys_as_one_and_refuse_one_that_is_both) {
  std::vector<KeyHash> positives = random_keys(2'000, 8), negatives = absent_keys(8'000, 8);
  for (std::size_t i = 0; i < 500; ++i) {
    positives.push_back(positives[i]);
    for (int times = 0; times < 4; ++times) negatives.push_back(negatives[i]);
  }
  const auto chained = TypeParam::build(positives, negatives);
  ASSERT_TRUE(chained) << chained.error().message;
  EXPECT_EQ(test::missed(*chained, positives), 0u);
  EXPECT_EQ(test::accepted(*chained, negatives), 0u);
  negatives.push_back(positives[5]);
  const auto both = TypeParam::build(positives, negatives);
  ASSERT_FALSE(both);
  EXPECT_EQ(both.error().code, Errc::usage);
  EXPECT_NE(both.error().message.find("is positive and negative"), std::string::npos) << both.error().message;
}

} // namespace
} // namespace weir::build::chained_and_test
