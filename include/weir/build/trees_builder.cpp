#include "weir/build/trees_builder.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

namespace weir::build {
namespace {

using learn::TreeNode;

constexpr unsigned nested_max = 64; // counting nodes that bytes pass one way

struct CompleteTree {
  unsigned depth = 0;
  std::vector<TreeNode> nodes;
  std::vector<float> leaves;
};

// One tree, checked on the way down.
class Flattening {
public:
  Flattening(const TrainedTree &tree, unsigned features, std::size_t number)
      : tree_(tree), features_(features), number_(number) {}

  [[nodiscard]] Result<CompleteTree> run() {
    CompleteTree out;
    out.depth = TRY(depth_below(0, 0));
    if (out.depth > learn::tree_depth_max) return bad(fmt::format("deeper than {}", learn::tree_depth_max));
    out.nodes.resize(learn::leaves_of_depth(out.depth) - 1);
    out.leaves.resize(learn::leaves_of_depth(out.depth));
    write(0, 0, out);
    return out;
  }

private:
  [[nodiscard]] std::unexpected<Error> bad(const std::string &why) const {
    return fail(Errc::usage, fmt::format("tree {}: {}", number_, why));
  }

  // The only side that bytes take; negative: both.
  [[nodiscard]] static std::int64_t only_way(const TrainedNode &node) {
    if (node.threshold <= 0) return node.right;
    return node.threshold > 255 ? node.left : -1;
  }

  // Of the subtree below a node, without the nodes that bytes pass one way. A node is visited once: what is visited again
  // has two parents or is its own ancestor.
  [[nodiscard]] Result<unsigned> depth_below(std::int64_t at, unsigned above) {
    if (at < 0 || static_cast<std::size_t>(at) >= tree_.size())
      return bad(fmt::format("there is no node {} of {}", at, tree_.size()));
    if (visited_.empty()) visited_.resize(tree_.size());
    if (visited_[static_cast<std::size_t>(at)])
      return bad(fmt::format("node {} is reached twice, a cycle or two parents", at));
    visited_[static_cast<std::size_t>(at)] = true;
    const TrainedNode &node = tree_[static_cast<std::size_t>(at)];
    if (node.feature < 0) {
      if (!std::isfinite(static_cast<float>(node.leaf)))
        return bad(fmt::format("leaf {} is no finite number", at));
      return 0u;
    }
    if (node.feature >= features_)
      return bad(fmt::format("node {} asks for feature {} of {}", at, node.feature, features_));
    if (!std::isfinite(node.threshold)) return bad(fmt::format("node {} has no finite threshold", at));
    if (above == nested_max) return bad(fmt::format("nodes are nested deeper than {}", nested_max));
    const unsigned left = TRY(depth_below(node.left, above + 1)),
                   right = TRY(depth_below(node.right, above + 1));
    if (const std::int64_t way = only_way(node); way >= 0) return way == node.left ? left : right;
    return 1 + std::max(left, right);
  }

  // Heap node `to` becomes trained node `at`; a leaf that comes early is repeated.
  void write(std::int64_t at, std::size_t to, CompleteTree &out) const {
    const TrainedNode *node = &tree_[static_cast<std::size_t>(at)];
    while (node->feature >= 0 && only_way(*node) >= 0) {
      at = only_way(*node);
      node = &tree_[static_cast<std::size_t>(at)];
    }
    if (to >= out.nodes.size()) {
      out.leaves[to - out.nodes.size()] = static_cast<float>(node->leaf);
      return;
    }
    if (node->feature >= 0)
      out.nodes[to] = {static_cast<std::uint8_t>(node->feature),
                       static_cast<std::uint8_t>(std::ceil(node->threshold))};
    write(node->feature < 0 ? at : node->left, 2 * to + 1, out);
    write(node->feature < 0 ? at : node->right, 2 * to + 2, out);
  }

  const TrainedTree &tree_;
  std::int64_t features_;
  std::size_t number_;
  std::vector<bool> visited_;
};

template <class T> std::byte *put(std::byte *to, std::span<const T> values) {
  if (!values.empty()) std::memcpy(to, values.data(), values.size_bytes());
  return to + values.size_bytes();
}

} // namespace

Result<learn::Trees> flatten_trees(const TrainedTrees &trained) {
  if (trained.trees.empty() || trained.trees.size() > learn::trees_max)
    return fail(Errc::usage,
                fmt::format("{} trees, 1 to {} are possible", trained.trees.size(), learn::trees_max));
  std::vector<CompleteTree> trees;
  learn::TreesHeader header{};
  header.magic = learn::trees_magic;
  header.features = trained.features;
  header.trees = static_cast<std::uint32_t>(trained.trees.size());
  header.base = trained.base;
  header.seed = trained.seed;
  for (std::size_t t = 0; t < trained.trees.size(); ++t) {
    trees.push_back(TRY(Flattening(trained.trees[t], trained.features, t).run()));
    header.leaves += trees.back().leaves.size();
    header.nodes += trees.back().nodes.size();
  }
  std::vector<std::byte> section(sizeof header + header.leaves * sizeof(float) +
                                 header.nodes * sizeof(TreeNode) + header.trees);
  std::byte *to = put(section.data(), std::span<const learn::TreesHeader>(&header, 1));
  for (const CompleteTree &tree : trees) to = put(to, std::span<const float>(tree.leaves));
  for (const CompleteTree &tree : trees) to = put(to, std::span<const TreeNode>(tree.nodes));
  for (const CompleteTree &tree : trees) *to++ = static_cast<std::byte>(tree.depth);
  return learn::Trees::of(section);
}

} // namespace weir::build
