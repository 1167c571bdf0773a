// All counters at one moment, added up over workers: what reports, queries, telemetry and the totals
// at the end are made from.
#pragma once

#include "dataplane/gate/dataplane.hpp"

#include <array>
#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace weir::dataplane {

struct PortSnapshot {
  std::string name;
  wire::PortCounterValues counters;
  LinkReport link = {};
};

struct WorkerSnapshot {
  unsigned id = 0, lcore = 0;
  wire::CounterValues counters;
};

struct Snapshot {
  std::uint64_t packets = 0; // judged
  std::uint64_t pass = 0, drop = 0;
  std::uint64_t lost = 0; // received and not judged after a while: 0 or a bug
  std::array<std::array<std::array<std::uint64_t, family_slots>, 2>, reason_count> verdicts{};
  std::vector<std::pair<std::string, std::uint64_t>> lists; // with hits, by slot
  struct Rule {
    std::string name;
    std::uint64_t packets = 0, passed = 0, dropped = 0;
  };
  std::vector<Rule> rules;                           // by slot
  std::map<std::uint16_t, std::uint64_t> ethertypes; // of non_ip
  std::map<Generation, std::uint64_t> generations;   // packets judged under each of the newest
  std::uint64_t generations_earlier = 0;             // and under all others
  KeptImages::About kept;                            // what a restart would begin with
  wire::CounterValues total;                         // since the start
  wire::CounterValues under_generation;              // since `generation` came into force
  Generation generation{};
  std::vector<Swap> swaps; // the last thousand
  std::uint64_t swap_count = 0;
  Generations::SwapTimes swap_times{Generations::swap_bounds};
  std::vector<PortSnapshot> ports;
  std::vector<WorkerSnapshot> workers;
  double seconds = 0; // from the first packet to the latest
  std::string memory;
  std::optional<std::chrono::nanoseconds> forwarding_gap; // before this run (gate/forwarding_gap.hpp)
  std::vector<std::string> faults;                        // sentences: packets are not judged
  std::vector<std::string> warnings;                      // sentences: what somebody should look at
  std::optional<ReplayProgress> replay;

  [[nodiscard]] std::uint64_t of(Reason reason, Verdict verdict) const {
    const auto &families = verdicts[static_cast<std::size_t>(reason)][static_cast<std::size_t>(verdict)];
    return families[0] + families[1] + families[2];
  }
  [[nodiscard]] std::uint64_t of(FamilySlot family, Verdict verdict) const;
  [[nodiscard]] double mpps() const { return seconds > 0 ? static_cast<double>(packets) / seconds / 1e6 : 0; }
};

[[nodiscard]] Snapshot take_snapshot(const Dataplane &dataplane);

// The verdict table for people.
[[nodiscard]] std::string totals_text(const Snapshot &snapshot);

} // namespace weir::dataplane
