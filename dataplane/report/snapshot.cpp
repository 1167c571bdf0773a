#include "dataplane/report/snapshot.hpp"

#include <fmt/format.h>

#include <rte_cycles.h>
#include <rte_ethdev.h>

#include <algorithm>
#include <chrono>
#include <thread>
#include <tuple>

namespace weir::dataplane {
namespace {

std::uint64_t total(const Counters &counters, CounterId id) {
  std::uint64_t total = 0;
  for (unsigned w = 0; w < counters.workers(); ++w) total += counters.worker(w)[id].get();
  return total;
}

// Packets received a while ago must have been judged by now.
std::uint64_t lost_packets(const Counters &counters) {
  const std::uint64_t received = total(counters, CounterId::received);
  std::uint64_t judged = total(counters, CounterId::judged);
  for (int i = 0; i < 100 && judged < received; ++i) {
    std::this_thread::sleep_for(std::chrono::microseconds(100));
    judged = total(counters, CounterId::judged);
  }
  return received > judged ? received - judged : 0;
}

void add_verdicts(Snapshot &snapshot, const WorkerCounters &worker) {
  for (std::size_t r = 0; r < reason_count; ++r)
    for (std::size_t v = 0; v < 2; ++v)
      for (std::size_t f = 0; f < family_slots; ++f) {
        const std::uint64_t n = worker.verdicts[r][v][f].get();
        snapshot.verdicts[r][v][f] += n;
        (v == 0 ? snapshot.pass : snapshot.drop) += n;
      }
}

void add_lists(Snapshot &snapshot, const Dataplane &dataplane) {
  std::vector<ListSlots::Name> names = dataplane.lists.names();
  for (std::size_t slot = 0; slot < names.size(); ++slot) {
    const std::uint64_t hits = list_hits(dataplane.counters, CounterSlot(slot)) - names[slot].hits_before;
    if (slot > 0 || hits > 0) snapshot.lists.emplace_back(std::move(names[slot].name), hits);
  }
}

void add_rules(Snapshot &snapshot, const Dataplane &dataplane) {
  const std::vector<ListSlots::Name> names = dataplane.rules.slots.names();
  for (std::size_t slot = 0; slot < names.size(); ++slot) {
    Snapshot::Rule rule{.name = names[slot].name};
    for (unsigned w = 0; w < dataplane.counters.workers(); ++w) {
      const RuleCounters &counted = dataplane.counters.worker(w).rules[slot];
      rule.passed += counted.passed.get(); // parts before their whole
      rule.dropped += counted.dropped.get();
      rule.packets += counted.packets.get();
    }
    if (slot > 0 || rule.packets > 0) snapshot.rules.push_back(std::move(rule));
  }
}

void add_ports(Snapshot &snapshot, const Dataplane &dataplane) {
  const auto &ports = dataplane.ports.all();
  const std::vector<LinkReport> links = dataplane.port_links.reports();
  for (std::size_t i = 0; i < ports.size(); ++i) {
    PortSnapshot port;
    port.name = ports[i].name;
    if (i < links.size()) port.link = links[i];
    for (unsigned w = 0; w < dataplane.counters.workers(); ++w) {
      const PortCounters &counted = dataplane.counters.worker(w).ports[i];
      for (const wire::PortCounterInfo &info : wire::port_counters)
        port.counters[info.id] += counted[info.id].get();
    }
    rte_eth_stats device{};
    if (rte_eth_stats_get(ports[i].port_id, &device) == 0)
      port.counters[PortCounterId::rx_missed] = device.imissed + device.rx_nombuf;
    snapshot.ports.push_back(std::move(port));
  }
}

void add_time(Snapshot &snapshot, const Counters &counters) {
  std::uint64_t first = ~std::uint64_t{0}, last = 0;
  for (unsigned w = 0; w < counters.workers(); ++w) {
    const std::uint64_t began = counters.worker(w)[CounterId::first_cycle].get();
    if (began == 0) continue;
    first = std::min(first, began);
    last = std::max(last, counters.worker(w)[CounterId::last_cycle].get());
  }
  if (last > first)
    snapshot.seconds = static_cast<double>(last - first) / static_cast<double>(rte_get_tsc_hz());
}

} // namespace

std::uint64_t Snapshot::of(FamilySlot family, Verdict verdict) const {
  std::uint64_t sum = 0;
  for (const auto &reason : verdicts)
    sum += reason[static_cast<std::size_t>(verdict)][static_cast<std::size_t>(family)];
  return sum;
}

Snapshot take_snapshot(const Dataplane &dataplane) {
  Snapshot snapshot;
  const Counters &counters = dataplane.counters;
  snapshot.lost = lost_packets(counters);
  for (unsigned w = 0; w < counters.workers(); ++w) {
    const WorkerCounters &worker = counters.worker(w);
    add_verdicts(snapshot, worker);
    for (std::size_t type = 0; type < ethertypes; ++type)
      if (const std::uint64_t n = worker.non_ip[type].get(); n > 0)
        snapshot.ethertypes[static_cast<std::uint16_t>(type)] += n;
    snapshot.workers.push_back({w, worker.lcore, values_of(worker)});
  }
  snapshot.packets = snapshot.pass + snapshot.drop;
  snapshot.total = sum(counters);
  std::tie(snapshot.generation, snapshot.under_generation) = dataplane.meter.under_generation(counters);
  if (snapshot.generation == 0) snapshot.generation = dataplane.slot.live_generation();
  snapshot.generations = dataplane.generations.packets_by_generation();
  snapshot.generations_earlier = dataplane.generations.earlier_packets();
  snapshot.kept = dataplane.generations.kept().about();
  snapshot.forwarding_gap = dataplane.forwarding_gap.gap();
  snapshot.faults = dataplane.worker_looks.warnings();
  snapshot.warnings = dataplane.ports.warnings();
  for (std::string &warning : dataplane.port_looks.warnings())
    snapshot.warnings.push_back(std::move(warning));
  {
    const auto lock = dataplane.generations.lock();
    if (const AttachedImage *live = dataplane.slot.current(); live != nullptr)
      snapshot.warnings.insert(snapshot.warnings.end(), live->warnings.begin(), live->warnings.end());
  }
  if (!snapshot.kept.warning.empty()) snapshot.warnings.push_back(snapshot.kept.warning);
  if (const std::string warning = dataplane.generations.offenders().warning(); !warning.empty())
    snapshot.warnings.push_back(warning);
  snapshot.swaps = dataplane.generations.swaps();
  snapshot.swap_count = dataplane.generations.swap_count();
  snapshot.swap_times = dataplane.generations.swap_times();
  add_lists(snapshot, dataplane);
  add_rules(snapshot, dataplane);
  add_ports(snapshot, dataplane);
  add_time(snapshot, counters);
  snapshot.memory = dataplane.setup.memory;
  if (dataplane.replay) {
    snapshot.replay = dataplane.replay->progress();
    // The capture's own count: a packet that never reached the worker is lost as well.
    const std::uint64_t missing =
        snapshot.replay->read - std::min(snapshot.replay->read, snapshot.replay->written);
    if (dataplane.replay->finished()) snapshot.lost = std::max(snapshot.lost, missing);
  }
  return snapshot;
}

std::string totals_text(const Snapshot &s) {
  std::string text = fmt::format("packets {}   pass {}   drop {}   lost {}   {:.3f} Mpps   memory: {}\n",
                                 s.packets, s.pass, s.drop, s.lost, s.mpps(), s.memory);
  for (const ReasonInfo &info : reasons)
    for (const Verdict verdict : {Verdict::pass, Verdict::drop})
      if (const std::uint64_t n = s.of(info.reason, verdict); n > 0)
        text += fmt::format("  {:4} {:14} {:>14}\n", name_of(verdict), info.name, n);
  for (const auto &[name, hits] : s.lists) text += fmt::format("  list {:14} {:>14}\n", name, hits);
  for (const Snapshot::Rule &rule : s.rules)
    text += fmt::format("  rule {:14} {:>14}   dropped {}\n", rule.name, rule.packets, rule.dropped);
  if (s.generations_earlier > 0) text += fmt::format("  generations before {:>11}\n", s.generations_earlier);
  for (const auto &[generation, packets] : s.generations)
    text += fmt::format("  generation {:<8} {:>14}\n", generation, packets);
  for (const PortSnapshot &p : s.ports)
    text += fmt::format("  port {:10} rx {} tx {} missed {} refused {}\n", p.name,
                        p.counters[PortCounterId::rx_packets], p.counters[PortCounterId::tx_packets],
                        p.counters[PortCounterId::rx_missed], p.counters[PortCounterId::tx_refused]);
  return text;
}

} // namespace weir::dataplane
