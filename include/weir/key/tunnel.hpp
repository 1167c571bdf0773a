// What a packet carries: the header that `policy.tunnels: inner` and `both` judge. Pure and bounds-checked as
// parse.hpp is, which finds the header around it.
//
//   IP | IPv4 or IPv6                                       protocol 4 or 41: IP in IP, 6in4
//   IP | GRE 4 to 16 | IPv4, IPv6 or an Ethernet frame      protocol 47, version 0, no routing
//   IP | UDP 8 to port 4789 | VXLAN 8 | Ethernet frame      with a VNI (flag 0x08)
//
// Behind IPv6 up to eight hop-by-hop, routing, destination and fragment headers are stepped over. One header
// inside is looked for: a tunnel within a tunnel is not looked into, nor is what is encrypted, PPTP (GRE
// version 1), GRE of anything else, Teredo or a tunnel over any other port.
//
// Of the packet inside kinds and offsets are as in parse.hpp, counted from the start of the frame around it,
// but header_offset, which is 0. Beyond that
//   non_ip     means that nothing is inside that could be judged; so does a later fragment;
//   malformed  is also a header of IPv6, GRE or VXLAN that does not fit the captured bytes (a first fragment
//              that leaves it to the second), and a ninth header behind IPv6.
#pragma once

#include "weir/key/parse.hpp"
#include "weir/key/policy.hpp"

#include <cstddef>
#include <cstdint>

namespace weir {
namespace detail {

namespace protocol {
inline constexpr std::uint8_t hop_by_hop = 0, ipv4 = 4, udp = 17, ipv6 = 41, routing = 43, fragment = 44,
                              gre = 47, destination = 60;
}
inline constexpr std::uint16_t vxlan_port = 4789;

inline constexpr ParsedPacket nothing_inside{PacketKind::non_ip};
inline constexpr ParsedPacket broken_inside{PacketKind::malformed};

// What stands behind an IP header that parse_packet() accepted, and behind its extension headers.
struct Carried {
  std::uint8_t protocol = 0;
  std::size_t offset = 0;      // in the frame, perhaps beyond its end; 0: of a later fragment
  bool fits = true;            // false: an extension header does not, or is one too many
  std::uint8_t fragmented = 0; // of a later fragment of IPv6: the header that its first one goes on with
};

[[nodiscard]] inline Carried carried_by_ipv6(const std::uint8_t *frame, std::size_t captured,
                                             std::size_t header) noexcept {
  constexpr unsigned extensions_max = 8;
  Carried carried{frame[header + 6], header + 40};
  for (unsigned extensions = 0;; ++extensions) {
    const std::uint8_t kind = carried.protocol;
    const bool extension = kind == protocol::hop_by_hop || kind == protocol::routing ||
                           kind == protocol::fragment || kind == protocol::destination;
    if (!extension) return carried;
    if (extensions == extensions_max || captured < carried.offset + 8) return {kind, 0, false};
    const std::uint8_t *at = frame + carried.offset;
    if (kind == protocol::fragment && (load_be16(at + 2) & 0xFFF8) != 0) return {kind, 0, true, at[0]};
    carried.protocol = at[0];
    carried.offset += kind == protocol::fragment ? 8 : std::size_t{8} * (1 + at[1]);
  }
}

[[nodiscard]] inline Carried carried_by(const std::uint8_t *frame, std::size_t captured,
                                        const ParsedPacket &outer) noexcept {
  const std::size_t header = outer.header_offset;
  if (outer.kind == PacketKind::ipv6) return carried_by_ipv6(frame, captured, header);
  if ((load_be16(frame + header + 6) & 0x1FFF) != 0) return {frame[header + 9], 0};
  return {frame[header + 9], header + std::size_t{4} * (frame[header] & 0x0F)};
}

[[nodiscard]] inline ParsedPacket moved(ParsedPacket inside, std::size_t by) noexcept {
  inside.header_offset = 0;
  if (!inside.is_ip()) return inside;
  inside.source_offset = static_cast<std::uint16_t>(inside.source_offset + by);
  inside.destination_offset = static_cast<std::uint16_t>(inside.destination_offset + by);
  return inside;
}

[[nodiscard]] inline ParsedPacket ip_inside(const std::uint8_t *frame, std::size_t captured, std::size_t at,
                                            std::uint16_t type) noexcept {
  ParsedPacket inside;
  inside.ethertype = type;
  parse_ip(frame + at, captured - at, inside);
  return moved(inside, at);
}

[[nodiscard]] inline ParsedPacket ethernet_inside(const std::uint8_t *frame, std::size_t captured,
                                                  std::size_t at) noexcept {
  return moved(parse_packet(frame + at, captured - at), at);
}

[[nodiscard]] inline ParsedPacket gre_inside(const std::uint8_t *frame, std::size_t captured,
                                             std::size_t at) noexcept {
  constexpr std::uint16_t checksum = 0x8000, route = 0x4000, key = 0x2000, sequence = 0x1000,
                          version = 0x0007;
  constexpr std::uint16_t bridged = 0x6558;
  if (captured < at + 4) return broken_inside;
  const std::uint16_t flags = load_be16(frame + at), type = load_be16(frame + at + 2);
  if ((flags & (route | version)) != 0) return nothing_inside;
  if (type != ethertype::ipv4 && type != ethertype::ipv6 && type != bridged) return nothing_inside;
  at += 4;
  for (const std::uint16_t option : {checksum, key, sequence}) at += (flags & option) != 0 ? 4 : 0;
  if (captured < at) return broken_inside;
  return type == bridged ? ethernet_inside(frame, captured, at) : ip_inside(frame, captured, at, type);
}

[[nodiscard]] inline ParsedPacket vxlan_inside(const std::uint8_t *frame, std::size_t captured,
                                               std::size_t at) noexcept {
  constexpr std::size_t udp_bytes = 8, vxlan_bytes = 8;
  constexpr std::uint8_t has_vni = 0x08;
  if (captured < at + 4 || load_be16(frame + at + 2) != vxlan_port) return nothing_inside;
  if (captured < at + udp_bytes + vxlan_bytes) return broken_inside;
  if ((frame[at + udp_bytes] & has_vni) == 0) return nothing_inside;
  return ethernet_inside(frame, captured, at + udp_bytes + vxlan_bytes);
}

} // namespace detail

// `outer` is what parse_packet() said of the frame.
[[nodiscard]] inline ParsedPacket look_inside(const std::uint8_t *frame, std::size_t captured,
                                              const ParsedPacket &outer) noexcept {
  if (!outer.is_ip() || outer.link_local) return detail::nothing_inside;
  const detail::Carried carried = detail::carried_by(frame, captured, outer);
  if (!carried.fits) return detail::broken_inside;
  if (carried.offset == 0) return detail::nothing_inside;
  const bool reaches = carried.offset <= captured;
  switch (carried.protocol) {
  case detail::protocol::ipv4:
    return reaches ? detail::ip_inside(frame, captured, carried.offset, ethertype::ipv4)
                   : detail::broken_inside;
  case detail::protocol::ipv6:
    return reaches ? detail::ip_inside(frame, captured, carried.offset, ethertype::ipv6)
                   : detail::broken_inside;
  case detail::protocol::gre: return detail::gre_inside(frame, captured, carried.offset);
  case detail::protocol::udp: return detail::vxlan_inside(frame, captured, carried.offset);
  default: return detail::nothing_inside;
  }
}

// What is inside has a say where lists judge it, and where the policy drops it as it is.
[[nodiscard]] inline bool has_a_say(const ParsedPacket &inside, const Policy &policy) noexcept {
  switch (inside.kind) {
  case PacketKind::ipv4:
  case PacketKind::ipv6: return !inside.link_local;
  case PacketKind::malformed: return policy.malformed == Verdict::drop;
  case PacketKind::too_many_tags: return policy.too_many_tags == Verdict::drop;
  case PacketKind::non_ip: break;
  }
  return false;
}

// Of a frame that is_plain_ipv4(): whether look_inside() may find more than nothing.
[[nodiscard]] inline bool may_carry(const std::uint8_t *frame, std::size_t captured) noexcept {
  namespace carrier = detail::protocol;
  constexpr std::uint64_t carriers = std::uint64_t{1} << carrier::ipv4 | std::uint64_t{1} << carrier::ipv6 |
                                     std::uint64_t{1} << carrier::gre;
  const std::uint8_t kind = frame[23];
  if (kind == carrier::udp) return captured >= 38 && detail::load_be16(frame + 36) == detail::vxlan_port;
  return kind < 64 && (carriers >> kind & 1) != 0;
}

} // namespace weir
