// Free memory as the kernel tells it: MemAvailable, the limits of the control groups, hugepages.
#pragma once

#include "weir/base/bits.hpp"
#include "weir/base/result.hpp"

#include <cstdint>
#include <filesystem>
#include <optional>

namespace weir {

struct MemoryFree {
  std::uint64_t available_bytes = 0;                // MemAvailable
  std::optional<std::uint64_t> cgroup_free_bytes{}; // limit minus use of the tightest group; none: no limit
  std::uint64_t hugepage_bytes = 2u << 20;
  std::uint64_t hugepages_free_bytes = 0;

  // Ordinary pages that may be used before the kernel would have to kill something.
  [[nodiscard]] std::uint64_t ordinary_bytes() const noexcept {
    return cgroup_free_bytes && *cgroup_free_bytes < available_bytes ? *cgroup_free_bytes : available_bytes;
  }
  [[nodiscard]] bool fits_hugepages(std::uint64_t bytes) const noexcept {
    return round_up(bytes, hugepage_bytes) <= hugepages_free_bytes;
  }
};

// Reads /proc/meminfo, cgroup v1 and v2, /sys/kernel/mm/hugepages. `root` is "/" but in tests.
[[nodiscard]] Result<MemoryFree> memory_free(const std::filesystem::path &root = "/");

} // namespace weir
