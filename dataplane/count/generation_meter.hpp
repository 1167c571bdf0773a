// Counters that tell something about one generation: what they say since the dataplane started and under the
// generation in force. Workers count without a look at generations; the service thread takes the counters
// down when a generation is in force on every worker, and what came before is subtracted.
#pragma once

#include "dataplane/count/counters.hpp"

#include <cstdint>
#include <mutex>
#include <utility>

namespace weir::dataplane {

// `read` adds up the counters of all workers; what it returns can be subtracted. Any thread may ask.
template <auto read> class GenerationMeter {
public:
  using Snapshot = decltype(read(std::declval<const Counters &>()));

  void generation_live(std::uint64_t generation, const Counters &counters) {
    const std::lock_guard lock(mutex_);
    since_ = generation;
    before_ = read(counters);
  }
  // The generation, and the counters under it.
  [[nodiscard]] std::pair<std::uint64_t, Snapshot> under_generation(const Counters &counters) const {
    const std::lock_guard lock(mutex_);
    return {since_, read(counters) - before_};
  }

private:
  mutable std::mutex mutex_;
  std::uint64_t since_ = 0; // the image that was there at the start: everything counts
  Snapshot before_;
};

} // namespace weir::dataplane
