// What EAL is told: lcores, and memory by what the machine has.
#include "dataplane/eal.hpp"
#include "weir/base/cpus.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

namespace weir::dataplane::eal_test {
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

TEST(EalPlan, looks_for_the_cards_of_all_ports_and_for_no_others) {
  config::Config config;
  const auto looked_for = [&config] {
    const EalPlan plan = plan_eal(Options{}, config, Machine{true, 0, {0, 1}, ~0ull}).value();
    std::vector<std::string> all;
    for (auto at = plan.arguments.begin(); at != plan.arguments.end(); ++at)
      if (*at == "-a") all.push_back(*++at);
    EXPECT_EQ(all.empty(), std::ranges::find(plan.arguments, "--no-pci") != plan.arguments.end());
    return all;
  };
  config.ports = {{.name = "wan", .device = "net_null0", .peer = {}}};
  EXPECT_TRUE(looked_for().empty());
  config.ports.push_back({.name = "lan", .device = "0000:3b:00.1", .peer = {}});
  EXPECT_EQ(looked_for(), std::vector<std::string>{"0000:3b:00.1"});
  config.eal.allow = {"0000:3b:00.1,mprq_en=1", "0000:3b:00.2"};
  EXPECT_EQ(looked_for(), config.eal.allow) << "each once, with its arguments";
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
} // namespace weir::dataplane::eal_test
