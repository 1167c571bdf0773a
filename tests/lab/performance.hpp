// Which filter costs least, by the number of keys and by what a false positive costs: the maps of Lang, Neumann,
// Kemper, Boncz (VLDB 2019) with stacked filters beside the plain ones [Stacked-early §6.1.1, experiment 2].
//
//   rho = t + f w     t: ns of a negative question to the filter, f: EFPR, w: ns of the work that a false positive
//                     causes
//
// psi is the share of the negative questions that ask for known negatives, all alike, and beta = |P| / (|P| + |N_k|).
// Each kind of filter is built with 4, 6 ... 20 bits a key, and for each w the size that makes its rho least counts.
// Stacks have three layers, of the rates that give the least EFPR in as many bits; sizes at which that is not below
// the plain filter's are left out.
#pragma once

#include "weir/base/result.hpp"

#include <cstdint>
#include <string>
#include <vector>

namespace weir::lab {

inline constexpr std::uint64_t performance_keys_least = std::uint64_t{1} << 12;

struct PerformanceTask {
  double psi = 0.9, beta = 0.1;
  std::uint64_t keys_max = std::uint64_t{1} << 22; // numbers of keys are 2^12, 2^14 ... up to this one
  unsigned rounds = 25;
  std::uint64_t seed = 1; // of keys, questions and filters
};

struct PerformanceCandidate {
  std::string base;
  bool stacked = false;
  double bits_per_key = 0;        // of the cells of all layers, real ones
  std::vector<double> layer_bits; // as planned, for each key of the layer
  double efpr_predicted = 0, efpr_measured = 0;
  // ns for one key in batches of 64, medians of one thread's processor time over interleaved rounds.
  double ns_negative = 0, ns_present = 0;

  // With the predicted rate: the measured one of a few false positives is a matter of chance.
  [[nodiscard]] double rho(double work_ns) const noexcept { return ns_negative + efpr_predicted * work_ns; }
};

struct PerformanceReport {
  PerformanceTask task;
  struct Best { // indices of candidates
    double work_ns = 0;
    std::size_t any = 0, plain = 0;
  };
  struct Size {
    std::uint64_t keys = 0, known = 0;
    std::vector<PerformanceCandidate> candidates;
    std::vector<Best> best;
  };
  std::vector<Size> sizes;
};

// Errors: those of building; io when a present key is missed, which must not be.
[[nodiscard]] Result<PerformanceReport> run_performance(const PerformanceTask &task);

// performance_report.cpp
[[nodiscard]] std::string json_of(const PerformanceReport &report);

} // namespace weir::lab
