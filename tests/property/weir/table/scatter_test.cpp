// How often two addresses of a given difference share a line of words, over secrets: by chance one in as many as there are
// lines, whichever difference was chosen. keys_test.cpp asks the same of whole feeds.
#include "tests/support/seed.hpp"
#include "weir/table/word_line.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <vector>

namespace weir::table::scatter_test {
namespace {

constexpr std::uint32_t lines = 64;
constexpr unsigned pairs = 200'000;

// Few bits, high bits, and those that are few once they were multiplied.
std::vector<std::uint32_t> differences() {
  std::uint32_t undone = 1; // times the first factor: 1
  for (int i = 0; i < 5; ++i) undone *= 2 - Scatter::factor[0] * undone;
  std::vector<std::uint32_t> all;
  for (unsigned bit = 0; bit < 32; ++bit)
    for (const std::uint32_t d : {1u << bit, ~0u << bit, 3u << bit, 1u << 31 | 1u << bit, undone << bit})
      all.push_back(d);
  return all;
}

// Standard deviations from chance, of the pair that is farthest from it.
template <class Permutation>
double farthest(std::mt19937_64 &random, unsigned of_pairs, Permutation permute) {
  double worst = 0;
  const auto note = [&](unsigned shared) {
    const double chance = double(of_pairs) / lines;
    worst = std::max(worst, std::abs(shared - chance) / std::sqrt(chance));
  };
  for (const std::uint32_t difference : differences()) {
    unsigned flipped = 0, added = 0;
    for (unsigned i = 0; i < of_pairs; ++i) {
      const Scatter scatter(random());
      const auto a = static_cast<std::uint32_t>(random());
      const std::uint32_t line = reduce(permute(scatter, a), lines);
      flipped += line == reduce(permute(scatter, a ^ difference), lines);
      added += line == reduce(permute(scatter, a + difference), lines);
    }
    note(flipped);
    note(added);
  }
  return worst;
}

TEST(ScatteredAddresses, of_a_chosen_difference_share_a_line_as_often_as_any) {
  const std::uint64_t seed = test::seed_or(44);
  WEIR_TRACE_SEED(seed);
  std::mt19937_64 random(seed);
  EXPECT_LT(farthest(random, pairs, [](const Scatter &s, std::uint32_t wire) { return s(wire); }), 6.5);
}

// The test above would see it.
TEST(ScatteredAddresses, would_share_lines_after_two_rounds) {
  const std::uint64_t seed = test::seed_or(45);
  WEIR_TRACE_SEED(seed);
  std::mt19937_64 random(seed);
  const auto two_rounds = [](const Scatter &s, std::uint32_t x) {
    for (unsigned r = 0; r < 2; ++r) {
      x = (x ^ s.key[r]) * Scatter::factor[r];
      x ^= x >> Scatter::shift[r];
    }
    return x;
  };
  EXPECT_GT(farthest(random, pairs, two_rounds), 6.5);
}

} // namespace
} // namespace weir::table::scatter_test
