// What a worker decided about a packet, written into the packet itself (an mbuf dynamic field) for
// whoever takes it next: replay's sinks. Only written when a worker is told to.
#pragma once

#include "weir/base/result.hpp"
#include "weir/key/verdict.hpp"

#include <rte_mbuf.h>
#include <rte_mbuf_dyn.h>

#include <cstdint>

namespace weir::dataplane {

// Eight bytes, four-byte aligned: an mbuf has 36 bytes for everybody's fields.
struct PacketMark {
  static constexpr std::uint16_t no_list = 0xFFFF;
  Verdict verdict = Verdict::pass;
  Reason reason = Reason::no_image;
  std::uint16_t list = no_list; // counter slot, ListSlots::names() has the name
  std::uint32_t generation = 0; // low 32 bits; 0 without an image
};
static_assert(sizeof(PacketMark) == 8);

// Registers the field; may be called again and then gives the same offset. Needs EAL.
[[nodiscard]] Result<int> register_packet_mark();

// `offset` is what register_packet_mark() gave.
[[nodiscard]] inline PacketMark &packet_mark(rte_mbuf *packet, int offset) noexcept {
  return *RTE_MBUF_DYNFIELD(packet, offset, PacketMark *);
}

} // namespace weir::dataplane
