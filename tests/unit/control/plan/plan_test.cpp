#include "control/plan/plan.hpp"

#include "control/plan/model.hpp"
#include "control/rules/entry.hpp"
#include "weir/build/image_builder.hpp"
#include "weir/build/prefix_ranges.hpp"
#include "weir/build/word_size.hpp"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <memory>
#include <random>
#include <string>
#include <vector>

namespace weir::plan::plan_test {
namespace {

namespace fs = std::filesystem;
using build::EntryV4;

constexpr std::uint64_t mib = 1u << 20;

std::vector<EntryV4> spread_hosts(std::uint32_t count) {
  std::vector<EntryV4> entries;
  for (std::uint32_t i = 0; i < count; ++i) entries.push_back({.host = i * 2654435761u});
  std::ranges::sort(entries);
  return entries;
}

MemoryFree plenty() {
  MemoryFree memory;
  memory.available_bytes = 64ull << 30;
  return memory;
}

Plan plan_of(const build::BuildInput &input, const config::Config &config = {},
             const MemoryFree &memory = plenty()) {
  return make_plan(input, config, {.memory = memory}).value();
}

// Whatever home would be faster.
Plan plan_of_tables(const build::BuildInput &input, const config::Config &config = {}) {
  return make_plan(input, config, {.memory = plenty(), .home = HomeChoice{}}).value();
}

TEST(PlanModel, predicts_the_lines_of_a_real_table) {
  const auto entries = spread_hosts(150'000);
  build::BuildInput input;
  input.deny.v4 = entries;
  input.lists = {{"a", 0, Side::deny}};
  const Plan plan = plan_of_tables(input);
  const std::unique_ptr<std::byte, decltype(&std::free)> memory(
      static_cast<std::byte *>(std::aligned_alloc(64, plan.image_bytes)), &std::free);
  std::fill_n(memory.get(), plan.image_bytes, std::byte{0});
  const auto report = build::build_image(input, {memory.get(), plan.image_bytes});
  ASSERT_TRUE(report) << report.error().message;
  EXPECT_EQ(report->image_bytes, plan.image_bytes);
  EXPECT_NEAR(plan.tables[0].lines_hit, report->deny_v4.lines_hit, 0.01);
  EXPECT_NEAR(plan.tables[0].lines_absent, report->deny_v4.lines_absent, 0.01);
}

TEST(PlanModel, an_empty_table_costs_nothing_and_a_loose_one_a_single_line) {
  EXPECT_EQ(expected_lines({.keys = 0, .lines1 = 16}).hit, 0);
  EXPECT_NEAR(expected_lines({.keys = 10, .lines1 = 16}).absent, 1.0, 1e-4);
  EXPECT_GT(expected_lines({.keys = 7000, .lines1 = 1000}).absent, 1.02);
}

TEST(Plan, counts_hosts_prefixes_lengths_and_probes) {
  std::vector<EntryV4> entries{{.host = 0x0A000000, .length = 8},
                               {.host = 0x0A000000, .length = 24},
                               {.host = 0x0A000001, .length = 32},
                               {.host = 0x0A010001, .length = 32}};
  build::BuildInput input;
  input.deny.v4 = entries;
  const Plan plan = plan_of(input);
  ASSERT_EQ(plan.tables.size(), 4u);
  EXPECT_EQ(plan.tables[0].hosts, 2u);
  EXPECT_EQ(plan.tables[0].prefixes, 2u);
  EXPECT_EQ(plan.tables[0].prefix_lengths, 3u);
  EXPECT_EQ(plan.tables[0].keys, 2u) << "prefixes stand in ranges";
  EXPECT_EQ(plan.tables[0].probes, 1) << "for the host";
  input.ranges = std::make_shared<const build::PrefixRanges>(); // prefixes in the table
  const Plan by_lengths = plan_of(input);
  EXPECT_EQ(by_lengths.tables[0].keys, 4u);
  EXPECT_DOUBLE_EQ(by_lengths.tables[0].probes, 3.0 / 65536)
      << "two lengths below 10.0/16, one below 10.1/16";
}

TEST(Plan, takes_no_front_filter_unless_the_configuration_asks_for_one) {
  const auto entries = spread_hosts(10'000);
  build::BuildInput input;
  input.deny.v4 = entries;
  config::Config config;
  const Plan without = plan_of_tables(input, config);
  EXPECT_EQ(without.chosen.front_filter, FrontFilter::none);
  EXPECT_NE(without.front_filter.why.find("split_block_bloom would take"), std::string::npos)
      << without.front_filter.why;
  EXPECT_NE(to_text(without).find("10 % hits (assumed: nothing is measured yet)"), std::string::npos);
  config.front_filter = config::FrontFilter::split_block_bloom;
  const Plan with = plan_of(input, config);
  EXPECT_EQ(with.chosen.front_filter, FrontFilter::split_block_bloom);
  EXPECT_GT(with.image_bytes, without.image_bytes);
  ASSERT_EQ(with.candidates.size(), 4u);
  EXPECT_TRUE(with.candidates[2].cost.chosen || with.candidates[3].cost.chosen);
  EXPECT_TRUE(with.candidates[0].forced_out);
  EXPECT_NEAR(with.candidates[2].cost.lines_absent, 1.01, 0.01);
}

TEST(Plan, a_chained_predictor_that_was_asked_for_is_built_exact_in_layers_of_the_planned_sizes) {
  std::vector<build::EntryV6> entries(120'000);
  std::mt19937_64 random(3);
  for (auto &entry : entries) {
    const std::uint64_t halves[2] = {random(), random()};
    std::memcpy(entry.address.data(), halves, sizeof halves);
  }
  std::ranges::sort(entries);
  build::BuildInput input;
  input.deny.v6 = entries;
  input.lists = {{"a", 0, Side::deny}};
  config::Config config;
  config.predictor = config::Predictor::chained;
  const Plan plan = plan_of(input, config);
  EXPECT_EQ(plan.predictor.chosen, "chained");
  EXPECT_EQ(plan.predictor.why, "the configuration says so");
  ASSERT_NE(plan.chain_words_v6[0], 0u);
  apply_to(input, plan);
  ASSERT_EQ(build::image_bytes(input), plan.image_bytes);
  const std::unique_ptr<std::byte, decltype(&std::free)> memory(
      static_cast<std::byte *>(std::aligned_alloc(64, plan.image_bytes)), &std::free);
  std::fill_n(memory.get(), plan.image_bytes, std::byte{0});
  const auto report = build::build_image(input, {memory.get(), plan.image_bytes});
  ASSERT_TRUE(report) << report.error().message;
  EXPECT_TRUE(report->deny_v6.chain.exact());
}

TEST(Plan, a_predictor_that_was_asked_for_is_taken_even_when_it_outgrows_the_cache) {
  const auto entries = spread_hosts(10'000);
  build::BuildInput input;
  input.deny.v4 = entries;
  config::Config config;
  config.predictor = config::Predictor::chained;
  Circumstances now{.memory = plenty()};
  now.calibration.l2_bytes = 64;
  const Plan plan = make_plan(input, config, now).value();
  EXPECT_EQ(plan.chosen.predictor, Predictor::chained);
  config.predictor = config::Predictor::automatic;
  EXPECT_EQ(make_plan(input, config, now).value().chosen.predictor, Predictor::inline_bits);
}

TEST(Plan, says_what_a_swap_needs) {
  const auto entries = spread_hosts(100'000);
  build::BuildInput input;
  input.deny.v4 = entries;
  MemoryFree memory = plenty();
  const Plan plan = make_plan(input, {}, {.before_bytes = 5 * mib, .memory = memory}).value();
  EXPECT_EQ(plan.swap_bytes, plan.image_bytes + 5 * mib);
  EXPECT_EQ(plan.dataplane_bytes, plan.image_bytes);
  EXPECT_EQ(plan.rules_bytes, 800'000u);
  EXPECT_GE(plan.needed_bytes, plan.image_bytes);
  EXPECT_TRUE(plan.fits);
  EXPECT_FALSE(plan.hugepages);
  const Plan two_nodes =
      make_plan(input, {}, {.before_bytes = 5 * mib, .image_copies = 2, .memory = memory}).value();
  EXPECT_EQ(two_nodes.dataplane_bytes, 2 * plan.image_bytes);
  EXPECT_EQ(two_nodes.swap_bytes, 2 * plan.swap_bytes);
  EXPECT_EQ(two_nodes.control_peak_bytes, plan.control_peak_bytes) << "control builds one";
  memory.hugepages_free_bytes = 64 * mib;
  EXPECT_TRUE(plan_of(input, {}, memory).hugepages);
  memory = {.available_bytes = mib};
  EXPECT_FALSE(plan_of(input, {}, memory).fits);
}

// Hosts spread over all addresses, and a /24 in each of so many /16s.
std::vector<EntryV4> hosts_and_prefixes(std::uint32_t hosts, std::uint32_t prefixes) {
  auto entries = spread_hosts(hosts);
  for (std::uint32_t n = 0; n < prefixes; ++n)
    entries.push_back({.host = (n << 16 | 0x100) & 0xFFFFFF00, .length = 24});
  std::ranges::sort(entries);
  return entries;
}

TEST(Plan, says_that_hosts_stand_in_the_range_map_and_counts_their_bytes) {
  const auto entries = hosts_and_prefixes(20'000, 3000);
  build::BuildInput input;
  input.deny.v4 = entries;
  const Plan plan = plan_of(input);
  EXPECT_EQ(plan.tables[0].keys, 0u);
  EXPECT_EQ(plan.tables[0].hosts, 20'000u);
  EXPECT_NE(to_text(plan).find("deny ipv4: hosts stand in the range map, as ranges of one address"),
            std::string::npos)
      << to_text(plan);
  const auto json = nlohmann::json::parse(to_json(plan));
  EXPECT_EQ(json["tables"][0]["hosts_in"], "ranges");
  EXPECT_EQ(json["tables"][1]["hosts_in"], "table");
  input.deny.hosts_v4 = build::HostHome::ranges;
  EXPECT_EQ(plan.image_bytes, build::image_bytes(input));
}

TEST(Plan, says_that_hosts_stand_in_words_and_leaves_them_no_predictor_and_no_filter) {
  const auto entries = spread_hosts(200'000);
  build::BuildInput input;
  input.deny.v4 = entries;
  Circumstances now{.memory = plenty()};
  now.home = HomeChoice{build::HostHome::words, "that takes 3 ns", {HomeCost{build::HostHome::words, 3}}};
  now.workload.hit_ratio = 0.001; // few hits are where filters pay
  const Plan plan = make_plan(input, {}, now).value();
  EXPECT_TRUE(plan.tables[0].hosts_in_words);
  EXPECT_NEAR(static_cast<double>(plan.tables[0].keys), 200'000 * build::word_share_behind, 300);
  EXPECT_EQ(plan.chosen.front_filter, FrontFilter::none);
  EXPECT_EQ(plan.chosen.predictor, Predictor::inline_bits);
  EXPECT_NE(to_text(plan).find("deny ipv4: hosts stand in lines of words: that takes 3 ns"),
            std::string::npos)
      << to_text(plan);
  EXPECT_EQ(nlohmann::json::parse(to_json(plan))["tables"][0]["hosts_in"], "words");
  EXPECT_NE(to_text(plan).find("a lookup takes 3.0 ns"), std::string::npos) << to_text(plan);
  EXPECT_EQ(plan.deny_filter.why, "hosts in words have no filter in front");
  now.home = HomeChoice{};
  for (const auto filter : {config::FrontFilter::none, config::FrontFilter::split_block_bloom}) {
    config::Config config;
    config.front_filter = filter;
    EXPECT_EQ(make_plan(input, config, now).value().deny_filter.why,
              "the configuration asks for another front filter");
  }
  for (const Candidate &candidate : plan.candidates) {
    EXPECT_EQ(candidate.cost.chosen, !candidate.forced_out) << candidate.cost.why_not;
    EXPECT_GT(candidate.image_bytes, candidate.forced_out ? plan.image_bytes : plan.image_bytes - 1)
        << "those of tables are larger";
  }
  input.deny.hosts_v4 = build::HostHome::words;
  EXPECT_EQ(plan.image_bytes, build::image_bytes(input));
  build::BuildInput in_table = input;
  in_table.deny.hosts_v4 = build::HostHome::table;
  EXPECT_LT(plan.image_bytes, build::image_bytes(in_table));
}

TEST(Plan, says_why_hosts_stand_in_the_table_where_the_map_could_not_be_built) {
  const auto entries = spread_hosts(20'000);
  build::BuildInput input;
  input.deny.v4 = entries;
  input.ranges = std::make_shared<const build::PrefixRanges>();
  for (const build::HostHome home : {build::HostHome::ranges, build::HostHome::words}) {
    const Plan plan = make_plan(input, {}, {.memory = plenty(), .home = HomeChoice{home, "x", {}}}).value();
    EXPECT_NE(to_text(plan).find("stand in the table: there are more pairs of list and length"),
              std::string::npos)
        << to_text(plan);
  }
}

TEST(Plan, can_be_read_by_programs_and_people) {
  const auto entries = spread_hosts(1000);
  build::BuildInput input;
  input.deny.v4 = entries;
  MemoryFree memory = plenty();
  memory.cgroup_free_bytes = 1u << 30;
  const Plan plan = plan_of(input, {}, memory);
  const auto json = nlohmann::json::parse(to_json(plan));
  EXPECT_EQ(json["chosen"]["front_filter"], "none");
  EXPECT_EQ(json["candidates"].size(), 4u);
  EXPECT_EQ(json["tables"][0]["keys"], 1000);
  EXPECT_EQ(json["memory"]["after_bytes"], plan.image_bytes);
  EXPECT_EQ(json["memory"]["cgroup_free_bytes"], 1u << 30);
  EXPECT_NE(to_text(plan).find("deny ipv4          1000"), std::string::npos) << to_text(plan);
}

TEST(HumanBytes, choose_a_unit) {
  EXPECT_EQ(human_bytes(0), "0 B");
  EXPECT_EQ(human_bytes(1023), "1023 B");
  EXPECT_EQ(human_bytes(1536), "1.5 KiB");
  EXPECT_EQ(human_bytes(3u << 30), "3.0 GiB");
}

TEST(CheckMemory, refuses_an_image_that_would_not_fit_and_says_how_much_was_needed) {
  const MemoryFree memory{.available_bytes = 500 * mib};
  EXPECT_TRUE(check_memory(400 * mib, 100 * mib, memory));
  const auto status = check_memory(400 * mib, 101 * mib, memory);
  ASSERT_FALSE(status);
  EXPECT_EQ(status.error().code, Errc::no_memory);
  EXPECT_TRUE(
      status.error().message.starts_with("No free memory for a new image: needs 501.0 MiB, 500.0 MiB free"))
      << status.error().message;
}

TEST(CheckMemory, a_tighter_limit_of_the_control_group_counts) {
  MemoryFree memory{.available_bytes = 500 * mib};
  memory.cgroup_free_bytes = 10 * mib;
  EXPECT_FALSE(check_memory(20 * mib, 0, memory));
  EXPECT_NE(check_memory(20 * mib, 0, memory).error().message.find("10.0 MiB free below the limit"),
            std::string::npos);
}

TEST(CheckMemory, hugepages_carry_the_image_when_it_fits_in_whole_pages) {
  MemoryFree memory{.available_bytes = mib};
  memory.hugepages_free_bytes = 4 * mib;
  EXPECT_TRUE(check_memory(4 * mib, 0, memory));
  EXPECT_FALSE(check_memory(4 * mib + 1, 0, memory));
}

class FreeMemory : public testing::Test {
protected:
  void SetUp() override {
    put("proc/meminfo", "MemTotal:       1000000 kB\nMemAvailable:    500000 kB\n");
    put("sys/kernel/mm/hugepages/hugepages-2048kB/free_hugepages", "10\n");
    put("sys/kernel/mm/hugepages/hugepages-2048kB/resv_hugepages", "4\n");
  }
  void TearDown() override { fs::remove_all(root_); }
  void put(const std::string &path, const std::string &text) {
    fs::create_directories((root_ / path).parent_path());
    std::ofstream(root_ / path) << text;
  }
  fs::path root_ = fs::temp_directory_path() / ("rules-plan-" + std::to_string(::getpid()));
};

TEST_F(FreeMemory, without_limits_is_what_the_kernel_calls_available) {
  const MemoryFree memory = memory_free(root_).value();
  EXPECT_EQ(memory.available_bytes, 500'000u * 1024);
  EXPECT_EQ(memory.cgroup_free_bytes, std::nullopt);
  EXPECT_EQ(memory.hugepages_free_bytes, 6u * 2 * mib) << "reserved pages are promised to others";
}

TEST_F(FreeMemory, takes_the_tightest_limit_of_a_v2_group_and_its_parents) {
  put("proc/self/cgroup", "0::/slice/service\n");
  put("proc/self/mountinfo", "30 20 0:26 / /sys/fs/cgroup rw,nosuid shared:4 - cgroup2 cgroup2 rw\n");
  put("sys/fs/cgroup/slice/service/memory.max", "max\n");
  put("sys/fs/cgroup/slice/service/memory.current", "1000\n");
  put("sys/fs/cgroup/slice/memory.max", "104857600\n");
  put("sys/fs/cgroup/slice/memory.current", "62914560\n");
  put("sys/fs/cgroup/slice/memory.stat", "anon 1\ninactive_file 10485760\nactive_file 5242880\n");
  EXPECT_EQ(memory_free(root_).value().cgroup_free_bytes, 55 * mib);
  EXPECT_EQ(memory_free(root_).value().ordinary_bytes(), 55 * mib);
}

TEST_F(FreeMemory, reads_v1_groups_also_from_inside_a_container) {
  put("proc/self/cgroup", "4:memory:/docker/abc\n1:cpu:/x\n");
  put("proc/self/mountinfo", "30 20 0:26 /docker/abc /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n"
                             "31 20 0:27 / /sys/fs/cgroup/cpu rw - cgroup cgroup rw,cpu\n");
  put("sys/fs/cgroup/memory/memory.limit_in_bytes", "209715200\n");
  put("sys/fs/cgroup/memory/memory.usage_in_bytes", "104857600\n");
  EXPECT_EQ(memory_free(root_).value().cgroup_free_bytes, 100 * mib);
  put("sys/fs/cgroup/memory/memory.limit_in_bytes", "9223372036854771712\n");
  EXPECT_EQ(memory_free(root_).value().cgroup_free_bytes, std::nullopt);
}

TEST_F(FreeMemory, of_a_system_without_proc_is_an_error) { EXPECT_FALSE(memory_free(root_ / "nothing")); }

TEST(FreeMemoryHere, can_be_read) {
  const auto memory = memory_free();
  ASSERT_TRUE(memory) << memory.error().message;
  EXPECT_GT(memory->ordinary_bytes(), mib);
}

} // namespace
} // namespace weir::plan::plan_test
