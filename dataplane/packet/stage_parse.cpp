// Which kind of packet each is, and where its addresses stand.
#include "dataplane/packet/handover.hpp"
#include "dataplane/packet/packets.hpp"
#include "weir/key/tunnel.hpp"

#include <rte_prefetch.h>

#include <algorithm>
#include <cstring>
#include <limits>

namespace weir::dataplane {
namespace {

void keep(std::uint32_t &to, const std::uint8_t *address) noexcept {
  to = load_unaligned<std::uint32_t>(address);
}
void keep(std::array<std::uint8_t, 16> &to, const std::uint8_t *address) noexcept {
  std::memcpy(&to, address, sizeof to);
}

constexpr unsigned looked_at_once = 16; // a burst of other packets turns back early

// Frames that are all plain, of one family, with nothing inside where that counts. False: there is something else among
// them, or their headers may not have been captured.
template <class AllPlain, bool looks_inside>
[[nodiscard]] bool parse_alike(Packets &burst, auto *addresses) noexcept {
  constexpr ParsedPacket parsed = AllPlain::parsed;
  if (burst.shortest < AllPlain::captured_min) return false;
  const unsigned at = burst.judges_destination ? parsed.destination_offset : parsed.source_offset;
  for (unsigned i = 0; i < burst.count;) {
    AllPlain frames;
    for (const unsigned end = std::min(i + looked_at_once, burst.count); i < end; ++i) {
      const std::uint8_t *frame = frame_of(burst.packets[i]);
      frames.add(frame);
      keep(addresses[i], frame + at);
      if constexpr (looks_inside)
        if (may_carry(frame, rte_pktmbuf_data_len(burst.packets[i]))) [[unlikely]]
          return false;
    }
    if (!frames.are_plain()) return false;
  }
  return true;
}

// The same of both families: which one comes next cannot be predicted, so that both addresses are taken of each frame.
template <unsigned tags> [[nodiscard]] bool parse_both(Packets &burst) noexcept {
  constexpr const ParsedPacket &of_v4 = plain_ipv4<tags>, &of_v6 = plain_ipv6<tags>;
  constexpr std::size_t captured_min = AllPlainIpv6<tags>::captured_min;
  if (burst.shortest < captured_min) return false;
  const bool destination = burst.judges_destination;
  const unsigned at_v4 = destination ? of_v4.destination_offset : of_v4.source_offset,
                 at_v6 = destination ? of_v6.destination_offset : of_v6.source_offset;
  unsigned v4 = 0, v6 = 0;
  PacketMask six = 0;
  for (unsigned i = 0; i < burst.count;) {
    bool all = true;
    for (const unsigned end = std::min(i + looked_at_once, burst.count); i < end; ++i) {
      const std::uint8_t *frame = frame_of(burst.packets[i]);
      const bool is_v6 = is_plain_ipv6<tags>(frame, captured_min);
      all &= is_v6 | is_plain_ipv4<tags>(frame, captured_min);
      keep(burst.judged[v4], frame + at_v4);
      keep(burst.judged_v6[v6], frame + at_v6);
      v4 += is_v6 ? 0 : 1;
      v6 += is_v6 ? 1 : 0;
      six |= PacketMask{is_v6} << i;
    }
    if (!all) return false;
  }
  burst.v6 = six;
  return true;
}

template <unsigned tags> [[nodiscard]] bool parse_plain(Packets &burst) noexcept {
  const std::uint8_t *first = frame_of(burst.packets[0]); // most of the others are of its kind
  burst.tags = tags;
  if (is_plain_ipv4<tags>(first, burst.shortest)) {
    if (parse_alike<AllPlainIpv4<tags>, false>(burst, burst.judged)) return true;
  } else if (!is_plain_ipv6<tags>(first, burst.shortest)) {
    return false;
  } else if (parse_alike<AllPlainIpv6<tags>, false>(burst, burst.judged_v6)) {
    burst.v6 = burst.all();
    return true;
  }
  return parse_both<tags>(burst);
}

[[nodiscard]] bool parse_plain(Packets &burst) noexcept {
  burst.tags = 0;
  if (burst.count == 0 || burst.shortest < AllPlainIpv4<0>::captured_min) return false;
  if (burst.tunnels != Tunnels::outer) return parse_alike<AllPlainIpv4<0>, true>(burst, burst.judged);
  const auto type = load_unaligned<std::uint16_t>(frame_of(burst.packets[0]) + 12);
  return type == byteswap16(ethertype::vlan) ? parse_plain<1>(burst) : parse_plain<0>(burst);
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
  bool all = true;
  unsigned v4 = 0, v6 = 0;
  for (unsigned i = 0; i < burst.count; ++i) {
    const std::uint8_t *frame = frame_of(burst.packets[i]);
    ParsedPacket &parsed = burst.parsed[i];
    parsed = parse_packet(frame, rte_pktmbuf_data_len(burst.packets[i]));
    if constexpr (looks_inside) parse_inside(burst, i);
    if (!parsed.is_judged()) {
      all = false;
    } else if (parsed.kind == PacketKind::ipv4) {
      keep(burst.judged[v4++], frame + parsed.*at);
    } else {
      keep(burst.judged_v6[v6++], frame + parsed.*at);
      burst.v6 |= PacketMask{1} << i;
    }
  }
  burst.plain = all && !burst.has_inside;
}

} // namespace

bool measure_burst(Packets &burst) noexcept {
  std::uint64_t bytes = 0;
  unsigned segments = 0, shortest = std::numeric_limits<std::uint16_t>::max();
  for (unsigned i = 0; i < burst.count; ++i) {
    const rte_mbuf *packet = burst.packets[i];
    takes_over(burst.packets[i]);
    rte_prefetch0(frame_of(packet));
    burst.lengths[i] = rte_pktmbuf_pkt_len(packet);
    bytes += burst.lengths[i];
    segments |= packet->nb_segs;
    shortest = std::min<unsigned>(shortest, rte_pktmbuf_data_len(packet));
  }
  burst.bytes = bytes;
  burst.shortest = shortest;
  return segments <= 1;
}

void parse_burst(Packets &burst) noexcept {
  burst.v6 = 0;
  burst.has_inside = false;
  burst.plain = burst.all_plain = parse_plain(burst);
  if (burst.all_plain) return;
  burst.tunnels != Tunnels::outer ? parse_each<true>(burst) : parse_each<false>(burst);
}

} // namespace weir::dataplane
