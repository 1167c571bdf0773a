// When a burst is judged, for stages that remember: rates, offenders.
#pragma once

#include "dataplane/packet/burst.hpp"
#include "dataplane/packet/note.hpp"
#include "dataplane/packet/worker.hpp"

#include <rte_cycles.h>

#include <cstdint>

namespace weir::dataplane {

// Times of a replay are the capture's, so that it repeats itself.
[[nodiscard]] inline std::uint64_t now_ns(const Burst &burst, const WorkerSetup &setup) noexcept {
  if (setup.note_offset >= 0)
    return static_cast<std::uint64_t>(note_of(burst.packets[0], setup.note_offset).timestamp_ns);
  static const double ns_a_cycle = 1e9 / static_cast<double>(rte_get_tsc_hz());
  return static_cast<std::uint64_t>(static_cast<double>(rte_rdtsc()) * ns_a_cycle);
}

} // namespace weir::dataplane
