// What the demo of `make run` takes: it has to fit beside other things on a small machine.
#include "tests/support/process.hpp"

#include <gtest/gtest.h>

#include <fstream>
#include <map>
#include <sstream>
#include <thread>

namespace weir::test::demo_memory_test {
namespace {

namespace fs = std::filesystem;
using namespace std::chrono_literals;

struct Taken {
  long resident_kib = 0, hugepages_kib = 0; // at their highest
};

// Every process below `pid`, by name.
void look_at_children(pid_t pid, std::map<std::string, Taken> &seen) {
  std::error_code ignored;
  for (const auto &task : fs::directory_iterator("/proc/" + std::to_string(pid) + "/task", ignored)) {
    std::ifstream children(task.path() / "children");
    for (pid_t child = 0; children >> child;) {
      std::ifstream status("/proc/" + std::to_string(child) + "/status");
      std::string name;
      Taken now;
      for (std::string line; std::getline(status, line);) {
        std::istringstream words(line);
        std::string key;
        words >> key;
        if (key == "Name:") words >> name;
        if (key == "VmHWM:") words >> now.resident_kib;
        if (key == "HugetlbPages:") words >> now.hugepages_kib;
      }
      Taken &most = seen[name];
      most.resident_kib = std::max(most.resident_kib, now.resident_kib);
      most.hugepages_kib = std::max(most.hugepages_kib, now.hugepages_kib);
      look_at_children(child, seen);
    }
  }
}

TEST(Demo, keeps_both_processes_together_below_a_hundred_megabytes_resident) {
  const fs::path pcaps = source_tree() / "pcaps";
  const TempDir folder;
  Child demo({.arguments = {program("weirctl"), "replay", pcaps / "recorded/office.pcap", "--config",
                            pcaps / "demo/today.yaml", "--apply", pcaps / "demo/tomorrow.yaml", "--loop",
                            "200", "--rate", "200000"},
              .output = folder / "out",
              .errors = folder / "err"});
  std::map<std::string, Taken> seen;
  while (demo.running()) {
    look_at_children(demo.pid(), seen);
    std::this_thread::sleep_for(20ms);
  }
  ASSERT_EQ(demo.wait(10s), 0) << read_text(folder / "err");
  ASSERT_TRUE(seen.contains("weir-dataplane") && seen.contains("weir-control"));
  long total_kib = 0;
  for (const auto &[name, taken] : seen) total_kib += taken.resident_kib + taken.hugepages_kib;
  EXPECT_GT(total_kib, 10'000) << "this was not measured";
  EXPECT_LT(total_kib, 100'000) << "dataplane " << seen["weir-dataplane"].resident_kib << " KiB and "
                                << seen["weir-dataplane"].hugepages_kib << " KiB of hugepages, control "
                                << seen["weir-control"].resident_kib << " KiB";
}

} // namespace
} // namespace weir::test::demo_memory_test
