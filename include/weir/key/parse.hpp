// Header bytes to key: which address does this frame carry, and where? Pure and bounds-checked:
// nothing beyond `captured` bytes is ever read, whatever the headers claim.
//
//   | dst 6 | src 6 | [tag 4] ... | ethertype 2 | IPv4 or IPv6 header ...
//   | dst 6 | src 6 | [tag 4] ... | length 2 | AA AA 03 | OUI 3 | ethertype 2 | IPv4 or IPv6 header ...
//                                 header_offset is that of the IP header ^
//
// VLAN tags (0x8100, 0x88A8, 0x9100, 0x9200, 0x9300) are stepped over: eight at most, of which two may
// name a VLAN. Hosts take a packet from under any number of priority tags (VID 0), so these count only
// toward the eight. A third tag that names a VLAN and a ninth tag, whether or not its bytes were captured,
// are too_many_tags.
//
// A length (below 0x0600) in place of an EtherType, whatever it says, may be followed by a SNAP header of
// any OUI. It is stepped over when IP follows: access points take it away, and some hosts accept it on a
// wire without a look at the OUI. One that leads to a tag is too_many_tags, and so is one of OUI
// 00-00-00 or 00-00-F8, behind which an EtherType stands, that leads to another length; any other is
// non_ip.
//
// The outermost IP header is found here, and what it carries in tunnel.hpp.
//
// Malformed means: the Ethernet header, a tag or the IP header (IPv4 with its options) does not fit
// the captured bytes, the version contradicts the EtherType, IHL < 5, or the total length is less
// than 4 * IHL. A total length beyond the captured bytes is fine (snaplen), as is an IPv6 payload
// length of any value.
//
// link_local, which no list decides about, is what a link cannot do without, and nothing between hosts
// that are apart:
// - IPv6 neighbour and router discovery: next header 58 directly after the IPv6 header, hop limit 255,
//   ICMPv6 type 133 to 137, and one of the addresses is of the link: fe80::/10, ff00::/8 or `::`.
// - DHCP requests: from 0.0.0.0 to 255.255.255.255, UDP, ports 68 to 67, not a later fragment.
// A transport header that was not captured is not link local.
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
  std::uint8_t tags = 0;           // VLAN tags stepped over, 0 to 8
  std::uint8_t header_offset = 0;  // of what follows the EtherType: 14, 4 for each tag, 8 for SNAP
  std::uint16_t ethertype = 0;     // of what is at header_offset, host order; below 0x0600 an LLC length
  std::uint16_t source_offset = 0; // of the address bytes; set for ipv4 and ipv6 only
  std::uint16_t destination_offset = 0;

  [[nodiscard]] constexpr bool is_ip() const noexcept {
    return kind == PacketKind::ipv4 || kind == PacketKind::ipv6;
  }
  // By lists.
  [[nodiscard]] constexpr bool is_judged() const noexcept { return is_ip() && !link_local; }
  friend bool operator==(const ParsedPacket &, const ParsedPacket &) = default;
};
static_assert(sizeof(ParsedPacket) == 10);

namespace ethertype {
inline constexpr std::uint16_t ipv4 = 0x0800;
inline constexpr std::uint16_t ipv6 = 0x86DD;
inline constexpr std::uint16_t vlan = 0x8100;
inline constexpr std::uint16_t qinq = 0x88A8;
inline constexpr std::uint16_t qinq_old = 0x9100; // and 0x9200, 0x9300: before 802.1ad had a number
inline constexpr std::uint16_t lowest = 0x0600;   // what is below is a length

[[nodiscard]] constexpr bool is_tag(std::uint16_t type) noexcept {
  return type == vlan || type == qinq || type == qinq_old || type == 0x9200 || type == 0x9300;
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
  const bool to_everybody = load_unaligned<std::uint32_t>(ip + 16) == 0xFFFFFFFF;
  if (load_unaligned<std::uint32_t>(ip + 12) != 0 || !to_everybody || ip[9] != 17 || later_fragment) return;
  const std::uint8_t *udp = ip + header_bytes;
  packet.link_local = left >= header_bytes + 4 && load_be16(udp) == 68 && load_be16(udp + 2) == 67;
}

// fe80::/10, ff00::/8 or `::`.
[[nodiscard]] inline bool is_of_the_link(const std::uint8_t *address) noexcept {
  if (address[0] == 0xFF || (address[0] == 0xFE && (address[1] & 0xC0) == 0x80)) return true;
  return (load_unaligned<std::uint64_t>(address) | load_unaligned<std::uint64_t>(address + 8)) == 0;
}

inline void parse_ipv6(const std::uint8_t *ip, std::size_t left, ParsedPacket &packet) noexcept {
  constexpr std::size_t fixed_bytes = 40;
  if (left < fixed_bytes || ip[0] >> 4 != 6) return;

  packet.kind = PacketKind::ipv6;
  packet.source_offset = static_cast<std::uint16_t>(packet.header_offset + 8);
  packet.destination_offset = static_cast<std::uint16_t>(packet.header_offset + 24);

  const bool icmp_from_the_link = ip[6] == 58 && ip[7] == 255 && left > fixed_bytes;
  if (!icmp_from_the_link || ip[fixed_bytes] < 133 || ip[fixed_bytes] > 137) return;
  packet.link_local = is_of_the_link(ip + 8) || is_of_the_link(ip + 24);
}

inline void parse_ip(const std::uint8_t *ip, std::size_t left, ParsedPacket &packet) noexcept {
  switch (packet.ethertype) {
  case ethertype::ipv4: return parse_ipv4(ip, left, packet);
  case ethertype::ipv6: return parse_ipv6(ip, left, packet);
  default: packet.kind = PacketKind::non_ip;
  }
}

// What a length is followed by. Kept apart, so that others do not pay for it.
[[nodiscard, gnu::noinline]] inline ParsedPacket parse_llc(const std::uint8_t *llc, std::size_t left,
                                                           ParsedPacket packet) noexcept {
  constexpr std::size_t snap_bytes = 8;
  packet.kind = PacketKind::non_ip;
  if (left < snap_bytes || llc[0] != 0xAA || llc[1] != 0xAA || llc[2] != 0x03) return packet;
  const std::uint16_t type = load_be16(llc + 6);
  if (type == ethertype::ipv4 || type == ethertype::ipv6) {
    packet.kind = PacketKind::malformed; // until its header is seen
    packet.ethertype = type;
    packet.header_offset += snap_bytes;
    parse_ip(llc + snap_bytes, left - snap_bytes, packet);
    return packet;
  }
  const bool holds_an_ethertype = llc[3] == 0 && llc[4] == 0 && (llc[5] == 0 || llc[5] == 0xF8);
  const bool length_again = holds_an_ethertype && type < ethertype::lowest;
  if (ethertype::is_tag(type) || length_again) packet.kind = PacketKind::too_many_tags;
  return packet;
}

} // namespace detail

// `frame` points at the destination MAC address of `captured` bytes that lie in one piece.
[[nodiscard]] inline ParsedPacket parse_packet(const std::uint8_t *frame, std::size_t captured) noexcept {
  constexpr std::size_t ethernet_bytes = 14;
  constexpr unsigned tags_max = 8, named_max = 2;
  ParsedPacket packet;
  if (captured < ethernet_bytes) return packet;

  std::size_t offset = ethernet_bytes;
  std::uint16_t type = detail::load_be16(frame + 12);
  unsigned tags = 0, named = 0;
  while (ethertype::is_tag(type)) {
    packet.ethertype = type;
    if (tags == tags_max) {
      packet.kind = PacketKind::too_many_tags;
      return packet;
    }
    if (captured < offset + 4) return packet;
    named += (detail::load_be16(frame + offset) & 0x0FFF) != 0;
    if (named > named_max) {
      packet.kind = PacketKind::too_many_tags;
      return packet;
    }
    type = detail::load_be16(frame + offset + 2);
    offset += 4;
    ++tags;
  }
  packet.tags = static_cast<std::uint8_t>(tags);
  packet.ethertype = type;
  packet.header_offset = static_cast<std::uint8_t>(offset);

  if (type < ethertype::lowest) [[unlikely]]
    return detail::parse_llc(frame + offset, captured - offset, packet);
  detail::parse_ip(frame + offset, captured - offset, packet);
  return packet;
}

// The common packets, of which parse_packet() always says the same: no tag or one of 802.1Q, the fixed header captured, and
// nothing of the link. Whether all frames of some are such is told without a branch for each: what should be zero of each is
// gathered by or. Each frame has at least captured_min bytes.
//
//   AllPlainIpv4<0> frames;
//   frames.add(frame); ...
//   if (frames.are_plain()) ...
inline constexpr unsigned plain_tags_max = 1;
template <unsigned tags>
inline constexpr ParsedPacket plain_ipv4{PacketKind::ipv4, false,         tags,         14 + 4 * tags,
                                         ethertype::ipv4,  26 + 4 * tags, 30 + 4 * tags};
template <unsigned tags>
inline constexpr ParsedPacket plain_ipv6{PacketKind::ipv6, false,         tags,         14 + 4 * tags,
                                         ethertype::ipv6,  22 + 4 * tags, 38 + 4 * tags};

// That many tags and no more.
template <unsigned tags> class AllTagged {
public:
  static_assert(tags <= plain_tags_max);
  // Where the Ethernet header would begin if there were no tag.
  const std::uint8_t *add(const std::uint8_t *frame) noexcept {
    if constexpr (tags == 0) return frame;
    types_ |= load_unaligned<std::uint16_t>(frame + 12) ^ byteswap16(ethertype::vlan);
    return frame + 4;
  }
  [[nodiscard]] bool are_plain() const noexcept { return types_ == 0; }

private:
  std::uint32_t types_ = 0;
};

// IPv4 without options, total length enough, a source that cannot be a DHCP client's.
template <unsigned tags> class AllPlainIpv4 {
public:
  static constexpr ParsedPacket parsed = plain_ipv4<tags>;
  static constexpr std::size_t captured_min = parsed.header_offset + std::size_t{20};

  void add(const std::uint8_t *frame) noexcept {
    frame = tagged_.add(frame);
    // | .. 2 | EtherType 2 | version, IHL 1 | TOS 1 | total length 2 |: less the least of them is up to 65,515 if but the
    // length differs, and else has bits above.
    constexpr std::uint64_t looked_at = 0x0000'FFFF'FF00'FFFF, least = 0x0000'0800'4500'0014;
    headers_ |= (byteswap64(load_unaligned<std::uint64_t>(frame + 10)) & looked_at) - least;
    sources_ |= std::uint64_t{load_unaligned<std::uint32_t>(frame + 26)} - 1;
  }
  [[nodiscard]] bool are_plain() const noexcept {
    return (headers_ >> 16 | sources_ >> 32) == 0 && tagged_.are_plain();
  }

private:
  AllTagged<tags> tagged_;
  std::uint64_t headers_ = 0, sources_ = 0;
};

// IPv6 that is not ICMPv6 from a neighbour, by hop limit 255.
template <unsigned tags> class AllPlainIpv6 {
public:
  static constexpr ParsedPacket parsed = plain_ipv6<tags>;
  static constexpr std::size_t captured_min = parsed.header_offset + std::size_t{40};

  void add(const std::uint8_t *frame) noexcept {
    frame = tagged_.add(frame);
    // | EtherType 2 | version, traffic class 1 | .. 1 |
    constexpr std::uint32_t looked_at = 0xFFFF'F000, wanted = 0x86DD'6000;
    headers_ |= (byteswap32(load_unaligned<std::uint32_t>(frame + 12)) & looked_at) ^ wanted;
    constexpr std::uint32_t from_a_neighbour = 58 << 8 | 255; // next header, hop limit
    neighbours_ |= (detail::load_be16(frame + 20) ^ from_a_neighbour) - 1;
  }
  [[nodiscard]] bool are_plain() const noexcept {
    return (headers_ | neighbours_ >> 31) == 0 && tagged_.are_plain();
  }

private:
  AllTagged<tags> tagged_;
  std::uint32_t headers_ = 0, neighbours_ = 0;
};

template <class AllPlain>
[[nodiscard]] bool is_plain(const std::uint8_t *frame, std::size_t captured) noexcept {
  if (captured < AllPlain::captured_min) return false;
  AllPlain one;
  one.add(frame);
  return one.are_plain();
}
template <unsigned tags>
[[nodiscard]] bool is_plain_ipv4(const std::uint8_t *frame, std::size_t captured) noexcept {
  return is_plain<AllPlainIpv4<tags>>(frame, captured);
}
template <unsigned tags>
[[nodiscard]] bool is_plain_ipv6(const std::uint8_t *frame, std::size_t captured) noexcept {
  return is_plain<AllPlainIpv6<tags>>(frame, captured);
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
