// What counters say under the generation in force. Workers count without a look at generations; the service
// thread takes the counters down when a generation is in force on every worker, and what came before is
// subtracted. Any thread may ask.
#pragma once

#include "dataplane/count/counters.hpp"
#include "weir/image/identity.hpp"

#include <cstdint>
#include <mutex>
#include <utility>

namespace weir::dataplane {

class GenerationMeter {
public:
  void generation_live(Generation generation, const Counters &counters) {
    const std::lock_guard lock(mutex_);
    since_ = generation;
    before_ = sum(counters);
  }
  // The generation, and the counters under it.
  [[nodiscard]] std::pair<Generation, wire::CounterValues> under_generation(const Counters &counters) const {
    const std::lock_guard lock(mutex_);
    return {since_, sum(counters) - before_};
  }

private:
  mutable std::mutex mutex_;
  Generation since_; // the image that was there at the start: everything counts
  wire::CounterValues before_;
};

} // namespace weir::dataplane
