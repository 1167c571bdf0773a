// Canonical Huffman codes as trees: of the least length, complete, and with the lighter side under 1.
#include "tests/support/seed.hpp"
#include "weir/build/huffman_model.hpp"

#include <gtest/gtest.h>
#include <random>

namespace weir::build::huffman_code_test {
namespace {

std::vector<SymbolCount> counts_of(std::initializer_list<std::uint64_t> counts) {
  std::vector<SymbolCount> out;
  for (const std::uint64_t count : counts)
    out.push_back({.symbol = static_cast<std::uint32_t>(out.size()), .count = count});
  return out;
}

std::vector<SymbolCount> random_counts(std::mt19937_64 &random) {
  std::vector<SymbolCount> out(1 + random() % 40);
  for (std::uint32_t i = 0; i < out.size(); ++i)
    out[i] = {.symbol = 7 * i + 3, .count = std::uint64_t{1} << random() % 30 | random() % 1000};
  return out;
}

std::vector<unsigned> lengths_of(const HuffmanTree &tree) {
  std::vector<unsigned> lengths;
  for (const HuffmanTree::Leaf &leaf : tree.leaves) lengths.push_back(leaf.length);
  return lengths;
}

// The least total over all complete trees of these leaves: every pair of them may be joined first.
std::uint64_t least_total(std::vector<std::uint64_t> counts) {
  if (counts.size() < 2) return 0;
  std::uint64_t least = UINT64_MAX;
  for (std::size_t i = 0; i < counts.size(); ++i)
    for (std::size_t j = i + 1; j < counts.size(); ++j) {
      std::vector<std::uint64_t> rest = counts;
      rest[i] += rest[j];
      rest.erase(rest.begin() + static_cast<std::ptrdiff_t>(j));
      least = std::min(least, counts[i] + counts[j] + least_total(rest));
    }
  return least;
}

TEST(HuffmanCode, gives_the_textbook_lengths) {
  EXPECT_EQ(lengths_of(huffman_tree(counts_of({45, 13, 12, 16, 9, 5}))),
            (std::vector<unsigned>{1, 3, 3, 3, 4, 4}));
  EXPECT_EQ(lengths_of(huffman_tree(counts_of({8, 4, 2, 1, 1}))), (std::vector<unsigned>{1, 2, 3, 4, 4}));
  EXPECT_EQ(lengths_of(huffman_tree(counts_of({0, 5, 0, 5}))), (std::vector<unsigned>{1, 1}));
}

TEST(HuffmanCode, takes_no_bits_for_one_symbol_and_none_for_nobody) {
  EXPECT_EQ(lengths_of(huffman_tree(counts_of({0, 9}))), (std::vector<unsigned>{0}));
  EXPECT_TRUE(huffman_tree(counts_of({0, 9})).nodes.empty());
  EXPECT_TRUE(huffman_tree({}).leaves.empty());
  EXPECT_EQ(huffman_tree({}).code_bits(), 0);
}

TEST(HuffmanCode, is_the_shortest_of_all_trees) {
  const std::uint64_t seed = test::seed_or(91);
  WEIR_TRACE_SEED(seed);
  std::mt19937_64 random(seed);
  for (int round = 0; round < 200; ++round) {
    std::vector<SymbolCount> counts = random_counts(random);
    counts.resize(std::min<std::size_t>(counts.size(), 5));
    std::vector<std::uint64_t> plain;
    for (const SymbolCount &c : counts) plain.push_back(c.count);
    const HuffmanTree tree = huffman_tree(counts);
    EXPECT_NEAR(tree.code_bits() * static_cast<double>(tree.keys), static_cast<double>(least_total(plain)),
                0.5);
  }
}

TEST(HuffmanCode, has_a_way_to_each_leaf_and_counts_the_keys_that_go_there) {
  const std::uint64_t seed = test::seed_or(92);
  WEIR_TRACE_SEED(seed);
  std::mt19937_64 random(seed);
  for (int round = 0; round < 200; ++round) {
    const std::vector<SymbolCount> counts = random_counts(random);
    const HuffmanTree tree = huffman_tree(counts);
    ASSERT_EQ(tree.leaves.size(), counts.size());
    EXPECT_EQ(tree.nodes.size() + 1, counts.size());
    std::vector<std::array<std::uint64_t, 2>> keys(tree.nodes.size());
    unsigned last = 0;
    for (std::uint32_t l = 0; l < tree.leaves.size(); ++l) {
      const HuffmanTree::Leaf &leaf = tree.leaves[l];
      EXPECT_GE(leaf.length, last) << "canonical codes are in order of their lengths";
      last = leaf.length;
      ASSERT_EQ(leaf.path.size(), leaf.length);
      HuffmanBranch::Child at{.leaf = tree.nodes.empty(), .to = 0};
      for (const auto &[node, one] : leaf.path) {
        ASSERT_FALSE(at.leaf);
        ASSERT_EQ(at.to, node);
        keys[node][one] += leaf.count;
        at = tree.nodes[node].child[one];
        if (!at.leaf) {
          EXPECT_GT(at.to, node);
        }
      }
      EXPECT_TRUE(at.leaf);
      EXPECT_EQ(at.to, l);
    }
    for (std::size_t i = 0; i < keys.size(); ++i) {
      EXPECT_EQ(keys[i], tree.nodes[i].keys);
      EXPECT_GE(keys[i][0], keys[i][1]);
    }
    EXPECT_LE(tree.entropy(), tree.code_bits() + 1e-9);
    EXPECT_LT(tree.code_bits(), tree.entropy() + 1);
  }
}

double over_entropy(const std::vector<SymbolCount> &counts, HuffmanTables tables) {
  const HuffmanPlan plan = plan_huffman<4>(counts, tables);
  return plan.bits / static_cast<double>(plan.tree.keys) - plan.tree.entropy();
}

// [Chained §5.2] with lists as an operator has them; the exact filter alone takes five times as much.
TEST(HuffmanModel, has_lists_of_very_different_sizes_within_an_eighth_of_a_bit_of_their_entropy) {
  const auto lists = counts_of({1'800'000, 200'000, 50'000, 1'000});
  EXPECT_NEAR(over_entropy(lists, HuffmanTables::by_fingerprint), 0.12, 0.005);
  EXPECT_NEAR(over_entropy(lists, HuffmanTables::exact_alone), 0.606, 0.005);
  EXPECT_LE(over_entropy(lists, HuffmanTables::by_fingerprint),
            over_entropy(lists, HuffmanTables::one_for_all));
  EXPECT_LE(over_entropy(lists, HuffmanTables::by_fingerprint),
            over_entropy(lists, HuffmanTables::one_a_node));
}

TEST(HuffmanModel, gives_no_first_stage_to_what_is_even) {
  const HuffmanPlan plan = plan_huffman<4>(counts_of({1'000, 1'000, 1'000, 900, 1'100}));
  EXPECT_TRUE(plan.firsts.empty());
  EXPECT_EQ(plan.seconds.size(), 1u);
}

TEST(HuffmanModel, lets_few_keys_join_the_first_stage_of_many) {
  // Nodes of 4 : 1, 1.5 : 1, 13,332 : 1 and, with thirty keys, 4 : 1 again.
  const auto counts = counts_of({4'000'000, 600'000, 399'970, 24, 6});
  const HuffmanPlan plan = plan_huffman<4>(counts), own = plan_huffman<4>(counts, HuffmanTables::one_a_node);
  EXPECT_EQ(plan.firsts.size(), 2u);
  EXPECT_EQ(own.firsts.size(), 3u);
  EXPECT_EQ(own.seconds.size(), 4u);
  EXPECT_LT(plan.bits, own.bits);
}

// [Chained Theorem 5.1] as it holds: the slots of large tables, real counts of three symbols to forty.
TEST(HuffmanModel, stays_below_the_bound_and_the_theorem_as_printed_does_not_hold) {
  const std::uint64_t seed = test::seed_or(93);
  WEIR_TRACE_SEED(seed);
  std::mt19937_64 random(seed);
  for (int round = 0; round < 300; ++round) {
    std::vector<SymbolCount> counts = random_counts(random);
    for (SymbolCount &c : counts) c.count = c.count * 1'000 + 1;
    const HuffmanTree tree = huffman_tree(counts);
    double slots = 0; // one a key
    for (const HuffmanBranch &node : tree.nodes) {
      const auto zeros = static_cast<double>(node.keys[0]), ones = static_cast<double>(node.keys[1]);
      slots += ones * chained_and_bits(zeros / ones, 1, 1);
    }
    for (const double c : {1.0, 1.076, 1.13})
      EXPECT_LE(c * slots / static_cast<double>(tree.keys) - tree.entropy(),
                huffman_overhead_bound(c, tree.code_bits()) + 1e-9);
  }
  // Symbols of 3 : 1 each, and so 2 : 1 at each node; three-wise tables.
  const std::vector<SymbolCount> thirds = [] {
    std::vector<SymbolCount> out;
    for (std::uint32_t i = 0; i < 13; ++i)
      out.push_back(
          {.symbol = i, .count = static_cast<std::uint64_t>(2e6 * std::pow(3.0, -double(i)) * 2 / 3)});
    return out;
  }();
  const HuffmanPlan plan = plan_huffman<3>(thirds);
  const double over = plan.bits / static_cast<double>(plan.tree.keys) - plan.tree.entropy();
  EXPECT_GT(over, 0.3);
  EXPECT_NEAR(over, huffman_overhead_bound(1.128, plan.tree.code_bits()), 0.01);
}

} // namespace
} // namespace weir::build::huffman_code_test
