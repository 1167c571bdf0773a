// Memory near the processors that use it, on machines with several NUMA nodes; on others nothing here
// does anything. No library: sysfs says which node a CPU belongs to, one system call where new pages go.
#pragma once

#include "weir/base/cpus.hpp"

#include <linux/mempolicy.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace weir {

inline constexpr int any_node = -1;

// The node of a CPU; any_node when the machine has one node only, or does not say.
[[nodiscard]] inline int node_of_cpu(unsigned cpu, const std::filesystem::path &sys = "/sys") {
  namespace fs = std::filesystem;
  const auto number_of = [](const fs::path &path) {
    const std::string name = path.filename().string();
    int number = any_node;
    if (name.starts_with("node")) std::from_chars(name.data() + 4, name.data() + name.size(), number);
    return number;
  };
  std::error_code failed;
  unsigned nodes = 0;
  for (const auto &entry : fs::directory_iterator(sys / "devices/system/node", failed))
    nodes += number_of(entry.path()) >= 0 ? 1 : 0;
  if (nodes < 2) return any_node;
  const fs::path folder = sys / "devices/system/cpu" / ("cpu" + std::to_string(cpu));
  for (const auto &entry : fs::directory_iterator(folder, failed))
    if (const int node = number_of(entry.path()); node >= 0) return node;
  return any_node;
}

// The nodes of a core list such as "2-5" or "2,4", each once, in the order of the list; {any_node} where no node
// is known.
[[nodiscard]] inline std::vector<int> nodes_of_cores(std::string_view cores,
                                                     const std::filesystem::path &sys = "/sys") {
  std::vector<int> nodes;
  for (const unsigned cpu : cpu_list(cores).value_or(std::vector<unsigned>()))
    if (const int node = node_of_cpu(cpu, sys);
        node != any_node && std::ranges::find(nodes, node) == nodes.end())
      nodes.push_back(node);
  if (nodes.empty()) nodes.push_back(any_node);
  return nodes;
}

// While it lives, pages that this thread makes come from `node` as long as that has any.
class PreferNode {
public:
  explicit PreferNode(int node) noexcept {
    if (node < 0 || node >= static_cast<int>(sizeof(unsigned long) * 8)) return;
    const unsigned long mask = 1ul << node;
    set_ = syscall(SYS_set_mempolicy, MPOL_PREFERRED, &mask, sizeof mask * 8 + 1) == 0;
  }
  ~PreferNode() {
    if (set_) syscall(SYS_set_mempolicy, MPOL_DEFAULT, nullptr, 0);
  }
  PreferNode(const PreferNode &) = delete;
  PreferNode &operator=(const PreferNode &) = delete;
  [[nodiscard]] bool in_force() const noexcept { return set_; }

private:
  bool set_ = false;
};

} // namespace weir
