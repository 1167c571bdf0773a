// The stages of a worker, one a file. Each takes a burst as the stage before left it.
#pragma once

#include "dataplane/burst.hpp"

namespace weir::dataplane {

// Is a packet judged by its destination? By its source otherwise. Not asked under `either`.
[[nodiscard]] bool judges_destination(Match match, PortSide side) noexcept;

// rx -> parsed[], judged[]; which address is judged has been decided
void parse_burst(Burst &burst) noexcept;

// parsed[], judged[] -> questions under way, while the burst `ahead`, if there is one, is probed.
void ask_burst(Burst &burst, Burst *ahead) noexcept;
// What ask_burst() does for a burst ahead, when there is none behind it.
void probe_burst(Burst &burst) noexcept;
// Before the burst behind it is asked, for speed.
void settle_burst(Burst &burst) noexcept;

// answers -> decisions[], dropped, special; in the order of the reasons
void judge_burst(Burst &burst, Verdict without_image) noexcept;

// decisions[] -> the peer's queue, the denied ring or back to the pool; counts every packet once
void send_burst(Burst &burst, const WorkerSetup &setup, WorkerCounters &counters) noexcept;

} // namespace weir::dataplane
