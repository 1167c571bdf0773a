// The measurement behind a Calibration: two to three seconds of lookups on one core, through the
// pipeline that the dataplane runs.
//
//   work    small real images, in cache, one for each candidate, one of hosts in words and two of hosts in range maps
//   touch   the same pipeline over ever larger tables of empty lines, plain and behind a chained
//           predictor, and over ever larger empty front filters: each question touches one line or
//           block, and what it takes beyond the smallest is its price; and over tables behind front filters of a
//           sixth of their bytes that let one question of a burst through, or nine
//
// Contenders take turns, in CPU time of the thread, each beside a unit: the same questions through the
// plainest of the small images. The median of the steadier half of the samples counts, in units; the fastest unit
// says how many nanoseconds that is.
#pragma once

#include "control/plan/calibration.hpp"
#include "weir/base/bits.hpp"

#include <random>

namespace weir::plan {

struct MeasureOptions {
  Pages pages = Pages::ordinary;
  // For the largest table that is tried, 256 MiB, two filters of a sixth of it and bits of a 128th.
  std::uint64_t memory_bytes_max = std::uint64_t{344} << 20;
  std::uint64_t seed = 0x5EED;
  unsigned rounds = 9; // of touch; work has three times as many
};

// Blocks of a filter of which so many of 32 bits are set, at random: a question finds its eight bits by sieve_share().
void make_sieve(MutableBytes blocks, unsigned set_of_32, std::mt19937_64 &random);

// Fails when there is no memory for even a small table, or the images do not come out.
[[nodiscard]] Result<Calibration> measure(const MeasureOptions &options);

} // namespace weir::plan
