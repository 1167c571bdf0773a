// How much memory is free, which kind, and where it should lie.
#pragma once

#include <cstdint>
#include <vector>

namespace weir::dataplane {

// MemAvailable, or what the memory cgroup leaves if that is less.
[[nodiscard]] std::uint64_t memory_available_bytes();

// 2 MiB pages nobody has reserved yet.
[[nodiscard]] std::uint64_t hugepages_free_bytes();

// Whether the file lies on huge pages (a memfd made with MFD_HUGETLB).
[[nodiscard]] bool on_hugepages(int fd);

// The NUMA node of each worker's lcore, in the order of workers; -1 (any) when the machine has one node or fewer
// lcores. EAL must run.
[[nodiscard]] std::vector<int> nodes_of_workers(unsigned workers);

// That of the first, whose memory packets should be.
[[nodiscard]] int node_of_workers();

} // namespace weir::dataplane
