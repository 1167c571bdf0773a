// The laws that every base filter is held to: no present key is missed, the rate is the one predicted, a
// batch answers as single questions do, a section attached again answers alike, a bad one is refused,
// layers err on different keys.
#include "tests/support/base_filter_cases.hpp"
#include "tests/support/filter_checks.hpp"
#include "tests/support/filter_spread.hpp"

#include <gtest/gtest.h>

namespace weir::filter::base_filters_test {
namespace {

using test::absent_keys;
using test::random_keys;

static_assert(GrowingFilter<Bloom> && !ErasingFilter<Bloom> && GrowingFilter<SplitBlockFilter>);
static_assert(ErasingFilter<CountingBloom> && ErasingFilter<CuckooFilter> && ErasingFilter<QuotientFilter>);
static_assert(StaticFilter<build::XorFilter> && StaticFilter<build::BinaryFuse> &&
              StaticFilter<build::BinaryFuse4> && StaticFilter<build::RibbonFilter> &&
              StaticFilter<build::ChainedFilter> && StaticFilter<build::ChainedSharedFilter>);

template <class F> class BaseFilters : public ::testing::Test {};
TYPED_TEST_SUITE(BaseFilters, test::AllBaseFilters);

TYPED_TEST(BaseFilters, miss_no_key_and_err_as_often_as_predicted) {
  const std::uint64_t seed = test::seed_or(51);
  WEIR_TRACE_SEED(seed);
  const std::vector<KeyHash> absent = absent_keys(200'000, seed);
  for (const std::size_t count : {1u, 30u, 1'000u, 40'000u})
    for (const double bits_per_key : {6.0, 9.7, 14.0}) {
      SCOPED_TRACE(std::to_string(count) + " keys, bits a key " + std::to_string(bits_per_key));
      const auto shape = *test::shape_of<TypeParam>(count, bits_per_key);
      const std::vector<KeyHash> keys = random_keys(count, seed);
      const std::size_t filters = count < 40'000 ? 40 : 1;
      std::size_t wrong = 0;
      for (std::size_t layer = 0; layer < filters; ++layer) {
        const auto filter = test::filled<TypeParam>(shape, keys, layer);
        EXPECT_EQ(filter.keys(), count);
        EXPECT_EQ(test::missed(filter, keys), 0u);
        const std::size_t asked = absent.size() / filters;
        wrong += test::accepted(filter, std::span(absent).subspan(layer * asked, asked));
      }
      if (count < 1'000) continue; // a few cells decide
      const double spread = test::rate_variance(shape, static_cast<double>(count));
      EXPECT_TRUE(test::rate_is(TypeParam::rate(shape, count), wrong, absent.size(),
                                spread / static_cast<double>(filters)));
    }
}

TYPED_TEST(BaseFilters, use_the_bits_they_are_given_and_no_more) {
  for (const double bits_per_key : {6.0, 9.7, 14.0, 19.0}) {
    const std::uint64_t keys = 100'000, budget = static_cast<std::uint64_t>(bits_per_key * 100'000);
    const auto shape = test::shape_within<TypeParam>(keys, budget);
    if (!shape) continue;
    EXPECT_LE(shape->bits(), budget);
    const auto filter = test::filled<TypeParam>(*shape, random_keys(100, 1));
    EXPECT_EQ(filter.bits(), shape->bits());
    EXPECT_EQ(filter.section().size(), 64 + shape->bits() / 8);
  }
}

TYPED_TEST(BaseFilters, are_as_small_as_a_rate_allows) {
  for (const double rate : {0.4, 0.1, 0.03, 0.004, 0.0001}) {
    const auto shape = TypeParam::shape_for_rate(50'000, rate);
    ASSERT_TRUE(shape) << rate;
    EXPECT_LE(TypeParam::rate(*shape, 50'000), rate);
    const auto same_bits = test::shape_within<TypeParam>(50'000, shape->bits());
    ASSERT_TRUE(same_bits) << rate;
    EXPECT_LE(TypeParam::rate(*same_bits, 50'000), rate);
    if (const auto less = test::shape_within<TypeParam>(50'000, shape->bits() * 98 / 100)) {
      EXPECT_GT(TypeParam::rate(*less, 50'000), rate);
    }
  }
  EXPECT_FALSE(TypeParam::shape_for_rate(50'000, 0));
}

TYPED_TEST(BaseFilters, answer_a_batch_of_any_size_as_single_questions) {
  const std::uint64_t seed = test::seed_or(52);
  WEIR_TRACE_SEED(seed);
  for (const double bits_per_key : {6.0, 11.0, 18.0}) {
    const std::vector<KeyHash> keys = random_keys(4'000, seed), absent = absent_keys(4'000, seed);
    const auto filter = test::filled<TypeParam>(*test::shape_of<TypeParam>(keys.size(), bits_per_key), keys);
    EXPECT_TRUE(test::batch_equals_single(filter, keys));
    EXPECT_TRUE(test::batch_equals_single(filter, absent));
    EXPECT_TRUE(test::batch_equals_single(filter, test::mixed_keys(keys, absent)));
  }
}

TYPED_TEST(BaseFilters, answer_alike_from_a_section_attached_again) {
  const std::uint64_t seed = test::seed_or(53);
  WEIR_TRACE_SEED(seed);
  const std::vector<KeyHash> keys = random_keys(3'000, seed), absent = absent_keys(20'000, seed);
  const auto filter = test::filled<TypeParam>(*test::shape_of<TypeParam>(keys.size(), 9.3), keys, 7);
  test::SectionCopy copy(filter.section());
  const auto view = TypeParam::View::attach(copy.bytes());
  ASSERT_TRUE(view) << view.error().message;
  EXPECT_EQ(test::missed(*view, keys), 0u);
  for (const KeyHash key : absent) ASSERT_EQ(view->contains(key), filter.contains(key));
  EXPECT_TRUE(test::batch_equals_single(*view, test::mixed_keys(keys, absent)));
}

TYPED_TEST(BaseFilters, refuse_a_section_that_is_not_theirs_whole) {
  const std::vector<KeyHash> keys = random_keys(500, 3);
  const auto filter = test::filled<TypeParam>(*test::shape_of<TypeParam>(keys.size(), 12), keys);
  test::SectionCopy copy(filter.section());
  const auto refused = [](Bytes section) {
    const auto view = TypeParam::View::attach(section);
    return !view && view.error().code == Errc::bad_image && !view.error().message.empty();
  };
  EXPECT_TRUE(refused({}));
  EXPECT_TRUE(refused(Bytes(copy.bytes()).first(63)));
  EXPECT_TRUE(refused(Bytes(copy.bytes()).first(copy.bytes().size() - 8)));
  EXPECT_TRUE(refused(Bytes(copy.bytes()).subspan(8)));
  for (std::size_t at = 0; at < sizeof(FilterHeader); ++at) { // a flipped bit is refused or harmless
    for (unsigned bit = 0; bit < 8; ++bit) {
      copy.bytes()[at] ^= std::byte{1} << bit;
      const bool free = at >= offsetof(FilterHeader, layer);
      const auto view = TypeParam::View::attach(copy.bytes());
      if (at < offsetof(FilterHeader, shape)) {
        EXPECT_TRUE(refused(copy.bytes())) << "byte " << at;
      } else if (free) {
        EXPECT_TRUE(view) << "byte " << at;
      }
      if (view) (void)view->contains_batch(std::span(keys).first(64));
      copy.bytes()[at] ^= std::byte{1} << bit;
    }
  }
}

TYPED_TEST(BaseFilters, stay_inside_cells_of_any_content) {
  const std::uint64_t seed = test::seed_or(54);
  WEIR_TRACE_SEED(seed);
  std::mt19937_64 random(seed);
  const std::vector<KeyHash> keys = random_keys(300, seed);
  const auto filter = test::filled<TypeParam>(*test::shape_of<TypeParam>(keys.size(), 12), keys);
  for (int round = 0; round < 300; ++round) {
    test::SectionCopy copy(filter.section());
    const auto cells = copy.bytes().subspan(sizeof(FilterHeader));
    for (std::byte &b : cells)
      if (round % 3 == 0 || random() % 16 == 0) b = static_cast<std::byte>(round % 2 ? 0xFF : random());
    const auto view = TypeParam::View::attach(copy.bytes());
    ASSERT_TRUE(view);
    EXPECT_TRUE(test::batch_equals_single(*view, keys));
  }
}

TYPED_TEST(BaseFilters, err_on_other_keys_in_another_layer) {
  const std::uint64_t seed = test::seed_or(55);
  WEIR_TRACE_SEED(seed);
  const std::vector<KeyHash> keys = random_keys(20'000, seed), absent = absent_keys(300'000, seed);
  const auto shape = *test::shape_of<TypeParam>(keys.size(), 7);
  const auto first = test::filled<TypeParam>(shape, keys, 1), third = test::filled<TypeParam>(shape, keys, 3);
  const double rate = TypeParam::rate(shape, keys.size());
  const auto both =
      std::ranges::count_if(absent, [&](KeyHash k) { return first.contains(k) && third.contains(k); });
  const double spread = 2 * rate * rate * test::rate_variance(shape, static_cast<double>(keys.size()));
  EXPECT_TRUE(test::rate_is(rate * rate, static_cast<std::size_t>(both), absent.size(), spread));
}

TYPED_TEST(BaseFilters, answer_alike_when_copied_and_moved) {
  const std::vector<KeyHash> keys = random_keys(1'000, 4), more = test::keys_from(5'000, 10, 4);
  const auto shape = *test::shape_of<TypeParam>(2'000, 12);
  TypeParam filter = test::filled<TypeParam>(shape, keys, 3), copy = filter;
  EXPECT_NE(copy.section().data(), filter.section().data());
  if constexpr (GrowingFilter<TypeParam>) {
    for (const KeyHash key : more) EXPECT_TRUE(try_insert(copy, key));
    EXPECT_EQ(test::missed(copy, more), 0u);
    EXPECT_EQ(filter.keys(), keys.size()) << "the copy has memory of its own";
    EXPECT_LT(test::accepted(filter, more), more.size());
  }
  const TypeParam moved = std::move(copy);
  copy = TypeParam(filter);
  EXPECT_EQ(test::missed(moved, keys) + test::missed(copy, keys), 0u);
}

TYPED_TEST(BaseFilters, know_no_key_at_first) {
  const auto filter = test::filled<TypeParam>(*test::shape_of<TypeParam>(100, 10), {});
  EXPECT_EQ(filter.keys(), 0u);
  if constexpr (GrowingFilter<TypeParam>) {
    EXPECT_EQ(test::accepted(filter, random_keys(1'000, 1)), 0u);
    EXPECT_EQ(TypeParam::rate(filter.shape(), 0), 0);
  }
}

template <class F> class ErasingFilters : public ::testing::Test {};
using Erasing = ::testing::Types<CountingBloom, CuckooFilter, QuotientFilter>;
TYPED_TEST_SUITE(ErasingFilters, Erasing);

// Cuckoo filters take eight keys of one pair of buckets and no more. Of 600 keys five share a pair in one
// seed of ten million, three in one of a hundred.
template <class F> constexpr unsigned copies_max = std::is_same_v<F, CuckooFilter> ? 2 : 3;

// A multiset of keys beside the filter.
TYPED_TEST(ErasingFilters, miss_nothing_while_keys_come_and_go_and_end_as_they_began) {
  const std::uint64_t seed = test::seed_or(56);
  WEIR_TRACE_SEED(seed);
  for (const double bits_per_key : {8.0, 14.0, 25.0}) {
    std::mt19937_64 random(seed);
    const std::vector<KeyHash> keys = random_keys(600, seed);
    TypeParam filter = test::filled<TypeParam>(*test::shape_of<TypeParam>(1'200, bits_per_key), {}, 2);
    std::vector<unsigned> copies(keys.size());
    std::uint64_t present = 0;
    for (int step = 0; step < 40'000; ++step) {
      const std::size_t i = random() % keys.size();
      if (copies[i] < copies_max<TypeParam> && random() % 2 == 0) {
        ASSERT_TRUE(try_insert(filter, keys[i])) << "step " << step;
        ++copies[i], ++present;
      } else if (copies[i] > 0) {
        ASSERT_TRUE(filter.erase(keys[i])) << "step " << step;
        --copies[i], --present;
      }
      ASSERT_EQ(filter.keys(), present);
      const std::size_t other = random() % keys.size();
      if (copies[other] > 0) {
        ASSERT_TRUE(filter.contains(keys[other])) << "step " << step;
      }
    }
    for (std::size_t i = 0; i < keys.size(); ++i) {
      if (copies[i] > 0) {
        EXPECT_TRUE(filter.contains(keys[i]));
      }
      for (; copies[i] > 0; --copies[i]) EXPECT_TRUE(filter.erase(keys[i]));
    }
    EXPECT_EQ(test::accepted(filter, keys) + test::accepted(filter, absent_keys(50'000, seed)), 0u);
    EXPECT_FALSE(filter.erase(keys[0])) << "nothing is there to be taken";
  }
}

TYPED_TEST(ErasingFilters, go_on_in_a_section_that_they_are_given) {
  const std::vector<KeyHash> keys = random_keys(2'000, 9);
  const auto shape = *test::shape_of<TypeParam>(2'000, 14);
  const TypeParam filter = test::filled<TypeParam>(shape, std::span(keys).first(1'000), 5);
  test::SectionCopy copy(filter.section());
  {
    auto adopted = TypeParam::adopt(copy.bytes());
    ASSERT_TRUE(adopted) << adopted.error().message;
    EXPECT_EQ(adopted->keys(), 1'000u);
    for (const KeyHash key : std::span(keys).subspan(1'000)) ASSERT_TRUE(try_insert(*adopted, key));
    for (const KeyHash key : std::span(keys).first(300)) EXPECT_TRUE(adopted->erase(key));
  }
  const auto view = TypeParam::View::attach(copy.bytes());
  ASSERT_TRUE(view);
  EXPECT_EQ(test::missed(*view, std::span(keys).subspan(300)), 0u);
  EXPECT_LT(test::accepted(*view, std::span(keys).first(300)), 290u);
  copy.bytes()[0] ^= std::byte{1};
  EXPECT_FALSE(TypeParam::adopt(copy.bytes()));
}

} // namespace
} // namespace weir::filter::base_filters_test
