// What the filter in front of the allow tables did (generation_meter.hpp).
#pragma once

#include "dataplane/count/generation_meter.hpp"

#include <cstdint>

namespace weir::dataplane {

struct GuardSnapshot { // as in WorkerCounters
  std::uint64_t asked = 0, accepted = 0, false_accepted = 0;
  std::uint64_t denied_asked = 0, denied_false_accepted = 0;
  std::uint64_t table_asked = 0;

  friend GuardSnapshot operator-(const GuardSnapshot &a, const GuardSnapshot &b) noexcept {
    return {a.asked - b.asked,
            a.accepted - b.accepted,
            a.false_accepted - b.false_accepted,
            a.denied_asked - b.denied_asked,
            a.denied_false_accepted - b.denied_false_accepted,
            a.table_asked - b.table_asked};
  }
};

[[nodiscard]] inline GuardSnapshot guard_counters(const Counters &counters) noexcept {
  GuardSnapshot all;
  for (unsigned w = 0; w < counters.workers(); ++w) {
    const WorkerCounters &c = counters.worker(w);
    // What is a part is read before its whole, so that it never is the larger.
    all.denied_false_accepted += c.guard_denied_false.get();
    all.denied_asked += c.guard_denied_asked.get();
    all.false_accepted += c.guard_false.get();
    all.accepted += c.guard_accepted.get();
    all.asked += c.guard_asked.get();
    all.table_asked += c.allow_table_asked.get();
  }
  return all;
}

using GuardMeter = GenerationMeter<guard_counters>;

} // namespace weir::dataplane
