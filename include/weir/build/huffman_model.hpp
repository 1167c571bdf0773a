// Which tables the nodes of a Huffman map have, and what they take [Chained §5.2]. For a node with n keys on its lighter side and
// m on the other one, an exact table alone takes n + m slots, and a first stage of f bits before it n f + n + m / 2^f:
// f = floor(log2(m / n)) is best, and none below m = 2 n [Chained Alg. 1].
//
// Nodes with the same f share one first stage, and all nodes share the exact table: the same slots as tables of their own,
// without what small tables waste. A first stage with few keys costs more than it saves: its nodes go where the
// whole takes fewest bits.
#pragma once

#include "weir/build/chained_model.hpp"
#include "weir/build/huffman_code.hpp"
#include "weir/filter/huffman_map.hpp"

#include <map>
#include <optional>

namespace weir::build {

enum class HuffmanTables : std::uint8_t {
  by_fingerprint, // as above
  one_for_all,    // one ChainedFilter with the bits of all codes, as the paper has it
  one_a_node,     // one ChainedFilter for each node
  exact_alone,    // one exact table with the bits of all codes
};

struct HuffmanPlan {
  struct First {
    unsigned bits = 0;      // of fingerprint
    std::uint64_t keys = 0; // on the lighter sides of its nodes
  };
  struct NodeTables {
    std::uint32_t first = 0; // counted from 1; 0: none
    std::uint32_t second = 0;
  };
  HuffmanTree tree;
  std::vector<First> firsts;
  std::vector<double> seconds; // keys that each is expected to have
  std::vector<NodeTables> of;  // of each node
  double bits = 0;             // expected, of nodes, tables and cells; a header of 64 bytes is beside
};

// Most bits a symbol over the entropy, with C slots a key and L bits of Huffman code. A bit of code whose sides are 2 : 1
// costs C where it is worth log2 3 - 2/3, and no other one costs more over its worth; the sum over the nodes, each
// weighted by the keys that come there, is (C + 2/3 - log2 3) L. [Chained Theorem 5.1] leaves out L, since its last step takes
// the entropy of each node to be 1 or more.
[[nodiscard]] inline double huffman_overhead_bound(double slots_per_key, double code_bits) noexcept {
  return (slots_per_key + 2.0 / 3 - std::log2(3)) * code_bits;
}

namespace detail {

template <unsigned ways> [[nodiscard]] double fuse_bits(double keys, unsigned bits) {
  const auto shape = filter::FuseShape<ways>::for_keys(keys, bits);
  return 8.0 * sizeof(filter::HuffmanTable) +
         (shape ? static_cast<double>(shape->bits()) : 2 * keys * bits); // too many: refused later
}

[[nodiscard]] inline double second_keys(const HuffmanBranch &node, unsigned first_bits) noexcept {
  return static_cast<double>(node.keys[1]) +
         static_cast<double>(node.keys[0]) * std::exp2(-static_cast<double>(first_bits));
}

[[nodiscard]] inline unsigned first_bits_of(double zeros, double ones) noexcept {
  return ones < 1 ? 0 : std::min(filter::huffman_fingerprint_bits_max, chained_and_first_bits(zeros / ones));
}

// Bits of first stage of each node, 0: none.
template <unsigned ways> class SharedFirsts {
public:
  explicit SharedFirsts(const std::vector<HuffmanBranch> &nodes) {
    for (std::size_t i = 0; i < nodes.size(); ++i) {
      const HuffmanBranch &node = nodes[i];
      Group &group =
          groups_[first_bits_of(static_cast<double>(node.keys[0]), static_cast<double>(node.keys[1]))];
      group.nodes.push_back(i);
      group.zeros += static_cast<double>(node.keys[0]);
      group.ones += static_cast<double>(node.keys[1]);
    }
    while (join_best()) {
    }
  }

  [[nodiscard]] std::vector<unsigned> bits_of(std::size_t nodes) const {
    std::vector<unsigned> bits(nodes);
    for (const auto &[f, group] : groups_)
      for (const std::size_t node : group.nodes) bits[node] = f;
    return bits;
  }

private:
  struct Group {
    std::vector<std::size_t> nodes;
    double zeros = 0, ones = 0;
  };

  // With the nodes of `from` at `to`.
  [[nodiscard]] double bits(unsigned from, unsigned to) const {
    double total = 0, exact = 0;
    std::map<unsigned, double> firsts;
    for (const auto &[f, group] : groups_) {
      const unsigned now = f == from ? to : f;
      exact += group.ones + group.zeros * std::exp2(-static_cast<double>(now));
      if (now != 0) firsts[now] += group.ones;
    }
    for (const auto &[f, keys] : firsts) total += fuse_bits<ways>(keys, f);
    return total + fuse_bits<ways>(exact, 1);
  }

  // False: none of them saves anything.
  [[nodiscard]] bool join_best() {
    double least = bits(0, 0);
    std::optional<std::pair<unsigned, unsigned>> best;
    for (const auto &[from, group] : groups_) {
      if (from == 0) continue;
      for (unsigned to = 0; to <= filter::huffman_fingerprint_bits_max; ++to)
        if ((to == 0 || groups_.contains(to)) && bits(from, to) < least) {
          least = bits(from, to);
          best = {from, to};
        }
    }
    if (!best) return false;
    Group from = std::move(groups_[best->first]);
    groups_.erase(best->first);
    Group &to = groups_[best->second];
    to.nodes.insert(to.nodes.end(), from.nodes.begin(), from.nodes.end());
    to.zeros += from.zeros;
    to.ones += from.ones;
    return true;
  }

  std::map<unsigned, Group> groups_; // by bits of first stage
};

template <unsigned ways>
[[nodiscard]] std::vector<unsigned> first_bits(const std::vector<HuffmanBranch> &nodes,
                                               HuffmanTables tables) {
  switch (tables) {
  case HuffmanTables::exact_alone: return std::vector<unsigned>(nodes.size());
  case HuffmanTables::by_fingerprint: return SharedFirsts<ways>(nodes).bits_of(nodes.size());
  case HuffmanTables::one_for_all: {
    double zeros = 0, ones = 0;
    for (const HuffmanBranch &node : nodes) {
      zeros += static_cast<double>(node.keys[0]);
      ones += static_cast<double>(node.keys[1]);
    }
    return std::vector<unsigned>(nodes.size(), first_bits_of(zeros, ones));
  }
  case HuffmanTables::one_a_node: break;
  }
  std::vector<unsigned> bits;
  for (const HuffmanBranch &node : nodes)
    bits.push_back(first_bits_of(static_cast<double>(node.keys[0]), static_cast<double>(node.keys[1])));
  return bits;
}

} // namespace detail

template <unsigned ways>
[[nodiscard]] HuffmanPlan plan_huffman(std::span<const SymbolCount> counts,
                                       HuffmanTables tables = HuffmanTables::by_fingerprint) {
  HuffmanPlan plan;
  plan.tree = huffman_tree(counts);
  const std::vector<HuffmanBranch> &nodes = plan.tree.nodes;
  const std::vector<unsigned> bits = detail::first_bits<ways>(nodes, tables);
  std::map<unsigned, std::uint32_t> shared; // first stages that nodes share, by their bits
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    HuffmanPlan::NodeTables &of = plan.of.emplace_back();
    if (bits[i] != 0) {
      const bool own = tables == HuffmanTables::one_a_node || !shared.contains(bits[i]);
      if (own) plan.firsts.push_back({.bits = bits[i]});
      of.first = own ? static_cast<std::uint32_t>(plan.firsts.size()) : shared[bits[i]];
      shared[bits[i]] = of.first;
      plan.firsts[of.first - 1].keys += nodes[i].keys[1];
    }
    of.second = tables == HuffmanTables::one_a_node ? static_cast<std::uint32_t>(i) : 0;
    plan.seconds.resize(of.second + 1);
    plan.seconds[of.second] += detail::second_keys(nodes[i], bits[i]);
  }
  plan.bits = 8.0 * sizeof(filter::HuffmanNode) * static_cast<double>(nodes.size());
  for (const HuffmanPlan::First &first : plan.firsts)
    plan.bits += detail::fuse_bits<ways>(static_cast<double>(first.keys), first.bits);
  for (const double keys : plan.seconds) plan.bits += detail::fuse_bits<ways>(keys, 1);
  return plan;
}

} // namespace weir::build
