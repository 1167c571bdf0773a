// What exact and general membership take: the curves of [Chained Figure 4] beside built filters, and the variants of its Table 2 with their time
// and memory of construction.
#pragma once

#include "weir/base/result.hpp"

#include <cstdint>
#include <string>
#include <vector>

namespace weir::lab {

struct MembershipTask {
  std::uint64_t positives = 100'000; // of the filters that are built
  double lambda = 16;                // of Table 2: negatives a positive
  std::vector<double> rates{0, 0.001, 0.01, 0.05};
  std::uint64_t seed = 1;
};

// Bits a positive, at one slot a key (C = 1) but for `built`.
struct MembershipPoint {
  double rate = 0, lambda = 0;
  double bound = 0, single = 0, chained = 0;
  double unrounded = 0;      // 0: outside of the corollary's range
  double built = 0;          // of a filter with four-wise tables; 0: not built
  double accepted = 0;       // of its negatives
  double accepted_plain = 0; // the same of one by strategy (b), which breaks its promise
};

struct ConstructionRow {
  std::string name;
  std::uint64_t universe = 0;
  double build_ns = 0; // a key of the universe
  double bits_per_positive = 0;
  double peak_bits = 0;     // memory of construction without the keys and the filter, a key of the universe
  std::uint64_t errors = 0; // keys of the universe answered wrongly; an approximate filter has them
};

struct MembershipReport {
  MembershipTask task;
  std::vector<MembershipPoint> points;
  std::vector<ConstructionRow> rows;
};

// Errors: those of building, and io where no process can be had to measure memory in.
[[nodiscard]] Result<MembershipReport> run_membership(const MembershipTask &task);
[[nodiscard]] std::string json_of(const MembershipReport &report);

} // namespace weir::lab
