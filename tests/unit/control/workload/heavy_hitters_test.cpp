// Heavy hitters beside exact counts of the same stream.
#include "control/workload/heavy_hitters.hpp"
#include "tests/support/seed.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

namespace weir::workload::heavy_hitters_test {
namespace {

TEST(HeavyHitters, are_counted_exactly_while_there_is_a_row_for_each_key) {
  HeavyHitters<int> hot(8);
  EXPECT_EQ(hot.psi(3), 0.0) << "nothing was seen";
  for (const int key : {1, 2, 2, 3, 3, 3, 3, 4}) hot.add(key);
  hot.add(1, 2);
  ASSERT_EQ(hot.top(2).size(), 2u);
  EXPECT_EQ(hot.top(2)[0].key, 3);
  EXPECT_EQ(hot.top(2)[0].count, 4u);
  EXPECT_EQ(hot.top(2)[1].key, 1);
  EXPECT_EQ(hot.total(), 10u);
  EXPECT_DOUBLE_EQ(hot.psi(1), 0.4);
  EXPECT_DOUBLE_EQ(hot.psi(2), 0.7);
  EXPECT_DOUBLE_EQ(hot.psi_at_least(100), 1.0);
}

TEST(HeavyHitters, stay_in_bounds_and_know_the_hot_keys_of_a_long_stream) {
  const std::uint64_t seed = test::seed_or(6);
  WEIR_TRACE_SEED(seed);
  constexpr std::size_t rows = 200;
  HeavyHitters<std::uint32_t> hot(rows);
  std::mt19937_64 random(seed);
  std::map<std::uint32_t, std::uint64_t> exact;
  std::vector<double> weights;
  for (unsigned rank = 1; rank <= 20'000; ++rank) weights.push_back(1.0 / rank);
  std::discrete_distribution<std::uint32_t> zipf(weights.begin(), weights.end());
  for (int i = 0; i < 100'000; ++i) {
    const std::uint32_t key = zipf(random);
    ++exact[key];
    hot.add(key);
  }
  EXPECT_EQ(hot.rows(), rows);
  EXPECT_EQ(hot.total(), 100'000u);
  std::map<std::uint32_t, bool> kept;
  for (const auto &row : hot.top(rows)) {
    kept[row.key] = true;
    EXPECT_GE(row.count, exact[row.key]) << "never too low";
    EXPECT_LE(row.count - row.inherited, exact[row.key]) << "too high by what was inherited at most";
  }
  std::uint64_t ten_hottest = 0;
  for (std::uint32_t key = 0; key < 10; ++key) ten_hottest += exact[key];
  for (const auto &[key, count] : exact)
    EXPECT_TRUE(count <= 100'000 / rows || kept[key]) << key << " was seen " << count << " times";
  const double share = static_cast<double>(ten_hottest) / 100'000;
  EXPECT_GE(hot.psi(10), share - 0.01);
  EXPECT_LE(hot.psi_at_least(10), share + 0.01);
}

} // namespace
} // namespace weir::workload::heavy_hitters_test
