// The implicit static dictionary [Chained §5.1]: exact membership over a declared universe, by ChainedFilter with `&` and with `& ~`,
// by the exact Bloomier filter, and as the bound has it.
#pragma once

#include "weir/base/result.hpp"

#include <cstdint>
#include <string>

namespace weir::lab {

struct DictionaryTask {
  std::uint64_t positives = 1'000'000;
  double lambda = 8;  // negatives a positive
  double delta = 0.5; // of `& ~`
  unsigned ways = 4;  // of the fuse tables, 3 or 4
  unsigned rounds = 5;
  std::uint64_t seed = 1;
};

// Times are of one thread's processor time, for one key of the universe, medians over interleaved rounds.
struct DictionaryFilter {
  double bits_per_positive = 0; // of the cells, real ones
  std::uint64_t errors = 0;     // keys of the universe answered wrongly
  double unseen_rate = 0;       // of other keys, how many are accepted
  double build_ns = 0, query_ns = 0, query_batch_ns = 0;
};

struct DictionaryReport {
  DictionaryTask task;
  DictionaryFilter chained, shared, ribbon, bloomier; // shared: both stages in the same slots
  DictionaryFilter and_not;                           // of fuse layers
  unsigned first_bits = 0;                            // of the first stage
  double second_keys = 0;                             // a positive
  double predicted_bits = 0, shared_predicted_bits = 0, ribbon_predicted_bits = 0, lower_bound = 0;
  // Of `& ~`: by its model, at most with whole bits at delta = 1/2, and the infimum over delta, each with the slots a key of a layer of all
  // positives.
  double and_not_predicted_bits = 0, and_not_bits_max = 0, and_not_infimum = 0;
  std::size_t and_not_layers = 0;
  double build_speedup = 0, query_speedup = 0, query_batch_speedup = 0;
  double shared_build_speedup = 0, shared_query_speedup = 0,
         shared_query_batch_speedup = 0; // medians of the rounds' ratios
  double ribbon_build_speedup = 0, ribbon_query_speedup = 0, ribbon_query_batch_speedup = 0;
  double and_not_build_speedup = 0, and_not_query_speedup = 0, and_not_query_batch_speedup = 0;
};

// Errors: those of building.
[[nodiscard]] Result<DictionaryReport> run_dictionary(const DictionaryTask &task);
[[nodiscard]] std::string json_of(const DictionaryReport &report);

} // namespace weir::lab
