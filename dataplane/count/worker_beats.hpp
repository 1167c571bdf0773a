// Whether workers live. A worker counts the cycles of each round of its loop, busy or idle, so that a sum that stands still
// is a worker that does not come round: it hangs in a driver, or its thread is gone.
#pragma once

#include "dataplane/count/counters.hpp"

#include <cstdint>
#include <vector>

namespace weir::dataplane {

class WorkerBeats {
public:
  explicit WorkerBeats(const Counters &counters) : counters_(counters), seen_(counters.workers()) {}

  // Workers that finished no round since begin_anew().
  [[nodiscard]] std::vector<unsigned> silent() const {
    std::vector<unsigned> out;
    for (unsigned id = 0; id < counters_.workers(); ++id)
      if (cycles_of(id) == seen_[id]) out.push_back(id);
    return out;
  }
  void begin_anew() {
    for (unsigned id = 0; id < counters_.workers(); ++id) seen_[id] = cycles_of(id);
  }

private:
  [[nodiscard]] std::uint64_t cycles_of(unsigned id) const {
    const WorkerCounters &worker = counters_.worker(id);
    return worker[CounterId::busy_cycles].get() + worker[CounterId::idle_cycles].get();
  }

  const Counters &counters_;
  std::vector<std::uint64_t> seen_;
};

} // namespace weir::dataplane
