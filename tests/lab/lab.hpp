// weir-lab: filters side by side in equal space, by the rules of the papers that they come from.
#pragma once

#include "tests/lab/building.hpp"
#include "tests/lab/classifiers.hpp"
#include "tests/lab/dictionary.hpp"
#include "tests/lab/huffman.hpp"
#include "tests/lab/keys.hpp"
#include "tests/lab/learned.hpp"
#include "tests/lab/learned_rival.hpp"
#include "tests/lab/lsm.hpp"
#include "tests/lab/membership.hpp"
#include "tests/lab/performance.hpp"
#include "tests/lab/predictor.hpp"
#include "tests/lab/slbf.hpp"
#include "tests/lab/slbf_model.hpp"
#include "tests/lab/stacked.hpp"
#include "weir/base/result.hpp"

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace weir::lab {

// What replaces a choice of the sizing function [SSCF Table 2].
struct ForcedShape {
  std::optional<unsigned> hashes, backups, positive_bits, count_bits, index_bits;
  std::optional<double> cells_per_key, modulator_share, guarded;
  [[nodiscard]] bool any() const {
    return hashes || backups || positive_bits || count_bits || index_bits || cells_per_key ||
           modulator_share || guarded;
  }
};

struct SeesawTask {
  std::uint64_t keys = 100'000, negatives = 100'000;
  double skew = 1.0;       // of the Zipf costs of the negatives
  double bits = 20;        // a key, for each filter
  double vulnerable = 0.2; // share of the negatives, the dearest, that are known beforehand
  bool ada = false;        // they become known only when the keys are in
  unsigned rounds = 40;    // of churn
  double churn = 0.02;     // share of the keys that a round replaces
  unsigned seeds = 3;
  std::uint64_t seed = 1; // the first
  KeySet keyset = KeySet::addresses;
  bool timing = true;
  std::vector<std::string> only; // contenders; empty: all
  ForcedShape forced;
};

// Mean over seeds.
struct Rates {
  double weighted = 0; // share of all cost that is accepted
  double by_class = 0; // the same as sum of cost times rate of the class: hardly depends on the seed
  double plain = 0;    // share of negatives accepted
  double guarded = 0;  // share of the guarded ones
};

struct Predicted { // nothing: there is no model
  std::optional<double> weighted, plain, weighted_churned, plain_churned;
};

struct Latency { // ns for one key, medians
  double insert = 0, query = 0, query_present = 0, query_absent = 0, query_batch = 0, erase = 0;
  double insert_waiting = 0, query_waiting = 0; // each one over before the next begins
};

// As multiples of the counting Bloom filter's: medians of the rounds' ratios.
struct Ratios {
  double insert = 0, query = 0, erase = 0, insert_waiting = 0, query_waiting = 0;
  // Of a batch over single questions in a loop, which overlap, and over questions one at a time.
  double batch_speedup = 0, batch_speedup_waiting = 0;
};

struct Outcome {
  Rates fresh, churned;
  Predicted predicted;
  double bits_per_key = 0;
  std::uint64_t guarded = 0; // negatives that the filter was told of
  std::uint64_t false_negatives = 0, overflows = 0, refused = 0;
  std::string shape; // for people
  Latency ns;
  std::optional<Ratios> ratios;
  std::vector<double> weighted_by_round; // --ada: before round 1, after it, ...
};

struct SeesawReport {
  SeesawTask task;
  std::map<std::string, std::optional<Outcome>> contenders; // nothing: no shape fits the budget
};

// Errors: usage, for shapes that cannot be.
[[nodiscard]] Result<SeesawReport> run_seesaw(const SeesawTask &task);

// report.cpp
[[nodiscard]] std::string json_of(const SeesawReport &report);

// options.cpp: the command line, or the code to end with after help or a complaint was printed.
struct CommandLine {
  std::optional<int> exit_code;
  enum class Experiment : std::uint8_t {
    seesaw,
    stacked,
    building,
    stacking,
    dictionary,
    membership,
    lsm,
    performance,
    predictor,
    learned,
    learned_rival,
    huffman,
    slbf,
    slbf_model,
    classifiers
  } experiment{};
  SeesawTask task; // of the experiment named, this one or one of those below
  StackedTask stacked;
  BuildingTask building;
  DictionaryTask dictionary;
  MembershipTask membership;
  LsmTask lsm;
  PerformanceTask performance;
  PredictorTask predictor;
  LearnedTask learned;
  RivalTask rival;
  HuffmanTask huffman;
  SlbfTask slbf;
  StableModelTask slbf_model;
  ClassifiersTask classifiers;
  std::vector<std::string> stacking_parts; // empty: all
};
[[nodiscard]] CommandLine read_command_line(int argc, char **argv);

} // namespace weir::lab
