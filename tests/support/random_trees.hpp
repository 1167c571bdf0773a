// Sections of boosted trees (weir/learn/trees.hpp) with random contents.
#pragma once

#include "weir/learn/trees.hpp"

#include <cstring>
#include <random>
#include <span>
#include <vector>

namespace weir::test {

[[nodiscard]] inline std::vector<std::byte> random_trees(std::span<const unsigned> depths, unsigned features,
                                                         std::uint64_t seed) {
  std::mt19937_64 random(seed);
  learn::TreesHeader header{};
  header.magic = learn::trees_magic;
  header.features = features;
  header.trees = static_cast<std::uint32_t>(depths.size());
  header.base = 0.25F;
  for (const unsigned depth : depths) {
    header.leaves += learn::leaves_of_depth(depth);
    header.nodes += learn::leaves_of_depth(depth) - 1;
  }
  std::vector<std::byte> section(sizeof header);
  std::memcpy(section.data(), &header, sizeof header);
  const auto put = [&section](const auto &value) {
    const auto *bytes = reinterpret_cast<const std::byte *>(&value);
    section.insert(section.end(), bytes, bytes + sizeof value);
  };
  std::uniform_real_distribution<float> leaf(-1, 1);
  for (std::uint64_t i = 0; i < header.leaves; ++i) put(leaf(random));
  for (std::uint64_t i = 0; i < header.nodes; ++i)
    put(learn::TreeNode{static_cast<std::uint8_t>(random() % features), static_cast<std::uint8_t>(random())});
  for (const unsigned depth : depths) put(static_cast<std::uint8_t>(depth));
  return section;
}

} // namespace weir::test
