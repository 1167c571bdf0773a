// Which kind of packet each is, and where its addresses stand.
#include "dataplane/packet/packets.hpp"
#include "weir/key/tunnel.hpp"

#include <rte_prefetch.h>

namespace weir::dataplane {
namespace {

// The common burst: nothing but plain_ipv4, and nothing inside where that counts. False at the first packet
// that is something else.
template <bool looks_inside> [[nodiscard]] bool parse_alike(Packets &burst) noexcept {
  constexpr unsigned ahead = 4;
  const unsigned at = burst.judges_destination ? plain_ipv4.destination_offset : plain_ipv4.source_offset;
  for (unsigned i = 0; i < ahead && i < burst.count; ++i) rte_prefetch0(frame_of(burst.packets[i]));
  for (unsigned i = 0; i < burst.count; ++i) {
    if (i + ahead < burst.count) rte_prefetch0(frame_of(burst.packets[i + ahead]));
    const std::uint8_t *frame = frame_of(burst.packets[i]);
    const std::size_t captured = rte_pktmbuf_data_len(burst.packets[i]);
    if (!is_plain_ipv4(frame, captured)) [[unlikely]]
      return false;
    if (looks_inside && may_carry(frame, captured)) [[unlikely]]
      return false;
    burst.judged[i] = load_unaligned<std::uint32_t>(frame + at);
  }
  return true;
}

// What is inside packet i is judged in its place, or beside it.
void parse_inside(Packets &burst, unsigned i) noexcept {
  const ParsedPacket inside =
      look_inside(frame_of(burst.packets[i]), rte_pktmbuf_data_len(burst.packets[i]), burst.parsed[i]);
  const bool says = has_a_say(inside, *burst.policy);
  if (burst.tunnels == Tunnels::inner) {
    if (says) burst.parsed[i] = inside;
    return;
  }
  burst.inside(i) = says ? inside : ParsedPacket{PacketKind::non_ip};
  burst.has_inside |= says;
}

template <bool looks_inside> void parse_each(Packets &burst) noexcept {
  const auto at = burst.judges_destination ? &ParsedPacket::destination_offset : &ParsedPacket::source_offset;
  bool v4 = true, v6 = true;
  for (unsigned i = 0; i < burst.count; ++i) {
    const std::uint8_t *frame = frame_of(burst.packets[i]);
    ParsedPacket &parsed = burst.parsed[i];
    parsed = parse_packet(frame, rte_pktmbuf_data_len(burst.packets[i]));
    if constexpr (looks_inside) parse_inside(burst, i);
    if (parsed.kind == PacketKind::ipv4 && !parsed.link_local)
      burst.judged[i] = load_unaligned<std::uint32_t>(frame + parsed.*at);
    else
      v4 = false;
    v6 &= parsed.kind == PacketKind::ipv6 && !parsed.link_local;
  }
  burst.plain = v4 && !burst.has_inside;
  burst.plain_v6 = v6 && !burst.has_inside;
}

} // namespace

void parse_burst(Packets &burst) noexcept {
  const bool looks_inside = burst.tunnels != Tunnels::outer;
  burst.all_alike = looks_inside ? parse_alike<true>(burst) : parse_alike<false>(burst);
  burst.plain = true;
  burst.plain_v6 = false;
  burst.has_inside = false;
  if (burst.all_alike) return;
  looks_inside ? parse_each<true>(burst) : parse_each<false>(burst);
}

} // namespace weir::dataplane
