// What filters that change in place report of themselves.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

namespace weir::filter {

// A number that reports show beside how many keys there are, under this name.
struct NamedCount {
  std::string_view name;
  std::uint64_t count = 0;
};

// Shares of cells at their maximum for ever, and of modulator cells in use.
struct Wear {
  double stuck = 0, modulator = 0;
};

// What became of a key that is put in beside readers.
enum class Put : std::uint8_t {
  in,
  waits, // ask again after a grace period
  full,  // it cannot hold this key: build a larger one
};

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
  [[nodiscard]] Wear wear() const noexcept { return {stuck_share(), modulator_share()}; }
  [[nodiscard]] std::array<NamedCount, 6> counts() const noexcept {
    return {{{"guarded", guarded},
             {"cells", cells},
             {"cells_stuck", cells_stuck},
             {"modulator_cells", modulator_cells},
             {"modulator_used", modulator_used},
             {"modulator_stuck", modulator_stuck}}};
  }
};

// What a filter could do at the positions of a negative that it is told of late.
struct Learned {
  unsigned sealed = 0;  // now or before
  unsigned waiting = 0; // for their keys to go
  unsigned refused = 0; // in use, and there is no adaptive bit
};

struct CuckooLoad {
  std::uint64_t planned_keys = 0, keys = 0, slots = 0;

  [[nodiscard]] std::array<NamedCount, 1> counts() const noexcept { return {{{"slots", slots}}}; }
};

struct StackedCountingLoad {
  std::uint64_t planned_keys = 0, keys = 0;
  std::uint64_t known = 0;                  // negatives
  std::uint64_t cells = 0, cells_stuck = 0; // of layers 1 and 3: layer 2 does not change

  [[nodiscard]] double stuck_share() const noexcept {
    return cells == 0 ? 0 : static_cast<double>(cells_stuck) / static_cast<double>(cells);
  }
  [[nodiscard]] Wear wear() const noexcept { return {stuck_share(), 0}; }
  [[nodiscard]] std::array<NamedCount, 3> counts() const noexcept {
    return {{{"guarded", known}, {"cells", cells}, {"cells_stuck", cells_stuck}}};
  }
};

} // namespace weir::filter
