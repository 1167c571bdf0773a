// Keys of an endless stream with a classifier's score each.
#pragma once

#include "tests/lab/captured.hpp"
#include "weir/base/hash.hpp"
#include "weir/base/result.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace weir::lab {

struct StreamTask {
  std::string data =
      "synthetic";    // urls, addresses, traffic: trees; or a file with a label (1: told) and a score a line
  std::string labels; // of the sources of the capture that `data` then names
  double auc = 0.91;  // of synthetic scores; that the best of all classifiers has, in front of trees
  unsigned trees = 128;
  double flipped = 0; // share of the stream that changes sides, but not of the samples [SLBF appendix E]
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
  double auc = 0;               // of the samples
  std::uint64_t model_bits = 0; // of the trees
  double model_mops = 0;        // million predictions a second, features at hand; 0: no trees
  std::optional<CaptureCounts> capture;
};

// Synthetic scores are what a calibrated classifier says of a binormal feature: its log odds are normal with variance d^2, around
// d^2/2 for keys told and -d^2/2 for others, which has an AUC of Phi(d / sqrt 2). Nothing that sees the feature can do better.
// Trees are trained with 50,000 keys of either side that the stream does not have (tests/lab/learnable.hpp); their scores are the
// probabilities that they were trained for. Of a file every fifth line is a sample, as in [SLBF §5.2]. Errors: io, parse; those of training.
[[nodiscard]] Result<ScoredStream> make_stream(const StreamTask &task);

} // namespace weir::lab
