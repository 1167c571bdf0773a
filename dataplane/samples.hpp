// A look at the traffic for the control plane: every n-th packet's judged address, on one ring a
// worker. A full ring drops samples and counts them; packets never wait.
#pragma once

#include "dataplane/burst.hpp"
#include "weir/base/result.hpp"
#include "weir/wire/messages.hpp"

#include <cstdint>
#include <memory>
#include <vector>

struct rte_ring;

namespace weir::dataplane {

// The worker's end.
class Sampler {
public:
  Sampler(rte_ring *ring, std::uint32_t one_in) noexcept
      : ring_(ring), one_in_(one_in), until_next_(one_in) {}
  void take(const Burst &burst, WorkerCounters &counters) noexcept;

private:
  void put(const Burst &burst, unsigned packet, WorkerCounters &counters) noexcept;

  rte_ring *ring_;
  std::uint32_t one_in_;
  std::uint32_t until_next_; // packets to skip
};

// The service thread's end: one ring a worker.
class SampleRings {
public:
  [[nodiscard]] static Result<SampleRings> create(unsigned workers);
  [[nodiscard]] rte_ring *of(unsigned worker) const noexcept { return rings_[worker].get(); }
  // Takes up to `max` samples from all rings.
  [[nodiscard]] std::vector<wire::Sample> collect(std::size_t max);

private:
  struct Free {
    void operator()(rte_ring *ring) const noexcept;
  };
  std::vector<std::unique_ptr<rte_ring, Free>> rings_;
};

} // namespace weir::dataplane
