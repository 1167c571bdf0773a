#include "dataplane/gate/dataplane.hpp"

#include "dataplane/port/memory.hpp"
#include "weir/config/no_image.hpp"

#include <fmt/format.h>

#include <rte_launch.h>
#include <rte_lcore.h>

#include <thread>
#include <utility>

namespace weir::dataplane {

// What an lcore is launched with.
struct LcoreEntry {
  Worker *worker;
  const std::atomic<bool> *stop;
  std::atomic<unsigned> *running;
  static int run(void *argument) {
    const std::unique_ptr<LcoreEntry> self(static_cast<LcoreEntry *>(argument));
    self->worker->run(*self->stop);
    self->running->fetch_sub(1, std::memory_order_release);
    return 0;
  }
};

Dataplane::Dataplane(DataplaneSetup s)
    : setup(std::move(s)), counters(setup.workers), lists(setup.for_replay ? nullptr : &counters),
      nodes(setup.node_of_worker.empty() ? nodes_of_workers(setup.workers) : setup.node_of_worker),
      slot(setup.workers),
      generations(slot, lists, background, setup.workers, setup.state_dir, !setup.for_replay, nodes.nodes()) {
  generations.set_rules(rules);
}

Dataplane::~Dataplane() {
  stop_workers();
  port_links.set_free(ports);
}

Status Dataplane::open_target(const std::vector<config::Port> &wanted) {
  if (!setup.for_replay)
    for (const config::Port &port : wanted) rules.ports.push_back(port.name);
  if (!setup.p4) return {};
  P4Setup about;
  about.without_image = config::verdict_of(setup.no_image);
  for (const config::Port &port : wanted) about.sides.push_back(port.side);
  p4 = TRY(P4Target::create(std::move(about)));
  generations.set_follower(*p4);
  return {};
}

Status Dataplane::open_ports(const std::vector<config::Port> &wanted, const config::Eal &eal,
                             Bypass &bypass) {
  ports = TRY(Ports::open(wanted, eal, setup.workers, bypass));
  return {};
}

Status Dataplane::open_replay(const ReplayOptions &options) {
  auto made = TRY(ReplayPort::create(options, [this](Reason reason, CounterSlot of) {
    return (reason == Reason::rule ? rules.slots : lists).name_of(of);
  }));
  replay = std::move(made);
  TRY(start_port(replay->port_id(), "replay", {1, 1, replay->pool()}));
  ports.adopt({"replay", replay->port_id(), 1, PortSide::none, 0});
  return {};
}

Status Dataplane::start_workers() {
  if (auto rings = SampleRings::create(setup.workers); rings)
    samples = std::move(*rings);
  else
    return std::unexpected(rings.error());

  drops = TRY(DropWatch::create(setup.workers));

  const auto hands = ports.deal(setup.workers);
  unsigned lcore = RTE_MAX_LCORE;
  unsigned id = 0;
  RTE_LCORE_FOREACH_WORKER(lcore) {
    if (id == setup.workers) break;
    WorkerSetup worker;
    worker.id = id;
    worker.image_copy = nodes.copy_of(id);
    worker.queues = hands[id];
    worker.no_image = setup.no_image;
    worker.when_idle = setup.when_idle;
    worker.samples = samples.of(id);
    worker.sample_one_in = setup.sample_one_in;
    worker.drops = drops.get();
    worker.p4 = p4.get();
    if (replay) {
      worker.when_tx_full = WhenTxFull::wait;
      worker.note_offset = replay->note_offset();
      worker.denied = replay->denied_ring();
    }
    workers_.push_back(std::make_unique<Worker>(std::move(worker), slot, counters));
    counters.worker(id).lcore = lcore;
    auto entry = std::make_unique<LcoreEntry>(LcoreEntry{workers_.back().get(), &stop_, &running_});
    running_.fetch_add(1);
    if (rte_eal_remote_launch(&LcoreEntry::run, entry.get(), lcore) != 0) {
      running_.fetch_sub(1);
      return fail(Errc::io, fmt::format("lcore {} cannot be started", lcore));
    }
    static_cast<void>(entry.release()); // the lcore frees it
    lcores_.push_back(lcore);
    ++id;
  }
  if (id < setup.workers)
    return fail(Errc::config, fmt::format("{} workers need as many lcores", setup.workers));
  return {};
}

void Dataplane::stop_workers() {
  stop_.store(true, std::memory_order_release);
  while (running_.load(std::memory_order_acquire) > 0) std::this_thread::yield();
  for (const unsigned lcore : std::exchange(lcores_, {})) rte_eal_wait_lcore(lcore);
}

} // namespace weir::dataplane
