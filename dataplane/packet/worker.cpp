#include "dataplane/packet/worker.hpp"

#include "dataplane/packet/drop_watch.hpp"
#include "dataplane/packet/head.hpp"
#include "dataplane/packet/p4_target.hpp"
#include "dataplane/packet/samples.hpp"
#include "dataplane/packet/stages.hpp"
#include "dataplane/packet/tx_patience.hpp"
#include "weir/config/no_image.hpp"

#include <rte_cycles.h>
#include <rte_ethdev.h>
#include <rte_pause.h>

#include <sched.h>
#include <time.h>

namespace weir::dataplane {
namespace {
constexpr unsigned polls_a_timing = 64; // the timestamps would take a twentieth of a packet's time otherwise
constexpr unsigned empty_rounds_before_yield = 64;
constexpr unsigned yields_before_sleep = 64;
constexpr timespec short_sleep{0, 20'000};
constexpr std::uint32_t replies_a_second = 1'000, replies_at_once = 100; // of this worker

void count_lookups(const lookup::BurstLookup::Cost &cost, WorkerCounters &counters) noexcept {
  counters[CounterId::probes].add(cost.probes);
  counters[CounterId::second_lines].add(cost.second_lines);
  counters[CounterId::allow_table_asked].add(cost.allow_filter.table_asked);
  if (cost.deny_filter.asked != 0) {
    counters[CounterId::deny_asked].add(cost.deny_filter.asked);
    counters[CounterId::deny_accepted].add(cost.deny_filter.accepted);
    counters[CounterId::deny_false].add(cost.deny_filter.refuted);
  }
  if (cost.allow_filter.asked == 0) return;
  counters[CounterId::allow_asked].add(cost.allow_filter.asked);
  counters[CounterId::allow_accepted].add(cost.allow_filter.accepted);
  counters[CounterId::allow_false].add(cost.allow_filter.refuted);
  counters[CounterId::allow_denied_asked].add(cost.allow_filter.denied_asked);
  counters[CounterId::allow_denied_false].add(cost.allow_filter.denied_refuted);
}
} // namespace

struct Worker::State {
  State(WorkerSetup s, ImageSlot &image_slot, Counters &all)
      : setup(std::move(s)), slot(image_slot), counters(all.worker(setup.id)),
        sampler(setup.samples, setup.sample_one_in),
        drops(setup.drops != nullptr ? setup.drops->desk(setup.id, setup.p4 == nullptr) : DropDesk()),
        without_image(config::verdict_of(setup.no_image)) {}

  [[nodiscard]] bool poll(const RxQueue &queue) noexcept;
  [[nodiscard]] bool poll_for_p4(const RxQueue &queue) noexcept;
  [[nodiscard]] bool receive(const RxQueue &queue, Burst &burst) noexcept;
  void leave(Burst &burst) noexcept;
  void lap(CounterId stage) noexcept;
  void size_ring() noexcept;
  // The place that is `steps` further round the ring, at most a whole turn. Three divisions a burst would be half a cycle a packet.
  [[nodiscard]] unsigned behind(unsigned place, unsigned steps) const noexcept {
    return place + steps - (place + steps < ring_size ? 0 : ring_size);
  }
  void finish_oldest() noexcept;
  void drain() noexcept;
  void rest() noexcept;

  WorkerSetup setup;
  ImageSlot &slot;
  WorkerCounters &counters;
  Sampler sampler;
  JudgeDenials denials;
  DropDesk drops;
  Verdict without_image;
  TxPatience patience{rte_get_tsc_hz()};
  ListId common_list = no_list; // for count_burst()
  RateLimit replies{replies_a_second, replies_at_once,
                    RulePer::rule}; // to packets that a rule or a list rejects
  unsigned next = 0;                // place of the next burst in the ring
  unsigned in_flight = 0;           // not yet judged
  bool newest_is_probed = true;
  unsigned polls = 0; // that brought packets
  bool timed = false; // this one's stages
  std::uint64_t lap_began = 0;
  unsigned empty_rounds = 0; // in a row
  unsigned yields = 0;       // since the last packet
  unsigned ring_size = lookup::BurstLookup::in_flight_max;
  Burst ring[lookup::BurstLookup::in_flight_max];
};

// Cycles since the last stage of this poll ended. A burst that goes on in a stage counts there, whichever of those
// in flight it is.
void Worker::State::lap(CounterId stage) noexcept {
  if (!timed) return;
  const std::uint64_t now = rte_rdtsc();
  counters[stage].add(now - lap_began);
  lap_began = now;
}

// A burst under the image in force, parsed. False when there was nothing.
bool Worker::State::receive(const RxQueue &queue, Burst &burst) noexcept {
  timed = (polls + 1) % polls_a_timing == 0;
  if (timed) lap_began = rte_rdtsc();
  burst.image = slot.current();
  burst.image_copy = setup.image_copy;
  burst.from = &queue;
  burst.count = rte_eth_rx_burst(queue.port, queue.queue, burst.packets,
                                 static_cast<std::uint16_t>(packets_max(burst.image)));
  if (burst.count == 0) {
    counters[CounterId::empty_polls].add(1);
    return timed = false;
  }
  ++polls;
  burst.policy = burst.image != nullptr ? &burst.image->view.policy : nullptr;
  burst.match = burst.policy != nullptr ? burst.policy->match : Match::source;
  burst.tunnels = burst.policy != nullptr ? burst.policy->tunnels : Tunnels::outer;
  burst.judges_destination = judges_destination(burst.match, queue.side);
  if (!measure_burst(burst)) [[unlikely]]
    for (unsigned i = 0; i < burst.count; ++i) (void)gather_head(burst.packets[i]);
  PortCounters &port = counters.ports[queue.port_index];
  port[PortCounterId::rx_packets].add(burst.count);
  port[PortCounterId::rx_bytes].add(burst.bytes);
  counters[CounterId::received].add(burst.count);
  counters[CounterId::bursts].add(1);
  if (timed) counters[CounterId::timed_packets].add(burst.count);
  lap(CounterId::receive_cycles);

  parse_burst(burst);
  lap(CounterId::parse_cycles);
  return true;
}

// A judged burst is sampled, sent and counted.
void Worker::State::leave(Burst &burst) noexcept {
  sampler.take(burst, denials, counters);
  drops.look(burst);
  const unsigned count = burst.count;
  if (burst.image != nullptr)
    burst.image->packets_by_worker[setup.id].packets.add(count);
  else
    counters[CounterId::without_image].add(count);
  send_burst(burst, setup, patience, counters);
  lap(CounterId::send_cycles);
  count_burst(burst, counters, common_list);
  counters[CounterId::judged].add(count);
  lap(CounterId::count_cycles);
}

// Takes one burst from a queue into the pipeline, which moves those before it on: the newest is probed,
// the oldest leaves. False when there was nothing.
bool Worker::State::poll(const RxQueue &queue) noexcept {
  if (in_flight == 0) size_ring();
  Burst &burst = ring[next];
  if (!receive(queue, burst)) return false;
  ask_burst(burst, newest_is_probed ? nullptr : &ring[behind(next, ring_size - 1)]);
  lap(CounterId::lookup_cycles);
  next = behind(next, 1);
  ++in_flight;
  newest_is_probed = false;
  if (in_flight == ring_size) finish_oldest();
  timed = false;
  return true;
}

// No larger than the image needs: bursts that are used in turn share the L1 cache.
void Worker::State::size_ring() noexcept {
  const AttachedImage *const image = slot.current();
  ring_size = image != nullptr ? lookup::BurstLookup::in_flight(image->view) : 1;
  next = 0;
}

bool Worker::State::poll_for_p4(const RxQueue &queue) noexcept {
  Burst &burst = ring[0];
  {
    const auto judging = setup.p4->judging(); // registers and image are of one generation
    if (!receive(queue, burst)) return false;
    setup.p4->judge(burst);
    lap(CounterId::judge_cycles);
  }
  leave(burst);
  timed = false;
  return true;
}

void Worker::State::finish_oldest() noexcept {
  Burst &burst = ring[behind(next, ring_size - in_flight)];
  if (in_flight == 1 && !newest_is_probed) {
    probe_burst(burst);
    newest_is_probed = true;
  }
  judge_burst(burst, without_image);
  if (burst.image != nullptr && burst.image->rules != nullptr)
    judge_by_rules(burst, setup, replies, counters);
  if (burst.image != nullptr && burst.image->list_actions != nullptr)
    act_for_lists(burst, setup, replies, counters);
  find_judge_denials(burst, denials);
  sampler.expect(burst, denials);
  name_denials(burst, denials);
  meet_offenders(burst, setup, sampler, counters);
  if (burst.image != nullptr) count_lookups(burst.lookup.cost(), counters);
  lap(CounterId::judge_cycles);
  leave(burst);
  --in_flight;
}

void Worker::State::drain() noexcept {
  while (in_flight > 0) finish_oldest();
}

// Nothing came for a while: lets others have the CPU, and no grace period waits for us meanwhile.
void Worker::State::rest() noexcept {
  if (setup.when_idle == WhenIdle::spin || ++empty_rounds < empty_rounds_before_yield) {
    rte_pause();
    return;
  }
  empty_rounds = 0;
  slot.offline(setup.id);
  if (++yields < yields_before_sleep)
    sched_yield();
  else
    nanosleep(&short_sleep, nullptr);
  slot.online(setup.id);
}

Worker::Worker(WorkerSetup setup, ImageSlot &slot, Counters &counters)
    : state_(std::make_unique<State>(std::move(setup), slot, counters)) {}

Worker::~Worker() = default;

void Worker::run(const std::atomic<bool> &stop) {
  State &s = *state_;
  s.slot.join(s.setup.id);
  std::uint64_t last_token = 0;
  std::uint64_t then = rte_rdtsc();
  while (!stop.load(std::memory_order_acquire)) {
    bool any = false;
    for (const RxQueue &queue : s.setup.queues) {
      if (s.setup.p4 != nullptr ? s.poll_for_p4(queue) : s.poll(queue)) any = true;
    }
    if (!any) s.drain();
    if (s.slot.report_wanted(last_token)) {
      s.drain();
      last_token = s.slot.report(s.setup.id);
    }

    const std::uint64_t now = rte_rdtsc();
    s.counters[any ? CounterId::busy_cycles : CounterId::idle_cycles].add(now - then);
    if (any) s.counters.saw_packets(then, now);
    then = now;
    if (any)
      s.empty_rounds = s.yields = 0;
    else
      s.rest();
  }
  s.drain();
  s.slot.leave(s.setup.id);
}

} // namespace weir::dataplane
