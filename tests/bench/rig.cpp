#include "tests/bench/rig.hpp"

#include "dataplane/packet/stages.hpp"

#include <fmt/core.h>
#include <rte_ethdev.h>
#include <rte_hash.h>

#include <bit>
#include <random>

namespace weir::bench {

Rig::Rig(unsigned workers, const std::vector<LoopFrame> &frames)
    : workers_(workers), counters_(workers), slot_(workers) {
  for (unsigned i = 0; i < workers; ++i) ports_.push_back(std::make_unique<LoopPort>(frames));
  auto rings = dataplane::SampleRings::create(workers);
  if (!rings) give_up(rings.error().message);
  samples_ = std::move(*rings);
}

dataplane::WorkerSetup Rig::setup(unsigned id) {
  dataplane::WorkerSetup setup;
  setup.id = id;
  setup.queues = {ports_[id]->way(static_cast<std::uint16_t>(id))};
  setup.denied = ports_[id]->ring();
  setup.samples = samples_.of(id);
  return setup;
}

std::uint64_t Rig::drops() const {
  std::uint64_t sum = 0;
  for (unsigned i = 0; i < workers_; ++i)
    for (const auto &family : counters_.worker(i).verdicts[static_cast<std::size_t>(Reason::deny)][1])
      sum += family.get();
  return sum;
}

PlainLoop::PlainLoop(Rig &rig, unsigned id, const rte_hash *table, double drop_share,
                     dataplane::AttachedImage &lists)
    : setup_(rig.setup(id)), counters_(rig.counters().worker(id)), table_(table) {
  values_.fill(table::value::make({}, 32)); // what is denied is denied by the first list
  burst_.image = &lists;
  burst_.from = &setup_.queues[0];
  std::mt19937_64 random(id);
  std::bernoulli_distribution drop(drop_share);
  for (dataplane::PacketMask &mask : drawn_)
    for (unsigned i = 0; i < dataplane::burst_packets_max; ++i)
      mask |= dataplane::PacketMask{drop(random)} << i;
}

void PlainLoop::run(const std::atomic<bool> &stop) {
  while (!stop.load(std::memory_order_acquire)) {
    receive();
    parse_burst(burst_);
    if (limit_ != nullptr) sum_ += read_lines();
    burst_.dropped = table_ ? look_up() : drawn_[next_++ % drawn_.size()] & burst_.all();
    burst_.by_lists = true;
    burst_.denials = values_.data();
    burst_.special = burst_.dropped;
    counters_[dataplane::CounterId::judged].add(burst_.count);
    send_burst(burst_, setup_, patience_, counters_);
    count_burst(burst_, counters_, common_list_);
  }
}

void PlainLoop::receive() {
  burst_.count = rte_eth_rx_burst(burst_.from->port, 0, burst_.packets, dataplane::burst_packets_max);
  if (!measure_burst(burst_)) give_up("a packet of the benchmark has several segments");
  dataplane::PortCounters &port = counters_.ports[burst_.from->port_index];
  port[dataplane::PortCounterId::rx_packets].add(burst_.count);
  port[dataplane::PortCounterId::rx_bytes].add(burst_.bytes);
  counters_[dataplane::CounterId::received].add(burst_.count);
  counters_[dataplane::CounterId::bursts].add(1);
}

std::uint64_t PlainLoop::read_lines() {
  if (burst_.v6 == 0) return limit_->run_a_burst(std::span<const WireV4>(burst_.judged, burst_.count));
  return limit_->run_a_burst(std::span<const WireV6>(burst_.judged_v6, burst_.count));
}

dataplane::PacketMask PlainLoop::look_up() {
  const void *keys[dataplane::burst_packets_max];
  void *data[dataplane::burst_packets_max];
  std::uint8_t place[dataplane::burst_packets_max];
  unsigned asked = 0;
  for (unsigned i = 0; i < burst_.count; ++i) {
    const ParsedPacket &parsed = burst_.parsed_as(i);
    if (parsed.kind != PacketKind::ipv4) continue;
    keys[asked] = dataplane::frame_of(burst_.packets[i]) + parsed.source_offset;
    place[asked++] = static_cast<std::uint8_t>(i);
  }
  std::uint64_t hits = 0;
  if (asked > 0) rte_hash_lookup_bulk_data(table_, keys, asked, &hits, data);
  dataplane::PacketMask denied = 0;
  for (; hits != 0; hits &= hits - 1) denied |= dataplane::PacketMask{1} << place[std::countr_zero(hits)];
  return denied;
}

// ---- stages -------------------------------------------------------------------------------------

Grid StageTimes::grid() {
  Grid grid{{"worker", "all"}, {}};
  for (const wire::CounterId id : wire::stage_counters) grid.columns.emplace_back(wire::stage_name(id));
  return grid;
}

void StageTimes::add_row(Grid &grid, JsonLines &lines, const std::string &name) const {
  const auto packets = static_cast<double>(sum_[wire::CounterId::timed_packets]);
  if (packets == 0) return;
  double all = 0;
  std::vector<std::string> cells;
  for (const wire::CounterId id : wire::stage_counters) {
    const double cycles = static_cast<double>(sum_[id]) / packets;
    all += cycles;
    cells.push_back(fmt::format("{:.1f}", cycles));
    lines.line({{"bench", "stages"},
                {"worker", name},
                {"stage", std::string(wire::stage_name(id))},
                {"cycles_per_packet", cycles}});
  }
  cells.insert(cells.begin(), {name, fmt::format("{:.1f}", all)});
  grid.rows.push_back(std::move(cells));
}

} // namespace weir::bench
