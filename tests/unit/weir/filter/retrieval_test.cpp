// Values without their keys: every declared key has its own, whatever the width, size, seed and shape.
#include "tests/support/filter_checks.hpp"
#include "weir/build/retrieval_builder.hpp"
#include "weir/build/ribbon_builder.hpp"
#include "weir/filter/retrieval.hpp"

#include <gtest/gtest.h>

namespace weir::build::retrieval_test {
namespace {

using test::absent_keys;
using test::random_keys;

template <class R> class Retrievals : public ::testing::Test {};
using All = ::testing::Types<Retrieval<3>, Retrieval<4>, RibbonRetrieval>;
TYPED_TEST_SUITE(Retrievals, All);

template <class R> typename R::Shape shape_of(std::size_t keys, unsigned bits) {
  return R::Shape::for_keys(static_cast<double>(keys), bits).value();
}

std::vector<KeysOfValue> in_groups(std::span<const KeyHash> keys, unsigned groups, unsigned bits) {
  std::vector<KeysOfValue> out;
  const std::size_t each = keys.size() / groups;
  for (unsigned g = 0; g < groups; ++g)
    out.push_back({keys.subspan(g * each, each), static_cast<std::uint32_t>(g * 0x9E3779B9u >> (32 - bits))});
  return out;
}

template <class R> std::size_t wrong(const R &retrieval, std::span<const KeysOfValue> groups) {
  std::size_t count = 0;
  for (const KeysOfValue &group : groups)
    for (const KeyHash key : group.keys) count += retrieval.value(key) != group.value;
  return count;
}

TYPED_TEST(Retrievals, have_the_value_of_every_key_at_every_width_and_size) {
  const std::uint64_t seed = test::seed_or(71);
  WEIR_TRACE_SEED(seed);
  for (unsigned bits = 1; bits <= 20; ++bits)
    for (const std::size_t count : {0u, 8u, 16u, 104u, 1'000u, 5'000u}) {
      const std::vector<KeyHash> keys = random_keys(count, seed + bits);
      const auto groups = in_groups(keys, 8, bits);
      const auto built = TypeParam::build(groups, shape_of<TypeParam>(count, bits), bits, seed);
      ASSERT_TRUE(built) << count << " keys, " << bits << " bits: " << built.error().message;
      EXPECT_EQ(wrong(*built, groups), 0u) << count << " keys, " << bits << " bits";
      EXPECT_EQ(built->keys(), count);
    }
}

TYPED_TEST(Retrievals, answer_batches_like_single_questions) {
  for (const std::size_t count : {std::size_t{1'000}, std::size_t{3'000'000}}) { // in cache, and not
    const std::vector<KeyHash> keys = random_keys(count, 3);
    const auto built = TypeParam::build(in_groups(keys, 8, 3), shape_of<TypeParam>(count, 3));
    ASSERT_TRUE(built) << built.error().message;
    std::vector<KeyHash> asked = absent_keys(200, 4);
    asked.insert(asked.end(), keys.begin(), keys.begin() + 200);
    std::array<std::uint32_t, filter::batch_max> values;
    for (std::size_t size = 0; size <= filter::batch_max; ++size) {
      built->view().values(std::span(asked).first(size), values.data());
      for (std::size_t i = 0; i < size; ++i) ASSERT_EQ(values[i], built->value(asked[i])) << size;
    }
  }
}

TYPED_TEST(Retrievals, attach_to_their_section_and_refuse_another_kind) {
  const std::vector<KeyHash> keys = random_keys(1'000, 5);
  const auto built = TypeParam::build(in_groups(keys, 4, 2), shape_of<TypeParam>(1'000, 2));
  ASSERT_TRUE(built) << built.error().message;
  const auto view = TypeParam::View::attach(built->section());
  ASSERT_TRUE(view) << view.error().message;
  for (const KeyHash key : keys) ASSERT_EQ(view->value(key), built->value(key));
  const auto as_filter = filter::BinaryFuseView::attach(built->section());
  ASSERT_FALSE(as_filter);
  EXPECT_EQ(as_filter.error().code, Errc::bad_image);
  EXPECT_FALSE(TypeParam::View::attach(built->section().first(built->section().size() - 64)));
}

TYPED_TEST(Retrievals, take_a_key_that_is_given_twice_with_one_value) {
  const std::vector<KeyHash> keys = random_keys(1'000, 6);
  const auto built =
      TypeParam::build({{keys, 1}, {std::span(keys).first(300), 1}}, shape_of<TypeParam>(1'000, 1));
  ASSERT_TRUE(built) << built.error().message;
  EXPECT_EQ(built->keys(), 1'000u);
}

TYPED_TEST(Retrievals, refuse_a_key_with_two_values_by_name) {
  const std::vector<KeyHash> keys = random_keys(1'000, 7);
  const auto built =
      TypeParam::build({{keys, 2}, {std::span(keys).subspan(17, 1), 5}}, shape_of<TypeParam>(1'001, 3));
  ASSERT_FALSE(built);
  EXPECT_EQ(built.error().code, Errc::usage);
  EXPECT_NE(built.error().message.find(fmt::format("key {:016x} has two values, 2 and 5", keys[17].bits)),
            std::string::npos)
      << built.error().message;
}

TYPED_TEST(Retrievals, refuse_what_cannot_be) {
  const std::vector<KeyHash> keys = random_keys(3'000, 8);
  const auto says = [](const auto &built, const char *what) {
    ASSERT_FALSE(built);
    EXPECT_EQ(built.error().code, Errc::usage);
    EXPECT_NE(built.error().message.find(what), std::string::npos) << built.error().message;
  };
  says(TypeParam::build({{keys, 2}}, shape_of<TypeParam>(3'000, 1)), "value 2 does not fit in 1 bits");
  says(TypeParam::build({{keys, 1}}, shape_of<TypeParam>(2'000, 1)), "3000 keys find no place");
  auto shape = shape_of<TypeParam>(3'000, 1);
  for (const std::uint32_t bits : {0u, 21u}) {
    if constexpr (requires { shape.width; })
      shape.width = bits;
    else
      shape.table.fingerprint_bits = bits;
    says(TypeParam::build({{keys, 0}}, shape), "1 to 20 bits");
  }
  EXPECT_TRUE(TypeParam::Shape::serves(4e8, 1));
  EXPECT_TRUE(TypeParam::Shape::serves(3.7e7, 8));
  EXPECT_FALSE(TypeParam::Shape::serves(6e5, 20));
}

// [Chained §3]: space in place of rates, and a fair coin for keys that nobody declared.
TYPED_TEST(Retrievals, of_one_bit_are_right_for_the_universe_and_a_coin_for_others) {
  const std::vector<KeyHash> keys = random_keys(200'000, 9);
  const auto positives = std::span(keys).first(20'000), negatives = std::span(keys).subspan(20'000);
  const auto built = TypeParam::build({{positives, 1}, {negatives, 0}}, shape_of<TypeParam>(keys.size(), 1));
  ASSERT_TRUE(built) << built.error().message;
  EXPECT_EQ(test::missed(*built, positives), 0u);
  EXPECT_EQ(test::accepted(*built, negatives), 0u);
  EXPECT_TRUE(test::batch_equals_single(*built, keys));
  const std::vector<KeyHash> others = absent_keys(100'000, 10);
  EXPECT_TRUE(test::rate_is(0.5, test::accepted(*built, others), others.size()));
}

TYPED_TEST(Retrievals, take_an_eighth_a_twelfth_and_a_fiftieth_more_slots_than_keys) {
  const double per_key = static_cast<double>(shape_of<TypeParam>(1'000'000, 1).bits()) / 1e6;
  constexpr bool three = std::is_same_v<TypeParam, Retrieval<3>>,
                 four = std::is_same_v<TypeParam, Retrieval<4>>;
  EXPECT_LT(per_key, three ? 1.13 : four ? 1.08 : 1.02);
}

} // namespace
} // namespace weir::build::retrieval_test
