// The stages of a worker, one a file. Each takes a burst as the stage before left it.
#pragma once

#include "dataplane/burst.hpp"

namespace weir::dataplane {

// rx -> parsed[]
void parse_burst(Burst &burst) noexcept;

// parsed[] -> questions under way; probe_burst() and judge_burst() follow one and two bursts later.
void ask_burst(Burst &burst) noexcept;
void probe_burst(Burst &burst) noexcept;

// answers -> decisions[], in the order of the reasons
void judge_burst(Burst &burst, Verdict without_image) noexcept;

// decisions[] -> the peer's queue, the denied ring or back to the pool; counts every packet once
void send_burst(Burst &burst, const WorkerSetup &setup, WorkerCounters &counters) noexcept;

} // namespace weir::dataplane
