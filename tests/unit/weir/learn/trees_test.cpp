// Boosted trees: every kernel gives the bits of a walk, and attach() lets in no section that would place a read outside.
#include "weir/learn/trees.hpp"

#include "tests/support/random_trees.hpp"
#include "tests/support/seed.hpp"
#include "weir/learn/tree_kernels.hpp"

#include <gtest/gtest.h>

#include <limits>

namespace weir::learn::trees_test {
namespace {

using test::random_trees;

std::vector<FeatureRow> random_rows(unsigned features, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  std::vector<FeatureRow> rows(features);
  for (FeatureRow &row : rows)
    for (std::uint8_t &byte : row.of) byte = static_cast<std::uint8_t>(random());
  return rows;
}

std::vector<std::uint8_t> sample_of(std::span<const FeatureRow> rows, unsigned at) {
  std::vector<std::uint8_t> sample;
  for (const FeatureRow &row : rows) sample.push_back(row.of[at]);
  return sample;
}

void expect_walks(const TreeKernel &kernel, const Trees &trees, std::uint64_t seed) {
  const std::vector<FeatureRow> rows = random_rows(trees.view().features(), seed);
  Margins margins;
  kernel.score(trees.view(), rows.data(), margins.data());
  for (unsigned i = 0; i < burst_samples; ++i)
    ASSERT_EQ(margins[i], trees.view().score_one(sample_of(rows, i))) << kernel.name << ", sample " << i;
}

TEST(Trees, are_scored_by_every_kernel_as_by_a_walk) {
  const std::uint64_t seed = test::seed_or(31);
  WEIR_TRACE_SEED(seed);
  for (const TreeKernel *kernel : available_tree_kernels())
    for (unsigned depth = 0; depth <= tree_depth_max; ++depth)
      for (const unsigned features : {1u, 7u, 256u}) {
        const auto trees = Trees::of(random_trees(std::vector(9, depth), features, seed + depth));
        ASSERT_TRUE(trees) << trees.error().message;
        expect_walks(*kernel, *trees, seed + features);
      }
}

TEST(Trees, may_differ_in_depth) {
  const std::uint64_t seed = test::seed_or(32);
  WEIR_TRACE_SEED(seed);
  std::mt19937_64 random(seed);
  std::vector<unsigned> depths(300);
  for (unsigned &depth : depths) depth = static_cast<unsigned>(random() % (tree_depth_max + 1));
  const auto trees = Trees::of(random_trees(depths, 40, seed));
  ASSERT_TRUE(trees) << trees.error().message;
  for (const TreeKernel *kernel : available_tree_kernels()) expect_walks(*kernel, *trees, seed);
}

TEST(Trees, compare_bytes_at_both_ends) {
  std::vector<std::byte> section = random_trees(std::vector{1u}, 1, 1);
  const std::array<float, 2> leaves{-1, 1};
  std::memcpy(section.data() + sizeof(TreesHeader), leaves.data(), sizeof leaves);
  for (const unsigned below : {0u, 1u, 128u, 255u}) {
    section[sizeof(TreesHeader) + sizeof leaves + 1] = static_cast<std::byte>(below);
    const auto trees = Trees::of(section);
    ASSERT_TRUE(trees) << trees.error().message;
    for (const TreeKernel *kernel : available_tree_kernels())
      for (unsigned first = 0; first < 256; first += burst_samples) {
        FeatureRow row;
        for (unsigned i = 0; i < burst_samples; ++i) row.of[i] = static_cast<std::uint8_t>(first + i);
        Margins margins;
        kernel->score(trees->view(), &row, margins.data());
        for (unsigned i = 0; i < burst_samples; ++i)
          ASSERT_EQ(margins[i], first + i < below ? -0.75F : 1.25F) << kernel->name << ' ' << first + i;
      }
  }
}

TEST(Trees, count_every_bit_of_their_section) {
  const std::vector<std::byte> section = random_trees(std::vector{4u, 6u}, 8, 3);
  const auto trees = Trees::of(section);
  ASSERT_TRUE(trees) << trees.error().message;
  EXPECT_EQ(trees->bits(), 8 * sizeof(TreesHeader) + tree_bits(4) + tree_bits(6));
  EXPECT_TRUE(std::ranges::equal(trees->section(), section));
}

// What stands at a place of an honest section of two trees of depth 2 and 3 over 5 features, and what is said of it.
struct Damage {
  const char *name;
  std::size_t place;
  std::vector<std::uint8_t> bytes;
  const char *reason;
};
const std::vector<Damage> &damages() {
  constexpr std::size_t leaves = sizeof(TreesHeader), nodes = leaves + 12 * sizeof(float),
                        depths = nodes + 10 * sizeof(TreeNode);
  static const std::vector<Damage> all{
      {"magic", 0, {'X'}, "does not begin as trees do"},
      {"no_features", 8, {0, 0, 0, 0}, "0 features"},
      {"too_many_features", 8, {1, 1, 0, 0}, "257 features"},
      {"no_trees", 12, {0, 0, 0, 0}, "0 trees"},
      {"too_many_trees", 12, {1, 16, 0, 0}, "4097 trees"},
      {"more_leaves", 16, {13}, "bytes where the header asks for"},
      {"vast_leaves", 16, {0, 0, 0, 0, 0, 0, 0, 0x40}, "more nodes or leaves"},
      {"fewer_nodes", 24, {9}, "bytes where the header asks for"},
      {"infinite_base", 32, {0, 0, 0x80, 0x7F}, "no finite number"},
      {"reserved", 36, {1}, "reserved"},
      {"leaf_not_a_number",
       leaves + 4 * sizeof(float),
       {0, 0, 0xC0, 0x7F},
       "tree 1: a leaf is no finite number"},
      {"feature", nodes + 2 * sizeof(TreeNode), {5}, "tree 0: feature 5 of 5"},
      {"depth", depths, {7}, "tree 0: depth 7"},
      {"other_depth", depths + 1, {2}, "other numbers of nodes and leaves"},
  };
  return all;
}

TEST(Trees, refuse_a_bad_section_with_the_reason) {
  const std::vector<std::byte> honest = random_trees(std::vector{2u, 3u}, 5, 4);
  ASSERT_TRUE(Trees::of(honest));
  for (const Damage &damage : damages()) {
    std::vector<std::byte> section = honest;
    std::memcpy(section.data() + damage.place, damage.bytes.data(), damage.bytes.size());
    const auto trees = Trees::of(section);
    ASSERT_FALSE(trees) << damage.name;
    EXPECT_EQ(trees.error().code, Errc::bad_image);
    EXPECT_NE(trees.error().message.find(damage.reason), std::string::npos)
        << damage.name << ": " << trees.error().message;
  }
}

TEST(Trees, refuse_a_section_of_another_length_or_alignment) {
  std::vector<std::byte> section = random_trees(std::vector{2u}, 5, 5);
  for (const std::size_t size : {std::size_t{0}, std::size_t{63}, std::size_t{64}, section.size() - 1})
    EXPECT_FALSE(Trees::of(std::span(section).first(size))) << size;
  const auto trees = Trees::of(section);
  ASSERT_TRUE(trees);
  EXPECT_TRUE(TreesView::attach(trees->section()));
  section.resize(section.size() + 128); // somewhere in it begins a section at a wrong place
  const auto place = reinterpret_cast<std::uintptr_t>(section.data()) % 64 == 0 ? 4 : 0;
  std::ranges::copy(trees->section(), section.begin() + place);
  const auto misplaced =
      TreesView::attach(std::span(section).subspan(static_cast<std::size_t>(place), trees->section().size()));
  ASSERT_FALSE(misplaced);
  EXPECT_NE(misplaced.error().message.find("multiple of 64"), std::string::npos);
}

} // namespace
} // namespace weir::learn::trees_test
