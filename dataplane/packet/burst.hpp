// One burst on its way through a worker: the packets and what was parsed of them, the lookup in flight
// with the image it began with, and at the end one decision a packet.
#pragma once

#include "dataplane/count/counters.hpp"
#include "dataplane/image/attached_image.hpp"
#include "dataplane/packet/packets.hpp"
#include "weir/key/rule.hpp"
#include "weir/key/verdict.hpp"
#include "weir/lookup/burst_lookup.hpp"

#include <bit>
#include <cstdint>

namespace weir::dataplane {

static_assert(burst_packets_max == lookup::BurstLookup::slots_max);

struct alignas(8) Decision {
  Verdict verdict = Verdict::pass;
  Reason reason = Reason::no_image;
  FamilySlot family = FamilySlot::other;
  std::uint8_t reserved = 0;
  ListId list = no_list;
  RuleId rule = no_rule; // under Reason::rule
  friend bool operator==(Decision a, Decision b) noexcept {
    return std::bit_cast<std::uint64_t>(a) == std::bit_cast<std::uint64_t>(b);
  }
};

struct Burst : Packets {
  lookup::BurstLookup lookup;
  AttachedImage *image = nullptr; // null: no generation is attached
  unsigned image_copy = 0;        // that the lookup reads
  PacketMask dropped = 0;         // by decision()
  PacketMask special = 0;         // all packets but those of a plain burst that matched no list
  PacketMask by_judge = 0;        // of `special`, dropped because a judge denies them (compact mode)
  // A plain burst, and of `special` all were decided by the list that they name, the others by nothing: `otherwise`.
  bool by_lists = false;
  // Values of the lookup, of a burst by_lists while its decisions[] are not written: hardly anybody asks for them. Null:
  // they are.
  std::uint32_t *denials = nullptr;
  const std::uint32_t *allowances = nullptr;
  Verdict otherwise = Verdict::pass;
  alignas(cache_line_bytes)
      PerSide<std::array<std::uint32_t, burst_packets_max>> woven; // values, of both families
  Decision decisions[burst_packets_max];

  [[nodiscard]] Decision decision(unsigned packet) const noexcept {
    if (denials == nullptr) return decisions[packet];
    const FamilySlot family = (v6 >> packet & 1) != 0 ? FamilySlot::ipv6 : FamilySlot::ipv4;
    if ((special >> packet & 1) == 0) return {otherwise, Reason::fallthrough, family};
    if ((dropped >> packet & 1) != 0)
      return {Verdict::drop, Reason::deny, family, 0, table::value::list_of(denials[packet]), no_rule};
    return {Verdict::pass, Reason::allow, family, 0, table::value::list_of(allowances[packet]), no_rule};
  }
  // Of a packet that a list denied: another list did.
  void name_denial(unsigned packet, ListId list) noexcept {
    if (denials == nullptr)
      decisions[packet].list = list;
    else
      denials[packet] = table::value::make(list, table::value::length_of(denials[packet]));
  }
  // For who changes some.
  void write_decisions() noexcept {
    if (denials == nullptr) return;
    for (unsigned i = 0; i < count; ++i) decisions[i] = decision(i);
    denials = nullptr;
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
  if (const ParsedPacket &outer = burst.parsed_as(packet); outer.is_judged()) {
    ask(outer);
    if (burst.has_inside && burst.inside(packet).is_judged()) ask(burst.inside(packet));
  }
}

} // namespace weir::dataplane
