// The weighted counting Bloom filter: dear negatives are asked more, and keys taken for dear ones too.
#include "tests/support/filter_checks.hpp"
#include "weir/build/weighted_bloom_builder.hpp"

#include <gtest/gtest.h>

namespace weir::filter::weighted_bloom_test {
namespace {

using test::absent_keys;
using test::random_keys;

constexpr std::uint64_t keys_count = 40'000, negatives_count = 200'000;

class Weighted : public ::testing::TestWithParam<unsigned> {
protected:
  Weighted() : negatives_(absent_keys(negatives_count, seed_)), keys_(random_keys(keys_count, seed_)) {
    for (std::uint64_t rank = 1; rank <= negatives_count; ++rank)
      mass_.push_back(mass_.back() + 1 / static_cast<double>(rank));
    needs_ = {keys_count, GetParam() * keys_count, negatives_count / 5, mass_};
    size_ = build::size_weighted_bloom(needs_);
  }
  [[nodiscard]] WeightedBloom filled() const {
    WeightedBloom filter = build::build_weighted_bloom(size_, negatives_).value();
    for (const KeyHash key : keys_) filter.insert(key);
    return filter;
  }

  const std::uint64_t seed_ = test::seed_or(41);
  std::vector<double> mass_{0};
  std::vector<KeyHash> negatives_, keys_;
  build::WeightedNeeds needs_;
  build::WeightedSize size_;
};

TEST_P(Weighted, charges_the_stored_costs_and_keeps_to_the_budget) {
  const WeightedBloom filter = filled();
  ASSERT_FALSE(size_.classes.empty());
  EXPECT_LE(filter.bits(), needs_.bits);
  EXPECT_GT(filter.bits(), size_.cells.bits() + 4 * size_.classes.back().end) << "costs stored for nothing";
}

TEST_P(Weighted, gives_dear_keys_more_functions) {
  unsigned before = CountingBloom::hashes_max + 1;
  for (const auto &c : size_.classes) {
    EXPECT_LT(c.hashes, before);
    before = c.hashes;
  }
  EXPECT_LT(size_.cells.hashes, before);
}

TEST_P(Weighted, misses_no_key_and_gives_each_class_the_rate_predicted) {
  WEIR_TRACE_SEED(seed_);
  const WeightedBloom filter = filled();
  EXPECT_EQ(test::missed(filter, keys_), 0u);
  for (const auto &c : size_.classes)
    EXPECT_TRUE(test::rate_is(c.rate,
                              test::accepted(filter, std::span(negatives_).subspan(c.first, c.end - c.first)),
                              c.end - c.first))
        << "class up to rank " << c.end;
  const auto rest = std::span(negatives_).subspan(size_.classes.back().end);
  // A few of the rest are taken for dear ones and asked more.
  EXPECT_TRUE(test::rate_is(size_.unknown * 0.97, test::accepted(filter, rest), rest.size()));
  EXPECT_TRUE(test::batch_equals_single(filter, keys_));
  EXPECT_TRUE(test::batch_equals_single(filter, negatives_));
}

TEST_P(Weighted, beats_a_filter_that_treats_all_alike) {
  EXPECT_LT(size_.weighted,
            0.7 * CountingBloom::rate(CountingBloom::shape_for(keys_count, needs_.bits), keys_count));
}

TEST_P(Weighted, deleted_keys_leave_no_trace) {
  WEIR_TRACE_SEED(seed_);
  WeightedBloom filter = filled();
  for (std::size_t i = 0; i < keys_count / 2; ++i) ASSERT_TRUE(filter.erase(keys_[i]));
  EXPECT_EQ(test::missed(filter, std::span(keys_).subspan(keys_count / 2)), 0u);
  for (std::size_t i = keys_count / 2; i < keys_count; ++i) ASSERT_TRUE(filter.erase(keys_[i]));
  EXPECT_EQ(test::accepted(filter, keys_), 0u);
  EXPECT_EQ(filter.keys(), 0u);
}

INSTANTIATE_TEST_SUITE_P(Bits, Weighted, ::testing::Values(12u, 20u, 32u));

TEST(WeightedBloom, a_key_taken_for_a_dear_one_is_found_all_the_same) {
  // The class holds the key itself: the worst that a cost filter can do.
  auto dear = CuckooFilter::make({10, 8}).value();
  ASSERT_TRUE(dear.insert(KeyHash{77}));
  std::vector<WeightedBloom::CostClass> classes;
  classes.push_back({std::move(dear), 12});
  WeightedBloom filter = WeightedBloom::make({64, 4, 3}, std::move(classes)).value();
  EXPECT_EQ(filter.hashes_of(KeyHash{77}), 12u);
  filter.insert(KeyHash{77});
  EXPECT_TRUE(filter.contains(KeyHash{77}));
  EXPECT_TRUE(filter.erase(KeyHash{77}));
  EXPECT_FALSE(filter.contains(KeyHash{77}));
}

TEST(WeightedBloom, small_classes_take_their_keys_whatever_the_seed) {
  const std::uint64_t seed = test::seed_or(43);
  WEIR_TRACE_SEED(seed);
  std::vector<double> mass{0};
  for (std::uint64_t rank = 1; rank <= 20'000; ++rank)
    mass.push_back(mass.back() + 1 / static_cast<double>(rank));
  const build::WeightedSize size = build::size_weighted_bloom({5'000, 200'000, 6'000, mass});
  ASSERT_GE(size.classes.size(), 3u);
  for (std::uint64_t i = 0; i < 300; ++i)
    ASSERT_TRUE(build::build_weighted_bloom(size, absent_keys(6'000, seed + i))) << "seed " << seed + i;
}

TEST(WeightedBloom, refuses_classes_without_functions) {
  std::vector<WeightedBloom::CostClass> classes;
  classes.push_back({CuckooFilter::make({10, 8}).value(), 0});
  const auto filter = WeightedBloom::make({64, 4, 3}, std::move(classes));
  ASSERT_FALSE(filter);
  EXPECT_EQ(filter.error().code, Errc::usage);
}

TEST(WeightedBloom, holds_its_keys_through_churn) {
  const std::uint64_t seed = test::seed_or(42);
  WEIR_TRACE_SEED(seed);
  auto dear = CuckooFilter::make({300, 4}).value(); // takes two of five strangers
  for (const KeyHash key : absent_keys(1'000, seed)) ASSERT_TRUE(dear.insert(key));
  std::vector<WeightedBloom::CostClass> classes;
  classes.push_back({std::move(dear), 9});
  WeightedBloom filter =
      WeightedBloom::make(CountingBloom::shape_for(5'000, 100'000), std::move(classes)).value();
  EXPECT_TRUE(test::survives_churn(filter, 5'000, 30, seed));
}

} // namespace
} // namespace weir::filter::weighted_bloom_test
