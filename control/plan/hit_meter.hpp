// The hit ratio of late, from counters that only grow: two marks move along behind the newest
// reading, and the ratio is that since the older one, so that what was hours ago does not count. Counters
// that fall belong to a dataplane that started again.
#pragma once

#include "control/plan/plan.hpp"

#include <algorithm>
#include <cstdint>

namespace weir::plan {

class HitMeter {
public:
  static constexpr std::uint64_t questions_min = 10'000; // fewer say nothing
  static constexpr std::uint64_t window = 10'000'000;    // questions from mark to mark

  struct Reading {
    std::uint64_t questions = 0, hits = 0; // since the dataplane started
  };

  void note(Reading now) noexcept {
    now.hits = std::min(now.hits, now.questions);
    if (now.questions < last_.questions || now.hits < last_.hits) older_ = newer_ = {};
    last_ = now;
    if (last_.questions - newer_.questions < window) return;
    older_ = newer_;
    newer_ = last_;
  }

  [[nodiscard]] Workload workload() const noexcept {
    const std::uint64_t questions = last_.questions - older_.questions;
    if (questions < questions_min) return {};
    return {static_cast<double>(last_.hits - older_.hits) / static_cast<double>(questions), questions};
  }

private:
  Reading older_, newer_, last_;
};

} // namespace weir::plan
