// How large a classifier of packet rules may become.
#pragma once

#include <atomic>
#include <cstddef>

namespace weir::dataplane {

// In bytes; of each family. A test lowers it.
inline std::atomic<std::size_t> classifier_bytes_max{std::size_t{128} << 20};

} // namespace weir::dataplane
