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

#include <cstdint>

namespace weir::dataplane {

inline constexpr unsigned burst_packets_max = table::BurstLookup::slots_max;
// Under `either` a packet asks two questions.
inline constexpr unsigned burst_packets_max_either = burst_packets_max / 2;

struct Decision {
  static constexpr std::uint16_t no_list = 0xFFFF;
  Verdict verdict = Verdict::pass;
  Reason reason = Reason::no_image;
  FamilySlot family = FamilySlot::other;
  std::uint16_t list = no_list; // number in the image
};

struct Burst {
  table::BurstLookup lookup;
  AttachedImage *image = nullptr; // null: no generation is attached
  const RxQueue *from = nullptr;
  Match match = Match::remote;
  unsigned count = 0;
  bool plain = false; // every packet is IPv4 and judged by its lists, by one address: slot i is packet i
  rte_mbuf *packets[burst_packets_max];
  ParsedPacket parsed[burst_packets_max];
  Decision decisions[burst_packets_max];
};

// How many packets a burst may take under an image.
[[nodiscard]] inline unsigned packets_max(const AttachedImage *image) noexcept {
  return image != nullptr && image->view.policy.match == Match::either ? burst_packets_max_either
                                                                       : burst_packets_max;
}

[[nodiscard]] inline const std::uint8_t *frame_of(const rte_mbuf *packet) noexcept {
  return rte_pktmbuf_mtod(packet, const std::uint8_t *);
}

} // namespace weir::dataplane
