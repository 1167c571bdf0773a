// One burst on its way through a worker: packets, what was parsed, the lookup in flight with the
// image it began with, and at the end one decision a packet.
#pragma once

#include "dataplane/attached_image.hpp"
#include "dataplane/counters.hpp"
#include "dataplane/worker.hpp"
#include "weir/key/parse.hpp"
#include "weir/key/verdict.hpp"
#include "weir/table/burst_lookup.hpp"

#include <rte_mbuf.h>

#include <bit>
#include <cstdint>

namespace weir::dataplane {

inline constexpr unsigned burst_packets_max = table::BurstLookup::slots_max;
// Under `either` a packet asks two questions, and twice as many where what is inside counts too.
[[nodiscard]] constexpr unsigned questions_of(Match match, bool inside_too) noexcept {
  return (match == Match::either ? 2u : 1u) * (inside_too ? 2u : 1u);
}

struct alignas(8) Decision {
  static constexpr std::uint16_t no_list = 0xFFFF;
  Verdict verdict = Verdict::pass;
  Reason reason = Reason::no_image;
  FamilySlot family = FamilySlot::other;
  std::uint8_t reserved = 0;
  std::uint16_t list = no_list; // number in the image
  std::uint16_t reserved2 = 0;
  friend bool operator==(Decision a, Decision b) noexcept {
    return std::bit_cast<std::uint64_t>(a) == std::bit_cast<std::uint64_t>(b);
  }
};

using PacketMask = std::uint64_t; // bit i is packet i of a burst
static_assert(burst_packets_max == 64);

struct Burst {
  table::BurstLookup lookup;
  AttachedImage *image = nullptr; // null: no generation is attached
  const RxQueue *from = nullptr;
  Match match = Match::remote;
  Tunnels tunnels = Tunnels::outer;
  bool judges_destination = false; // by one address: by the destination, not the source
  bool has_inside = false;         // inside() counts too, under Tunnels::both
  bool plain = false;     // every packet is IPv4 and judged by its lists, by one address: slot i is packet i
  bool all_alike = false; // every packet is plain_ipv4; parsed[] has not been written
  unsigned count = 0;
  PacketMask dropped = 0; // by decisions[]
  PacketMask special = 0; // not IPv4 that no list named: counted one by one
  std::uint64_t bytes = 0;
  rte_mbuf *packets[burst_packets_max];
  std::uint32_t lengths[burst_packets_max];                          // in bytes
  alignas(cache_line_bytes) std::uint32_t judged[burst_packets_max]; // addresses of a plain burst
  ParsedPacket parsed[burst_packets_max];
  Decision decisions[burst_packets_max];

  [[nodiscard]] const ParsedPacket &parsed_as(unsigned packet) const noexcept {
    return all_alike ? plain_ipv4 : parsed[packet];
  }
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

// How many packets a burst may take under an image.
[[nodiscard]] inline unsigned packets_max(const AttachedImage *image) noexcept {
  if (image == nullptr) return burst_packets_max;
  const Policy &policy = image->view.policy;
  return burst_packets_max / questions_of(policy.match, policy.tunnels == Tunnels::both);
}

[[nodiscard]] inline FamilySlot family_of(const ParsedPacket &parsed) noexcept {
  if (parsed.kind == PacketKind::ipv4) return FamilySlot::ipv4;
  return parsed.kind == PacketKind::ipv6 ? FamilySlot::ipv6 : FamilySlot::other;
}

[[nodiscard]] inline const std::uint8_t *frame_of(const rte_mbuf *packet) noexcept {
  return rte_pktmbuf_mtod(packet, const std::uint8_t *);
}

[[nodiscard]] inline bool is_judged(const ParsedPacket &parsed) noexcept {
  return parsed.is_ip() && !parsed.link_local;
}

// Calls each(slot, header, offset) for every address that a packet is judged by, in the order in which they
// are judged: the outermost header's first, the source before the destination.
template <class Each>
[[gnu::always_inline]] inline void each_question(const Burst &burst, unsigned packet, Each each) noexcept {
  unsigned slot = packet * burst.questions();
  const auto ask = [&](const ParsedPacket &header) {
    if (burst.match == Match::either) {
      each(slot, header, header.source_offset);
      each(slot + 1, header, header.destination_offset);
      slot += 2;
    } else {
      each(slot++, header, burst.judges_destination ? header.destination_offset : header.source_offset);
    }
  };
  if (const ParsedPacket &outer = burst.parsed_as(packet); is_judged(outer)) {
    ask(outer);
    if (burst.has_inside && is_judged(burst.inside(packet))) ask(burst.inside(packet));
  }
}

} // namespace weir::dataplane
