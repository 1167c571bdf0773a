// XOR and binary fuse filters: how they are built. What they answer: base_filters_test.cpp.
#include "weir/build/peeled_filter.hpp"

#include "tests/support/filter_checks.hpp"

#include <gtest/gtest.h>

namespace weir::build::peeled_filter_test {
namespace {

using test::random_keys;

template <class F> class PeeledFilters : public ::testing::Test {};
using All = ::testing::Types<XorFilter, BinaryFuse, BinaryFuse4>;
TYPED_TEST_SUITE(PeeledFilters, All);

TYPED_TEST(PeeledFilters, hold_every_key_at_every_width_and_size) {
  const std::uint64_t seed = test::seed_or(61);
  WEIR_TRACE_SEED(seed);
  for (unsigned f = 1; f <= TypeParam::fingerprint_bits_max; ++f)
    for (const std::size_t count : {0u, 1u, 2u, 3u, 10u, 100u, 1'003u, 5'000u}) {
      const std::vector<KeyHash> keys = random_keys(count, seed + f);
      const auto filter = TypeParam::build(keys, *TypeParam::Shape::for_keys(count, f), f, seed);
      ASSERT_TRUE(filter) << count << " keys, " << f << " bits: " << filter.error().message;
      EXPECT_EQ(test::missed(*filter, keys), 0u) << count << " keys, " << f << " bits";
      EXPECT_EQ(filter->keys(), count);
    }
}

TYPED_TEST(PeeledFilters, take_a_key_given_many_times_as_one) {
  std::vector<KeyHash> keys = random_keys(2'000, 5);
  const auto shape = *TypeParam::Shape::for_keys(2'000, 9);
  for (int i = 0; i < 3'000; ++i) keys.push_back(keys[static_cast<std::size_t>(i % 7)]);
  const auto filter = TypeParam::build(keys, shape);
  ASSERT_TRUE(filter) << filter.error().message;
  EXPECT_EQ(filter->keys(), 2'000u);
  EXPECT_EQ(test::missed(*filter, keys), 0u);
}

TYPED_TEST(PeeledFilters, refuse_more_keys_than_come_off) {
  const auto filter = TypeParam::build(random_keys(3'000, 6), *TypeParam::Shape::for_keys(2'000, 9));
  ASSERT_FALSE(filter);
  EXPECT_EQ(filter.error().code, Errc::usage);
  EXPECT_NE(filter.error().message.find("3000 keys"), std::string::npos) << filter.error().message;
}

TYPED_TEST(PeeledFilters, are_the_same_for_the_same_keys_and_seed_in_any_order) {
  std::vector<KeyHash> keys = random_keys(4'000, 7);
  const auto shape = *TypeParam::Shape::for_keys(keys.size(), 11);
  const auto one = TypeParam::build(keys, shape, 2, 8);
  std::ranges::reverse(keys);
  const auto other = TypeParam::build(keys, shape, 2, 8), reseeded = TypeParam::build(keys, shape, 2, 9);
  const auto same = [&](const auto &a, const auto &b) {
    const std::vector<KeyHash> absent = test::absent_keys(100'000, 1);
    return std::ranges::all_of(absent, [&](KeyHash k) { return a->contains(k) == b->contains(k); });
  };
  EXPECT_TRUE(same(one, other));
  EXPECT_FALSE(same(one, reseeded));
}

TYPED_TEST(PeeledFilters, refuse_shapes_that_cannot_be) {
  auto shape = *TypeParam::Shape::for_keys(10, 8);
  for (const std::uint32_t f : {0u, 21u}) {
    shape.fingerprint_bits = f;
    const auto filter = TypeParam::build({}, shape);
    ASSERT_FALSE(filter);
    EXPECT_EQ(filter.error().code, Errc::usage);
  }
}

TEST(BinaryFuse, needs_an_eighth_more_slots_than_keys) {
  const auto per_key = [](double keys) {
    return static_cast<double>(filter::BinaryFuseShape::for_keys(keys, 8)->slots()) / keys;
  };
  EXPECT_LT(per_key(1e7), 1.14);
  EXPECT_LT(per_key(1e6), 1.14);
  EXPECT_LT(per_key(1e5), 1.20);
  EXPECT_LT(per_key(1e4), 1.35);
}

TEST(BinaryFuse4, needs_a_twelfth_more_slots_than_keys) {
  const auto per_key = [](double keys) {
    return static_cast<double>(filter::BinaryFuse4Shape::for_keys(keys, 8)->slots()) / keys;
  };
  EXPECT_LT(per_key(1e7), 1.08);
  EXPECT_LT(per_key(1e6), 1.08);
  EXPECT_LT(per_key(1e5), 1.15);
  EXPECT_LT(per_key(1e4), 1.35);
}

TEST(XorFilter, needs_a_quarter_more_slots_than_keys) {
  EXPECT_NEAR(static_cast<double>(filter::XorShape::for_keys(1e6, 8)->slots()) / 1e6, 1.23, 0.001);
}

} // namespace
} // namespace weir::build::peeled_filter_test
