// weir-lab predictor: training ends without error, and rivals are what they are said to be.
#include "tests/support/process.hpp"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace weir::test::weir_lab_predictor_test {
namespace {

using Json = nlohmann::json;

Json predictor(std::vector<std::string> arguments) {
  arguments.insert(arguments.begin(), {program("weir-lab").string(), "predictor"});
  const Outcome outcome = run(arguments);
  EXPECT_TRUE(outcome.ok()) << outcome.err;
  return Json::parse(outcome.out, nullptr, false);
}

// [Chained §5.3], a tenth of its size.
TEST(WeirLabPredictor, reads_one_bucket_a_stored_key_once_it_is_trained) {
  const Json json = predictor({"--buckets", "100k", "--load", "0.4", "--seed", "3", "--rounds", "1"});
  EXPECT_EQ(json.at("buckets"), 100'000);
  EXPECT_EQ(json.at("keys"), 40'000);
  EXPECT_NEAR(json.at("lambda").get<double>(), json.at("lambda_expected"), 0.05);
  EXPECT_NEAR(json.at("raw").at("accesses_per_lookup"), 1.312, 0.005);
  for (const Json &chain : {json, json.at("othello")}) {
    const Json &errors = chain.at("errors_per_round");
    EXPECT_GT(errors.front(), 0.05);
    EXPECT_EQ(errors.back(), 0);
    EXPECT_LE(errors.size(), 6u);
    EXPECT_EQ(chain.at("accesses_per_lookup"), 1);
    EXPECT_NEAR(chain.at("space_of_emoma"), 0.231, 0.002);
    EXPECT_NEAR(chain.at("bits_per_key"), 2.31, 0.02);
    EXPECT_GT(chain.at("query_ns"), 0);
  }
  EXPECT_EQ(json.at("emoma").at("errors"), 0);
  EXPECT_GT(json.at("emoma").at("unplaced"), 0);
  EXPECT_LT(json.at("emoma").at("unplaced"), 0.06);
  EXPECT_NEAR(json.at("bloom").at("bits_per_key"), 10, 0.02);
  EXPECT_LT(json.at("bloom").at("errors"), 0.001);
  EXPECT_EQ(json.at("table3").size(), 7u);
  EXPECT_NEAR(json.at("table3")[0].at("saved"), 0.975, 0.001);
}

TEST(WeirLabPredictor, says_of_each_seed_whether_it_ended_and_what_churn_leaves) {
  const Json json =
      predictor({"--buckets", "100k", "--seeds", "3", "--rounds", "0", "--churn", "0.05", "--steps", "3"});
  EXPECT_EQ(json.at("rounds_to_zero").size(), 3u);
  EXPECT_EQ(json.at("share_of_seeds_at_zero"), 1);
  EXPECT_EQ(json.at("errors_per_step").size(), 3u);
  EXPECT_GT(json.at("errors_per_step").back(), 0);
  EXPECT_GT(json.at("bloom").at("errors_per_step").back(), json.at("bloom").at("errors"));
  EXPECT_FALSE(json.contains("query_ns"));
}

TEST(WeirLabPredictor, refuses_what_it_cannot_do) {
  for (const auto &[option, value] :
       {std::pair{"--load", "0.5"}, {"--buckets", "2G"}, {"--buckets", "100"}, {"--size", "small"}}) {
    const Outcome outcome = run({program("weir-lab").string(), "predictor", option, value});
    EXPECT_EQ(outcome.code, 2) << option << ' ' << value;
    EXPECT_NE(outcome.err.find(option), std::string::npos) << outcome.err;
  }
}

} // namespace
} // namespace weir::test::weir_lab_predictor_test
