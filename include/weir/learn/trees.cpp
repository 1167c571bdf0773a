#include "weir/learn/trees.hpp"

#include "weir/learn/tree_kernels.hpp"

#include <cstring>
#include <string>

namespace weir::learn {
namespace {

std::unexpected<Error> bad(const std::string &why) {
  return fail(Errc::bad_image, "trees: " + why + ", train them again");
}
std::string in_tree(unsigned tree, const std::string &what) {
  return "tree " + std::to_string(tree) + ": " + what;
}

// What would place a read outside, or makes sums that cannot be ordered. Empty: nothing.
std::string header_objection(const TreesHeader &header, std::size_t bytes) {
  if (header.magic != trees_magic) return "the section does not begin as trees do";
  if (header.features < 1 || header.features > tree_features_max)
    return std::to_string(header.features) + " features, 1 to " + std::to_string(tree_features_max) +
           " are possible";
  if (header.trees < 1 || header.trees > trees_max)
    return std::to_string(header.trees) + " trees, 1 to " + std::to_string(trees_max) + " are possible";
  const std::uint64_t most = leaves_of_depth(tree_depth_max) * trees_max;
  if (header.leaves > most || header.nodes > most) return "more nodes or leaves than so many trees can have";
  if (header.reserved0 != 0 || header.reserved1 != std::array<std::uint64_t, 2>{})
    return "reserved bytes are not zero";
  if (!std::isfinite(header.base)) return "the sum begins with no finite number";
  const std::uint64_t wanted =
      sizeof header + header.leaves * sizeof(float) + header.nodes * sizeof(TreeNode) + header.trees;
  if (bytes != wanted)
    return std::to_string(bytes) + " bytes where the header asks for " + std::to_string(wanted);
  return {};
}

std::string depths_objection(const TreesHeader &header, const std::uint8_t *depths) {
  std::uint64_t leaves = 0;
  for (unsigned t = 0; t < header.trees; ++t) {
    if (depths[t] > tree_depth_max)
      return in_tree(t, "depth " + std::to_string(depths[t]) + ", at most " + std::to_string(tree_depth_max) +
                            " is possible");
    leaves += leaves_of_depth(depths[t]);
  }
  if (leaves != header.leaves || leaves - header.trees != header.nodes)
    return "depths ask for other numbers of nodes and leaves than the header has";
  return {};
}

std::string contents_objection(const TreesHeader &header, const TreesView &view) {
  const TreeNode *node = view.nodes();
  const float *leaf = view.leaves();
  for (unsigned t = 0; t < header.trees; ++t) {
    const std::uint64_t leaves = leaves_of_depth(view.depths()[t]);
    for (std::uint64_t i = 0; i + 1 < leaves; ++i, ++node)
      if (node->feature >= header.features)
        return in_tree(t,
                       "feature " + std::to_string(node->feature) + " of " + std::to_string(header.features));
    for (std::uint64_t i = 0; i < leaves; ++i, ++leaf)
      if (!std::isfinite(*leaf)) return in_tree(t, "a leaf is no finite number");
  }
  return {};
}

} // namespace

Result<TreesView> TreesView::attach(Bytes section) {
  TreesHeader header;
  if (section.size() < sizeof header) return bad("the section has no room for its header");
  if (reinterpret_cast<std::uintptr_t>(section.data()) % alignof(FeatureRow) != 0)
    return bad("the section does not begin at a multiple of 64 bytes");
  std::memcpy(&header, section.data(), sizeof header);
  if (const std::string why = header_objection(header, section.size()); !why.empty()) return bad(why);
  const TreesView view(header, section.data() + sizeof header);
  if (const std::string why = depths_objection(header, view.depths_); !why.empty()) return bad(why);
  if (const std::string why = contents_objection(header, view); !why.empty()) return bad(why);
  return view;
}

void TreesView::score(std::span<const FeatureRow> rows, Margins &margins) const noexcept {
  best_tree_kernel().score(*this, rows.data(), margins.data());
}

Result<Trees> Trees::of(Bytes section) {
  Trees trees;
  trees.memory_.resize((section.size() + sizeof(FeatureRow) - 1) / sizeof(FeatureRow));
  trees.bytes_ = section.size();
  if (!section.empty()) std::memcpy(trees.memory_.data(), section.data(), section.size());
  trees.view_ = TRY(TreesView::attach(trees.section()));
  return trees;
}

} // namespace weir::learn
