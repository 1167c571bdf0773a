// The stacked counting filter and its sizes: known negatives are answered better, and stay so.
#include "tests/support/filter_checks.hpp"
#include "weir/build/stacked_size.hpp"

#include <gtest/gtest.h>

namespace weir::filter {
namespace {

using test::absent_keys;
using test::random_keys;

constexpr std::uint64_t keys_count = 40'000, negatives_count = 200'000;

// Zipf with exponent 1.
std::vector<double> zipf_mass() {
  std::vector<double> mass{0};
  for (std::uint64_t rank = 1; rank <= negatives_count; ++rank)
    mass.push_back(mass.back() + 1 / static_cast<double>(rank));
  return mass;
}

struct Built {
  build::StackSize size;
  StackedCounting stack;
  std::vector<KeyHash> keys, known, unknown;

  Built(const build::StackSize &chosen, std::uint64_t seed)
      : size(chosen), stack(StackedCounting::make(chosen.shape).value()),
        keys(random_keys(keys_count, seed)) {
    const std::vector<KeyHash> absent = absent_keys(negatives_count, seed);
    known.assign(absent.begin(), absent.begin() + static_cast<std::ptrdiff_t>(size.known));
    unknown.assign(absent.begin() + static_cast<std::ptrdiff_t>(size.known), absent.end());
    for (const KeyHash key : known) EXPECT_TRUE(stack.learn(key));
    for (const KeyHash key : keys) stack.insert(key);
  }
};

struct Sizes : ::testing::TestWithParam<unsigned> {
  std::vector<double> mass = zipf_mass();
  build::StackNeeds needs() const { return {keys_count, GetParam() * keys_count, negatives_count / 5, mass}; }
  build::StackSize equal() const { return build::size_equal_stack(needs()).value(); }
  build::StackSize best() const { return build::size_best_stack(needs()).value(); }
};

TEST_P(Sizes, keep_to_the_budget_and_use_it) {
  for (const build::StackSize &size : {equal(), best()}) {
    EXPECT_LE(size.shape.bits(), needs().bits);
    EXPECT_GT(static_cast<double>(size.shape.bits()), 0.99 * static_cast<double>(needs().bits));
  }
}

TEST_P(Sizes, give_the_rates_that_they_predict) {
  const std::uint64_t seed = test::seed_or(31);
  WEIR_TRACE_SEED(seed);
  for (const build::StackSize &size : {equal(), best()}) {
    const Built built(size, seed);
    EXPECT_EQ(test::missed(built.stack, built.keys), 0u);
    EXPECT_EQ(built.stack.bits(), size.shape.bits());
    const std::size_t known = test::accepted(built.stack, built.known);
    EXPECT_TRUE(test::rate_is(size.kept, known, built.known.size())) << "known";
    EXPECT_TRUE(test::rate_is(size.unknown, test::accepted(built.stack, built.unknown), built.unknown.size()))
        << "unknown";
    EXPECT_TRUE(test::batch_equals_single(built.stack, built.keys));
    EXPECT_TRUE(test::batch_equals_single(built.stack, built.known));
  }
}

TEST_P(Sizes, of_the_best_stack_beat_equal_rates_and_a_single_layer) {
  EXPECT_LT(best().weighted, equal().weighted);
  EXPECT_LT(best().weighted,
            CountingBloom::rate(CountingBloom::shape_for(keys_count, needs().bits), keys_count));
}

INSTANTIATE_TEST_SUITE_P(Bits, Sizes, ::testing::Values(12u, 20u, 32u));

TEST(EqualStack, has_layers_of_one_rate) {
  const std::vector<double> mass = zipf_mass();
  const auto size = build::size_equal_stack({keys_count, 24 * keys_count, 10'000, mass}).value();
  const double first = CountingBloom::rate(size.shape.positives, keys_count);
  EXPECT_NEAR(CountingBloom::rate(size.shape.negatives, 10'000) / first, 1, 0.05);
  EXPECT_NEAR(size.kept / (first * first), 1, 0.1);
}

TEST(StackedCounting, learns_nothing_once_a_key_is_there) {
  const std::vector<double> mass = zipf_mass();
  const auto size = build::size_equal_stack({keys_count, 20 * keys_count, 100, mass}).value();
  StackedCounting stack = StackedCounting::make(size.shape).value();
  EXPECT_TRUE(stack.learn(KeyHash{1}));
  stack.insert(KeyHash{2});
  const Status late = stack.learn(KeyHash{3});
  ASSERT_FALSE(late);
  EXPECT_EQ(late.error().code, Errc::refused);
  EXPECT_TRUE(stack.erase(KeyHash{2}));
  EXPECT_TRUE(stack.learn(KeyHash{3})) << "an empty one may learn again";
}

TEST(StackedCounting, deleted_keys_leave_no_trace_and_others_stay) {
  const std::uint64_t seed = test::seed_or(32);
  WEIR_TRACE_SEED(seed);
  const std::vector<double> mass = zipf_mass();
  Built built(build::size_best_stack({keys_count, 20 * keys_count, 40'000, mass}).value(), seed);
  for (std::size_t i = 0; i < keys_count / 2; ++i) ASSERT_TRUE(built.stack.erase(built.keys[i]));
  EXPECT_EQ(test::missed(built.stack, std::span(built.keys).subspan(keys_count / 2)), 0u);
  for (std::size_t i = keys_count / 2; i < keys_count; ++i) ASSERT_TRUE(built.stack.erase(built.keys[i]));
  EXPECT_EQ(built.stack.keys(), 0u);
  EXPECT_EQ(test::accepted(built.stack, built.keys), 0u);
  EXPECT_EQ(test::accepted(built.stack, built.unknown), 0u);
}

TEST(StackedCounting, rates_stay_through_churn) {
  const std::uint64_t seed = test::seed_or(33);
  WEIR_TRACE_SEED(seed);
  const std::vector<double> mass = zipf_mass();
  const auto size = build::size_best_stack({keys_count, 20 * keys_count, 40'000, mass}).value();
  StackedCounting stack = StackedCounting::make(size.shape).value();
  const std::vector<KeyHash> absent = absent_keys(size.known, seed);
  for (const KeyHash key : absent) ASSERT_TRUE(stack.learn(key));
  EXPECT_TRUE(test::survives_churn(stack, keys_count, 20, seed));
  EXPECT_TRUE(test::rate_is(size.kept, test::accepted(stack, absent), absent.size()));
}

} // namespace
} // namespace weir::filter
