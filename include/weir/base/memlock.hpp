// How much memory this process may lock.
#pragma once

#include <cstdint>

namespace weir {

// RLIMIT_MEMLOCK, or any (the largest number) with CAP_IPC_LOCK.
[[nodiscard]] std::uint64_t memlock_bytes();

} // namespace weir
