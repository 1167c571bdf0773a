// Learned filters [Chained §5.5]: boosted trees in front of a Bloom filter, an exact Bloomier filter or ChainedFilter with `&`,
// at equal errors, against the share of the keys that the trees were trained with.
//
//   who asks      a key whose margin reaches the threshold is accepted; the backup filter answers for all others
//   Bloom         trees and backup each have half of the error: 0.005 + 0.005 of 0.01
//   exact ones    trees have all of it, and the backup answers right for every declared key that reaches it
//
// Thresholds are set by the declared others, all of them known to the builder, so that errors hold over the universe whatever
// the trees are worth. Trees are taken from the front of one training: a filter that counts the model takes as many as make
// it smallest, none among them; one that does not count it, as the paper's figure reads, takes all.
#pragma once

#include "tests/lab/classifiers.hpp"
#include "tests/lab/learnable.hpp"
#include "weir/base/result.hpp"

#include <cstdint>
#include <string>
#include <vector>

namespace weir::lab {

struct LearnedTask {
  LearnableTask keys;
  std::vector<double> shares{0, 0.1, 0.25, 0.5, 0.75, 1}; // of both sides, to train with
  double error = 0.01;                                    // of the declared others, accepted
  learn::TreesTask trees{.trees = 200, .depth = 4};
  bool classifiers = true; // beside one another, too
  unsigned rounds = 5;     // of timing
};

struct LearnedFilter {
  std::string name;
  unsigned trees = 0;
  std::uint64_t model_bits = 0, backup_bits = 0, backup_members = 0;
  std::uint64_t missed = 0;           // members that are not accepted
  double error = 0, unseen_error = 0; // share accepted of the declared others, of unseen ones
  [[nodiscard]] std::uint64_t bits() const { return model_bits + backup_bits; }
};

struct LearnedRow {
  double share = 0;
  double training_seconds = 0;
  double auc_trained = 0.5, auc_unseen = 0.5;
  std::vector<LearnedFilter> uncounted, counted; // Bloom, Bloomier, chained
};

struct LearnedReport {
  LearnedTask task;
  double auc_possible = 0;
  double lower_bound_bits = 0; // n f(error, lambda), which knows of no law
  std::uint64_t plain_bloom_bits = 0, plain_chained_bits = 0;
  std::vector<LearnedRow> rows;
  std::vector<Classifier> classifiers; // at half of the keys, asked about unseen ones
};

// Errors: those of training and building.
[[nodiscard]] Result<LearnedReport> run_learned(const LearnedTask &task);

// learned_report.cpp
[[nodiscard]] std::string json_of(const LearnedReport &report);

} // namespace weir::lab
