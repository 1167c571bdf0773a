#include "dataplane/port/memory.hpp"

#include "weir/base/memory_free.hpp"

#include <linux/magic.h>
#include <rte_lcore.h>
#include <rte_memory.h>
#include <sys/vfs.h>

#include <algorithm>
#include <limits>

namespace weir::dataplane {
std::uint64_t memory_available_bytes() {
  const auto memory = memory_free();
  return memory ? memory->ordinary_bytes() : std::numeric_limits<std::uint64_t>::max();
}

std::uint64_t hugepages_free_bytes() {
  const auto memory = memory_free();
  return memory ? memory->hugepages_free_bytes : 0;
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
