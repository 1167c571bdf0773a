// What EAL is told: lcores, and memory by what the machine has.
#include "dataplane/eal.hpp"
#include "weir/base/cpus.hpp"

#include <gtest/gtest.h>

#include <algorithm>

namespace weir::dataplane {
namespace {

EalPlan plan(const std::string &lcores, const std::vector<unsigned> &cpus) {
  config::Config config;
  config.eal.lcores = lcores;
  return plan_eal(Options{}, config, Machine{true, 0, cpus}).value();
}

std::string after(const EalPlan &plan, const std::string &argument) {
  const auto at = std::ranges::find(plan.arguments, argument);
  return at == plan.arguments.end() || at + 1 == plan.arguments.end() ? "" : *(at + 1);
}

TEST(EalPlan, keeps_the_service_thread_off_the_processors_that_workers_poll_on) {
  EXPECT_EQ(after(plan("1", {0, 1, 2}), "--lcores"), "127@(0,2),1@1");
  EXPECT_EQ(after(plan("2-3", {0, 1, 2, 3}), "--lcores"), "127@(0,1),2@2,3@3");
}

TEST(EalPlan, lets_the_service_thread_share_when_workers_take_every_processor) {
  EXPECT_EQ(after(plan("0-1", {0, 1}), "--lcores"), "127@(0,1),0@0,1@1");
}

TEST(CpuList, is_ranges_and_numbers_and_refuses_anything_else) {
  EXPECT_EQ(cpu_list("2-4,7").value(), (std::vector<unsigned>{2, 3, 4, 7}));
  EXPECT_EQ(cpu_list("0", 1).value(), std::vector<unsigned>{0});
  for (const char *bad : {"", "a", "1,", ",1", "4-2", "1-", "-1", "1 2", "1;2", "99999999999"})
    EXPECT_FALSE(cpu_list(bad)) << bad;
  EXPECT_FALSE(cpu_list("3", 3));
  EXPECT_FALSE(cpu_list("0-3", 3));
}

} // namespace
} // namespace weir::dataplane
