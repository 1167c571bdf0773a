// The stacked filter beside the plain filter of its base in equal space [Stacked §5].
#pragma once

#include "control/plan/stacked_size.hpp"
#include "tests/lab/keys.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace weir::lab {

struct StackedTask {
  plan::StackBase base = plan::StackBase::bloom;
  bool fuse_below = false;
  std::uint64_t positives = 100'000, negatives = 1'000'000;
  double zipf = 1.0;          // of the questions for negatives
  std::optional<double> psi;  // in place of it: so many of them for the negatives, evenly, the rest elsewhere
  double bits = 8;            // a positive, all of the section
  std::optional<double> efpr; // in place of bits
  double efpb_max = 1, weight = 1;
  unsigned depth_max = plan::stack_depth_max;
  std::optional<std::uint64_t> known_max;
  std::uint64_t seed = 1;
  KeySet keyset = KeySet::addresses;
  bool timing = true;
  // Of the store that confirms what a filter accepts, and of questions that ask for present keys.
  std::vector<double> iops, positive_shares{0.0};
};

// ns for one key, medians over interleaved rounds.
struct QueryTimes {
  double positive = 0, known_negative = 0, unknown_negative = 0; // 0: no such key
};

// Of a question of the workload: the filter's time, a median over interleaved rounds, and how often the store
// is read.
struct WorkloadCost {
  double filter_ns = 0, accesses = 0;

  // The store is simulated: it reads one after another, as many a second as it can, and caches nothing.
  [[nodiscard]] double total_ns(double iops) const { return filter_ns + accesses * 1e9 / iops; }
};
struct MixedCost {
  double positive_share = 0;
  WorkloadCost stack, plain;
};

struct StackedReport {
  StackedTask task;
  plan::StackPlan plan;
  struct Layer {
    double rate = 0;
    std::uint64_t keys = 0, bits = 0;
  };
  std::vector<Layer> layers; // as built; rates are the predicted ones
  double efpr = 0, efpb = 0; // measured
  double bits_per_key = 0;   // of the section
  double optimiser_seconds = 0, build_seconds = 0;
  QueryTimes ns, plain_ns;
  double plain_fpr = 0, plain_bits_per_key = 0; // share of negative questions, as EFPR
  // The same from the rates of classes: the hottest few negatives of one seed do not decide it.
  double efpr_by_class = 0, plain_by_class = 0;
  std::vector<MixedCost> costs; // one for each share of positive questions
};

// Errors: those of sizing and building; io when a present key is missed, which must not be.
[[nodiscard]] Result<StackedReport> run_stacked(const StackedTask &task);

// stacked_report.cpp
[[nodiscard]] std::string json_of(const StackedReport &report);

} // namespace weir::lab
