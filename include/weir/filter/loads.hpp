// What filters that change in place report of themselves.
#pragma once

#include <cstdint>

namespace weir::filter {

struct SeesawLoad {
  std::uint64_t planned_keys = 0, keys = 0;
  std::uint64_t guarded = 0;
  std::uint64_t cells = 0, cells_stuck = 0;
  std::uint64_t modulator_cells = 0, modulator_used = 0, modulator_stuck = 0;

  [[nodiscard]] double modulator_share() const noexcept {
    return static_cast<double>(modulator_used) / static_cast<double>(modulator_cells);
  }
  [[nodiscard]] double stuck_share() const noexcept {
    return static_cast<double>(cells_stuck) / static_cast<double>(cells);
  }
};

// What a Seesaw filter could do at the positions of a negative.
struct SeesawLearned {
  unsigned sealed = 0;  // now or before
  unsigned waiting = 0; // for their keys to go
  unsigned refused = 0; // in use, and there is no adaptive bit
};

struct CuckooLoad {
  std::uint64_t planned_keys = 0, keys = 0, slots = 0;
};

struct StackedCountingLoad {
  std::uint64_t planned_keys = 0, keys = 0;
  std::uint64_t known = 0;                  // negatives
  std::uint64_t cells = 0, cells_stuck = 0; // of layers 1 and 3: layer 2 does not change

  [[nodiscard]] double stuck_share() const noexcept {
    return cells == 0 ? 0 : static_cast<double>(cells_stuck) / static_cast<double>(cells);
  }
};

} // namespace weir::filter
