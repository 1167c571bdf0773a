// What the filter in front of the allow tables did, since the dataplane started and under the generation in
// force. Workers count without a look at generations; the service thread takes the counters down when a
// generation is in force on every worker, and what came before is subtracted.
#pragma once

#include "dataplane/counters.hpp"

#include <cstdint>
#include <mutex>
#include <utility>

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

// Any thread may ask.
class GuardMeter {
public:
  void generation_live(std::uint64_t generation, const Counters &counters) {
    const std::lock_guard lock(mutex_);
    since_ = generation;
    before_ = guard_counters(counters);
  }
  // The generation, and the counters under it.
  [[nodiscard]] std::pair<std::uint64_t, GuardSnapshot> under_generation(const Counters &counters) const {
    const std::lock_guard lock(mutex_);
    return {since_, guard_counters(counters) - before_};
  }

private:
  mutable std::mutex mutex_;
  std::uint64_t since_ = 0; // the image that was there at the start: everything counts
  GuardSnapshot before_;
};

} // namespace weir::dataplane
