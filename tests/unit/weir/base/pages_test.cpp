// Which pages an image gets, and from which node, by what the machine says it has.
#include "tests/support/process.hpp"
#include "weir/base/numa.hpp"
#include "weir/image/memory_file.hpp"
#include "weir/image/pages.hpp"

#include <gtest/gtest.h>

#include <cstring>

namespace weir::pages_test {
namespace {

namespace fs = std::filesystem;
using image::Pages;
constexpr std::uint64_t mib = 1u << 20;

TEST(Pages, of_one_gibibyte_are_chosen_when_the_image_fills_most_of_them) {
  EXPECT_EQ(image::choose_pages(700 * mib, {512, 1}), Pages::gigantic);
  EXPECT_EQ(image::choose_pages(100 * mib, {512, 1}), Pages::huge) << "most of the page would be wasted";
  EXPECT_EQ(image::choose_pages(1100 * mib, {1024, 2}), Pages::gigantic);
  EXPECT_EQ(image::choose_pages(1100 * mib, {1024, 1}), Pages::huge) << "one is not enough";
}

TEST(Pages, of_two_mebibytes_are_chosen_when_they_suffice_and_ordinary_ones_else) {
  EXPECT_EQ(image::choose_pages(100 * mib, {50, 0}), Pages::huge);
  EXPECT_EQ(image::choose_pages(100 * mib + 1, {50, 0}), Pages::ordinary);
  EXPECT_EQ(image::choose_pages(700 * mib, {0, 1}), Pages::gigantic);
  EXPECT_EQ(image::choose_pages(1, {0, 0}), Pages::ordinary);
}

TEST(Pages, that_others_have_reserved_are_not_free) {
  const test::TempDir sys;
  const fs::path folder = sys / "kernel/mm/hugepages";
  fs::create_directories(folder / "hugepages-2048kB");
  test::write_text(folder / "hugepages-2048kB/free_hugepages", "10\n");
  test::write_text(folder / "hugepages-2048kB/resv_hugepages", "4\n");
  EXPECT_EQ(image::free_pages(sys.path()).huge, 6u);
  EXPECT_EQ(image::free_pages(sys.path()).gigantic, 0u) << "a size that the machine does not have";
}

TEST(MemoryFile, falls_back_to_smaller_pages_when_those_asked_for_are_refused) {
  auto file = image::MemoryFile::make(3 * mib, Pages::gigantic, 0);
  ASSERT_TRUE(file.has_value()) << file.error().message;
  std::memset(file->bytes().data(), 1, file->bytes().size());
  EXPECT_EQ(file->bytes().size() % image::page_bytes(file->pages()), 0u);
}

// sysfs of a machine with two nodes: CPUs 0 and 1 on node 0, 2 and 3 on node 1.
struct TwoNodes {
  test::TempDir sys;
  TwoNodes() {
    for (const char *folder :
         {"node/node0", "node/node1", "cpu/cpu0/node0", "cpu/cpu1/node0", "cpu/cpu2/node1", "cpu/cpu3/node1"})
      fs::create_directories(sys / "devices/system" / folder);
  }
};

TEST(Numa, nodes_are_those_of_the_workers_and_the_first_one_comes_first) {
  const TwoNodes machine;
  const auto nodes = [&](const char *cores) { return nodes_of_cores(cores, machine.sys.path()); };
  EXPECT_EQ(nodes("2-3"), std::vector<int>{1});
  EXPECT_EQ(nodes("1,2"), (std::vector<int>{0, 1}));
  EXPECT_EQ(nodes("2,0-3"), (std::vector<int>{1, 0}));
  EXPECT_EQ(nodes("9"), std::vector<int>{any_node}) << "a CPU that is not there";
  EXPECT_EQ(nodes("9,2"), std::vector<int>{1});
  EXPECT_EQ(nodes(""), std::vector<int>{any_node});
}

TEST(Numa, node_is_any_on_a_machine_with_one) {
  const test::TempDir sys;
  fs::create_directories(sys / "devices/system/node/node0");
  fs::create_directories(sys / "devices/system/cpu/cpu0/node0");
  EXPECT_EQ(node_of_cpu(0, sys.path()), any_node);
}

TEST(Numa, a_preferred_node_is_let_go_of_again) {
  const auto policy = [] {
    int mode = -1;
    syscall(SYS_get_mempolicy, &mode, nullptr, 0, nullptr, 0);
    return mode;
  };
  const int before = policy();
  {
    const PreferNode near(0);
    if (!near.in_force()) GTEST_SKIP() << "this kernel has no memory policies";
    EXPECT_EQ(policy(), MPOL_PREFERRED);
  }
  EXPECT_EQ(policy(), before);
}

} // namespace
} // namespace weir::pages_test
