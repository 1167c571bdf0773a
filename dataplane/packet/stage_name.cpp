// Compact mode: a judge denies hosts without a word about lists. Of the packets that it denied, and of no others, the class map
// is asked which list they are on, a burst at a time.
#include "dataplane/packet/stages.hpp"

#include <array>
#include <bit>
#include <cstdint>
#include <optional>

namespace weir::dataplane {
namespace {

[[nodiscard]] KeyHash host_hash(const image::ImageView &view, const Address &address) noexcept {
  return view.hash(Prefix{address, static_cast<std::uint8_t>(address_bits(address.family))});
}

// Decisions of packets that nothing but the judge has denied.
[[nodiscard]] PacketMask denied_by_judge(const Burst &burst) noexcept {
  PacketMask denied = 0;
  for (PacketMask rest = burst.dropped & burst.special; rest != 0; rest &= rest - 1)
    if (burst.decision(static_cast<unsigned>(std::countr_zero(rest))).list == compact_list)
      denied |= rest & -rest;
  return denied;
}

} // namespace

Address judged_first(const Burst &burst, unsigned packet) noexcept {
  const ParsedPacket &parsed = burst.parsed_as(packet);
  return address_at(parsed, frame_of(burst.packets[packet]),
                    burst.judges_destination ? parsed.destination_offset : parsed.source_offset);
}

Address denied_by_the_judge(const Burst &burst, unsigned packet) noexcept {
  if (burst.questions() == 1) return judged_first(burst, packet);
  std::optional<Address> denied;
  each_question(burst, packet, [&](unsigned slot, const ParsedPacket &header, std::uint16_t offset) {
    const bool of_judge = table::value::list_of(burst.lookup.deny(slot)) == compact_list;
    if (!denied && of_judge && !table::value::is_set(burst.lookup.allow(slot)))
      denied = address_at(header, frame_of(burst.packets[packet]), offset);
  });
  return denied.value_or(judged_first(burst, packet));
}

void name_denied(Burst &burst) noexcept {
  burst.by_judge = 0;
  if (burst.image == nullptr || !burst.image->view.deny_filter.judges()) return;
  burst.by_judge = denied_by_judge(burst);
  const image::ImageView &view = burst.image->view_of(burst.image_copy);
  if (burst.by_judge == 0 || view.class_map.empty()) return;
  std::array<KeyHash, burst_packets_max> hosts;
  std::array<ListId, burst_packets_max> lists;
  std::size_t count = 0;
  for (PacketMask rest = burst.by_judge; rest != 0; rest &= rest - 1)
    hosts[count++] =
        host_hash(view, denied_by_the_judge(burst, static_cast<unsigned>(std::countr_zero(rest))));
  view.class_map.lists_of(std::span(hosts).first(count), lists.data());
  burst.write_decisions();
  count = 0;
  for (PacketMask rest = burst.by_judge; rest != 0; rest &= rest - 1)
    burst.decisions[std::countr_zero(rest)].list = lists[count++];
}

} // namespace weir::dataplane
