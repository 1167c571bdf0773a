// Packets leave: to the peer's queue, to the denied ring, or back to their pool.
#include "dataplane/handover.hpp"
#include "dataplane/replay_port.hpp"
#include "dataplane/stages.hpp"

#include <rte_ethdev.h>
#include <rte_pause.h>
#include <rte_ring.h>

#include <sched.h>

namespace weir::dataplane {
namespace {

// Which packets of a burst leave by one door, with their places in the burst.
struct Door {
  rte_mbuf *packets[burst_packets_max];
  std::uint8_t places[burst_packets_max];
  unsigned count = 0;

  void add(const Burst &burst, unsigned place) noexcept {
    packets[count] = burst.packets[place];
    places[count++] = static_cast<std::uint8_t>(place);
  }
};

void wait_a_moment() noexcept {
  rte_pause();
  sched_yield();
}

[[nodiscard]] unsigned transmit(const RxQueue &way, const Door &door, WhenTxFull when_full) noexcept {
  unsigned sent = 0;
  for (;;) {
    sent += rte_eth_tx_burst(way.tx_port, way.tx_queue, const_cast<rte_mbuf **>(door.packets) + sent,
                             static_cast<std::uint16_t>(door.count - sent));
    if (sent == door.count || when_full == WhenTxFull::drop) return sent;
    wait_a_moment();
  }
}

void hand_over(rte_ring *ring, const Door &door) noexcept {
  unsigned done = 0;
  while (done < door.count) {
    done += rte_ring_enqueue_burst(ring, reinterpret_cast<void *const *>(door.packets + done),
                                   door.count - done, nullptr);
    if (done < door.count) wait_a_moment();
  }
}

void note(const Burst &burst, unsigned place, int offset) noexcept {
  const Decision &decision = burst.decisions[place];
  PacketNote &note = note_of(burst.packets[place], offset);
  note.verdict = decision.verdict;
  note.reason = decision.reason;
  note.generation = burst.image != nullptr ? burst.image->generation : 0;
  note.list =
      decision.list == Decision::no_list ? PacketNote::no_list : burst.image->slot_of_list[decision.list];
}

void count_one(const Burst &burst, unsigned place, WorkerCounters &counters) noexcept {
  const Decision &d = burst.decisions[place];
  counters
      .verdicts[static_cast<std::size_t>(d.reason)][static_cast<std::size_t>(d.verdict)]
               [static_cast<std::size_t>(d.family)]
      .add(1);
  if (d.list != Decision::no_list) counters.lists[burst.image->slot_of_list[d.list]].add(1);
  if (d.reason == Reason::non_ip) {
    const std::uint16_t type = burst.parsed[place].ethertype;
    counters.non_ip[type < 0x0600 ? 0 : type].add(1);
  }
}

// IPv4 that no list named is what most packets are: they are counted in a register, one addition a
// burst, because additions to one place in memory wait for each other.
void count(const Burst &burst, WorkerCounters &counters) noexcept {
  std::array<std::uint32_t, 2> unnamed{}; // by verdict
  for (unsigned i = 0; i < burst.count; ++i) {
    const Decision &d = burst.decisions[i];
    const bool common = d.reason == Reason::fallthrough && d.family == FamilySlot::ipv4;
    if (common)
      ++unnamed[static_cast<std::size_t>(d.verdict)];
    else
      count_one(burst, i, counters);
  }
  for (std::size_t verdict = 0; verdict < unnamed.size(); ++verdict)
    if (unnamed[verdict] != 0)
      counters
          .verdicts[static_cast<std::size_t>(Reason::fallthrough)][verdict]
                   [static_cast<std::size_t>(FamilySlot::ipv4)]
          .add(unnamed[verdict]);
}

} // namespace

void send_burst(Burst &burst, const WorkerSetup &setup, WorkerCounters &counters) noexcept {
  Door passed, dropped;
  std::uint64_t passed_bytes = 0;
  for (unsigned i = 0; i < burst.count; ++i) {
    if (setup.note_offset >= 0) note(burst, i, setup.note_offset);
    if (burst.decisions[i].verdict == Verdict::drop) {
      dropped.add(burst, i);
    } else {
      passed.add(burst, i);
      passed_bytes += rte_pktmbuf_pkt_len(burst.packets[i]);
    }
    hands_over(burst.packets[i]);
  }

  const unsigned sent = transmit(*burst.from, passed, setup.when_tx_full);
  std::uint64_t refused_bytes = 0;
  for (unsigned i = sent; i < passed.count; ++i) {
    Decision &decision = burst.decisions[passed.places[i]];
    decision.verdict = Verdict::drop;
    decision.reason = Reason::tx_refused;
    refused_bytes += rte_pktmbuf_pkt_len(passed.packets[i]);
    if (setup.note_offset >= 0) note(burst, passed.places[i], setup.note_offset);
    dropped.add(burst, passed.places[i]);
  }

  PortCounters &port = counters.ports[burst.from->tx_port_index];
  port.tx_packets.add(sent);
  port.tx_bytes.add(passed_bytes - refused_bytes);
  port.tx_refused.add(passed.count - sent);
  count(burst, counters);

  if (setup.denied != nullptr)
    hand_over(setup.denied, dropped);
  else
    rte_pktmbuf_free_bulk(dropped.packets, dropped.count);
}

} // namespace weir::dataplane
