// Counting Bloom filters, and the two that stand on them: stacked and weighted.
#include "tests/support/filter_checks.hpp"
#include "tests/support/filter_spread.hpp"
#include "weir/filter/counting_bloom.hpp"

#include <gtest/gtest.h>

namespace weir::filter::counting_bloom_test {
namespace {

using test::absent_keys;
using test::random_keys;

CountingBloom made(CountingBloom::Shape shape, std::uint64_t layer = 0) {
  return CountingBloom::make(shape, layer).value();
}

TEST(CountingBloom, refuses_shapes_that_cannot_be) {
  for (const CountingBloom::Shape shape :
       {CountingBloom::Shape{100, 0, 3}, {100, 17, 3}, {100, 4, 0}, {100, 4, 33}, {0, 4, 3}}) {
    const auto filter = CountingBloom::make(shape);
    ASSERT_FALSE(filter);
    EXPECT_EQ(filter.error().code, Errc::usage);
  }
}

TEST(CountingBloom, finds_its_keys_at_every_width_and_in_batches) {
  const std::uint64_t seed = test::seed_or(21);
  WEIR_TRACE_SEED(seed);
  const std::vector<KeyHash> keys = random_keys(2'500, seed), absent = absent_keys(2'500, seed);
  for (unsigned cell_bits = 1; cell_bits <= cell_bits_max; ++cell_bits) {
    CountingBloom filter =
        made(CountingBloom::shape_for(keys.size(), 5 * cell_bits * keys.size(), cell_bits));
    for (const KeyHash key : keys) filter.insert(key);
    EXPECT_EQ(test::missed(filter, keys), 0u) << cell_bits << " bits";
    EXPECT_TRUE(test::batch_equals_single(filter, keys));
    EXPECT_TRUE(test::batch_equals_single(filter, absent));
  }
}

TEST(CountingBloom, accepts_absent_keys_as_often_as_predicted) {
  const std::uint64_t seed = test::seed_or(22);
  WEIR_TRACE_SEED(seed);
  const std::vector<KeyHash> keys = random_keys(50'000, seed), absent = absent_keys(400'000, seed);
  for (const auto &[per_key, cell_bits] : {std::pair{8u, 1u}, {20u, 4u}, {20u, 3u}, {32u, 4u}, {48u, 4u}}) {
    const auto shape = CountingBloom::shape_for(keys.size(), per_key * keys.size(), cell_bits);
    CountingBloom filter = made(shape);
    for (const KeyHash key : keys) filter.insert(key);
    EXPECT_TRUE(test::rate_is(CountingBloom::rate(shape, keys.size()), test::accepted(filter, absent),
                              absent.size(), test::rate_variance(shape, static_cast<double>(keys.size()))))
        << per_key << " bits a key, " << cell_bits << " bits a cell";
  }
}

TEST(CountingBloom, takes_the_number_of_functions_that_serves_best) {
  EXPECT_EQ(CountingBloom::shape_for(1'000'000, 20'000'000).hashes, 3u); // 5 ln 2 = 3.5
  EXPECT_EQ(CountingBloom::shape_for(1'000'000, 32'000'000).hashes, 6u); // 8 ln 2 = 5.5
  EXPECT_NEAR(CountingBloom::rate(CountingBloom::shape_for(1'000'000, 20'000'000), 1'000'000), 0.092, 0.001);
}

TEST(CountingBloom, a_deleted_key_leaves_no_trace) {
  const std::uint64_t seed = test::seed_or(23);
  WEIR_TRACE_SEED(seed);
  const std::vector<KeyHash> keys = random_keys(5'000, seed);
  CountingBloom filter = made(CountingBloom::shape_for(keys.size(), 20 * keys.size()));
  for (const KeyHash key : keys) filter.insert(key);
  for (std::size_t i = 0; i < keys.size(); ++i) {
    ASSERT_TRUE(filter.erase(keys[i]));
    if (i % 500 == 0) {
      EXPECT_EQ(test::missed(filter, std::span(keys).subspan(i + 1)), 0u);
    }
  }
  EXPECT_EQ(filter.keys(), 0u);
  EXPECT_EQ(test::accepted(filter, keys), 0u);
  EXPECT_FALSE(filter.erase(keys[0])) << "it certainly is absent";
}

TEST(CountingBloom, a_full_cell_stays_full_and_misses_nobody) {
  CountingBloom filter = made({1, 2, 2}); // 32 cells that count to three
  const std::vector<KeyHash> keys = random_keys(200, 5);
  for (const KeyHash key : keys) filter.insert(key);
  EXPECT_EQ(filter.cells_stuck(), 32u);
  for (std::size_t i = 0; i + 1 < keys.size(); ++i) filter.erase(keys[i]);
  EXPECT_TRUE(filter.contains(keys.back()));
}

TEST(CountingBloom, cells_of_one_bit_never_forget) {
  CountingBloom filter = made(CountingBloom::shape_for(100, 1'000, 1));
  const std::vector<KeyHash> keys = random_keys(100, 6);
  for (const KeyHash key : keys) filter.insert(key);
  for (const KeyHash key : keys) filter.erase(key);
  EXPECT_EQ(test::missed(filter, keys), 0u);
}

TEST(CountingBloom, holds_its_keys_through_churn) {
  const std::uint64_t seed = test::seed_or(24);
  WEIR_TRACE_SEED(seed);
  for (const unsigned cell_bits : {2u, 3u, 4u}) {
    CountingBloom filter = made(CountingBloom::shape_for(4'000, 16'000 * cell_bits, cell_bits));
    EXPECT_TRUE(test::survives_churn(filter, 4'000, 40, seed)) << cell_bits << " bits a cell";
  }
}

TEST(CountingBloom, layers_err_on_different_keys) {
  const std::uint64_t seed = test::seed_or(25);
  WEIR_TRACE_SEED(seed);
  const std::vector<KeyHash> keys = random_keys(20'000, seed), absent = absent_keys(200'000, seed);
  const auto shape = CountingBloom::shape_for(keys.size(), 20 * keys.size());
  CountingBloom one = made(shape, 1), other = made(shape, 2);
  for (const KeyHash key : keys) one.insert(key), other.insert(key);
  const double rate = CountingBloom::rate(shape, keys.size());
  const auto both =
      std::ranges::count_if(absent, [&](KeyHash k) { return one.contains(k) && other.contains(k); });
  const double spread = 2 * rate * rate * test::rate_variance(shape, static_cast<double>(keys.size()));
  EXPECT_TRUE(test::rate_is(rate * rate, static_cast<std::size_t>(both), absent.size(), spread));
}

} // namespace
} // namespace weir::filter::counting_bloom_test
