// What came of a request to the engine, and who asked for it.
#pragma once

#include "control/engine/candidate.hpp"
#include "control/rules/bundle.hpp"
#include "weir/image/identity.hpp"

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace weir::control {

struct EntriesDone {
  std::uint64_t added = 0, refreshed = 0, deleted = 0;
  std::uint64_t sequence = 0;
  bool in_force = false;
  double in_force_ms = 0;
  std::uint64_t expires_at = 0; // the latest; 0: some never do
  std::string note;
};

struct ChangeDone {
  Generation generation{};
  Generation from, to; // of a rollback: what was live, whose rules are live now
  bool in_force = false;
  double live_ms = 0;
  std::uint64_t swap_ns = 0;
  std::vector<ListDiff> lists;
  std::vector<std::string> warnings;
  std::uint64_t reverts_at = 0; // 0: does not
  std::string note;
};

// Who asked for a change, and what came with the request.
struct Asked {
  std::shared_ptr<const rules::Bundle> files; // every file it names; none: those are opened here
  std::string by;                             // beside the cause of a generation: "uid 1000"
};

struct SwapNote {
  std::uint64_t ns = 0, at = 0, verify_us = 0;
};

} // namespace weir::control
