// What the stacked filter of denied hosts did (generation_meter.hpp).
#pragma once

#include "dataplane/count/generation_meter.hpp"

#include <cstdint>

namespace weir::dataplane {

struct StackSnapshot { // as in WorkerCounters
  std::uint64_t asked = 0, accepted = 0, false_accepted = 0, denied = 0;

  friend StackSnapshot operator-(const StackSnapshot &a, const StackSnapshot &b) noexcept {
    return {a.asked - b.asked, a.accepted - b.accepted, a.false_accepted - b.false_accepted,
            a.denied - b.denied};
  }
};

[[nodiscard]] inline StackSnapshot stack_counters(const Counters &counters) noexcept {
  StackSnapshot all;
  for (unsigned w = 0; w < counters.workers(); ++w) {
    const WorkerCounters &c = counters.worker(w);
    // What is a part is read before its whole, so that it never is the larger.
    all.denied += c.stack_denied.get();
    all.false_accepted += c.stack_false.get();
    all.accepted += c.stack_accepted.get();
    all.asked += c.stack_asked.get();
  }
  return all;
}

using StackMeter = GenerationMeter<stack_counters>;

} // namespace weir::dataplane
