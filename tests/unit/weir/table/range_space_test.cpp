#include "weir/table/range_space.hpp"

#include "tests/support/seed.hpp"

#include <gtest/gtest.h>

#include <optional>
#include <random>
#include <vector>

namespace weir::table::range_space_test {
namespace {

TEST(RangeSpace, gives_the_shortest_run_that_is_long_enough_and_joins_neighbours) {
  RangeSpace space;
  space.add(0, 10);
  space.add(20, 3);
  EXPECT_EQ(space.take(3), 20u);
  EXPECT_EQ(space.take(4), 0u);
  EXPECT_EQ(space.take(7), std::nullopt);
  EXPECT_EQ(space.free(), 6u);
  for (const std::uint32_t number : {2u, 0u, 3u, 1u}) space.retire(number);
  EXPECT_EQ(space.take(7), std::nullopt) << "not before a grace period";
  EXPECT_EQ(space.retired(), 4u);
  space.grace_passed();
  EXPECT_EQ(space.retired(), 0u);
  EXPECT_EQ(space.take(10), 0u);
  EXPECT_EQ(space.free(), 0u);
}

// Against one mark a number.
TEST(RangeSpace, never_gives_a_number_twice_nor_forgets_one) {
  constexpr std::uint32_t numbers = 300;
  const std::uint64_t seed = test::seed_or(41);
  WEIR_TRACE_SEED(seed);
  std::mt19937_64 random(seed);
  RangeSpace space;
  std::vector<bool> taken(numbers);
  space.add(0, numbers);
  std::vector<std::uint32_t> held;
  for (unsigned step = 0; step < 5000; ++step) {
    const auto count = static_cast<std::uint32_t>(1 + random() % 5);
    if (const auto first = space.take(count)) {
      for (std::uint32_t n = *first; n < *first + count; ++n) {
        ASSERT_LT(n, numbers);
        ASSERT_FALSE(taken[n]) << n;
        taken[n] = true;
        held.push_back(n);
      }
    }
    for (unsigned i = 0; i < 4 && !held.empty(); ++i) {
      const std::size_t which = random() % held.size();
      space.retire(held[which]);
      held[which] = held.back();
      held.pop_back();
    }
    if (step % 3 != 0) continue;
    space.grace_passed();
    taken.assign(numbers, false);
    for (const std::uint32_t n : held) taken[n] = true;
    ASSERT_EQ(space.free() + held.size(), numbers);
  }
  for (const std::uint32_t n : held) space.retire(n);
  space.grace_passed();
  EXPECT_EQ(space.take(numbers), 0u) << "one run again";
}

} // namespace
} // namespace weir::table::range_space_test
