// A learned Bloom filter beside the stacked and the plain one [Stacked §5, figures 4, 6d and 7; Stacked-early §6.1.2]: boosted
// trees in front of a Bloom filter, trained with the members and with those others that are asked for most, as the stack is
// told of them.
//
// How many trees and which threshold is chosen by the workload as it is, which favours the learned filter: it knows what
// it would otherwise have to estimate. All bits count, the model's too. Rates are put together from the rates of known and
// unknown others, as efpr_by_class of `stacked` is: which of them is asked for how often has nothing to do with what it
// looks like.
#pragma once

#include "tests/lab/learnable.hpp"
#include "weir/base/result.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace weir::lab {

struct RivalTask {
  LearnableTask keys{.auc = 0.99, .members = 140'000, .others = 1'400'000, .unseen = 20'000};
  std::uint64_t known = 280'000; // of the others, the most frequent
  learn::TreesTask trees{.trees = 256, .depth = 4};
  std::vector<double> zipf{0.75}; // exponents of how often others are asked for
  std::vector<double> bits{8};    // a member
  std::vector<double> efpr;       // rates to find the least bits for
  std::vector<double> iops;       // of simulated stores behind the filter
  std::vector<double> positive_shares{0.0};
  bool timing = true;
};

// One filter at one point.
struct RivalPoint {
  double bits_per_key = 0, efpr = 0;
  double ns_present = 0,
         ns_absent = 0; // a question in batches of 64; of the learned one without taking its features
};
struct RivalRow {
  double zipf = 0;
  std::optional<double> wanted_bits, wanted_efpr; // one of them
  unsigned trees = 0;                             // of the learned filter; 0: it is a plain Bloom filter
  std::uint64_t model_bits = 0, backup_members = 0;
  std::optional<RivalPoint> learned, stacked, plain; // nothing: none keeps to what is wanted
};

struct RivalReport {
  RivalTask task;
  double auc_possible = 0, auc_known = 0, auc_unknown = 0; // of all trees, members against these others
  double training_seconds = 0;
  double features_ns = 0, hash_ns = 0; // of a key's text
  std::vector<RivalRow> rows;
};

// Errors: those of training, sizing and building.
[[nodiscard]] Result<RivalReport> run_rival(const RivalTask &task);
[[nodiscard]] std::string json_of(const RivalReport &report);

} // namespace weir::lab
