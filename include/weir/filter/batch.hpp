// A batch of queries answers in one word, so that filters combine as `a & b` and `a & ~b`.
#pragma once

#include <cstddef>
#include <cstdint>

namespace weir::filter {

using HitMask = std::uint64_t; // bit i answers key i; a batch holds at most 64
inline constexpr std::size_t batch_max = 64;

// For __builtin_prefetch, where many lines are prefetched at once: L2 takes more misses at a time than L1.
inline constexpr int into_l2 = 2;

// A filter of so many bits stays in the L2 of a core: batches prefetch nothing there.
inline constexpr std::uint64_t near_bits = 8 * 512 * 1024;
// In a batch of so few keys no question waits long enough for it to be worth skipping.
inline constexpr std::size_t few_keys = 8;

} // namespace weir::filter
