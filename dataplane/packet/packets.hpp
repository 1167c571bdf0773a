// The packets of a burst, and what the parser finds in their headers.
#pragma once

#include "dataplane/port/queue.hpp"
#include "weir/base/bits.hpp"
#include "weir/key/parse.hpp"
#include "weir/key/policy.hpp"
#include "weir/key/verdict.hpp"

#include <rte_mbuf.h>

#include <array>
#include <bit>
#include <cstdint>

namespace weir::dataplane {

inline constexpr unsigned burst_packets_max = 64;
// Under `either` a packet asks two questions, and twice as many where what is inside counts too.
[[nodiscard]] constexpr unsigned questions_of(Match match, bool inside_too) noexcept {
  return (match == Match::either ? 2u : 1u) * (inside_too ? 2u : 1u);
}

using PacketMask = std::uint64_t; // bit i is packet i of a burst
static_assert(burst_packets_max == 64);

struct Packets {
  const RxQueue *from = nullptr;
  const Policy *policy = nullptr; // of the image; null: no generation is attached
  Match match = Match::remote;
  Tunnels tunnels = Tunnels::outer;
  bool judges_destination = false; // by one address: by the destination, not the source
  bool has_inside = false;         // inside() counts too, under Tunnels::both
  bool plain = false;              // every packet is IP and judged by its lists, by one address
  bool all_plain = false; // and plain_ipv4 or plain_ipv6 (key/parse.hpp): parsed[] has not been written
  unsigned tags = 0;      // of each packet, where all are plain
  PacketMask v6 = 0;      // of a plain burst: packets of IPv6
  unsigned count = 0;
  unsigned shortest = 0; // first segment, in bytes, or less
  std::uint64_t bytes = 0;
  rte_mbuf *packets[burst_packets_max];
  std::uint32_t lengths[burst_packets_max]; // in bytes
  // Addresses of a plain burst, those of a family side by side, in the order of their packets.
  alignas(cache_line_bytes) std::uint32_t judged[burst_packets_max];
  alignas(cache_line_bytes) std::array<std::uint8_t, 16> judged_v6[burst_packets_max];
  ParsedPacket parsed[burst_packets_max];

  [[nodiscard]] const ParsedPacket &parsed_as(unsigned packet) const noexcept {
    static constexpr ParsedPacket plain_packets[plain_tags_max + 1][2] = {{plain_ipv4<0>, plain_ipv6<0>},
                                                                          {plain_ipv4<1>, plain_ipv6<1>}};
    return all_plain ? plain_packets[tags][v6 >> packet & 1] : parsed[packet];
  }
  [[nodiscard]] unsigned count_v6() const noexcept { return static_cast<unsigned>(std::popcount(v6)); }
  // Of what packet i carries: non_ip where that has no say. Bursts are half as large then.
  [[nodiscard]] ParsedPacket &inside(unsigned i) noexcept { return parsed[burst_packets_max / 2 + i]; }
  [[nodiscard]] const ParsedPacket &inside(unsigned i) const noexcept {
    return parsed[burst_packets_max / 2 + i];
  }
  [[nodiscard]] unsigned questions() const noexcept { return questions_of(match, has_inside); }
  [[nodiscard]] PacketMask all() const noexcept {
    return count == 0 ? 0 : ~PacketMask{0} >> (burst_packets_max - count);
  }
};

[[nodiscard]] inline const std::uint8_t *frame_of(const rte_mbuf *packet) noexcept {
  return rte_pktmbuf_mtod(packet, const std::uint8_t *);
}

// rx -> lengths[], bytes, shortest. False: some packet has several segments.
[[nodiscard]] bool measure_burst(Packets &burst) noexcept;
// A burst that was measured -> parsed[], judged[]; which address is judged has been decided. Stage 1 of stages.hpp.
void parse_burst(Packets &burst) noexcept;

} // namespace weir::dataplane
