// How large a classifier of packet rules may become.
#pragma once

#include <atomic>
#include <cstddef>

namespace weir::dataplane {

// In bytes; of each family. A test lowers it.
inline std::atomic<std::size_t> classifier_bytes_max{std::size_t{256} << 20};
// Of patterns that cross so much that no quick classifier of them can be made: each takes some 10 ms.
inline constexpr std::size_t crossing_patterns_max = 4096;

} // namespace weir::dataplane
