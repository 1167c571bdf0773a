// What is known of the traffic: rows of `top`, the denied addresses among them that are hot, and the hit
// ratio. It outlives the process, with the sources that the watch of the deny filter has counted, in two
// notes of the store. A note is bounded, and one that cannot be read is as good as none.
#pragma once

#include "control/engine/samples.hpp"
#include "control/plan/hit_meter.hpp"
#include "control/store/store.hpp"
#include "control/watch/deny_filter_watch.hpp"

#include <cstdint>
#include <span>
#include <vector>

namespace weir::control {

class Traffic {
public:
  explicit Traffic(store::Store &store) : store_(store) {}

  // Takes up what an earlier process kept.
  void resume(watch::DenyFilterWatch &sources);
  // Only what is new since the last time: each note is a synced write.
  void save(const watch::DenyFilterWatch &sources);

  void take(std::span<const wire::Sample> samples) { table_.take(samples); }
  [[nodiscard]] const SampleTable &samples() const noexcept { return table_; }
  // Denied addresses that samples name, the hottest first.
  [[nodiscard]] std::vector<plan::HotAddress> hot_denied() const;

  // A reading of the dataplane's counters; whoever reads them for another purpose passes them on.
  void note_lookups(plan::HitMeter::Reading reading) noexcept { hits_.note(reading); }
  [[nodiscard]] plan::Workload workload() const noexcept { return hits_.workload(); }

private:
  store::Store &store_;
  SampleTable table_;
  plan::HitMeter hits_;
  std::uint64_t sources_saved_ = 0, rows_saved_ = 0; // samples that the notes rest on
};

} // namespace weir::control
