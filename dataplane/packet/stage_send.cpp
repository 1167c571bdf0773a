// Packets leave: to the peer's queue, to the denied ring, or back to their pool.
#include "dataplane/packet/handover.hpp"
#include "dataplane/packet/note.hpp"
#include "dataplane/packet/stages.hpp"
#include "weir/lookup/kernels/choose.hpp"

#include <rte_cycles.h>
#include <rte_ethdev.h>
#include <rte_pause.h>
#include <rte_ring.h>

#include <sched.h>

#include <bit>

namespace weir::dataplane {
namespace {

// Packets of a burst that leave by one door.
struct Door {
  rte_mbuf **packets;
  unsigned count;
};

// Both doors of a burst whose packets do not all leave by the same.
struct Parting {
  rte_mbuf *passed[burst_packets_max + lookup::part_room], *dropped[burst_packets_max + lookup::part_room];
  unsigned passed_count, dropped_count;
  std::uint64_t dropped_bytes;

  explicit Parting(const Burst &burst) noexcept
      : passed_count(static_cast<unsigned>(std::popcount(burst.all() & ~burst.dropped))),
        dropped_count(static_cast<unsigned>(std::popcount(burst.dropped))) {
    const lookup::Kernels &kernels = lookup::best_kernels();
    kernels.part(reinterpret_cast<void *const *>(burst.packets), burst.count, burst.dropped,
                 reinterpret_cast<void **>(passed), reinterpret_cast<void **>(dropped));
    dropped_bytes = kernels.sum(burst.lengths, burst.count, burst.dropped);
  }
};

void wait_a_moment() noexcept {
  rte_pause();
  sched_yield();
}

// How many of the last `count` packets of a door the queue takes now.
[[nodiscard]] unsigned offer(const RxQueue &way, Door door, unsigned count) noexcept {
  return rte_eth_tx_burst(way.tx_port, way.tx_queue, door.packets + (door.count - count),
                          static_cast<std::uint16_t>(count));
}

// What the queue takes at a further try.
[[nodiscard]] unsigned offer_again(const RxQueue &way, Door door, unsigned sent, WhenTxFull when_full,
                                   TxPatience &patience) noexcept {
  if (when_full == WhenTxFull::drop)
    return patience.ask_again(
        way.tx_port_index, sent, door.count - sent, [&](unsigned left) { return offer(way, door, left); },
        [] { rte_pause(); }, [] { return rte_rdtsc(); });
  const unsigned first = sent;
  while (sent < door.count) {
    wait_a_moment();
    sent += offer(way, door, door.count - sent);
  }
  return sent - first;
}

void hand_over(rte_ring *ring, Door door) noexcept {
  unsigned done = 0;
  while (done < door.count) {
    done += rte_ring_enqueue_burst(ring, reinterpret_cast<void *const *>(door.packets + done),
                                   door.count - done, nullptr);
    if (done < door.count) wait_a_moment();
  }
}

void leave_by(rte_ring *denied, Door door) noexcept {
  if (door.count == 0) return;
  if (denied != nullptr)
    hand_over(denied, door);
  else
    rte_pktmbuf_free_bulk(door.packets, door.count);
}

void note(const Burst &burst, unsigned place, int offset) noexcept {
  const Decision decision = burst.decision(place);
  PacketNote &note = note_of(burst.packets[place], offset);
  note.verdict = decision.verdict;
  note.reason = decision.reason;
  note.generation = burst.image != nullptr ? burst.image->generation : 0;
  if (decision.reason == Reason::rule)
    note.list = burst.image->rules->rule(decision.rule).slot;
  else
    note.list = decision.list == no_list ? no_slot : burst.image->slot_of_list[decision.list];
}

// What a queue did not take. Returns their bytes.
[[nodiscard]] std::uint64_t refuse(Burst &burst, PacketMask refused, const WorkerSetup &setup) noexcept {
  rte_mbuf *packets[burst_packets_max];
  unsigned count = 0;
  std::uint64_t bytes = 0;
  burst.write_decisions();
  burst.by_lists = false;
  burst.special |= refused;
  burst.dropped |= refused;
  for (; refused != 0; refused &= refused - 1) {
    const auto place = static_cast<unsigned>(std::countr_zero(refused));
    burst.decisions[place].verdict = Verdict::drop;
    burst.decisions[place].reason = Reason::tx_refused;
    if (setup.note_offset >= 0) note(burst, place, setup.note_offset);
    packets[count++] = burst.packets[place];
    bytes += burst.lengths[place];
  }
  leave_by(setup.denied, {packets, count});
  return bytes;
}

// A door that the queue took `sent` packets of at first; all that it was offered stand in `passed`. Returns how many it
// took in the end, and takes the bytes of the others from `bytes`.
[[gnu::cold, gnu::noinline]] unsigned finish(Burst &burst, Door door, unsigned sent, std::uint64_t &bytes,
                                             const WorkerSetup &setup, TxPatience &patience,
                                             PortCounters &port) noexcept {
  const unsigned later = offer_again(*burst.from, door, sent, setup.when_tx_full, patience);
  port[PortCounterId::tx_retried].add(later);
  sent += later;
  PacketMask refused = burst.all() & ~burst.dropped;
  for (unsigned i = 0; i < sent; ++i) refused &= refused - 1;
  if (refused != 0) bytes -= refuse(burst, refused, setup);
  port[PortCounterId::tx_refused].add(door.count - sent);
  return sent;
}

// Sends what passes, of a burst that all passes or parted.
void pass(Burst &burst, Door door, std::uint64_t bytes, const WorkerSetup &setup, TxPatience &patience,
          WorkerCounters &counters) noexcept {
  unsigned sent = offer(*burst.from, door, door.count);
  PortCounters &port = counters.ports[burst.from->tx_port_index];
  if (sent != door.count) [[unlikely]]
    sent = finish(burst, door, sent, bytes, setup, patience, port);
  port[PortCounterId::tx_packets].add(sent);
  port[PortCounterId::tx_bytes].add(bytes);
}

} // namespace

void send_burst(Burst &burst, const WorkerSetup &setup, TxPatience &patience,
                WorkerCounters &counters) noexcept {
  if (setup.note_offset >= 0)
    for (unsigned i = 0; i < burst.count; ++i) note(burst, i, setup.note_offset);
  for (unsigned i = 0; i < burst.count; ++i) hands_over(burst.packets[i]);

  if (burst.dropped == 0) {
    pass(burst, {burst.packets, burst.count}, burst.bytes, setup, patience, counters);
  } else if (burst.dropped == burst.all()) {
    leave_by(setup.denied, {burst.packets, burst.count});
  } else {
    Parting parting(burst);
    pass(burst, {parting.passed, parting.passed_count}, burst.bytes - parting.dropped_bytes, setup, patience,
         counters);
    leave_by(setup.denied, {parting.dropped, parting.dropped_count});
  }
}

} // namespace weir::dataplane
