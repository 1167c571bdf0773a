#include "control/build/list_actions.hpp"

#include "weir/base/hash.hpp"

#include <algorithm>
#include <cstring>

namespace weir::build {

image::ListActionEntry action_of(const config::List &list, ListId number) noexcept {
  image::ListActionEntry entry{};
  entry.list = number;
  entry.action = list.on_match;
  entry.per = list.limit_per;
  entry.packets = list.limit_packets;
  entry.burst = list.limit_burst;
  return entry;
}

std::vector<std::byte> list_action_section(const config::Config &config, std::span<const ListInput> lists) {
  std::vector<image::ListActionEntry> entries;
  for (const config::List &list : config.lists) {
    if (list.on_match == RuleAction::drop) continue;
    const auto of = std::ranges::find(lists, list.name, &ListInput::name);
    if (of != lists.end() && of->side == Side::deny) entries.push_back(action_of(list, of->number));
  }
  std::ranges::sort(entries, {}, &image::ListActionEntry::list);
  return image::list_actions_section(entries);
}

image::Digest digest_with(image::Digest lists, std::span<const std::byte> list_actions) noexcept {
  if (list_actions.empty()) return lists;
  const std::uint64_t fingerprint = XXH3_64bits(list_actions.data(), list_actions.size());
  for (std::size_t i = 0; i < lists.size(); i += sizeof(std::uint64_t)) {
    std::uint64_t word = 0;
    std::memcpy(&word, lists.data() + i, sizeof word);
    word ^= remix({fingerprint}, 64 + i);
    std::memcpy(lists.data() + i, &word, sizeof word);
  }
  return lists;
}

} // namespace weir::build
