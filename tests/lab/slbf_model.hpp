// Curves of the formulas of stable filters [SLBF §3.1, §4], as far as no filter has to be built for them.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace weir::lab {

struct StableModelTask {
  double cells = 1e6; // m of eq. (8)
  unsigned hashes = 6;
  double group_cells = 1e5, gap = 100, epsilon = 0.01; // of example 4
};

// Cells with which a filter behind a classifier settles as fast as one without [SLBF figure 6].
struct EqualConvergence {
  double false_negatives = 0; // F_n
  std::vector<double> cells;  // for each number of insertions
};

// What a group of example 4 misses with K functions and cells of one bit [SLBF figure 7].
struct GroupMisses {
  double told = 0, other = 0;        // q_j, p_j
  double rate_printed = 0, rate = 0; // a_j of (18), e / (g p_j)
  std::vector<double> printed, solved,
      own; // from one function on; P of (19); of eq. (6); of eq. (6) at `rate` and gap q_j delta
};

struct StableModelReport {
  StableModelTask task;
  std::vector<double> insertions;
  std::vector<EqualConvergence> equal_convergence;
  std::vector<GroupMisses> groups;
};

[[nodiscard]] StableModelReport run_stable_model(const StableModelTask &task);
[[nodiscard]] std::string json_of(const StableModelReport &report);

} // namespace weir::lab
