// Self-adaptive hashing [Chained §5.3]: which of two tables of cuckoo hashing to read, by a chain that is trained by questions,
// by the same chain with an exact last layer, by EMOMA, and by a plain Bloom filter.
#pragma once

#include "weir/base/result.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace weir::lab {

enum class PredictorSize : std::uint8_t { table3, alg2 }; // predictor_bits(), predictor_bits_least()

// Of the plain Bloom filter. It is wrong for some 0.01 % so; more would cost time alone.
inline constexpr unsigned bloom_predictor_hashes = 4;

struct PredictorTask {
  std::uint64_t buckets = 1'000'000; // of both tables, one slot each: the paper's 2M
  double load = 0.4;                 // keys a bucket, below 0.5
  PredictorSize size = PredictorSize::table3;
  double room = 1;               // times that size
  unsigned training_rounds = 14; // at most: all keys are asked for in each
  unsigned seeds = 1;            // runs of training, each with keys of its own
  std::uint64_t seed = 1;        // the first
  double churn = 0;              // share of the keys that a step replaces
  unsigned steps = 20;           // of churn, with a question for each key behind each
  unsigned rounds = 5;           // of timing; 0: none
};

// A chain, trained. Errors are shares of the stored keys that are predicted wrongly.
struct TrainedFigures {
  double bits = 0;
  std::vector<double> errors_per_round; // before the first round, after it, after the second ...
  std::vector<unsigned> rounds_to_zero; // of the seeds that end there
  double share_at_zero = 0;             // of the seeds
  double worst_left = 0;                // error of the worst seed at its end
  std::vector<double> errors_per_step;  // of churn
};

// Shares of the keys: predicted wrongly, and without a place, which EMOMA alone has.
struct RivalFigures {
  double bits = 0, errors = 0, unplaced = 0;
  double accesses = 0, accesses_absent = 0; // buckets read for a stored key, for another one
  std::vector<double> errors_per_step;      // of churn
};

// Nanoseconds a key, medians over interleaved rounds of one thread's processor time.
struct PredictorTimes {
  double build = 0, query = 0, waiting = 0, batch = 0; // waiting: each question over before the next begins
  // Throughput over EMOMA's, and over that without a predictor: medians of the rounds' ratios.
  double build_ratio = 0, query_ratio = 0, waiting_ratio = 0, batch_ratio = 0;
  double query_over_raw = 0, waiting_over_raw = 0, batch_over_raw = 0;
};
struct PredictorTiming {
  PredictorTimes raw, chain, exact_last, emoma, bloom;
  double chain_train_ns = 0; // a key, from the end of building to no error
};

struct PredictorReport {
  PredictorTask task;
  std::uint64_t keys = 0;
  double lambda = 0, lambda_expected = 0; // keys in table 1 a key in table 2
  double accesses_raw = 0;                // buckets read for a stored key without a predictor
  TrainedFigures chain, exact_last;
  RivalFigures emoma, bloom;
  std::optional<PredictorTiming> ns;
};

// Errors: usage, for a size that no layers fit in.
[[nodiscard]] Result<PredictorReport> run_predictor(const PredictorTask &task);
[[nodiscard]] std::string json_of(const PredictorReport &report);

// predictor_timing.cpp: with keys of 36 and values of 64 bytes.
[[nodiscard]] Result<PredictorTiming> time_predictors(const PredictorTask &task);

} // namespace weir::lab
