// The stable Bloom filter: rates of its model, the same as with independent cells, and none of its parameters taken on trust.
#include "weir/filter/stable_bloom.hpp"

#include "tests/support/seed.hpp"
#include "weir/build/stable_bloom_model.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

namespace weir::test::stable_bloom_test {
namespace {

using filter::StableBloom;
using filter::StableBloomShape;

KeyHash told(std::uint64_t i, std::uint64_t seed) { return {remix({2 * i}, seed)}; }
KeyHash other(std::uint64_t i, std::uint64_t seed) { return {remix({2 * i + 1}, seed)}; }

struct Measured {
  double accepted = 0, missed = 0;
};

// After a first half, each key is asked for when `gap` others have come, and as many absent ones.
template <class F>
Measured measure(F &filter, std::uint64_t insertions, std::uint64_t gap, std::uint64_t seed) {
  std::uint64_t asked = 0, accepted = 0, missed = 0;
  for (std::uint64_t i = 0; i < insertions; ++i) {
    filter.insert(told(i, seed));
    if (i < insertions / 2 || i < gap) continue;
    ++asked;
    accepted += filter.contains(other(i, seed)) ? 1 : 0;
    missed += filter.contains(told(i - gap, seed)) ? 0 : 1;
  }
  return {static_cast<double>(accepted) / static_cast<double>(asked),
          static_cast<double>(missed) / static_cast<double>(asked)};
}

// As [SLBF figure 4a] has it: P independent cells.
class IndependentCells {
public:
  IndependentCells(const StableBloomShape &shape, std::uint64_t seed)
      : shape_(shape), cells_(shape.cells()), random_(seed) {}
  void insert(KeyHash key) {
    auto left = static_cast<unsigned>(shape_.decrements);
    left += std::generate_canonical<double, 53>(random_) < shape_.decrements - left ? 1 : 0;
    for (; left > 0; --left)
      if (auto &cell = cells_[random_() % cells_.size()]; cell > 0) --cell;
    for (unsigned i = 0; i < shape_.hashes; ++i) cells_[remix(key, i) % cells_.size()] = shape_.max;
  }
  [[nodiscard]] bool contains(KeyHash key) const {
    for (unsigned i = 0; i < shape_.hashes; ++i)
      if (cells_[remix(key, i) % cells_.size()] == 0) return false;
    return true;
  }

private:
  StableBloomShape shape_;
  std::vector<unsigned> cells_;
  std::mt19937_64 random_;
};

TEST(StableBloom, accepts_and_misses_as_its_model_says_and_as_independent_cells_do) {
  const std::uint64_t seed = seed_or(11), gap = 2'000, insertions = 160'000;
  WEIR_TRACE_SEED(seed);
  for (const unsigned max : {1u, 2u, 3u, 7u, 15u})
    for (const double rate : {0.05, 0.2}) {
      SCOPED_TRACE("max " + std::to_string(max) + " rate " + std::to_string(rate));
      const build::StableLaw law = build::stable_law(rate, 3, max);
      const auto shape = build::stable_shape(law, 24 * static_cast<double>(gap));
      auto filter = StableBloom::make(shape, 1, seed).value();
      const Measured runs = measure(filter, insertions, gap, seed);
      EXPECT_NEAR(runs.accepted, build::stable_rate(law), 0.06 * rate);
      const double missed = build::stable_missed(law, static_cast<double>(shape.cells()), gap);
      EXPECT_NEAR(runs.missed, missed, 0.05 * missed + 0.002);
      EXPECT_NEAR(filter.zeros(), build::stable_zeros(law, static_cast<double>(shape.cells()), insertions),
                  0.03);
      if (rate == 0.2) continue;
      IndependentCells apart(shape, seed);
      const Measured cells = measure(apart, insertions, gap, seed);
      EXPECT_NEAR(runs.accepted, cells.accepted, 0.08 * rate);
      EXPECT_NEAR(runs.missed, cells.missed, 0.05 * missed + 0.004);
    }
}

TEST(StableBloom, fills_from_below_so_that_its_bound_holds_from_the_first_insertion_on) {
  const std::uint64_t seed = seed_or(12);
  WEIR_TRACE_SEED(seed);
  const build::StableLaw law = build::stable_law(0.1, 4, 3);
  const auto shape = build::stable_shape(law, 1 << 16);
  auto filter = StableBloom::make(shape, 1, seed).value();
  for (std::uint64_t i = 1; i <= 60'000; ++i) {
    filter.insert(told(i, seed));
    if (i % 2'000 != 0) continue;
    std::uint64_t accepted = 0;
    for (std::uint64_t k = 0; k < 10'000; ++k) accepted += filter.contains(other(i + k, seed)) ? 1 : 0;
    const double expected =
        build::stable_rate_after(law, static_cast<double>(shape.cells()), static_cast<double>(i));
    EXPECT_LE(expected, 0.1 * (1 + 1e-9));
    EXPECT_NEAR(static_cast<double>(accepted) / 10'000, expected, 0.02) << i;
  }
}

TEST(StableBloom, lowers_as_many_cells_as_p_says_the_fraction_included) {
  const std::uint64_t seed = seed_or(13);
  WEIR_TRACE_SEED(seed);
  for (const double p : {0.25, 3.5, 40.75}) { // more than a word of three bits holds
    const StableBloomShape shape{.words = 40, .max = 7, .hashes = 1, .decrements = p};
    auto filter = StableBloom::make(shape, 0, seed).value();
    const auto insertions = static_cast<std::uint64_t>(200'000 / p);
    for (std::uint64_t i = 0; i < insertions; ++i) filter.insert(told(i, seed));
    EXPECT_NEAR(filter.zeros(), std::pow(p / (p + 1), 7), 0.05) << p;
  }
}

TEST(StableBloom, answers_and_fills_in_batches_as_one_by_one) {
  const std::uint64_t seed = seed_or(14);
  WEIR_TRACE_SEED(seed);
  const StableBloomShape shape{.words = 300, .max = 3, .hashes = 4, .decrements = 12.5};
  auto one = StableBloom::make(shape, 2, seed).value(), many = StableBloom::make(shape, 2, seed).value();
  std::uint64_t next = 0, present = 0;
  for (std::size_t size = 0; size <= filter::batch_max; ++size) {
    std::vector<KeyHash> keys;
    for (std::size_t i = 0; i < size; ++i) keys.push_back(told(next++, seed));
    for (const KeyHash key : keys) one.insert(key);
    many.insert_batch(keys);
    for (std::size_t i = 0; i < size; i += 2) keys[i] = other(next + i, seed);
    const filter::HitMask hits = many.contains_batch(keys);
    for (std::size_t i = 0; i < size; ++i) EXPECT_EQ(hits >> i & 1, one.contains(keys[i]) ? 1u : 0u);
    present += static_cast<unsigned>(std::popcount(hits));
  }
  EXPECT_GT(present, 900u);
}

TEST(StableBloom, refuses_shapes_that_cannot_be) {
  const auto made = [](StableBloomShape shape) { return StableBloom::make(shape, 0, 1).has_value(); };
  EXPECT_TRUE(made({1, 15, 32, 16}));
  EXPECT_FALSE(made({0, 1, 1, 0}));
  EXPECT_FALSE(made({1, 0, 1, 1}));
  EXPECT_FALSE(made({1, 16, 1, 1}));
  EXPECT_FALSE(made({1, 1, 0, 1}));
  EXPECT_FALSE(made({1, 1, 33, 1}));
  EXPECT_FALSE(made({1, 15, 1, 17})); // 16 cells
  EXPECT_FALSE(made({1, 1, 1, -1}));
  EXPECT_FALSE(made({1, 1, 1, std::nan("")}));
}

} // namespace
} // namespace weir::test::stable_bloom_test
