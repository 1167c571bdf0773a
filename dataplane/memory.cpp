#include "dataplane/memory.hpp"

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
namespace {

std::uint64_t number_in(const std::string &file, std::uint64_t otherwise) {
  std::ifstream in(file);
  std::uint64_t value = 0;
  return in >> value ? value : otherwise;
}

std::uint64_t mem_available_bytes() {
  std::ifstream in("/proc/meminfo");
  std::string key, unit;
  std::uint64_t kib = 0;
  while (in >> key >> kib) {
    if (key == "MemAvailable:") return kib * 1024;
    std::getline(in, unit);
  }
  return std::numeric_limits<std::uint64_t>::max();
}

// The limit of our own group only (version 2); "max" does not parse and means no limit.
std::uint64_t cgroup_left_bytes() {
  constexpr std::uint64_t no_limit = std::numeric_limits<std::uint64_t>::max();
  std::ifstream in("/proc/self/cgroup");
  for (std::string line; std::getline(in, line);) {
    if (!line.starts_with("0::")) continue;
    const std::string group = "/sys/fs/cgroup" + line.substr(3);
    const std::uint64_t limit = number_in(group + "/memory.max", no_limit);
    if (limit == no_limit) return no_limit;
    const std::uint64_t used = number_in(group + "/memory.current", 0);
    return limit > used ? limit - used : 0;
  }
  return no_limit;
}

} // namespace

std::uint64_t memory_available_bytes() { return std::min(mem_available_bytes(), cgroup_left_bytes()); }

std::uint64_t hugepages_free_bytes() {
  const std::string folder = "/sys/kernel/mm/hugepages/hugepages-2048kB/";
  const std::uint64_t free_pages = number_in(folder + "free_hugepages", 0);
  const std::uint64_t promised = number_in(folder + "resv_hugepages", 0);
  return free_pages > promised ? (free_pages - promised) << 21 : 0;
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

int node_of_workers() {
  const unsigned first = rte_get_next_lcore(RTE_MAX_LCORE, 1, 0);
  return first < RTE_MAX_LCORE && rte_socket_count() > 1 ? static_cast<int>(rte_lcore_to_socket_id(first))
                                                         : SOCKET_ID_ANY;
}

} // namespace weir::dataplane
