// Keys of an endless stream with a classifier's score each.
#pragma once

#include "weir/base/hash.hpp"
#include "weir/base/result.hpp"

#include <cstdint>
#include <string>
#include <vector>

namespace weir::lab {

struct StreamTask {
  std::string data = "synthetic"; // or a file with a label (1: told) and a score a line
  double auc = 0.91;              // of synthetic scores
  std::uint64_t insertions = 600'000, others = 400'000,
                samples = 200'000; // samples: of either side, to estimate p and q from
  std::uint64_t seed = 1;
};

struct ScoredKeysOf {
  std::vector<KeyHash> keys;
  std::vector<float> scores;
};

struct ScoredStream {
  ScoredKeysOf told, others;
  std::vector<float> sample_told, sample_others;
  double auc = 0; // of the samples
};

// Synthetic scores are what a calibrated classifier says of a binormal feature: its log odds are normal with variance d^2, around
// d^2/2 for keys told and -d^2/2 for others, which has an AUC of Phi(d / sqrt 2). Nothing that sees the feature can do better.
// Of a file every fifth line is a sample, as in [SLBF §5.2]. Errors: io, parse.
[[nodiscard]] Result<ScoredStream> make_stream(const StreamTask &task);

} // namespace weir::lab
