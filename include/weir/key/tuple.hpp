// What packet rules see of a packet: addresses, protocol, ports and VLAN of the outermost headers.
//
//   protocol   that the IP header carries; of IPv6 behind up to eight extension headers. A later fragment has that of its first
//              one, as far as its own header says
//   ports      of TCP, UDP, DCCP, SCTP and UDP-Lite. A later fragment has none, nor has a packet whose extension headers or
//              ports were not captured
//   vlan       the outermost tag that names a VLAN; priority tags do not
//
// Nothing beyond `captured` bytes is read.
#pragma once

#include "weir/key/address.hpp"
#include "weir/key/rule.hpp"
#include "weir/key/tunnel.hpp"

#include <cstddef>
#include <cstdint>

namespace weir {

struct PacketTuple {
  std::uint16_t source_offset = 0; // of the address bytes in the frame
  std::uint16_t destination_offset = 0;
  std::uint16_t ports_offset = 0; // of the source port; 0: the packet has no ports
  std::uint16_t vlan = 0;         // 0: none
  std::uint8_t protocol = 0;
  bool is_v6 = false;

  [[nodiscard]] constexpr bool has_ports() const noexcept { return ports_offset != 0; }
};

// The VLAN of a frame with `tags` tags, which parse_packet() has stepped over.
[[nodiscard]] inline std::uint16_t vlan_of(const std::uint8_t *frame, unsigned tags) noexcept {
  constexpr std::size_t first_tag = 14, tag_bytes = 4;
  for (unsigned i = 0; i < tags; ++i)
    if (const auto vlan =
            static_cast<std::uint16_t>(detail::load_be16(frame + first_tag + i * tag_bytes) & 0x0FFF);
        vlan != 0)
      return vlan;
  return 0;
}

// `outer` is what parse_packet() said of the frame, and an IP packet.
[[nodiscard]] inline PacketTuple tuple_of(const std::uint8_t *frame, std::size_t captured,
                                          const ParsedPacket &outer) noexcept {
  constexpr std::size_t ports_bytes = 4;
  const detail::Carried carried = detail::carried_by(frame, captured, outer);
  PacketTuple tuple;
  tuple.source_offset = outer.source_offset;
  tuple.destination_offset = outer.destination_offset;
  tuple.vlan = vlan_of(frame, outer.tags);
  tuple.is_v6 = outer.kind == PacketKind::ipv6;
  const bool later_fragment_v6 = tuple.is_v6 && carried.offset == 0 && carried.fits;
  tuple.protocol = later_fragment_v6 ? carried.fragmented : carried.protocol;
  const bool there = carried.fits && carried.offset != 0 && carried.offset + ports_bytes <= captured;
  if (there && protocol_has_ports(carried.protocol))
    tuple.ports_offset = static_cast<std::uint16_t>(carried.offset);
  return tuple;
}

} // namespace weir
