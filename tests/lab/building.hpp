// How long sizing and building take with ever more known negatives [Stacked §5.3, figure 6b].
#pragma once

#include "weir/base/result.hpp"

#include <cstdint>
#include <string>
#include <vector>

namespace weir::lab {

struct BuildingTask {
  std::uint64_t positives = 1'000'000;
  double bits = 10;                                        // a positive
  std::vector<double> known_per_key{0, 1, 2, 4, 6, 8, 10}; // negatives, all asked for alike
  unsigned rounds = 5;
  std::uint64_t seed = 1;
};

// Seconds of one thread's processor time, medians over interleaved rounds.
struct BuildingReport {
  BuildingTask task;
  struct Row {
    std::uint64_t negatives = 0, known = 0; // asked for; of them in the stack. Without any: the plain filter
    std::size_t layers = 0;
    double optimiser_seconds = 0, build_seconds = 0;
  };
  std::vector<Row> rows;
};

// Errors: those of sizing and building.
[[nodiscard]] Result<BuildingReport> run_building(const BuildingTask &task);
[[nodiscard]] std::string json_of(const BuildingReport &report);

} // namespace weir::lab
