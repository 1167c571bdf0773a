// One or two packet loops that run at the same time: the real worker, and the same loop around another lookup or none.
#pragma once

#include "tests/bench/gate.hpp"
#include "tests/bench/limit.hpp"

#include "dataplane/packet/burst.hpp"
#include "dataplane/packet/samples.hpp"
#include "dataplane/packet/tx_patience.hpp"

#include <rte_cycles.h>

#include <array>
#include <atomic>
#include <memory>
#include <span>
#include <thread>
#include <vector>

struct rte_hash;

namespace weir::bench {

inline constexpr unsigned workers_max = 2;

// Ports, counters and the image slot of the loops.
class Rig {
public:
  explicit Rig(unsigned workers) : Rig(workers, {plain_frame()}) {}
  Rig(unsigned workers, const std::vector<LoopFrame> &frames);

  // Hands back what was in force.
  std::unique_ptr<dataplane::AttachedImage> publish(std::unique_ptr<dataplane::AttachedImage> image) {
    return slot_.publish(std::move(image)).previous; // no worker runs: there is nothing to wait for
  }
  [[nodiscard]] unsigned workers() const { return workers_; }
  [[nodiscard]] dataplane::ImageSlot &slot() { return slot_; }
  [[nodiscard]] dataplane::Counters &counters() { return counters_; }
  [[nodiscard]] dataplane::WorkerSetup setup(unsigned id);

  struct Run {
    double mpps = 0;
    std::uint64_t drops = 0;
  };
  // `loop(id, stop)` on each worker's thread until its port has given `packets`. Sources are read once before: else the
  // contender of the first turn would fetch them from memory for those of the next.
  template <class Loop>
  Run run(std::span<const std::uint32_t> sources, std::uint64_t packets, const Loop &loop) {
    double mpps[workers_max] = {};
    touch(sources);
    const std::uint64_t drops_before = drops();
    const auto one = [&](unsigned id) {
      std::atomic<bool> stop{false};
      ports_[id]->feed(sources.subspan(id * sources.size() / workers_, sources.size() / workers_), packets,
                       &stop);
      const double start = cpu_ns();
      loop(id, stop);
      mpps[id] = static_cast<double>(packets) / (cpu_ns() - start) * 1e3;
    };
    if (workers_ == 1) {
      one(0);
    } else {
      std::vector<std::thread> threads;
      for (unsigned id = 0; id < workers_; ++id)
        threads.emplace_back([&, id] {
          run_on_cpu(id);
          one(id);
        });
      for (std::thread &thread : threads) thread.join();
    }
    throw_away(samples_);
    Run result;
    for (unsigned i = 0; i < workers_; ++i) {
      result.mpps += mpps[i];
      if (ports_[i]->packets_present() != loop_packets) give_up("packets were lost in a loop");
    }
    result.drops = drops() - drops_before;
    return result;
  }

private:
  [[nodiscard]] std::uint64_t drops() const; // of all workers so far

  unsigned workers_;
  dataplane::Counters counters_;
  dataplane::ImageSlot slot_;
  dataplane::SampleRings samples_;
  std::vector<std::unique_ptr<LoopPort>> ports_;
};

// The worker's own stages around rte_hash, as the peer, or around no lookup at all: then it drops as many packets,
// drawn beforehand. After read_lines_of() it also prefetches and reads one line for each packet, all of which are of one
// family. `lists` gives the counter slot of the list that its drops are counted under, as the worker's are.
class PlainLoop {
public:
  PlainLoop(Rig &rig, unsigned id, const rte_hash *table, double drop_share, dataplane::AttachedImage &lists);
  void read_lines_of(LimitLookup &limit) { limit_ = &limit; }
  void run(const std::atomic<bool> &stop);

private:
  void receive();
  [[nodiscard]] dataplane::PacketMask look_up();
  [[nodiscard]] std::uint64_t read_lines();

  dataplane::WorkerSetup setup_;
  dataplane::TxPatience patience_{rte_get_tsc_hz()};
  dataplane::WorkerCounters &counters_;
  const rte_hash *table_;
  LimitLookup *limit_ = nullptr;
  std::uint64_t sum_ = 0; // of what the lines say, so that they are read
  std::array<std::uint32_t, dataplane::burst_packets_max> values_; // what a lookup would have found
  std::array<dataplane::PacketMask, 1024> drawn_{};
  std::size_t next_ = 0;
  ListId common_list_ = no_list;
  dataplane::Burst burst_;
};

// TSC cycles a packet in each stage of the first worker, over some of its runs.
class StageTimes {
public:
  template <class Run> auto over(Rig &rig, const Run &run) {
    const wire::CounterValues before = values_of(rig.counters().worker(0));
    auto result = run();
    const wire::CounterValues during = values_of(rig.counters().worker(0)) - before;
    for (std::size_t i = 0; i < sum_.of.size(); ++i) sum_.of[i] += during.of[i];
    return result;
  }
  [[nodiscard]] static Grid grid();
  void add_row(Grid &grid, JsonLines &lines, const std::string &name) const;

private:
  wire::CounterValues sum_;
};

} // namespace weir::bench
