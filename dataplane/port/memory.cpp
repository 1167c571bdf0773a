#include "dataplane/port/memory.hpp"

#include "weir/base/memory_free.hpp"

#include <linux/magic.h>
#include <rte_lcore.h>
#include <rte_memory.h>
#include <sys/resource.h>
#include <sys/vfs.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <limits>
#include <string>

namespace weir::dataplane {
std::uint64_t memory_available_bytes() {
  const auto memory = memory_free();
  return memory ? memory->ordinary_bytes() : std::numeric_limits<std::uint64_t>::max();
}

std::uint64_t hugepages_free_bytes() {
  const auto memory = memory_free();
  return memory ? memory->hugepages_free_bytes : 0;
}

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

bool on_hugepages(int fd) {
  struct statfs about{};
  return fstatfs(fd, &about) == 0 && about.f_type == HUGETLBFS_MAGIC;
}

std::vector<int> nodes_of_workers(unsigned workers) {
  std::vector<int> nodes(workers, SOCKET_ID_ANY);
  if (rte_socket_count() < 2) return nodes;
  unsigned lcore = RTE_MAX_LCORE;
  for (int &node : nodes)
    if (lcore = rte_get_next_lcore(lcore, 1, 0); lcore < RTE_MAX_LCORE)
      node = static_cast<int>(rte_lcore_to_socket_id(lcore));
    else
      break;
  return nodes;
}

int node_of_workers() { return nodes_of_workers(1).front(); }

} // namespace weir::dataplane
