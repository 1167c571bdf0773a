// Sizes of a chained predictor's layers: that they keep the promise, and how few bits they take.
#include "control/plan/layers.hpp"

#include "tests/support/seed.hpp"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <numeric>
#include <random>
#include <set>

namespace weir::plan::layers_test {
namespace {

ChainKeys aligned(double keys, double mistaken_share = 5e-4) {
  return {.in_table1 = static_cast<std::uint64_t>(keys * 0.85),
          .in_table2 = static_cast<std::uint64_t>(keys * 0.15),
          .form = LayerForm::bucket_aligned,
          .first_bits = static_cast<std::uint64_t>(keys / 2),
          .mistaken = keys * mistaken_share};
}
ChainKeys plain(double keys) {
  return {.in_table1 = static_cast<std::uint64_t>(keys * 0.91),
          .in_table2 = static_cast<std::uint64_t>(keys * 0.09),
          .form = LayerForm::plain};
}

TEST(LayerRate, is_that_of_a_layer_filled_at_random) {
  const std::uint64_t seed = test::seed_or(11);
  WEIR_TRACE_SEED(seed);
  std::mt19937_64 random(seed);
  constexpr std::size_t words = 20'000;
  for (const double load : {0.1, 1.0, 5.0}) {
    std::vector<std::uint64_t> layer(words);
    const auto bits = [&] {
      const std::uint64_t x = random();
      return std::uint64_t{1} << (x & 63) | std::uint64_t{1} << (x >> 6 & 63) |
             std::uint64_t{1} << (x >> 12 & 63);
    };
    for (std::size_t i = 0; i < static_cast<std::size_t>(load * words); ++i)
      layer[random() % words] |= bits();
    constexpr int asked = 2'000'000;
    int taken = 0;
    for (int i = 0; i < asked; ++i) {
      const std::uint64_t wanted = bits();
      taken += (layer[random() % words] & wanted) == wanted;
    }
    const double expected = layer_rate(load) * asked;
    // Two of the three bits may be the same one, which the formula leaves out: a few percent.
    EXPECT_NEAR(taken, expected, 0.25 * expected + 5 * std::sqrt(expected)) << "load " << load;
  }
}

TEST(LayerRate, rises_with_the_load_up_to_everything) {
  double before = 0;
  for (double load = 0.01; load < 200; load *= 2) {
    EXPECT_GE(layer_rate(load), before);
    before = layer_rate(load);
  }
  EXPECT_GT(before, 0.8);
}

TEST(LayerSizes, of_a_first_layer_that_errs_nowhere_are_none) {
  const auto sizes = size_layers(aligned(1e6, 0));
  ASSERT_TRUE(sizes) << sizes.error().message;
  EXPECT_TRUE(sizes->words.empty());
  EXPECT_NEAR(sizes->bits_per_key, 0.5, 1e-6);
}

TEST(LayerSizes, keep_the_promise_at_every_size) {
  for (const double keys : {1e3, 1e4, 1e6, 1e7})
    for (const ChainKeys &chain : {aligned(keys), aligned(keys, 1e-2), plain(keys)}) {
      const auto sizes = size_layers(chain);
      ASSERT_TRUE(sizes) << sizes.error().message;
      const std::vector<double> words(sizes->words.begin(), sizes->words.end());
      EXPECT_LE(expected_wrong(chain, words), 0.06) << keys;
      EXPECT_LE(sizes->words.size(), sized_layers_max);
    }
}

TEST(LayerSizes, take_few_bits_beside_an_aligned_first_layer_and_about_one_alone) {
  EXPECT_LT(size_layers(aligned(1e6)).value().bits_per_key, 0.515);
  const double alone = size_layers(plain(1e6)).value().bits_per_key;
  EXPECT_GT(alone, 0.7);
  EXPECT_LT(alone, 1.27); // what a chain of plain Bloom layers was measured to take
}

TEST(LayerSizes, cannot_be_halved_without_breaking_the_promise) {
  const ChainKeys chain = aligned(1e7);
  const auto sizes = size_layers(chain).value();
  std::vector<double> words(sizes.words.begin(), sizes.words.end());
  for (double &w : words) w /= 2;
  EXPECT_GT(expected_wrong(chain, words), 0.05);
}

TEST(LayerSizes, are_the_same_for_the_same_seed) {
  EXPECT_EQ(size_layers(aligned(1e6)).value().words, size_layers(aligned(1e6)).value().words);
}

TEST(LayerSizes, that_cannot_be_are_an_error_with_the_numbers) {
  const auto sizes = size_layers(plain(1e6), {.layers_max = 1, .wrong_max = 1e-9});
  ASSERT_FALSE(sizes);
  EXPECT_NE(sizes.error().message.find("910000"), std::string::npos) << sizes.error().message;
}

} // namespace
} // namespace weir::plan::layers_test
