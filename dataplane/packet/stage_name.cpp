// Compact mode: a judge denies hosts without a word about lists. Of the packets that it denied, and of no others, the class map
// is asked which list they are on, a burst at a time.
#include "dataplane/packet/stages.hpp"

#include <array>
#include <bit>
#include <cstdint>
#include <optional>
#include <span>

namespace weir::dataplane {
namespace {

// The hash of the address for whose sake the judge denied the packet.
[[nodiscard]] KeyHash denied_host(const image::ImageView &view, const Burst &burst,
                                  unsigned packet) noexcept {
  if (burst.questions() == 1) { // without an Address in between, which has to be stored and loaded again
    const ParsedPacket &parsed = burst.parsed_as(packet);
    const std::uint8_t *at = frame_of(burst.packets[packet]) +
                             (burst.judges_destination ? parsed.destination_offset : parsed.source_offset);
    return parsed.kind == PacketKind::ipv6
               ? view.hash(table::KeyV6::load(at), address_bits(Family::ipv6))
               : view.hash(load_unaligned<std::uint32_t>(at), address_bits(Family::ipv4));
  }
  const Address denied = denied_by_the_judge(burst, packet);
  return view.hash(Prefix{denied, static_cast<std::uint8_t>(address_bits(denied.family))});
}

} // namespace

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

void find_judge_denials(Burst &burst, JudgeDenials &denials) noexcept {
  burst.by_judge = 0;
  denials.clear();
  if (burst.image == nullptr || !burst.image->view.deny_filter.judges()) return;
  const image::ImageView &view = burst.image->view_of(burst.image_copy);
  for (PacketMask rest = burst.dropped & burst.special; rest != 0; rest &= rest - 1) {
    const auto i = static_cast<unsigned>(std::countr_zero(rest));
    if (burst.decision(i).list != compact_list) continue; // an entry of a table or of the overlay
    burst.by_judge |= PacketMask{1} << i;
    denials.add(denied_host(view, burst, i), i);
  }
}

void name_denials(Burst &burst, const JudgeDenials &denials) noexcept {
  if (denials.empty()) return;
  const image::ImageView &view = burst.image->view_of(burst.image_copy);
  if (view.class_map.empty()) return;
  std::array<std::uint32_t, burst_packets_max> numbers; // of lists
  view.class_map.numbers_of(denials.keys(), numbers.data());
  for (std::size_t n = 0; n < denials.size(); ++n)
    burst.name_denial(denials.place(n), image::ClassMapView::list_at(numbers[n]));
}

} // namespace weir::dataplane
