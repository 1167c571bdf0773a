#include "weir/base/memlock.hpp"

#include <sys/resource.h>

#include <cstdlib>
#include <fstream>
#include <limits>
#include <string>

namespace weir {

std::uint64_t memlock_bytes() {
  constexpr std::uint64_t any = std::numeric_limits<std::uint64_t>::max();
  constexpr unsigned ipc_lock = 14; // CAP_IPC_LOCK
  std::ifstream in("/proc/self/status");
  for (std::string line; std::getline(in, line);)
    if (line.starts_with("CapEff:") && ((std::strtoull(line.c_str() + 7, nullptr, 16) >> ipc_lock) & 1) != 0)
      return any;
  rlimit limit{};
  if (getrlimit(RLIMIT_MEMLOCK, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) return any;
  return limit.rlim_cur;
}

} // namespace weir
