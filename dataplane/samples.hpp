// A look at the traffic for the control plane: every n-th packet's judged address, on one ring a
// worker. A full ring drops samples and counts them; packets never wait.
//
// What a filter denies on its word alone has to be checked, so those packets are sampled as a sort of their
// own: each of them while the ring is nearly empty, fewer the fuller it is, none beyond one in
// `denials_one_in_max`. Each sample says how many it stands for. Above half of the ring they leave the rest
// to the others.
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
  // The packets of a burst that has been judged.
  void take(const Burst &burst, WorkerCounters &counters) noexcept;

private:
  static constexpr std::uint16_t denials_one_in_max = 1024;

  void take_some(const Burst &burst, WorkerCounters &counters) noexcept;
  void take_denials(const Burst &burst, WorkerCounters &counters) noexcept;
  void put(wire::Sample sample, WorkerCounters &counters) noexcept;

  rte_ring *ring_;
  std::uint32_t one_in_;
  std::uint32_t until_next_; // packets to skip
  std::uint16_t denials_one_in_ = 1;
  std::uint32_t denials_until_next_ = 0; // to skip
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
  std::size_t first_ = 0; // ring to begin with: each in turn, so that a busy one leaves room for the others
};

} // namespace weir::dataplane
