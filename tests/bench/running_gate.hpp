// A dataplane at full rate in this process: the real worker on a LoopPort, alone on CPU 1, and the parts
// of a dataplane that the service thread owns, on CPU 0 with the caller. For what happens to a worker
// from outside: swaps, deltas. Needs two CPUs.
#pragma once

#include "dataplane/gate/dataplane.hpp"
#include "tests/bench/gate.hpp"
#include "tests/support/process.hpp"

#include <filesystem>
#include <thread>

namespace weir::bench {

class RunningGate {
public:
  // The worker takes its source addresses from here and runs from now on.
  explicit RunningGate(std::span<const std::uint32_t> sources);
  ~RunningGate();
  RunningGate(const RunningGate &) = delete;
  RunningGate &operator=(const RunningGate &) = delete;

  [[nodiscard]] dataplane::Dataplane &dataplane() noexcept { return dataplane_; }
  [[nodiscard]] const std::filesystem::path &folder() const noexcept { return folder_; }
  // Publishes as the service thread does, and waits until the worker has seen it.
  dataplane::Swap put_in_force(std::unique_ptr<dataplane::AttachedImage> image);
  // From now on the worker's own thread starts a grace period every so many bursts; 0: never.
  void grace_every(unsigned bursts) { grace_every_.store(bursts, std::memory_order_relaxed); }

  [[nodiscard]] LoopPort &port() noexcept { return port_; }
  [[nodiscard]] std::uint64_t worker_faults() const { return test::page_faults_of(thread_id_); }
  // Million packets a second of the worker's CPU time while `what` runs.
  double mpps_while(const std::function<void()> &what);

  // Stops the worker and counts what is not there any more: packets received, but neither judged nor
  // found in the ring, and packets that a port refused.
  std::uint64_t stop_and_count_lost();

private:
  std::filesystem::path folder_;
  LoopPort port_;
  dataplane::Dataplane dataplane_;
  std::unique_ptr<dataplane::Worker> worker_;
  std::atomic<bool> stop_{false};
  std::atomic<unsigned> grace_every_{0};
  std::atomic<int> thread_id_{0};
  std::thread thread_;
};

} // namespace weir::bench
