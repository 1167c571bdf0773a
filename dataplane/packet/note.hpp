// What travels with a packet of a replay from source to sink, in the mbuf's dynamic field.
#pragma once

#include "dataplane/count/counters.hpp"
#include "weir/image/identity.hpp"
#include "weir/key/verdict.hpp"

#include <rte_mbuf.h>
#include <rte_mbuf_dyn.h>

#include <cstdint>

namespace weir::dataplane {

struct PacketNote {
  std::uint64_t index = 0; // from 0, over all loops
  std::int64_t timestamp_ns = 0;
  Generation generation{};          // filled in by the worker: which generation judged it
  std::uint32_t original_bytes = 0; // on the wire; the mbuf holds what was captured
  CounterSlot list{};               // worker: of the list, under Reason::rule of the rule, or no_slot
  Verdict verdict = Verdict::drop;  // worker
  Reason reason = Reason::no_image; // worker
};
static_assert(sizeof(PacketNote) == 32, "the mbuf has room for 32 aligned bytes of dynamic fields");

// The note of a packet; `offset` comes from ReplayPort::note_offset().
[[nodiscard]] inline PacketNote &note_of(rte_mbuf *packet, int offset) noexcept {
  return *RTE_MBUF_DYNFIELD(packet, offset, PacketNote *);
}

} // namespace weir::dataplane
