// A batch of queries answers in one word, so that filters combine as `a & b` and `a & ~b`.
#pragma once

#include <cstddef>
#include <cstdint>

namespace weir::filter {

using HitMask = std::uint64_t; // bit i answers key i; a batch holds at most 64
inline constexpr std::size_t batch_max = 64;

// For __builtin_prefetch, where many lines are sent for at once: the second cache takes more orders at a
// time than the first.
inline constexpr int into_second_cache = 2;

} // namespace weir::filter
