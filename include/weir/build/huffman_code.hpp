// Huffman codes in canonical form, as trees: symbols in order of their lengths, those of one length the most frequent first,
// take the codes of that length in ascending order. Then each node's lighter side becomes child 1 [Chained §5.2].
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <functional>
#include <iterator>
#include <queue>
#include <span>
#include <tuple>
#include <utility>
#include <vector>

namespace weir::build {

struct SymbolCount {
  std::uint32_t symbol = 0;
  std::uint64_t count = 0; // how many keys have it
};

// A node of the tree; a child is a node after it, or a leaf.
struct HuffmanBranch {
  struct Child {
    bool leaf = true;
    std::uint32_t to = 0; // node, or place in HuffmanTree::leaves
  };
  std::array<Child, 2> child{};
  std::array<std::uint64_t, 2> keys{}; // below each; those of child 1 are as many or fewer
};

struct HuffmanTree {
  struct Leaf {
    std::uint32_t symbol = 0;
    std::uint64_t count = 0;
    unsigned length = 0;                                // of its code
    std::vector<std::pair<std::uint32_t, bool>> path{}; // nodes from the root on, and which child follows
  };
  std::vector<HuffmanBranch> nodes; // none: there is one symbol at most
  std::vector<Leaf> leaves;         // in canonical order
  std::uint64_t keys = 0;

  // Bits a symbol.
  [[nodiscard]] double entropy() const noexcept {
    double bits = 0;
    for (const Leaf &leaf : leaves) {
      const double p = static_cast<double>(leaf.count) / static_cast<double>(keys);
      bits -= p * std::log2(p);
    }
    return bits;
  }
  [[nodiscard]] double code_bits() const noexcept {
    double bits = 0;
    for (const Leaf &leaf : leaves) bits += leaf.length * static_cast<double>(leaf.count);
    return keys == 0 ? 0 : bits / static_cast<double>(keys);
  }
};

// Of symbols with a count, in the order given: the least total length.
[[nodiscard]] inline std::vector<unsigned> huffman_lengths(std::span<const SymbolCount> symbols) {
  using Heavy = std::pair<std::uint64_t, std::size_t>; // keys, node; the lightest first, of those the oldest
  std::priority_queue<Heavy, std::vector<Heavy>, std::greater<>> open;
  std::vector<std::size_t> parent(symbols.size() * 2);
  for (std::size_t i = 0; i < symbols.size(); ++i) open.emplace(symbols[i].count, i);
  std::size_t next = symbols.size();
  while (open.size() > 1) {
    const Heavy a = open.top();
    open.pop();
    const Heavy b = open.top();
    open.pop();
    parent[a.second] = parent[b.second] = next;
    open.emplace(a.first + b.first, next++);
  }
  std::vector<unsigned> depth(next);
  for (std::size_t i = next; i-- > 0;)
    if (i + 1 < next) depth[i] = depth[parent[i]] + 1;
  depth.resize(symbols.size());
  return depth;
}

namespace detail {

// A way down the tree for each leaf: codes of one length ascend, so that neighbours share their beginnings.
inline void grow_tree(HuffmanTree &tree) {
  std::uint64_t code = 0;
  unsigned length = tree.leaves.empty() ? 0 : tree.leaves.front().length;
  if (length == 0) return;
  tree.nodes.emplace_back();
  for (std::uint32_t l = 0; l < tree.leaves.size(); ++l) {
    HuffmanTree::Leaf &leaf = tree.leaves[l];
    code <<= leaf.length - length;
    length = leaf.length;
    std::uint32_t at = 0;
    for (unsigned bit = length; bit-- > 0;) {
      const bool one = (code >> bit & 1) != 0;
      tree.nodes[at].keys[one] += leaf.count;
      leaf.path.emplace_back(at, one);
      HuffmanBranch::Child &child = tree.nodes[at].child[one];
      if (bit == 0) {
        child = {.leaf = true, .to = l};
      } else if (child.leaf) { // nobody has been here
        child = {.leaf = false, .to = static_cast<std::uint32_t>(tree.nodes.size())};
        at = child.to;
        tree.nodes.emplace_back();
      } else {
        at = child.to;
      }
    }
    ++code;
  }
}

} // namespace detail

// Symbols without keys are left out.
[[nodiscard]] inline HuffmanTree huffman_tree(std::span<const SymbolCount> counts) {
  std::vector<SymbolCount> symbols;
  std::ranges::copy_if(counts, std::back_inserter(symbols),
                       [](const SymbolCount &s) { return s.count != 0; });
  const std::vector<unsigned> lengths = huffman_lengths(symbols);
  HuffmanTree tree;
  for (std::size_t i = 0; i < symbols.size(); ++i) {
    tree.leaves.push_back({.symbol = symbols[i].symbol, .count = symbols[i].count, .length = lengths[i]});
    tree.keys += symbols[i].count;
  }
  std::ranges::sort(tree.leaves, {}, [](const HuffmanTree::Leaf &leaf) {
    return std::tuple(leaf.length, ~leaf.count, leaf.symbol);
  });
  detail::grow_tree(tree);
  std::vector<bool> swapped(tree.nodes.size());
  for (std::size_t i = 0; i < tree.nodes.size(); ++i)
    if (HuffmanBranch &node = tree.nodes[i]; node.keys[1] > node.keys[0]) {
      std::swap(node.keys[0], node.keys[1]);
      std::swap(node.child[0], node.child[1]);
      swapped[i] = true;
    }
  for (HuffmanTree::Leaf &leaf : tree.leaves)
    for (auto &[node, one] : leaf.path) one = one != swapped[node];
  return tree;
}

} // namespace weir::build
