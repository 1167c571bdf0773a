// What `weir-lab huffman` sets beside Huffman maps: one ChainedFilter with shared slots for the bits of all codes, and codes in
// a row.
#pragma once

#include "weir/build/chained_and_shared_builder.hpp"
#include "weir/build/huffman_builder.hpp"

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

namespace weir::lab {

// [Chained §5.2, remark].
template <unsigned ways> class SharedHuffman {
public:
  [[nodiscard]] static Result<SharedHuffman>
  build(std::span<const KeyHash> keys, std::span<const std::uint32_t> symbols, std::uint64_t seed) {
    std::vector<build::SymbolCount> counts;
    for (const std::uint32_t symbol : symbols) {
      while (counts.size() <= symbol)
        counts.push_back({.symbol = static_cast<std::uint32_t>(counts.size()), .count = 0});
      ++counts[symbol].count;
    }
    build::HuffmanTree tree = build::huffman_tree(counts);
    std::vector<const build::HuffmanTree::Leaf *> leaf_of(counts.size());
    for (const auto &leaf : tree.leaves) leaf_of[leaf.symbol] = &leaf;
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

// Codes one after the other, read from the first on.
class SequentialHuffman {
public:
  SequentialHuffman(const build::HuffmanTree &tree, std::span<const std::uint32_t> symbols) : tree_(tree) {
    std::vector<const build::HuffmanTree::Leaf *> leaf_of;
    for (const auto &leaf : tree.leaves) {
      if (leaf_of.size() <= leaf.symbol) leaf_of.resize(leaf.symbol + 1);
      leaf_of[leaf.symbol] = &leaf;
    }
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
