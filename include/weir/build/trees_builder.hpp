// Trained trees, as a dump of them says, into the form that is asked (learn/trees.hpp).
#pragma once

#include "weir/learn/trees.hpp"

#include <cstdint>
#include <span>
#include <vector>

namespace weir::build {

// A node of a trained tree: the root is node 0. x[feature] < threshold goes to `left`, all else to `right`.
struct TrainedNode {
  std::int64_t feature = -1; // negative: a leaf
  double threshold = 0;
  std::int64_t left = -1, right = -1; // numbers of nodes
  double leaf = 0;
};
using TrainedTree = std::vector<TrainedNode>;

struct TrainedTrees {
  unsigned features = 0; // each a byte
  float base = 0;        // where the sum begins
  std::uint64_t seed = 0;
  std::vector<TrainedTree> trees;
};

// Equal to the trained trees for every sample of bytes: a byte is below a threshold where it is below the next whole number.
// A threshold that no byte or every byte is below leaves one side, whose depth alone counts. Errors: usage, naming the tree,
// for a feature, node, threshold or leaf that cannot be, a node that two others lead to or that leads to itself, a tree
// deeper than tree_depth_max, and no trees or too many.
[[nodiscard]] Result<learn::Trees> flatten_trees(const TrainedTrees &trained);

} // namespace weir::build
