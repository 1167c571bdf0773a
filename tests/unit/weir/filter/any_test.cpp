// Filters that are opened by what their headers say: each kind answers as it does by itself, and a kind that
// is new needs its own file and a row.
#include "tests/support/base_filter_cases.hpp"
#include "tests/support/filter_checks.hpp"
#include "weir/filter/any.hpp"
#include "weir/filter/stacked_view.hpp"
#include "weir/image/allow_filter_view.hpp"

#include <gtest/gtest.h>
#include <set>

namespace weir::filter::any_test {
namespace {

using test::absent_keys;
using test::random_keys;

template <class F> class AnyFilters : public ::testing::Test {};
TYPED_TEST_SUITE(AnyFilters, test::AllBaseFilters);

TYPED_TEST(AnyFilters, answer_as_the_kind_does_by_itself) {
  const std::uint64_t seed = test::seed_or(61);
  WEIR_TRACE_SEED(seed);
  const std::vector<KeyHash> keys = random_keys(3'000, seed), absent = absent_keys(20'000, seed);
  const auto filter = test::filled<TypeParam>(*test::shape_of<TypeParam>(keys.size(), 7), keys, 7);
  const auto any = AnyFilter::attach(filter.section());
  ASSERT_TRUE(any) << any.error().message;
  EXPECT_EQ(any->kind(), TypeParam::Shape::kind);
  EXPECT_EQ(test::missed(*any, keys), 0u);
  for (const KeyHash key : absent) ASSERT_EQ(any->contains(key), filter.contains(key));
  EXPECT_TRUE(test::batch_equals_single(*any, test::mixed_keys(keys, absent)));
  const AnyFilter copy = *any;
  for (const KeyHash key : absent) ASSERT_EQ(copy.contains(key), filter.contains(key));
  ASSERT_NE(any->template as<typename TypeParam::View>(), nullptr);
  EXPECT_EQ(test::missed(*any->template as<typename TypeParam::View>(), keys), 0u);
  using Other = std::conditional_t<std::is_same_v<TypeParam, Bloom>, SplitBlockFilter, Bloom>;
  EXPECT_EQ(any->template as<typename Other::View>(), nullptr);
}

TYPED_TEST(AnyFilters, refuse_what_the_kind_refuses) {
  const auto filter = test::filled<TypeParam>(*test::shape_of<TypeParam>(500, 12), random_keys(500, 3));
  test::SectionCopy copy(filter.section());
  for (const std::size_t bytes : {std::size_t{0}, std::size_t{63}, copy.bytes().size() - 1}) {
    const auto cut = AnyFilter::attach(copy.bytes().first(bytes));
    ASSERT_FALSE(cut) << bytes;
    EXPECT_EQ(cut.error().code, Errc::bad_image);
  }
  const auto refused_with = [&](std::size_t at, std::byte value, std::string_view words) {
    const std::byte was = std::exchange(copy.bytes()[at], value);
    const auto any = AnyFilter::attach(copy.bytes());
    copy.bytes()[at] = was;
    ASSERT_FALSE(any) << words;
    EXPECT_NE(any.error().message.find(words), std::string::npos) << any.error().message;
  };
  refused_with(0, std::byte{'w'}, "does not begin as filters do");
  refused_with(8, std::byte{0}, "kind 0 (unknown filter) does not serve here");
  refused_with(8, std::byte{200}, "kind 200 (unknown filter) does not serve here");
  refused_with(12, std::byte{1}, "reserved bytes are not zero");
  EXPECT_TRUE(AnyFilter::attach(copy.bytes()));
}

TEST(FilterKinds, have_a_row_each) {
  std::set<FilterKind> kinds;
  for (const FilterOps &ops : filter_kinds()) EXPECT_TRUE(kinds.insert(ops.kind).second) << name_of(ops.kind);
  for (const FilterOps &ops : image::allow_filter_kinds())
    kinds.insert(ops.kind);                    // that change beside readers
  kinds.insert(FilterKind::chained_predictor); // asked for a line, and of no use without its table
  kinds.insert({FilterKind::retrieval_3, FilterKind::retrieval_4, FilterKind::othello,
                FilterKind::huffman_map, FilterKind::ribbon}); // asked for values
  for (std::uint32_t kind = 1; kind <= 32; ++kind) {
    const auto known = static_cast<FilterKind>(kind);
    EXPECT_EQ(kinds.contains(known), name_of(known) != std::string_view("unknown filter")) << kind;
  }
}

// ---- a kind that nobody has heard of: accepts the keys whose lowest bits are among some
// --------------------

struct LowBitsShape {
  static constexpr auto kind = static_cast<FilterKind>(77);
  std::uint32_t words = 1;

  [[nodiscard]] std::uint64_t bits() const noexcept { return std::uint64_t{words} * 512; }
  [[nodiscard]] ShapeWords as_words() const noexcept { return {words, 0, 0, 0}; }
  [[nodiscard]] static LowBitsShape of(const ShapeWords &w) noexcept { return {w[0]}; }
  [[nodiscard]] const char *objection() const noexcept { return words == 1 ? nullptr : "it has one line"; }
};

class LowBitsView {
public:
  using Shape = LowBitsShape;
  LowBitsView() = default;
  LowBitsView(const Shape &, const FilterHeader &, const std::byte *cells) noexcept : cells_(cells) {}

  [[nodiscard]] static Result<LowBitsView> attach(Bytes section) { return attach_view<LowBitsView>(section); }
  [[nodiscard]] bool contains(KeyHash key) const noexcept {
    return (cells_[key.bits % 512 / 8] & std::byte{1} << key.bits % 8) != std::byte{0};
  }
  [[nodiscard]] HitMask contains_batch(std::span<const KeyHash> keys) const noexcept {
    HitMask hits = 0;
    for (std::size_t i = 0; i < keys.size(); ++i) hits |= HitMask{contains(keys[i])} << i;
    return hits;
  }

private:
  const std::byte *cells_ = nullptr;
};

class LowBits : public OwnedFilter<LowBitsView> {
public:
  LowBits() : OwnedFilter(LowBitsShape{}, 0) {}
  void insert(KeyHash key) noexcept { memory_.cells()[key.bits % 512 / 8] |= std::byte{1} << key.bits % 8; }
};

TEST(FilterKinds, a_new_one_is_its_own_file_and_a_row) {
  std::vector<FilterOps> kinds(filter_kinds().begin(), filter_kinds().end());
  kinds.push_back(ops_of<LowBitsView>());
  const std::uint64_t seed = test::seed_or(62);
  WEIR_TRACE_SEED(seed);
  LowBits filter;
  const std::vector<KeyHash> keys = random_keys(40, seed), others = absent_keys(2'000, seed);
  for (const KeyHash key : keys) filter.insert(key);
  const auto stranger = AnyFilter::attach(filter.section());
  ASSERT_FALSE(stranger);
  EXPECT_NE(stranger.error().message.find("kind 77 (unknown filter)"), std::string::npos);
  const auto any = AnyFilter::attach(filter.section(), kinds);
  ASSERT_TRUE(any) << any.error().message;
  EXPECT_EQ(test::missed(*any, keys), 0u);
  EXPECT_LT(test::accepted(*any, others), others.size() / 5);
  EXPECT_TRUE(test::batch_equals_single(*any, test::mixed_keys(keys, others)));

  // It stands in a stack beside kinds that have always been there.
  const auto bloom = test::filled<Bloom>(*test::shape_of<Bloom>(others.size(), 10), others, 1);
  const std::array<AnyFilter, 2> odd{*any, *any};
  const std::array<AnyFilter, 1> even{AnyFilter::attach(bloom.section()).value()};
  for (const KeyHash key : keys) EXPECT_TRUE((stack_contains<AnyFilter, AnyFilter>(odd, even, key)));
  for (const KeyHash key : others)
    EXPECT_EQ((stack_contains<AnyFilter, AnyFilter>(odd, even, key)), filter.contains(key));
}

} // namespace
} // namespace weir::filter::any_test
