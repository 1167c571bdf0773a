// What headers say about the kind of a packet, a byte each and coarse on purpose: traits are part of what the memory of
// offenders remembers, so a source whose packets vary in them is remembered once for each kind.
//
//   protocol   that the IP header carries (IPv6: behind extension headers, key/tunnel.hpp)
//   port       class of the destination port of TCP and UDP, see port_class(); 0: none
//   ttl        2 bits for the start that it was likely counted down from (32, 64, 128, 255), 3 for the hops
//              since, in steps of 8
//   length     bits of the packet's length, in bytes: 7 is 64 to 127
//   flags      of TCP: FIN 1, SYN 2, RST 4, PSH 8, ACK 16, URG 32; 64: a fragment (IPv6: a later one)
//
// Nothing beyond `captured` bytes is read: what is not there is 0.
#pragma once

#include "weir/key/tunnel.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>

namespace weir {

struct Traits {
  static constexpr std::size_t count = 5;
  std::uint8_t protocol = 0, port = 0, ttl = 0, length = 0, flags = 0;

  [[nodiscard]] constexpr std::array<std::uint8_t, count> bytes() const noexcept {
    return {protocol, port, ttl, length, flags};
  }
  [[nodiscard]] static constexpr Traits of(const std::array<std::uint8_t, count> &bytes) noexcept {
    return {bytes[0], bytes[1], bytes[2], bytes[3], bytes[4]};
  }
  friend bool operator==(const Traits &, const Traits &) = default;
};

// Ports that scans, floods and guesses of passwords aim at have a class each.
inline constexpr std::array<std::uint16_t, 20> port_classes{
    21, 22, 23, 25, 53, 80, 110, 123, 143, 161, 389, 443, 445, 1433, 1900, 3306, 3389, 5060, 8080, 11211};
// 1 to 20: of port_classes; 21: others below 1024; 22: below 32768; 23: the others.
[[nodiscard]] constexpr std::uint8_t port_class(std::uint16_t port) noexcept {
  const auto *const known = std::ranges::find(port_classes, port);
  if (known != port_classes.end()) return static_cast<std::uint8_t>(known - port_classes.begin() + 1);
  constexpr auto others = static_cast<std::uint8_t>(port_classes.size());
  return static_cast<std::uint8_t>(others + (port < 1024 ? 1 : port < 32768 ? 2 : 3));
}

[[nodiscard]] constexpr std::uint8_t ttl_class(std::uint8_t ttl) noexcept {
  constexpr std::array<std::uint8_t, 4> starts{32, 64, 128, 255};
  const auto *const start = std::ranges::lower_bound(starts, ttl);
  const unsigned hops = *start - unsigned{ttl};
  return static_cast<std::uint8_t>(static_cast<unsigned>(start - starts.begin()) << 3 |
                                   std::min(hops / 8, 7u));
}

// Of the IP header that `parsed` found in a frame of which `captured` bytes are there.
[[nodiscard]] inline Traits traits_of(const std::uint8_t *frame, std::size_t captured,
                                      const ParsedPacket &parsed) noexcept {
  Traits traits;
  if (!parsed.is_ip()) return traits;
  const bool v4 = parsed.kind == PacketKind::ipv4;
  const std::size_t header = parsed.source_offset - (v4 ? std::size_t{12} : std::size_t{8});
  const std::uint8_t *const ip = frame + header; // whole, or the parser would not have it
  detail::Carried carried;
  if (v4) {
    const std::uint16_t fragment = detail::load_be16(ip + 6);
    if ((fragment & 0x3FFF) != 0) traits.flags = 64;
    carried = {ip[9], (fragment & 0x1FFF) != 0 ? 0 : header + std::size_t{4} * (ip[0] & 0x0F)};
  } else {
    carried = detail::carried_by_ipv6(frame, captured, header);
    if (carried.offset == 0) traits.flags = 64;
  }
  traits.protocol = carried.protocol;
  traits.ttl = ttl_class(v4 ? ip[8] : ip[7]);
  const unsigned length = detail::load_be16(ip + (v4 ? 2 : 4)) + (v4 ? 0u : 40u);
  traits.length = static_cast<std::uint8_t>(std::bit_width(length));
  constexpr std::uint8_t tcp = 6;
  const std::size_t at = carried.offset;
  if (at == 0 || (carried.protocol != tcp && carried.protocol != detail::protocol::udp) || captured < at + 4)
    return traits;
  traits.port = port_class(detail::load_be16(frame + at + 2));
  if (carried.protocol == tcp && captured >= at + 14)
    traits.flags |= static_cast<std::uint8_t>(frame[at + 13] & 0x3F);
  return traits;
}

} // namespace weir
