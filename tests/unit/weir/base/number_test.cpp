#include "weir/base/number.hpp"
#include "weir/image/identity.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <iterator>
#include <sstream>
#include <type_traits>
#include <unordered_set>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace weir::test::number_test {
namespace {

using Place = Number<struct PlaceTag, std::uint64_t>;

// What is counted is told apart by the compiler: neither becomes the other, and a variable neither by itself.
static_assert(!std::is_convertible_v<Place, Generation> && !std::is_constructible_v<Generation, Place>);
static_assert(!std::is_convertible_v<std::uint64_t, Generation> &&
              !std::is_convertible_v<Generation, std::uint64_t>);
static_assert(!std::equality_comparable_with<Place, Generation>);
static_assert(!std::is_constructible_v<ListId, Generation> && !std::is_convertible_v<std::uint16_t, ListId> &&
              !std::is_convertible_v<ListId, std::uint16_t>);
// It goes into images and messages as the integer that it is.
static_assert(sizeof(Generation) == sizeof(std::uint64_t) &&
              std::has_unique_object_representations_v<Generation> &&
              std::is_trivially_copyable_v<Generation>);
static_assert(sizeof(ListId) == sizeof(std::uint16_t) && std::has_unique_object_representations_v<ListId> &&
              std::is_trivially_copyable_v<ListId>);
// What there is one of for each number is taken by no number of another kind, and by no integer.
template <class All, class N>
concept is_taken_by = requires(All all, N number) { all[number]; };
using Small = Number<struct SmallTag, std::uint8_t>;
static_assert(is_taken_by<PerNumber<Small, int>, Small> &&
              !is_taken_by<PerNumber<Small, int>, Number<struct OtherTag, std::uint8_t>> &&
              !is_taken_by<PerNumber<Small, int>, std::uint8_t>);

TEST(Number, begins_at_0_and_counts_up) {
  Generation g;
  EXPECT_EQ(g, 0);
  EXPECT_EQ(++g, 1);
  EXPECT_EQ(g.next(), 2);
  EXPECT_EQ(g.value(), 1u);
}

TEST(Number, compares_as_its_integer) {
  const Generation five = 5;
  EXPECT_LT(five, five.next());
  EXPECT_NE(five, Generation(6u));
  EXPECT_EQ(five, 5u);
  EXPECT_NE(five, -5) << "no sign is lost";
  EXPECT_NE(Generation(UINT64_MAX), -1);
}

TEST(Number, is_printed_as_its_integer) {
  const Generation g = 42;
  EXPECT_EQ(fmt::format("{} {:>4}", g, g), "42   42");
  std::ostringstream out;
  out << g << ' ' << Small(7);
  EXPECT_EQ(out.str(), "42 7");
  EXPECT_EQ(nlohmann::json({{"generation", g}}).dump(), R"({"generation":42})");
}

TEST(Number, is_found_by_its_hash) {
  const std::unordered_set<Generation> known{3, 4};
  EXPECT_TRUE(known.contains(3));
  EXPECT_FALSE(known.contains(5));
}

TEST(PerNumber, has_a_place_for_every_number) {
  PerNumber<Small, unsigned> all{};
  EXPECT_EQ(std::size(all.of), 256u);
  all[255] = 5;
  EXPECT_EQ(std::as_const(all)[Small(UINT8_MAX)], 5u);
  EXPECT_EQ(all[0], 0u);
}

} // namespace
} // namespace weir::test::number_test
