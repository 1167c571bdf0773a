// weir-lab lsm: chained filters read at most one run in vain, every filter finds the newest version, and no file is left.
#include "tests/support/process.hpp"
#include "tests/support/seed.hpp"

#include <filesystem>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace weir::test::weir_lab_lsm_test {
namespace {

using Json = nlohmann::json;

Json lsm(std::vector<std::string> arguments, const char *keys = "100000", const char *lookups = "1000") {
  const std::vector<std::string> first{
      program("weir-lab").string(), "lsm", "--keys", keys, "--lookups", lookups, "--rounds", "1"};
  arguments.insert(arguments.begin(), first.begin(), first.end());
  const Outcome outcome = run(arguments);
  EXPECT_TRUE(outcome.ok()) << outcome.err;
  return Json::parse(outcome.out, nullptr, false);
}

// [Chained §5.4]
TEST(WeirLabLsm, reads_at_most_one_run_in_vain_and_none_for_a_present_key) {
  const std::uint64_t seed = seed_or(5);
  WEIR_TRACE_SEED(seed);
  const Json json = lsm({"--seed", std::to_string(seed)});
  const Json &arms = json.at("arms");
  for (const auto &[name, arm] : arms.items()) {
    EXPECT_EQ(arm.at("wrong_answers"), 0) << name;
    for (const char *kind : {"present", "absent", "zipf"}) {
      const Json &reads = arm.at(kind);
      EXPECT_GT(reads.at("p50_us"), 0) << name;
      EXPECT_LE(reads.at("p50_us"), reads.at("p99_us")) << name;
      EXPECT_LE(reads.at("p99_us"), reads.at("p999_us")) << name;
      EXPECT_GT(reads.at("lookups_per_second"), 0) << name;
      // Those that a reader has just read are not read again; a key behind a block's last one takes two.
      const double runs = reads.at("runs_read"), blocks = reads.at("blocks_read");
      EXPECT_NEAR(blocks, runs, 0.03 + 0.1 * runs) << name << ' ' << kind;
    }
  }
  for (const char *name : {"chained", "chained_static"}) {
    EXPECT_EQ(arms.at(name).at("runs_read_in_vain_most"), 1) << name;
    EXPECT_EQ(arms.at(name).at("present").at("runs_read"), 1) << name;
    EXPECT_EQ(arms.at(name).at("present").at("runs_read_in_vain_most"), 0) << name;
  }
  EXPECT_GT(arms.at("bloom").at("runs_read_in_vain_most"), 1);
  EXPECT_EQ(arms.at("none").at("absent").at("runs_read"), 7);
  EXPECT_EQ(arms.at("none").at("present").at("runs_read_in_vain_most"), 6);

  // 1.4427 log2(8 lambda) bits for six to one runs to come, one bit of filter for the last run.
  EXPECT_NEAR(json.at("bits_per_key"), 5.87, 0.3);
  for (const char *name : {"bloom", "rocksdb_get", "chained_static", "stacked"}) {
    EXPECT_LE(arms.at(name).at("bits_per_key"), json.at("bits_per_key").get<double>() + 0.1) << name;
    EXPECT_GT(arms.at(name).at("bits_per_key"), 0.8 * json.at("bits_per_key").get<double>()) << name;
  }
  EXPECT_NEAR(arms.at("bloom_2x").at("bits_per_key"), 2 * json.at("bits_per_key").get<double>(), 0.1);
}

TEST(WeirLabLsm, finds_the_newest_version_of_keys_that_stand_in_several_runs) {
  const Json json = lsm({"--repeats", "0.4"});
  for (const auto &[name, arm] : json.at("arms").items()) EXPECT_EQ(arm.at("wrong_answers"), 0) << name;
  const Json &arms = json.at("arms");
  EXPECT_EQ(arms.at("chained").at("runs_read_in_vain_most"), 1);
  EXPECT_GT(arms.at("chained").at("present").at("runs_read"), 1.5); // the oldest run first: all versions
  EXPECT_EQ(arms.at("chained_static").at("present").at("runs_read"), 1);
}

// [Stacked-early §6.2]
TEST(WeirLabLsm, reads_fewer_runs_in_vain_with_stacks_under_zipf_reads) {
  const Json arms = lsm({"--only", "bloom,stacked", "--bits", "10"}, "100000", "5000").at("arms");
  ASSERT_EQ(arms.size(), 2u);
  EXPECT_LT(arms.at("stacked").at("zipf").at("runs_read_in_vain"),
            0.5 * arms.at("bloom").at("zipf").at("runs_read_in_vain").get<double>());
}

TEST(WeirLabLsm, leaves_no_file_behind) {
  const auto folder = std::filesystem::path(::testing::TempDir()) / "weir_lab_lsm";
  std::filesystem::create_directories(folder);
  EXPECT_GT(lsm({"--folder", folder.string()}, "10000").at("table_bytes"), 1'000'000);
  EXPECT_TRUE(std::filesystem::is_empty(folder));
  std::filesystem::remove_all(folder);
}

TEST(WeirLabLsm, refuses_what_it_cannot_do) {
  const Outcome nowhere = run({program("weir-lab").string(), "lsm", "--folder", "/nonexistent"});
  EXPECT_EQ(nowhere.code, 1);
  EXPECT_NE(nowhere.err.find("--folder"), std::string::npos) << nowhere.err;
  const Outcome unknown = run({program("weir-lab").string(), "lsm", "--only", "ribbon"});
  EXPECT_EQ(unknown.code, 2);
  EXPECT_NE(unknown.err.find("--only"), std::string::npos) << unknown.err;
}

} // namespace
} // namespace weir::test::weir_lab_lsm_test
