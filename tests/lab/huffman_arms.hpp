// What `weir-lab huffman` sets beside Huffman maps: one ChainedFilter with shared slots for the bits of all codes, a map of
// bumped ribbon tables, and codes in a row.
#pragma once

#include "weir/build/chained_and_shared_builder.hpp"
#include "weir/build/huffman_builder.hpp"
#include "weir/build/ribbon_builder.hpp"

#include <algorithm>
#include <bit>
#include <cstdint>
#include <optional>
#include <span>
#include <utility>
#include <vector>

namespace weir::lab {

[[nodiscard]] inline std::vector<build::SymbolCount> counts_of(std::span<const std::uint32_t> symbols) {
  std::vector<build::SymbolCount> counts;
  for (const std::uint32_t symbol : symbols) {
    while (counts.size() <= symbol)
      counts.push_back({.symbol = static_cast<std::uint32_t>(counts.size()), .count = 0});
    ++counts[symbol].count;
  }
  return counts;
}

// By symbol; null for one that does not occur.
[[nodiscard]] inline std::vector<const build::HuffmanTree::Leaf *>
leaves_by_symbol(const build::HuffmanTree &tree) {
  std::vector<const build::HuffmanTree::Leaf *> leaf_of;
  for (const auto &leaf : tree.leaves) {
    if (leaf_of.size() <= leaf.symbol) leaf_of.resize(leaf.symbol + 1);
    leaf_of[leaf.symbol] = &leaf;
  }
  return leaf_of;
}

// [Chained §5.2, remark].
template <unsigned ways> class SharedHuffman {
public:
  [[nodiscard]] static Result<SharedHuffman>
  build(std::span<const KeyHash> keys, std::span<const std::uint32_t> symbols, std::uint64_t seed) {
    build::HuffmanTree tree = build::huffman_tree(counts_of(symbols));
    const auto leaf_of = leaves_by_symbol(tree);
    std::vector<KeyHash> ones, zeros;
    for (std::size_t i = 0; i < keys.size(); ++i)
      for (const auto &[node, one] : leaf_of[symbols[i]]->path)
        (one ? ones : zeros).push_back(filter::at_node(keys[i], node));
    auto bits = TRY(build::ChainedAndShared<ways>::build(ones, zeros, 1, seed));
    return SharedHuffman(std::move(tree), std::move(bits));
  }

  [[nodiscard]] std::uint32_t value(KeyHash key) const noexcept {
    const auto view = bits_.view();
    build::HuffmanBranch::Child at{.leaf = tree_.nodes.empty(), .to = 0};
    while (!at.leaf) at = tree_.nodes[at.to].child[view.contains(filter::at_node(key, at.to))];
    return tree_.leaves[at.to].symbol;
  }
  void values(std::span<const KeyHash> keys, std::uint32_t *values) const noexcept {
    const auto view = bits_.view();
    std::array<build::HuffmanBranch::Child, filter::batch_max> at;
    std::array<std::uint8_t, filter::batch_max> open;
    std::array<KeyHash, filter::batch_max> asked;
    std::fill_n(at.begin(), keys.size(), build::HuffmanBranch::Child{tree_.nodes.empty(), 0});
    for (;;) {
      std::size_t count = 0;
      for (std::size_t i = 0; i < keys.size(); ++i)
        if (!at[i].leaf) {
          open[count] = static_cast<std::uint8_t>(i);
          asked[count++] = filter::at_node(keys[i], at[i].to);
        }
      if (count == 0) break;
      const filter::HitMask ones = view.contains_batch(std::span(asked).first(count));
      for (std::size_t n = 0; n < count; ++n) at[open[n]] = tree_.nodes[at[open[n]].to].child[ones >> n & 1];
    }
    for (std::size_t i = 0; i < keys.size(); ++i) values[i] = tree_.leaves[at[i].to].symbol;
  }

  [[nodiscard]] std::uint64_t bits() const noexcept {
    return bits_.bits() + 8 * sizeof(filter::HuffmanNode) * tree_.nodes.size();
  }

private:
  SharedHuffman(build::HuffmanTree tree, build::ChainedAndShared<ways> bits)
      : tree_(std::move(tree)), bits_(std::move(bits)) {}

  build::HuffmanTree tree_;
  build::ChainedAndShared<ways> bits_;
};

// A Huffman map with the tables that its model gives (four-wise), of bumped ribbon in place of binary fuse.
class RibbonHuffman {
public:
  [[nodiscard]] static Result<RibbonHuffman>
  build(std::span<const KeyHash> keys, std::span<const std::uint32_t> symbols, std::uint64_t seed) {
    RibbonHuffman made(build::plan_huffman<4>(counts_of(symbols)));
    const build::HuffmanPlan &plan = made.plan_;
    const auto leaf_of = leaves_by_symbol(plan.tree);
    const auto for_each_bit = [&](const auto &visit) {
      for (std::size_t i = 0; i < keys.size(); ++i)
        for (const auto &[node, one] : leaf_of[symbols[i]]->path)
          visit(plan.of[node].first, filter::at_node(keys[i], node), one);
    };
    std::vector<std::vector<KeyHash>> lighter(plan.firsts.size());
    for_each_bit([&](std::uint32_t first, KeyHash key, bool one) {
      if (first != 0 && one) lighter[first - 1].push_back(key);
    });
    for (std::size_t f = 0; f < lighter.size(); ++f)
      made.firsts_.push_back(TRY(build::RibbonFilter::build(
          lighter[f], TRY(shape_of<build::RibbonFilter>(lighter[f].size(), plan.firsts[f].bits)), f + 1,
          seed)));
    std::vector<KeyHash> ones, zeros;
    for_each_bit([&](std::uint32_t first, KeyHash key, bool one) {
      if (one)
        ones.push_back(key);
      else if (first == 0 || made.firsts_[first - 1].contains(key))
        zeros.push_back(key);
    });
    const auto shape = TRY(shape_of<build::RibbonRetrieval>(ones.size() + zeros.size(), 1));
    made.second_.emplace(TRY(build::RibbonRetrieval::build({{ones, 1}, {zeros, 0}}, shape, 0, seed)));
    return made;
  }

  [[nodiscard]] std::uint32_t value(KeyHash key) const noexcept {
    Child at = root();
    while (!at.leaf) at = plan_.tree.nodes[at.to].child[bit(at.to, filter::at_node(key, at.to)) ? 1 : 0];
    return plan_.tree.leaves[at.to].symbol;
  }
  // A bit of code of all keys at a time: each first stage is asked for the keys that it has, then the second one.
  void values(std::span<const KeyHash> keys, std::uint32_t *values) const noexcept {
    std::array<Child, filter::batch_max> at;
    std::fill_n(at.begin(), keys.size(), root());
    while (std::any_of(at.begin(), at.begin() + static_cast<std::ptrdiff_t>(keys.size()),
                       [](Child child) { return !child.leaf; })) {
      filter::HitMask ones = 0;
      for (std::size_t f = 0; f <= firsts_.size(); ++f) {
        Asked asked;
        for (std::size_t i = 0; i < keys.size(); ++i)
          if (!at[i].leaf && plan_.of[at[i].to].first == f) asked.add(i, filter::at_node(keys[i], at[i].to));
        if (f != 0) asked.keep(firsts_[f - 1].contains_batch(asked.span()));
        for (filter::HitMask hits = second_->contains_batch(asked.span()); hits != 0; hits &= hits - 1)
          ones |= filter::HitMask{1} << asked.of[static_cast<std::size_t>(std::countr_zero(hits))];
      }
      for (std::size_t i = 0; i < keys.size(); ++i)
        if (!at[i].leaf) at[i] = plan_.tree.nodes[at[i].to].child[ones >> i & 1];
    }
    for (std::size_t i = 0; i < keys.size(); ++i) values[i] = plan_.tree.leaves[at[i].to].symbol;
  }

  [[nodiscard]] std::uint64_t bits() const noexcept {
    std::uint64_t bits = of_nodes_and_tables(plan_) + second_->bits();
    for (const build::RibbonFilter &first : firsts_) bits += first.bits();
    return bits;
  }
  [[nodiscard]] const build::HuffmanPlan &plan() const noexcept { return plan_; }

private:
  using Child = build::HuffmanBranch::Child;
  struct Asked {
    std::array<KeyHash, filter::batch_max> keys;
    std::array<std::uint8_t, filter::batch_max> of; // which of the batch
    std::size_t count = 0;

    void add(std::size_t i, KeyHash key) noexcept {
      of[count] = static_cast<std::uint8_t>(i);
      keys[count++] = key;
    }
    void keep(filter::HitMask hits) noexcept {
      const std::size_t all = std::exchange(count, 0);
      for (std::size_t n = 0; n < all; ++n)
        if ((hits >> n & 1) != 0) add(of[n], keys[n]);
    }
    [[nodiscard]] std::span<const KeyHash> span() const noexcept { return std::span(keys).first(count); }
  };

  explicit RibbonHuffman(build::HuffmanPlan plan) : plan_(std::move(plan)) {
    // The same keys in other tables.
    double bits = static_cast<double>(of_nodes_and_tables(plan_));
    for (const build::HuffmanPlan::First &first : plan_.firsts)
      bits += bits_of<build::RibbonFilter>(static_cast<double>(first.keys), first.bits);
    for (const double keys : plan_.seconds) bits += bits_of<build::RibbonRetrieval>(keys, 1);
    plan_.bits = bits;
  }

  template <class Table> static Result<typename Table::Shape> shape_of(std::size_t keys, unsigned bits) {
    const auto shape = Table::Shape::for_keys(static_cast<double>(keys), bits);
    if (!shape) return fail(Errc::usage, "a Huffman map of ribbon tables: more keys than 2^31 rows take");
    return *shape;
  }
  template <class Table> static double bits_of(double keys, unsigned bits) {
    const auto shape = Table::Shape::for_keys(keys, bits);
    return shape ? static_cast<double>(shape->bits()) : 2 * keys * bits; // too many: refused later
  }
  static std::uint64_t of_nodes_and_tables(const build::HuffmanPlan &plan) noexcept {
    return 8 * (sizeof(filter::HuffmanNode) * plan.tree.nodes.size() +
                sizeof(filter::HuffmanTable) * (plan.firsts.size() + plan.seconds.size()));
  }

  [[nodiscard]] Child root() const noexcept { return {.leaf = plan_.tree.nodes.empty(), .to = 0}; }
  [[nodiscard]] bool bit(std::uint32_t node, KeyHash key) const noexcept {
    const std::uint32_t first = plan_.of[node].first;
    return (first == 0 || firsts_[first - 1].contains(key)) && second_->contains(key);
  }

  build::HuffmanPlan plan_;
  std::vector<build::RibbonFilter> firsts_;
  std::optional<build::RibbonRetrieval> second_;
};

// Codes one after the other, read from the first on.
class SequentialHuffman {
public:
  SequentialHuffman(const build::HuffmanTree &tree, std::span<const std::uint32_t> symbols) : tree_(tree) {
    const auto leaf_of = leaves_by_symbol(tree);
    for (const std::uint32_t symbol : symbols)
      for (const auto &[node, one] : leaf_of[symbol]->path) {
        if (bits_ % 64 == 0) words_.push_back(0);
        words_.back() |= std::uint64_t{one} << bits_++ % 64;
      }
  }

  // Calls take(symbol) for each.
  void decode(const auto &take) const {
    build::HuffmanBranch::Child at;
    if (tree_.nodes.empty()) return;
    at = {.leaf = false, .to = 0};
    for (std::uint64_t bit = 0; bit < bits_; ++bit) {
      at = tree_.nodes[at.to].child[words_[bit / 64] >> bit % 64 & 1];
      if (!at.leaf) continue;
      take(tree_.leaves[at.to].symbol);
      at = {.leaf = false, .to = 0};
    }
  }

private:
  const build::HuffmanTree &tree_;
  std::vector<std::uint64_t> words_;
  std::uint64_t bits_ = 0;
};

} // namespace weir::lab
