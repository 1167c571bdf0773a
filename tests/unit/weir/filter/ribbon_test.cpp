// Bumped ribbon tables: sizes, what the layers hold, and what breaks them. What they answer: retrieval_test.cpp and
// base_filters_test.cpp.
#include "weir/build/ribbon_builder.hpp"

#include "tests/support/filter_checks.hpp"

#include <gtest/gtest.h>

namespace weir::build::ribbon_test {
namespace {

using test::random_keys;

TEST(Ribbon, has_room_for_sets_of_any_size_with_the_first_seed) {
  const std::uint64_t seed = test::seed_or(121);
  WEIR_TRACE_SEED(seed);
  for (std::size_t count = 1; count < 300'000; count += 1 + count / 3) {
    const std::vector<KeyHash> keys = random_keys(count, seed + count);
    const auto shape = RibbonFilter::Shape::for_keys(static_cast<double>(count), 3).value();
    std::size_t failed = 0;
    for (std::uint64_t n = 0; n < 3; ++n) {
      std::vector<std::uint64_t> mixed(count);
      std::ranges::transform(keys, mixed.begin(), [&](KeyHash key) { return remix(key, n); });
      std::vector<std::uint64_t> words(shape.bits() / 64);
      failed += solve_ribbon({shape.buckets, shape.width}, mixed, words.data()) ? 0 : 1;
    }
    EXPECT_EQ(failed, 0u) << count << " keys: the last layer is too small";
  }
}

TEST(Ribbon, leaves_hardly_a_bit_unused) {
  const auto per_key = [](double keys, unsigned bits) {
    return static_cast<double>(filter::RibbonFilterView::Shape::for_keys(keys, bits)->bits()) / keys / bits;
  };
  EXPECT_LT(per_key(1e4, 1), 1.06);
  EXPECT_LT(per_key(1e5, 1), 1.025);
  EXPECT_LT(per_key(1e6, 1), 1.02);
  EXPECT_LT(per_key(1e6, 8), 1.005);
}

// A bucket that the keys overwhelm gives all of them to the next layer, and that one to the last, which refuses.
TEST(Ribbon, refuses_more_keys_than_there_is_room_for) {
  const auto filter =
      RibbonFilter::build(random_keys(4'000, 2), RibbonFilter::Shape::for_keys(2'000, 9).value());
  ASSERT_FALSE(filter);
  EXPECT_EQ(filter.error().code, Errc::usage);
  EXPECT_NE(filter.error().message.find("4000 keys find no place"), std::string::npos)
      << filter.error().message;
}

TEST(Ribbon, takes_twice_the_keys_of_its_first_layer_where_the_others_are_large) {
  auto shape = RibbonFilter::Shape::for_keys(2'000, 9).value();
  shape.buckets = {8, 32, 32};
  const std::vector<KeyHash> keys = random_keys(4'000, 2);
  const auto filter = RibbonFilter::build(keys, shape);
  ASSERT_TRUE(filter) << filter.error().message;
  EXPECT_EQ(test::missed(*filter, keys), 0u);
}

TEST(Ribbon, takes_a_key_given_many_times_as_one) {
  std::vector<KeyHash> keys = random_keys(2'000, 5);
  for (int i = 0; i < 3'000; ++i) keys.push_back(keys[static_cast<std::size_t>(i % 7)]);
  const auto filter = RibbonFilter::build(keys, RibbonFilter::Shape::for_keys(2'000, 9).value());
  ASSERT_TRUE(filter) << filter.error().message;
  EXPECT_EQ(filter->keys(), 2'000u);
  EXPECT_EQ(test::missed(*filter, keys), 0u);
}

TEST(Ribbon, refuses_shapes_that_cannot_be) {
  using Shape = filter::RibbonRetrievalView::Shape;
  EXPECT_EQ(Shape().objection(), nullptr);
  EXPECT_NE((Shape{{0, 1, 1}, 1}.objection()), nullptr);
  EXPECT_NE((Shape{{1, 1, 1u << 25}, 1}.objection()), nullptr);
  EXPECT_NE((Shape{{1, 1, 1}, 0}.objection()), nullptr);
  EXPECT_NE((Shape{{1, 1, 1}, 21}.objection()), nullptr);
  EXPECT_FALSE(Shape::for_keys(3e9, 1));
}

} // namespace
} // namespace weir::build::ribbon_test
