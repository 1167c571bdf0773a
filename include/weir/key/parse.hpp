// Header bytes to key: which address does this frame carry, and where? Pure and bounds-checked:
// nothing beyond `captured` bytes is ever read, whatever the headers claim.
//
//   | dst 6 | src 6 | [tag 4] [tag 4] | ethertype 2 | IPv4 or IPv6 header ...
//                                     ^ header_offset is two bytes further
//
// Up to two VLAN tags (0x8100, 0x88a8, 0x9100) are stepped over; a third is too_many_tags, whether
// or not its bytes were captured. The outermost IP header counts: tunnels are not looked into.
//
// Malformed means: the Ethernet header, a tag or the IP header (IPv4 with its options) does not fit
// the captured bytes, the version contradicts the EtherType, IHL < 5, or the total length is less
// than 4 * IHL. A total length beyond the captured bytes is fine (snaplen), as is an IPv6 payload
// length of any value.
//
// link_local: IPv6 neighbour and router discovery (next header 58 directly after the IPv6 header,
// hop limit 255, ICMPv6 type 133 to 137) and DHCP requests (source 0.0.0.0, UDP, ports 68 to 67,
// not a later fragment). A transport header that was not captured is not link local.
#pragma once

#include "weir/base/bits.hpp"
#include "weir/key/address.hpp"

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace weir {

enum class PacketKind : std::uint8_t { ipv4, ipv6, non_ip, malformed, too_many_tags };

[[nodiscard]] constexpr std::string_view name_of(PacketKind kind) noexcept {
  switch (kind) {
  case PacketKind::ipv4: return "ipv4";
  case PacketKind::ipv6: return "ipv6";
  case PacketKind::non_ip: return "non_ip";
  case PacketKind::malformed: return "malformed";
  case PacketKind::too_many_tags: return "too_many_tags";
  }
  return "unknown";
}

struct ParsedPacket {
  PacketKind kind = PacketKind::malformed;
  bool link_local = false;
  std::uint8_t tags = 0;           // VLAN tags stepped over, 0 to 2
  std::uint8_t header_offset = 0;  // of what follows the EtherType; 14, 18 or 22
  std::uint16_t ethertype = 0;     // after the tags, host order; below 0x0600 it is an LLC length
  std::uint16_t source_offset = 0; // of the address bytes; set for ipv4 and ipv6 only
  std::uint16_t destination_offset = 0;

  [[nodiscard]] constexpr bool is_ip() const noexcept {
    return kind == PacketKind::ipv4 || kind == PacketKind::ipv6;
  }
};
static_assert(sizeof(ParsedPacket) == 10);

namespace ethertype {
inline constexpr std::uint16_t ipv4 = 0x0800;
inline constexpr std::uint16_t ipv6 = 0x86DD;
inline constexpr std::uint16_t vlan = 0x8100;
inline constexpr std::uint16_t qinq = 0x88A8;
inline constexpr std::uint16_t qinq_old = 0x9100;

[[nodiscard]] constexpr bool is_tag(std::uint16_t type) noexcept {
  return type == vlan || type == qinq || type == qinq_old;
}
} // namespace ethertype

namespace detail {

[[nodiscard]] inline std::uint16_t load_be16(const std::uint8_t *at) noexcept {
  return byteswap16(load_unaligned<std::uint16_t>(at));
}

inline void parse_ipv4(const std::uint8_t *ip, std::size_t left, ParsedPacket &packet) noexcept {
  constexpr std::size_t fixed_bytes = 20;
  if (left < fixed_bytes || ip[0] >> 4 != 4) return;
  const std::size_t header_bytes = std::size_t{4} * (ip[0] & 0x0F);
  if (header_bytes < fixed_bytes || header_bytes > left || load_be16(ip + 2) < header_bytes) return;

  packet.kind = PacketKind::ipv4;
  packet.source_offset = static_cast<std::uint16_t>(packet.header_offset + 12);
  packet.destination_offset = static_cast<std::uint16_t>(packet.header_offset + 16);

  const bool later_fragment = (load_be16(ip + 6) & 0x1FFF) != 0;
  if (load_unaligned<std::uint32_t>(ip + 12) != 0 || ip[9] != 17 || later_fragment) return;
  const std::uint8_t *udp = ip + header_bytes;
  packet.link_local = left >= header_bytes + 4 && load_be16(udp) == 68 && load_be16(udp + 2) == 67;
}

inline void parse_ipv6(const std::uint8_t *ip, std::size_t left, ParsedPacket &packet) noexcept {
  constexpr std::size_t fixed_bytes = 40;
  if (left < fixed_bytes || ip[0] >> 4 != 6) return;

  packet.kind = PacketKind::ipv6;
  packet.source_offset = static_cast<std::uint16_t>(packet.header_offset + 8);
  packet.destination_offset = static_cast<std::uint16_t>(packet.header_offset + 24);

  const bool icmp_from_the_link = ip[6] == 58 && ip[7] == 255 && left > fixed_bytes;
  packet.link_local = icmp_from_the_link && ip[fixed_bytes] >= 133 && ip[fixed_bytes] <= 137;
}

} // namespace detail

// `frame` points at the destination MAC address of `captured` bytes that lie in one piece.
[[nodiscard]] inline ParsedPacket parse_packet(const std::uint8_t *frame, std::size_t captured) noexcept {
  constexpr std::size_t ethernet_bytes = 14;
  constexpr unsigned tags_max = 2;
  ParsedPacket packet;
  if (captured < ethernet_bytes) return packet;

  std::size_t offset = ethernet_bytes;
  std::uint16_t type = detail::load_be16(frame + 12);
  while (ethertype::is_tag(type)) {
    packet.ethertype = type;
    if (packet.tags == tags_max) {
      packet.kind = PacketKind::too_many_tags;
      return packet;
    }
    if (captured < offset + 4) return packet;
    type = detail::load_be16(frame + offset + 2);
    offset += 4;
    ++packet.tags;
  }
  packet.ethertype = type;
  packet.header_offset = static_cast<std::uint8_t>(offset);

  switch (type) {
  case ethertype::ipv4: detail::parse_ipv4(frame + offset, captured - offset, packet); break;
  case ethertype::ipv6: detail::parse_ipv6(frame + offset, captured - offset, packet); break;
  default: packet.kind = PacketKind::non_ip;
  }
  return packet;
}

// The common packet in one comparison each: no tag, IPv4 without options, its fixed header captured,
// total length enough, a source that cannot be a DHCP client's. parse_packet() says plain_ipv4 of it.
inline constexpr ParsedPacket plain_ipv4{PacketKind::ipv4, false, 0, 14, ethertype::ipv4, 26, 30};

[[nodiscard]] inline bool is_plain_ipv4(const std::uint8_t *frame, std::size_t captured) noexcept {
  if (captured < 34) return false;
  const bool ipv4 = load_unaligned<std::uint16_t>(frame + 12) == byteswap16(ethertype::ipv4);
  const bool no_options = frame[14] == 0x45;
  const bool long_enough = detail::load_be16(frame + 16) >= 20;
  const bool has_source = load_unaligned<std::uint32_t>(frame + 26) != 0;
  return ipv4 & no_options & long_enough & has_source;
}

[[nodiscard]] inline ParsedPacket parse_packet(Bytes frame) noexcept {
  return parse_packet(reinterpret_cast<const std::uint8_t *>(frame.data()), frame.size());
}

// The addresses of an IP packet that parse_packet() accepted.
[[nodiscard]] inline Address address_at(const ParsedPacket &packet, const std::uint8_t *frame,
                                        std::uint16_t offset) noexcept {
  if (packet.kind == PacketKind::ipv6) return Address::from_v6(frame + offset);
  return Address::from_wire(load_unaligned<std::uint32_t>(frame + offset));
}

} // namespace weir
