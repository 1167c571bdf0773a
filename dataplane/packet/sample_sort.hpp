// Which kinds of samples there are (samples.hpp), in the order in which control is told.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

struct rte_ring;

namespace weir::dataplane {

enum class SampleSort : std::uint8_t { again, traffic, denials, offenders };
inline constexpr std::size_t sample_sorts = 4;
using WorkerRings = std::array<rte_ring *, sample_sorts>; // by SampleSort

} // namespace weir::dataplane
