#include "weir/base/memory_free.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <fstream>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

namespace weir {
namespace {

namespace fs = std::filesystem;

std::optional<std::uint64_t> read_number(const fs::path &file) {
  std::ifstream in(file);
  std::string word;
  if (!(in >> word)) return std::nullopt;
  std::uint64_t number = 0;
  const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), number);
  if (error != std::errc{} || end != word.data() + word.size()) return std::nullopt; // "max"
  return number;
}

// The number behind `key` in a file of "key number" lines.
std::optional<std::uint64_t> read_field(const fs::path &file, std::string_view wanted) {
  std::ifstream in(file);
  std::string line;
  while (std::getline(in, line)) {
    std::istringstream words(line);
    std::string key;
    std::uint64_t value = 0;
    if (words >> key >> value && key == wanted) return value;
  }
  return std::nullopt;
}

fs::path below(const fs::path &root, const std::string &absolute) {
  return root / fs::path(absolute).relative_path();
}

struct Hierarchy {
  bool v2 = false;
  std::string mount_point, mount_root; // the group that the mount shows as its top
};

struct Names { // of a hierarchy's files
  const char *limit, *use, *inactive, *active;
};
constexpr Names names_v1{"memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file",
                         "total_active_file"};
constexpr Names names_v2{"memory.max", "memory.current", "inactive_file", "active_file"};

std::vector<Hierarchy> memory_hierarchies(const fs::path &root) {
  std::vector<Hierarchy> found;
  std::ifstream in(root / "proc/self/mountinfo");
  std::string line;
  while (std::getline(in, line)) {
    const std::size_t dash = line.find(" - ");
    if (dash == std::string::npos) continue;
    std::istringstream front(line.substr(0, dash)), back(line.substr(dash + 3));
    std::string skipped, type, source, options;
    Hierarchy h;
    front >> skipped >> skipped >> skipped >> h.mount_root >> h.mount_point;
    back >> type >> source >> options;
    h.v2 = type == "cgroup2";
    const bool v1 = type == "cgroup" && ("," + options + ",").find(",memory,") != std::string::npos;
    if (h.v2 || v1) found.push_back(std::move(h));
  }
  return found;
}

// The path of this process's group in a hierarchy, as /proc/self/cgroup writes it.
std::optional<std::string> own_group(const fs::path &root, bool v2) {
  std::ifstream in(root / "proc/self/cgroup");
  std::string line;
  while (std::getline(in, line)) {
    const std::size_t first = line.find(':'), second = line.find(':', first + 1);
    if (first == std::string::npos || second == std::string::npos) continue;
    const std::string controllers = "," + line.substr(first + 1, second - first - 1) + ",";
    const bool matches = v2 ? line.starts_with("0::") : controllers.find(",memory,") != std::string::npos;
    if (matches) return line.substr(second + 1);
  }
  return std::nullopt;
}

// What is left below one group's limit; pages of files count as free, since they can be dropped.
std::optional<std::uint64_t> left_in(const fs::path &group, const Names &names) {
  constexpr std::uint64_t unlimited = std::uint64_t{1} << 60;
  const auto limit = read_number(group / names.limit), use = read_number(group / names.use);
  if (!limit || !use || *limit >= unlimited) return std::nullopt;
  const std::uint64_t files = read_field(group / "memory.stat", names.inactive).value_or(0) +
                              read_field(group / "memory.stat", names.active).value_or(0);
  const std::uint64_t held = *use - std::min(*use, files);
  return *limit - std::min(*limit, held);
}

// The tightest of the group and all groups around it.
std::optional<std::uint64_t> left_in_hierarchy(const fs::path &root, const Hierarchy &h) {
  auto group = own_group(root, h.v2);
  if (!group) return std::nullopt;
  if (h.mount_root != "/" && group->starts_with(h.mount_root)) group = group->substr(h.mount_root.size());
  const fs::path top = below(root, h.mount_point);
  fs::path at = below(top, *group);
  if (std::error_code ignored; !fs::exists(at, ignored)) at = top; // a group outside of what is mounted here
  std::optional<std::uint64_t> least;
  for (;;) {
    const auto left = left_in(at, h.v2 ? names_v2 : names_v1);
    if (left && (!least || *left < *least)) least = left;
    if (at == top || at.relative_path().empty() || at == at.parent_path()) return least;
    at = at.parent_path();
  }
}

} // namespace

Result<MemoryFree> memory_free(const fs::path &root) {
  MemoryFree memory;
  const auto available = read_field(root / "proc/meminfo", "MemAvailable:");
  if (!available)
    return fail(Errc::io, fmt::format("{}: cannot read MemAvailable", (root / "proc/meminfo").string()));
  memory.available_bytes = *available * 1024;
  for (const Hierarchy &h : memory_hierarchies(root)) {
    const auto left = left_in_hierarchy(root, h);
    if (left) memory.cgroup_free_bytes = std::min(*left, memory.cgroup_free_bytes.value_or(*left));
  }
  const fs::path pages = root / "sys/kernel/mm/hugepages/hugepages-2048kB";
  const std::uint64_t free = read_number(pages / "free_hugepages").value_or(0);
  const std::uint64_t promised = read_number(pages / "resv_hugepages").value_or(0);
  memory.hugepages_free_bytes = (free - std::min(free, promised)) * memory.hugepage_bytes;
  return memory;
}

} // namespace weir
