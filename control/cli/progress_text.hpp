// How far long work is, as a line for people.
#pragma once

#include "control/base/progress.hpp"
#include "control/cli/render.hpp"
#include "control/cli/replay.hpp"

#include <chrono>
#include <cstdint>
#include <string>

namespace weir::cli {

// A part of the work, whoever does it.
struct WorkPart {
  std::string what;                  // "reading lists"; empty: not known
  std::string unit;                  // "bytes", "entries", "packets"
  std::uint64_t done = 0, total = 0; // 0: not known
  std::uint64_t entries = 0;         // beside bytes
  double seconds = 0;                // since it began
  double expected_s = 0;             // 0: not known
};
[[nodiscard]] WorkPart work_part(const control::Progress::Now &now);
[[nodiscard]] WorkPart work_part(const Json &progress); // of the verb progress
[[nodiscard]] WorkPart work_part(const ReplayProgress &progress);

// "reading lists  45 %  812 MiB of 1.8 GiB  12.3M entries  210 MiB/s  about 4s left"
[[nodiscard]] std::string progress_text(const WorkPart &part);
// What weir-control says of a change: with the change's name where another one is at hand than the one asked for,
// whose name begins with `asked` ("apply", "replace drop"). Empty while none is at hand.
[[nodiscard]] std::string progress_text(const Json &progress, const std::string &asked);

} // namespace weir::cli
