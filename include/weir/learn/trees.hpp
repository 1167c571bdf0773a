// Gradient boosted trees as the packet path asks them: how much does what is known about a key look like a member?
// A score is a margin, a sum of one leaf a tree; its logistic function is the probability. Scores are bit for bit the
// same on every processor, because leaves are added in the order of the trees, so that a filter built behind a
// threshold here misses nothing there.
//
//   section   | header 64 | leaves: 2^d floats a tree | nodes: 2^d - 1 pairs of bytes a tree | depths: a byte a tree |
//
//   tree      node 0 [feature, below]        x[feature] < below goes to the left
//             nodes 1, 2                     2 i + 1 and 2 i + 2 below node i
//             ...
//             leaves 0 .. 2^d - 1            from the left
//
// Trees are complete: where a trained tree ends early, its leaf is repeated. No node names another one, so that a section
// cannot hold a cycle. Features are bytes; who has real numbers cuts them into 256 ranges first, as histograms of the
// training do anyway.
//
//   bits       16 (2^d - 1) + 32 2^d + 8 a tree of depth d: 760 at 4, 3,064 at 6
//   cost       a burst of 64 samples at a time. Every node is compared for every sample, a row of 64 bytes with one
//              byte; the numbers of leaves are then chosen upwards from the bottom, without a branch:
//              2^d - 1 compares and as many selects for 64 samples, where a walk would take 64 d dependent loads
//   kernels    portable, AVX2, AVX-512 (tree_kernels.hpp)
//   readers    any number
//
// attach() is the trust border. Everything that places a read is checked there: sizes, depths, features. Leaves must be
// finite, so that scores can be ordered.
#pragma once

#include "weir/base/bits.hpp"
#include "weir/base/result.hpp"

#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace weir::learn {

inline constexpr unsigned burst_samples = 64;
inline constexpr unsigned tree_depth_max = 6, tree_features_max = 256, trees_max = 4096;

// A feature of 64 samples. A burst is a row for each feature of the model; of samples that nobody asked about any
// byte will do.
struct alignas(64) FeatureRow {
  std::array<std::uint8_t, burst_samples> of{};
};
using Margins = std::array<float, burst_samples>;

struct TreeNode {
  std::uint8_t feature = 0;
  std::uint8_t below = 0; // x < below: to the left
};
static_assert(sizeof(TreeNode) == 2);

inline constexpr std::array<char, 8> trees_magic{'W', 'E', 'I', 'R', 'T', 'R', 'E', '1'};

struct TreesHeader {
  std::array<char, 8> magic;
  std::uint32_t features, trees;
  std::uint64_t leaves, nodes; // of all trees
  float base;                  // where the sum begins
  std::uint32_t reserved0;
  std::uint64_t seed; // of the training, for people
  std::array<std::uint64_t, 2> reserved1;
};
static_assert(sizeof(TreesHeader) == 64);

[[nodiscard]] constexpr std::uint64_t leaves_of_depth(unsigned depth) noexcept {
  return std::uint64_t{1} << depth;
}
// Of one tree, without its share of the header.
[[nodiscard]] constexpr std::uint64_t tree_bits(unsigned depth) noexcept {
  return 16 * (leaves_of_depth(depth) - 1) + 32 * leaves_of_depth(depth) + 8;
}

class TreesView {
public:
  TreesView() = default;
  // At a multiple of 64 bytes. Errors: bad_image, saying what is wrong with which tree.
  [[nodiscard]] static Result<TreesView> attach(Bytes section);

  [[nodiscard]] unsigned features() const noexcept { return features_; }
  [[nodiscard]] unsigned trees() const noexcept { return trees_; }
  [[nodiscard]] float base() const noexcept { return base_; }
  [[nodiscard]] const float *leaves() const noexcept { return leaves_; }
  [[nodiscard]] const TreeNode *nodes() const noexcept { return nodes_; }
  [[nodiscard]] const std::uint8_t *depths() const noexcept { return depths_; }

  // Of one sample with features() bytes, by a walk: the law that kernels are held to, and what is cheapest for less
  // than about eight samples.
  [[nodiscard]] float score_one(std::span<const std::uint8_t> sample) const noexcept {
    float sum = base_;
    const float *leaves = leaves_;
    const TreeNode *nodes = nodes_;
    for (unsigned t = 0; t < trees_; ++t) {
      const std::uint64_t inner = leaves_of_depth(depths_[t]) - 1;
      std::uint64_t at = 0;
      while (at < inner) at = 2 * at + (sample[nodes[at].feature] < nodes[at].below ? 1 : 2);
      sum += leaves[at - inner];
      leaves += inner + 1;
      nodes += inner;
    }
    return sum;
  }
  // Of 64 samples; `rows` has features() of them. By the kernel that was chosen for this processor.
  void score(std::span<const FeatureRow> rows, Margins &margins) const noexcept;

private:
  TreesView(const TreesHeader &header, const std::byte *body) noexcept
      : features_(header.features), trees_(header.trees), base_(header.base),
        leaves_(reinterpret_cast<const float *>(body)),
        nodes_(reinterpret_cast<const TreeNode *>(body + header.leaves * sizeof(float))),
        depths_(reinterpret_cast<const std::uint8_t *>(nodes_ + header.nodes)) {}

  unsigned features_ = 0, trees_ = 0;
  float base_ = 0;
  const float *leaves_ = nullptr;
  const TreeNode *nodes_ = nullptr;
  const std::uint8_t *depths_ = nullptr;
};

// A model with its memory.
class Trees {
public:
  // Copies the section. Errors: those of attach().
  [[nodiscard]] static Result<Trees> of(Bytes section);

  Trees(const Trees &) = delete; // a view looks at the memory, which moving leaves where it is
  Trees &operator=(const Trees &) = delete;
  Trees(Trees &&) noexcept = default;
  Trees &operator=(Trees &&) noexcept = default;
  ~Trees() = default;

  [[nodiscard]] TreesView view() const noexcept { return view_; }
  [[nodiscard]] Bytes section() const noexcept {
    return {reinterpret_cast<const std::byte *>(memory_.data()), bytes_};
  }
  // Of the whole section.
  [[nodiscard]] std::uint64_t bits() const noexcept { return 8 * bytes_; }

private:
  Trees() = default;

  std::vector<FeatureRow> memory_; // for its alignment
  std::size_t bytes_ = 0;
  TreesView view_;
};

[[nodiscard]] inline double probability_of(float margin) noexcept { return 1 / (1 + std::exp(-margin)); }

} // namespace weir::learn
