// Builds the class map of compact mode (image/class_map.hpp) from the hosts of the deny side, for an image of the same seed.
#pragma once

#include "weir/build/huffman_builder.hpp"
#include "weir/build/input.hpp"
#include "weir/build/keys.hpp"

namespace weir::build {

// How many hosts each deny list has, by its number.
[[nodiscard]] inline std::vector<SymbolCount> hosts_by_list(const SideInput &deny) {
  std::vector<SymbolCount> counts;
  const auto count = [&](std::uint32_t list) {
    while (counts.size() <= list)
      counts.push_back({.symbol = static_cast<std::uint32_t>(counts.size()), .count = 0});
    ++counts[list].count;
  };
  for (const EntryV4 &e : deny.v4)
    if (e.length == 32) count(e.list.value());
  for (const EntryV6 &e : deny.v6)
    if (e.length == 128) count(e.list.value());
  return counts;
}

// Of the section to come, about.
[[nodiscard]] inline std::uint64_t class_map_bytes(const SideInput &deny) {
  return sizeof(filter::FilterHeader) +
         static_cast<std::uint64_t>(plan_huffman<4>(hosts_by_list(deny)).bits / 8);
}

// What build_class_map() holds besides: the hosts, and of each table in turn its keys and what peels them.
[[nodiscard]] inline std::uint64_t class_map_scratch_bytes(const SideInput &deny) {
  const HuffmanPlan plan = plan_huffman<4>(hosts_by_list(deny));
  constexpr double host = sizeof(KeyHash) + sizeof(std::uint32_t), peeled = sizeof(KeyHash) + 12 + 9 * 1.1;
  double most = 0, first_keys = 0;
  for (const HuffmanPlan::First &first : plan.firsts) first_keys += static_cast<double>(first.keys);
  for (const double keys : plan.seconds) most = std::max(most, keys * peeled);
  return static_cast<std::uint64_t>(host * static_cast<double>(plan.tree.keys) +
                                    std::max(most, first_keys * peeled));
}

// The section; empty where there is no host. Errors: those of HuffmanMap::build().
[[nodiscard]] inline Result<std::vector<std::byte>> build_class_map(const SideInput &deny,
                                                                    std::uint64_t seed) {
  std::vector<KeyHash> hosts;
  std::vector<std::uint32_t> lists;
  const auto add = [&](KeyHash host, ListId list) {
    hosts.push_back(host);
    lists.push_back(list.value());
  };
  for (const EntryV4 &e : deny.v4)
    if (e.length == 32) add(hash_v4(detail::key_of(e), length_seed(seed, 32)), e.list);
  for (const EntryV6 &e : deny.v6)
    if (e.length == 128) add(hash_v6(e.address.data(), length_seed(seed, 128)), e.list);
  if (hosts.empty()) return std::vector<std::byte>();
  const auto map = TRY(HuffmanMap<4>::build(hosts, lists, seed));
  return std::vector<std::byte>(map.section().begin(), map.section().end());
}

} // namespace weir::build
