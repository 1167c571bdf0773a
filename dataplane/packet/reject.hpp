// What a rule of action reject sends to whoever sent the packet, made from the packet itself: the same link layer with its
// tags, addresses changed round, and
//
//   TCP            a reset that the sender's TCP accepts [RFC 9293 §3.5.2], unless the packet is one itself
//   anything else  ICMP unreachable, prohibited by an administrator [RFC 1812 §5.2.7.1, RFC 4443 §3.1], with as much of the
//                  packet as a host of that family takes in one piece
//
// Nothing is made for what must not be answered [RFC 1122 §3.2.2]: ICMP errors, later fragments, what went to or came from more
// than one host, or from none; nor for what cannot be answered from what was captured: headers that are not whole, the
// first segment of a connection in fragments, a SNAP header.
#pragma once

#include "weir/key/tuple.hpp"

#include <cstddef>
#include <cstdint>
#include <span>

namespace weir::dataplane {

inline constexpr std::size_t reply_bytes_max = 1'344; // 1,280 of IPv6, and the link layer with eight tags

// Writes an answer to `frame` into `reply`, which has room for reply_bytes_max, and returns its bytes; 0: there is none.
// `outer` is what parse_packet() said of the frame, an IP packet, and `tuple` what tuple_of() did.
[[nodiscard]] std::size_t write_reply(std::span<const std::uint8_t> frame, const ParsedPacket &outer,
                                      const PacketTuple &tuple, std::uint8_t *reply) noexcept;

} // namespace weir::dataplane
