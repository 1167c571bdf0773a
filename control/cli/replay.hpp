// `weirctl replay`: a capture through a private weir-dataplane and weir-control.
//
//   1. read the configurations and look at the capture, so that faults are told before anything starts
//   2. a private folder; weir-dataplane in replay mode and weir-control with their sockets in it
//   3. for each --apply: wait until the generation before it has judged its share, then apply; a gate
//      in the dataplane holds the first packet of the next share back until the new one is live
//   4. the dataplane ends with exit code 0 when the last packet is written; its report is the result
//
// A child that ends in any other way, or a signal, ends the replay with an error and never a summary.
#pragma once

#include "control/cli/options.hpp"
#include "weir/base/result.hpp"
#include "weir/image/identity.hpp"

#include <nlohmann/json_fwd.hpp>

#include <atomic>
#include <cstdint>
#include <filesystem>
#include <vector>

namespace weir::cli {

// One configuration to apply. The first generation is 1 and has no step.
struct ReplayStep {
  std::filesystem::path config;
  Generation generation{};
  std::uint64_t first_packet = 0; // the first packet, over all loops, that it may judge: the gate
  std::uint64_t after = 0;        // apply once so many packets were judged
};

// Divides `packets` (over all loops) among the generations. Refused when one would judge none.
[[nodiscard]] Result<std::vector<ReplayStep>> replay_steps(const std::vector<ReplayApply> &applies,
                                                           std::uint64_t packets);

// How far it is, for another thread to read.
struct ReplayProgress {
  std::atomic<std::uint64_t> packets = 0; // judged
  std::atomic<std::uint64_t> total = 0;   // over all loops; 0: not known
  std::atomic<std::int64_t> began_ns =
      0; // of the steady clock, when the first packets were let in; 0: not yet
};

// From the counters of a dataplane that replays `packets_all` packets; 0: not counted, and estimated from what those
// that came take of `bytes_all` bytes of captures.
void note_progress(const nlohmann::json &stats, std::uint64_t packets_all, std::uint64_t bytes_all,
                   ReplayProgress &progress);

// The report of the dataplane with `input`, `configurations` and `actions` added. With `progress` the dataplane is
// asked how far it is, once a second.
[[nodiscard]] Result<nlohmann::json> run_replay(const ReplayOptions &options,
                                                ReplayProgress *progress = nullptr);

} // namespace weir::cli
