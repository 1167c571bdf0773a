// Filters of an endless stream [SLBF §5]: Bloom, learned Bloom, stable Bloom, s-SLBF, g-SLBF and pairs of Bloom filters that take
// turns, in equal space or for equal errors.
#pragma once

#include "tests/lab/slbf_data.hpp"
#include "weir/base/result.hpp"
#include "weir/build/score_groups_model.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace weir::lab {

struct SlbfTask {
  StreamTask stream;
  unsigned groups = 6; // of equal width; 0: as many as keep p falling and q rising
  double rate = 0.05;  // epsilon
  double missed = 0.1; // share of keys missed after the gap, where bits are not given
  std::uint64_t bits =
      0; // of each filter, its classifier's included; 0: what each needs for `rate` and `missed`
  std::uint64_t gap = 20'000;
  std::uint64_t planned = 0; // keys that bf and the Bloom filter of lbf are sized for; 0: those of the stream
  std::optional<float> cut;  // lbf accepts scores above it; nothing: the best one for the stream
  std::uint64_t model_bits = 0;                  // the classifier's
  build::Setting setting = build::Setting::best; // of g-SLBF
  bool timing = true;
};

struct Errors {
  double fpr = 0, fnr = 0;
};

struct SlbfFilter {
  std::string name;
  bool learned = false;
  std::uint64_t bits = 0;                 // of cells, and of the classifier where there is one
  Errors measured, predicted;             // bf and lbf: at the end of the stream; others: mean once settled
  double fpr_most = 0;                    // of one look, of some tens
  std::vector<double> fpr_by_look;        // from the start of the stream on
  double insert_mops = 0, query_mops = 0; // in batches of 64, scores at hand; one thread's processor time
};

// What one of the settings comes to in the same bits.
struct SlbfSetting {
  build::Setting setting{};
  std::vector<build::GroupSetting> groups;
  double rate = 0, missed = 0, missed_printed = 0; // by the model; the last: eq. (16) at the whole gap
};

// Bits for each insertion of the gap, at `rate` and `missed`.
struct SlbfLeast {
  double stable = 0, s_slbf = 0, g_slbf = 0, g_slbf_auto = 0, rotating = 0, rotating_learned = 0;
  unsigned auto_groups = 0;
};

struct SlbfReport {
  SlbfTask task;
  double auc = 0; // measured
  std::optional<CaptureCounts> capture;
  double model_mops = 0; // of the trees; 0: there are none
  unsigned groups = 0;
  std::vector<build::ScoreGroup> estimated;
  std::vector<std::uint64_t> looked_after; // insertions before each look
  std::uint64_t asked_a_look = 0;
  std::vector<SlbfFilter> filters;
  std::vector<SlbfSetting> settings;
  SlbfLeast least;
};

// Errors: io and parse, of a file with data; those of training; usage, where bits do not hold the classifier.
[[nodiscard]] Result<SlbfReport> run_slbf(const SlbfTask &task);
[[nodiscard]] std::string json_of(const SlbfReport &report);

} // namespace weir::lab
