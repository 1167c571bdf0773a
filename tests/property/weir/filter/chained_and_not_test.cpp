// ChainedFilter with `& ~`: layers of any base filter go on until nobody is left, so that no key of the universe is answered
// wrongly; as large as the model says; a stack of any depth answers as the expression does.
#include "tests/support/base_filter_cases.hpp"
#include "tests/support/filter_checks.hpp"
#include "weir/build/chained_and_not_builder.hpp"

#include <gtest/gtest.h>

#include <set>

namespace weir::build::chained_and_not_test {
namespace {

using test::absent_keys;
using test::random_keys;

template <class F> class ChainedAndNots : public ::testing::Test {};
TYPED_TEST_SUITE(ChainedAndNots, test::AllBaseFilters);

TYPED_TEST(ChainedAndNots, are_right_for_every_key_of_the_universe) {
  const std::uint64_t seed = test::seed_or(181);
  WEIR_TRACE_SEED(seed);
  for (const double lambda : {0.0, 0.3, 1.0, 5.0, 30.0})
    for (const std::size_t count : {1u, 40u, 6'000u})
      for (const std::uint64_t exact_below : {0u, 200u}) {
        SCOPED_TRACE(std::to_string(count) + " keys, lambda " + std::to_string(lambda));
        const std::vector<KeyHash> positives = random_keys(count, seed);
        const std::vector<KeyHash> negatives =
            absent_keys(static_cast<std::size_t>(lambda * static_cast<double>(count)), seed);
        const auto made =
            ChainedAndNot<TypeParam>::build(positives, negatives, {.exact_below = exact_below}, 1, seed);
        ASSERT_TRUE(made) << made.error().message;
        EXPECT_EQ(test::missed(*made, positives), 0u);
        EXPECT_EQ(test::accepted(*made, negatives), 0u);
        const auto view = made->view();
        EXPECT_TRUE(test::batch_equals_single(view, positives));
        EXPECT_TRUE(test::batch_equals_single(view, negatives));
        EXPECT_TRUE(test::batch_equals_single(view, test::mixed_keys(positives, negatives)));
      }
}

TYPED_TEST(ChainedAndNots, end_with_whichever_side_is_left_last) {
  const std::uint64_t seed = test::seed_or(186);
  WEIR_TRACE_SEED(seed);
  std::set<bool> odd_depths;
  for (std::uint64_t n = 0; n < 60 && odd_depths.size() < 2; ++n) {
    const auto made =
        ChainedAndNot<TypeParam>::build(random_keys(400, seed + n), absent_keys(2'000, seed + n), {}, 1, n);
    ASSERT_TRUE(made) << made.error().message;
    odd_depths.insert(made->view().depth() % 2 != 0);
  }
  EXPECT_EQ(odd_depths.size(), 2u) << "an odd and an even number of layers";
}

TYPED_TEST(ChainedAndNots, of_no_positives_accept_no_negative) {
  const std::vector<KeyHash> negatives = absent_keys(3'000, 2);
  const auto made = ChainedAndNot<TypeParam>::build({}, negatives);
  ASSERT_TRUE(made) << made.error().message;
  EXPECT_EQ(test::accepted(*made, negatives), 0u);
}

TYPED_TEST(ChainedAndNots, accept_an_unseen_key_as_a_stack_of_their_layers) {
  const std::uint64_t seed = test::seed_or(182);
  WEIR_TRACE_SEED(seed);
  const std::vector<KeyHash> positives = random_keys(20'000, seed), all = absent_keys(500'000, seed);
  const auto negatives = std::span(all).first(160'000), unseen = std::span(all).subspan(160'000);
  for (const std::uint64_t exact_below : {0u, 4'000u}) {
    const auto made =
        ChainedAndNot<TypeParam>::build(positives, negatives, {.exact_below = exact_below}, 1, seed);
    ASSERT_TRUE(made) << made.error().message;
    EXPECT_EQ(made->exact().has_value(), exact_below != 0);
    const double predicted = unknown_rate(made->rates());
    const double measured =
        static_cast<double>(test::accepted(*made, unseen)) / static_cast<double>(unseen.size());
    EXPECT_NEAR(measured, predicted, 0.1 * predicted + 4 * std::sqrt(predicted / 340'000));
  }
}

TYPED_TEST(ChainedAndNots, refuse_a_key_that_is_positive_and_negative) {
  const std::vector<KeyHash> positives = random_keys(300, 3);
  std::vector<KeyHash> negatives = absent_keys(900, 3);
  negatives.push_back(positives[4]);
  const auto made = ChainedAndNot<TypeParam>::build(positives, negatives);
  ASSERT_FALSE(made);
  EXPECT_EQ(made.error().code, Errc::usage);
  EXPECT_NE(made.error().message.find("is positive and negative"), std::string::npos) << made.error().message;
  const auto exact = ChainedAndNot<TypeParam>::build(positives, negatives, {.exact_below = 2'000});
  ASSERT_FALSE(exact);
  EXPECT_NE(exact.error().message.find("has two values"), std::string::npos) << exact.error().message;
}

// [Chained Theorem 4.3]: the sum over layers, its bound at delta = 1/2, and the infimum.
TEST(ChainedAndNotModel, is_the_sum_over_layers) {
  for (const double lambda : {1.0, 4.0, 16.0, 100.0})
    for (const double delta : {0.5, 0.25, 0.8}) {
      double sum = std::log2(lambda / delta), keys = delta;
      for (int layer = 2; layer < 400; ++layer, keys *= delta) sum += keys * 2 * std::log2(1 / delta);
      EXPECT_NEAR(chained_and_not_bits(lambda, delta, 1), sum, 1e-9);
      EXPECT_GE(chained_and_not_bits(lambda, delta, 1.3), chained_and_not_infimum(lambda, 1.3));
    }
  EXPECT_NEAR(chained_and_not_bits(16, 0.9999, 1), chained_and_not_infimum(16, 1), 1e-6);
  EXPECT_NEAR(chained_and_not_bits(16, 0.5, 1), chained_and_not_half_bits(16, 1) - 1, 1e-12)
      << "a whole bit is the first layer's, rounded";
}

template <class Layer> double bits_a_positive(double lambda, std::size_t count, std::uint64_t seed) {
  const std::vector<KeyHash> positives = random_keys(count, seed);
  const std::vector<KeyHash> negatives =
      absent_keys(static_cast<std::size_t>(lambda * static_cast<double>(count)), seed);
  const auto made = ChainedAndNot<Layer>::build(positives, negatives, {}, 1, seed);
  EXPECT_TRUE(made) << made.error().message;
  return made ? static_cast<double>(made->bits()) / static_cast<double>(count) : 0;
}

TEST(ChainedAndNotModel, is_what_layers_take) {
  const std::uint64_t seed = test::seed_or(183);
  WEIR_TRACE_SEED(seed);
  constexpr std::size_t count = 150'000;
  for (const double lambda : {2.0, 8.0, 16.0}) {
    // Whole bits where lambda is a power of two; small layers of a fuse filter take more slots a key than large ones.
    const double slots = filter::BinaryFuse4Shape::slots_per_key(count);
    const double fuse = bits_a_positive<BinaryFuse4>(lambda, count, seed);
    EXPECT_NEAR(fuse / chained_and_not_bits(lambda, 0.5, slots), 1, 0.05) << lambda;
    EXPECT_LT(fuse, chained_and_not_half_bits(lambda, slots)) << lambda;
    const double bloom = bits_a_positive<filter::Bloom>(lambda, count, seed);
    EXPECT_NEAR(bloom / chained_and_not_bits(lambda, 0.5, 1 / std::log(2.0)), 1, 0.05) << lambda;
  }
}

TEST(ChainedAndNotModel, of_a_delta_that_is_none_is_refused) {
  for (const double delta : {0.0, 1.0, -1.0}) {
    const auto made = ChainedAndNot<BinaryFuse4>::build(random_keys(10, 1), {}, {.delta = delta});
    ASSERT_FALSE(made);
    EXPECT_NE(made.error().message.find("delta lies between 0 and 1"), std::string::npos);
  }
}

// ---- stacks of any depth ------------------------------------------------------------------------

// Of an even number of layers the last one holds negatives: what it accepts is absent.
TEST(StackOfAnyDepth, answers_as_the_expression_does) {
  const std::uint64_t seed = test::seed_or(184);
  WEIR_TRACE_SEED(seed);
  const std::vector<KeyHash> some = random_keys(2'000, seed), others = absent_keys(2'000, seed);
  for (std::size_t depth = 1; depth <= 6; ++depth) {
    std::vector<filter::Bloom> odd, even;
    for (std::size_t i = 0; i < depth; ++i) {
      auto layer = filter::Bloom::make(*filter::Bloom::shape_for(1'000, 2'000), i + 1).value();
      for (const KeyHash key : std::span(i % 2 == 0 ? some : others).first(1'000)) layer.insert(key);
      (i % 2 == 0 ? odd : even).push_back(std::move(layer));
    }
    const auto stack = filter::Stacked<filter::Bloom>::of(odd, even).value();
    EXPECT_EQ(stack.depth(), depth);
    for (const KeyHash key : test::mixed_keys(some, others)) {
      const auto says = [&](std::size_t i) { return (i % 2 == 0 ? odd : even)[i / 2].contains(key); };
      ASSERT_EQ(stack.contains(key), filter::and_not(0, depth, says));
      std::size_t reached = 1;
      while (reached < depth && says(reached - 1)) ++reached;
      ASSERT_EQ(stack.probes(key), reached);
    }
    EXPECT_TRUE(test::batch_equals_single(stack, test::mixed_keys(some, others)));
  }
  EXPECT_FALSE(filter::Stacked<filter::Bloom>::of({}, {}));
}

TEST(StackOfAnyDepth, takes_no_key_that_its_last_layer_holds_for_a_negative) {
  const std::uint64_t seed = test::seed_or(185);
  WEIR_TRACE_SEED(seed);
  const std::vector<KeyHash> keys = random_keys(500, seed);
  std::vector<filter::CountingBloom> odd, even;
  odd.push_back(filter::CountingBloom::make(filter::CountingBloom::shape_for(500, 20'000), 1).value());
  even.push_back(filter::CountingBloom::make(filter::CountingBloom::shape_for(500, 20'000), 2).value());
  even[0].insert(keys[0]);
  auto stack = filter::Stacked<filter::CountingBloom>::of(std::move(odd), std::move(even)).value();
  const Status refused = stack.insert(keys[0]);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Errc::refused);
  EXPECT_EQ(stack.odd()[0].keys(), 0u) << "and nothing is changed";
  for (const KeyHash key : std::span(keys).subspan(1)) {
    if (!stack.insert(key)) continue;
    EXPECT_TRUE(stack.contains(key));
    EXPECT_TRUE(stack.erase(key));
  }
  EXPECT_FALSE(stack.erase(keys[0])) << "the last layer says that it is absent";
}

} // namespace
} // namespace weir::build::chained_and_not_test
