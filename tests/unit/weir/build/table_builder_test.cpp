// A table whose lines are too few for its keys: the rest goes to the stash, as many as it has room for.
#include "weir/build/table_builder.hpp"

#include "tests/support/seed.hpp"

#include <gtest/gtest.h>

#include <cstdlib>
#include <memory>
#include <random>
#include <vector>

namespace weir::build::table_builder_test {
namespace {

using Line = table::LineV4;
using Builder = TableBuilder<Line>;

constexpr std::uint32_t value_of_all = table::value::make(ListId(3), 32);

// Room for 512 keys in the lines of both tables.
constexpr std::uint32_t lines1 = 48, lines2 = 16;
constexpr std::uint32_t places = (lines1 + lines2) * Line::slots;

class Table {
public:
  Table(std::uint32_t keys, std::uint32_t stash_lines, std::uint64_t seed,
        Predictor predictor = Predictor::inline_bits)
      : size_{lines1, lines2, stash_lines},
        memory_(static_cast<std::byte *>(std::aligned_alloc(64, size_.bytes())), &std::free) {
    std::fill_n(memory_.get(), size_.bytes(), std::byte{0});
    for (unsigned l = 0; l <= 128; ++l) seeds_[l] = length_seed(seed, l);
    std::mt19937_64 random(seed);
    for (std::uint32_t i = 0; i < keys; ++i) keys_.push_back(static_cast<std::uint32_t>(random()) / 2 * 2);
    builder_.emplace(MutableBytes(memory_.get(), size_.bytes()), size_, hasher(), predictor);
    built_ = builder_->build(
        keys_.size(), [this](std::uint64_t i) { return Builder::Item{keys_[i], value_of_all}; }, 1);
  }

  [[nodiscard]] bool built() const { return built_; }
  [[nodiscard]] TableReport report() const { return builder_->report(); }
  [[nodiscard]] std::uint32_t find(std::uint32_t key) const {
    return builder_->view().find(key, 32, hasher()(key, 32));
  }
  [[nodiscard]] std::uint64_t found() const {
    std::uint64_t n = 0;
    for (const std::uint32_t key : keys_) n += find(key) == value_of_all ? 1 : 0;
    return n;
  }

private:
  [[nodiscard]] table::KeyHasher hasher() const { return {seeds_, HashFamily::xxh3}; }

  TableSize size_;
  std::unique_ptr<std::byte, decltype(&std::free)> memory_;
  std::array<std::uint64_t, 129> seeds_{};
  std::vector<std::uint32_t> keys_;
  std::optional<Builder> builder_;
  bool built_ = false;
};

TEST(TableBuilder, puts_what_finds_no_line_into_the_stash_where_every_key_is_found) {
  const std::uint64_t seed = test::seed_or(7);
  WEIR_TRACE_SEED(seed);
  for (const Predictor predictor : {Predictor::inline_bits, Predictor::chained}) {
    const Table table(places + 200, 40, seed, predictor);
    ASSERT_TRUE(table.built());
    EXPECT_GE(table.report().in_stash, 200u);
    EXPECT_EQ(table.found(), places + 200u);
    for (std::uint32_t odd = 1; odd < 20'000; odd += 2) ASSERT_EQ(table.find(odd), 0u) << "it is no key";
  }
}

TEST(TableBuilder, says_that_a_stash_is_too_small) {
  const Table table(places + 200, 4, test::seed_or(7));
  EXPECT_FALSE(table.built());
}

TEST(TableSize, a_stash_grows_with_the_keys) {
  EXPECT_EQ(table_size<Line>(1'000'000).stash_lines, 4u);
  EXPECT_EQ(table_size<Line>(256'000'000).stash_lines, 65u);
  EXPECT_EQ(table_size<table::LineV6>(64'000'000).stash_lines, 19u);
}

} // namespace
} // namespace weir::build::table_builder_test
