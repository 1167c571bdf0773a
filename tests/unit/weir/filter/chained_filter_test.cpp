// Chained filters as base filters: what is theirs beside the laws of all (base_filters_test.cpp) - negatives that are known.
#include "tests/support/base_filter_cases.hpp"
#include "tests/support/filter_checks.hpp"
#include "weir/build/chained_filter.hpp"
#include "weir/filter/any.hpp"

#include <gtest/gtest.h>

namespace weir::build::chained_filter_test {
namespace {

using test::absent_keys;
using test::random_keys;

template <class C> class ChainedFilters : public ::testing::Test {};
using Both = ::testing::Types<ChainedFilter, ChainedSharedFilter>;
TYPED_TEST_SUITE(ChainedFilters, Both);

TYPED_TEST(ChainedFilters, reject_every_known_negative_and_accept_others_as_their_stages_say) {
  const std::uint64_t seed = test::seed_or(91);
  WEIR_TRACE_SEED(seed);
  const std::vector<KeyHash> positives = random_keys(30'000, seed), all = absent_keys(900'000, seed);
  const auto known = std::span(all).first(300'000), unseen = std::span(all).subspan(300'000);
  for (const unsigned bits : {4u, 6u, 9u}) {
    const auto chained = TypeParam::build(positives, known, bits, 1, seed);
    ASSERT_TRUE(chained) << chained.error().message;
    EXPECT_EQ(test::missed(*chained, positives), 0u) << bits;
    EXPECT_EQ(test::accepted(*chained, known), 0u) << bits;
    const std::vector<double> rates = chained->rates();
    ASSERT_EQ(rates.size(), 2u);
    EXPECT_EQ(known_rate(rates), 0);
    EXPECT_LE(unknown_rate(rates), std::exp2(-1.0 - bits) * 1.0001);
    EXPECT_TRUE(test::rate_is(unknown_rate(rates), test::accepted(*chained, unseen), unseen.size())) << bits;
    EXPECT_EQ(chained->keys(), positives.size());
  }
}

TYPED_TEST(ChainedFilters, answer_alike_through_the_bytes_of_their_section) {
  const std::uint64_t seed = test::seed_or(92);
  WEIR_TRACE_SEED(seed);
  const std::vector<KeyHash> positives = random_keys(5'000, seed), all = absent_keys(90'000, seed);
  const auto known = std::span(all).first(40'000);
  const auto chained = TypeParam::build(positives, known, 5, 3, seed);
  ASSERT_TRUE(chained) << chained.error().message;
  const test::SectionCopy copy(chained->section());
  const auto any = filter::AnyFilter::attach(const_cast<test::SectionCopy &>(copy).bytes());
  ASSERT_TRUE(any) << any.error().message;
  EXPECT_EQ(any->kind(), TypeParam::Shape::kind);
  EXPECT_EQ(test::missed(*any, positives), 0u);
  EXPECT_EQ(test::accepted(*any, known), 0u);
  for (const KeyHash key : std::span(all).subspan(40'000))
    ASSERT_EQ(any->contains(key), chained->contains(key));
  EXPECT_TRUE(test::batch_equals_single(*any, test::mixed_keys(positives, all)));
}

TYPED_TEST(ChainedFilters, take_handfuls_of_keys_with_many_negatives) {
  const std::uint64_t seed = test::seed_or(93);
  WEIR_TRACE_SEED(seed);
  for (const std::size_t count : {1u, 2u, 7u, 60u}) {
    const std::vector<KeyHash> positives = random_keys(count, seed + count),
                               known = absent_keys(count * 20, seed);
    const auto chained = TypeParam::build(positives, known, 6, 1, seed);
    ASSERT_TRUE(chained) << count << ": " << chained.error().message;
    EXPECT_EQ(test::missed(*chained, positives), 0u);
    EXPECT_EQ(test::accepted(*chained, known), 0u);
  }
}

TYPED_TEST(ChainedFilters, take_repeated_keys_as_one_and_refuse_one_that_is_both) {
  std::vector<KeyHash> positives = random_keys(2'000, 4), known = absent_keys(8'000, 4);
  for (std::size_t i = 0; i < 300; ++i) positives.push_back(positives[i]), known.push_back(known[i]);
  const auto chained = TypeParam::build(positives, known, 4);
  ASSERT_TRUE(chained) << chained.error().message;
  EXPECT_EQ(chained->keys(), 2'000u);
  EXPECT_EQ(test::missed(*chained, positives) + test::accepted(*chained, known), 0u);
  known.push_back(positives[7]);
  const auto both = TypeParam::build(positives, known, 4);
  ASSERT_FALSE(both);
  EXPECT_EQ(both.error().code, Errc::usage);
}

// [Chained §5.1] as a judge of compact mode: at eight bits a key, with ten known negatives for each.
TEST(ChainedFilter, has_no_error_over_ten_negatives_a_key_and_0_85_percent_over_others_in_eight_bits) {
  const std::uint64_t seed = test::seed_or(94);
  WEIR_TRACE_SEED(seed);
  const std::vector<KeyHash> positives = random_keys(300'000, seed), all = absent_keys(4'000'000, seed);
  const auto known = std::span(all).first(3'000'000), unseen = std::span(all).subspan(3'000'000);
  const auto chained = ChainedFilter::build(positives, known, 6, 1, seed);
  ASSERT_TRUE(chained) << chained.error().message;
  EXPECT_LE(static_cast<double>(chained->bits()) / 300'000, 8.0);
  EXPECT_EQ(test::missed(*chained, positives), 0u);
  EXPECT_EQ(test::accepted(*chained, known), 0u);
  EXPECT_LE(static_cast<double>(test::accepted(*chained, unseen)) / 1e6, 0.0085);
  // One byte a slot, six bits and two: a little more, and four lines for any key.
  const auto shared = ChainedSharedFilter::build(positives, known, 6, 1, seed);
  ASSERT_TRUE(shared) << shared.error().message;
  EXPECT_EQ(shared->shape().table.fingerprint_bits, 8u);
  EXPECT_EQ(test::missed(*shared, positives) + test::accepted(*shared, known), 0u);
  EXPECT_LE(static_cast<double>(test::accepted(*shared, unseen)) / 1e6, 0.0085);
}

TEST(ChainedSharedFilter, refuses_more_negatives_than_its_columns_take) {
  const auto shared = ChainedSharedFilter::build(random_keys(500, 5), absent_keys(10'000, 5), 2);
  ASSERT_FALSE(shared);
  EXPECT_EQ(shared.error().code, Errc::usage);
}

TEST(ChainedFilter, refuses_a_shape_whose_stages_cannot_be) {
  const auto honest = *filter::ChainedFilterShape::for_keys(1'000, 6, 1'200);
  EXPECT_EQ(honest.objection(), nullptr);
  EXPECT_EQ(filter::ChainedFilterShape::of(honest.as_words()).as_words(), honest.as_words());
  for (const unsigned bits : {0u, 21u}) {
    auto shape = honest;
    shape.first.fingerprint_bits = bits;
    EXPECT_NE(shape.objection(), nullptr) << bits;
  }
  auto late = honest;
  late.second_try = 64;
  EXPECT_NE(late.objection(), nullptr);
  auto none = honest;
  none.second.segments = 0;
  EXPECT_NE(none.objection(), nullptr);
  auto narrow = *filter::ChainedSharedFilterShape::for_keys(1'000, 1);
  EXPECT_EQ(narrow.objection(), nullptr);
  narrow.table.fingerprint_bits = 2;
  EXPECT_NE(narrow.objection(), nullptr);
}

} // namespace
} // namespace weir::build::chained_filter_test
