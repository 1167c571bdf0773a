#include "dataplane/packet/reject.hpp"

#include <algorithm>
#include <cstring>

namespace weir::dataplane {
namespace {

using detail::load_be16;

constexpr std::size_t frame_bytes_least = 60;
constexpr std::size_t ipv4_bytes = 20, ipv6_bytes = 40, tcp_bytes = 20, icmp_bytes = 8;
constexpr std::size_t told_v4_max = 576, told_v6_max = 1'280; // of the whole IP packet
constexpr std::uint8_t tcp = 6, icmp = 1, icmpv6 = 58, hops = 64;
constexpr std::uint8_t fin = 1, syn = 2, rst = 4, ack = 16;

void store_be16(std::uint8_t *at, std::size_t value) noexcept {
  at[0] = static_cast<std::uint8_t>(value >> 8);
  at[1] = static_cast<std::uint8_t>(value);
}
std::uint32_t load_be32(const std::uint8_t *at) noexcept {
  return byteswap32(load_unaligned<std::uint32_t>(at));
}
void store_be32(std::uint8_t *at, std::uint32_t value) noexcept {
  value = byteswap32(value);
  std::memcpy(at, &value, sizeof value);
}

// Of words in the order of a packet; an odd byte is followed by a zero.
std::uint32_t sum_of(const std::uint8_t *at, std::size_t bytes) noexcept {
  std::uint32_t sum = 0;
  for (; bytes > 1; at += 2, bytes -= 2) sum += load_be16(at);
  return bytes == 0 ? sum : sum + (std::uint32_t{*at} << 8);
}
std::uint16_t checksum_of(std::uint32_t sum) noexcept {
  while ((sum >> 16) != 0) sum = (sum & 0xFFFF) + (sum >> 16);
  return static_cast<std::uint16_t>(~sum);
}

struct Question {
  std::span<const std::uint8_t> frame;
  std::size_t ip;        // where the header begins
  std::size_t transport; // what is behind it and its extensions; 0: a later fragment, or not captured
  std::size_t end;       // of the packet, without what pads the frame
  std::uint8_t protocol;
  bool is_v6, is_fragment;

  [[nodiscard]] const std::uint8_t *at(std::size_t offset) const noexcept { return frame.data() + offset; }
  [[nodiscard]] const std::uint8_t *source() const noexcept { return at(ip + (is_v6 ? 8 : 12)); }
  [[nodiscard]] const std::uint8_t *destination() const noexcept { return at(ip + (is_v6 ? 24 : 16)); }
  [[nodiscard]] std::size_t address_bytes() const noexcept { return is_v6 ? 16 : 4; }
};

Question question_of(std::span<const std::uint8_t> frame, const ParsedPacket &outer,
                     const PacketTuple &tuple) {
  const std::size_t ip = outer.header_offset;
  const detail::Carried carried = detail::carried_by(frame.data(), frame.size(), outer);
  Question q{frame, ip, carried.fits ? carried.offset : 0, 0, tuple.protocol, tuple.is_v6, false};
  q.end = ip + (q.is_v6 ? ipv6_bytes + load_be16(q.at(ip + 4)) : load_be16(q.at(ip + 2)));
  // Of IPv6 a first fragment has a header that says so, somewhere between.
  q.is_fragment = q.is_v6 ? q.transport != ip + ipv6_bytes : (load_be16(q.at(ip + 6)) & 0x3FFF) != 0;
  return q;
}

[[nodiscard]] bool is_one_host_v4(const std::uint8_t *address) noexcept {
  const bool here = address[0] == 0 || address[0] == 127, many = address[0] >= 224; // with 255.255.255.255
  return !here && !many;
}
[[nodiscard]] bool is_one_host_v6(const std::uint8_t *address) noexcept {
  return address[0] != 0xFF &&
         std::any_of(address, address + 16, [](std::uint8_t byte) { return byte != 0; });
}

[[nodiscard]] bool may_be_answered(const Question &q) noexcept {
  const bool one_on_the_link = (q.frame[0] & 1) == 0 && (q.frame[6] & 1) == 0; // no group of MAC addresses
  const bool snap = load_be16(q.frame.data() + 12) < ethertype::lowest;
  const auto is_one = q.is_v6 ? is_one_host_v6 : is_one_host_v4;
  if (!one_on_the_link || snap || !is_one(q.source()) || !is_one(q.destination())) return false;
  if (q.transport == 0 || q.transport >= std::min(q.end, q.frame.size())) return false;
  const std::uint8_t type = *q.at(q.transport);
  if (!q.is_v6 && q.protocol == icmp) return type == 8 || type == 13; // what asks for an answer
  if (q.is_v6 && q.protocol == icmpv6) return type >= 128;            // below are errors
  return true;
}

// The frame's link layer with its tags, for the way back. Returns where the IP header goes.
std::size_t write_link(const Question &q, std::uint8_t *reply) noexcept {
  std::memcpy(reply, q.at(6), 6);
  std::memcpy(reply + 6, q.at(0), 6);
  std::memcpy(reply + 12, q.at(12), q.ip - 12);
  return q.ip;
}

void write_ipv4(const Question &q, std::uint8_t *ip, std::uint8_t protocol, std::size_t carried) noexcept {
  std::memset(ip, 0, ipv4_bytes);
  ip[0] = 0x45;
  store_be16(ip + 2, ipv4_bytes + carried);
  ip[6] = 0x40; // not to be fragmented, so that it needs no identification
  ip[8] = hops;
  ip[9] = protocol;
  std::memcpy(ip + 12, q.destination(), 4);
  std::memcpy(ip + 16, q.source(), 4);
  store_be16(ip + 10, checksum_of(sum_of(ip, ipv4_bytes)));
}

void write_ipv6(const Question &q, std::uint8_t *ip, std::uint8_t protocol, std::size_t carried) noexcept {
  std::memset(ip, 0, ipv6_bytes);
  ip[0] = 0x60;
  store_be16(ip + 4, carried);
  ip[6] = protocol;
  ip[7] = hops;
  std::memcpy(ip + 8, q.destination(), 16);
  std::memcpy(ip + 24, q.source(), 16);
}

// Header and checksum around `carried` bytes that have been written, their checksum as zero at `checksum_at`. Returns the
// bytes of the frame.
std::size_t finish(const Question &q, std::uint8_t *reply, std::uint8_t protocol, std::size_t carried,
                   std::size_t checksum_at) noexcept {
  std::uint8_t *const ip = reply + q.ip;
  std::uint8_t *const inside = ip + (q.is_v6 ? ipv6_bytes : ipv4_bytes);
  (q.is_v6 ? write_ipv6 : write_ipv4)(q, ip, protocol, carried);
  std::uint32_t sum = sum_of(inside, carried);
  if (protocol != icmp) // TCP and ICMPv6 have the addresses in it
    sum += sum_of(q.source(), q.address_bytes()) + sum_of(q.destination(), q.address_bytes()) + protocol +
           static_cast<std::uint32_t>(carried);
  store_be16(inside + checksum_at, checksum_of(sum));
  const auto bytes = static_cast<std::size_t>(inside - reply) + carried;
  if (bytes >= frame_bytes_least) return bytes;
  std::memset(reply + bytes, 0, frame_bytes_least - bytes);
  return frame_bytes_least;
}

std::size_t write_reset(const Question &q, std::uint8_t *reply) noexcept {
  const std::size_t left = std::min(q.end, q.frame.size()) - q.transport;
  if (left < tcp_bytes) return 0;
  const std::uint8_t *const segment = q.at(q.transport);
  const std::size_t header = std::size_t{4} * (segment[12] >> 4);
  if ((segment[13] & rst) != 0 || header < tcp_bytes || q.transport + header > q.end) return 0;
  std::uint8_t *const to = reply + q.ip + (q.is_v6 ? ipv6_bytes : ipv4_bytes);
  std::memset(to, 0, tcp_bytes);
  std::memcpy(to, segment + 2, 2);
  std::memcpy(to + 2, segment, 2);
  to[12] = tcp_bytes / 4 << 4;
  if ((segment[13] & ack) != 0) { // what it waits for
    std::memcpy(to + 4, segment + 8, 4);
    to[13] = rst;
  } else if (q.is_fragment) { // who knows how long it is
    return 0;
  } else { // acknowledges all of it
    const std::size_t said =
        q.end - q.transport - header + ((segment[13] & syn) != 0) + ((segment[13] & fin) != 0);
    store_be32(to + 8, load_be32(segment + 4) + static_cast<std::uint32_t>(said));
    to[13] = rst | ack;
  }
  return finish(q, reply, tcp, tcp_bytes, 16);
}

std::size_t write_unreachable(const Question &q, std::uint8_t *reply) noexcept {
  constexpr std::uint8_t unreachable_v4 = 3, prohibited_v4 = 13, unreachable_v6 = 1, prohibited_v6 = 1;
  const std::size_t headers = (q.is_v6 ? ipv6_bytes : ipv4_bytes) + icmp_bytes;
  std::uint8_t *const to = reply + q.ip + headers - icmp_bytes;
  const std::size_t told =
      std::min(std::min(q.end, q.frame.size()) - q.ip, (q.is_v6 ? told_v6_max : told_v4_max) - headers);
  std::memset(to, 0, icmp_bytes);
  to[0] = q.is_v6 ? unreachable_v6 : unreachable_v4;
  to[1] = q.is_v6 ? prohibited_v6 : prohibited_v4;
  std::memcpy(to + icmp_bytes, q.at(q.ip), told);
  return finish(q, reply, q.is_v6 ? icmpv6 : icmp, icmp_bytes + told, 2);
}

} // namespace

std::size_t write_reply(std::span<const std::uint8_t> frame, const ParsedPacket &outer,
                        const PacketTuple &tuple, std::uint8_t *reply) noexcept {
  const Question q = question_of(frame, outer, tuple);
  if (q.end <= q.ip || !may_be_answered(q)) return 0;
  write_link(q, reply);
  return q.protocol == tcp ? write_reset(q, reply) : write_unreachable(q, reply);
}

} // namespace weir::dataplane
