// weir-lab performance, small: rates are the predicted ones, the map follows from the candidates, and stacks pay where
// false positives are dear.
#include "tests/support/process.hpp"

#include <algorithm>
#include <cmath>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>
#include <set>

namespace weir::test::weir_lab_performance_test {
namespace {

using Json = nlohmann::json;

Outcome lab(std::vector<std::string> arguments) {
  arguments.insert(arguments.begin(), {program("weir-lab").string(), "performance"});
  return run(arguments);
}
Json report(const std::string &psi) {
  const Outcome outcome = lab({"--psi", psi, "--most-keys", "16384", "--rounds", "9"});
  EXPECT_TRUE(outcome.ok()) << outcome.err;
  return Json::parse(outcome.out, nullptr, false);
}
const Json &most_asked() { // psi 0.9
  static const Json json = report("0.9");
  return json;
}
const Json &half_asked() {
  static const Json json = report("0.5");
  return json;
}

// Of an EFPR that is measured with all known negatives and a million others.
double standard_error(const Json &json, const Json &size, double efpr) {
  const double psi = json["psi"], known = size["known_negatives"];
  return std::sqrt(efpr * std::max(psi / known, (1 - psi) / 1e6));
}

TEST(WeirLabPerformance, measures_the_rates_that_it_predicts) {
  for (const Json *json : {&most_asked(), &half_asked()}) {
    ASSERT_EQ((*json)["sizes"].size(), 2);
    for (const Json &size : (*json)["sizes"])
      for (const Json &candidate : size["candidates"]) {
        const double predicted = candidate["efpr_predicted"], measured = candidate["efpr_measured"];
        const double chance = 5 * standard_error(*json, size, predicted);
        EXPECT_NEAR(measured, predicted, 0.1 * predicted + chance) << size["keys"] << ' ' << candidate;
      }
  }
}

TEST(WeirLabPerformance, has_plain_filters_and_stacks_of_each_base_in_the_same_space) {
  const Json &size = most_asked()["sizes"][1];
  EXPECT_EQ(size["keys"], 16384);
  EXPECT_EQ(size["known_negatives"], 9 * 16384) << "beta 0.1";
  std::set<std::string> kinds;
  for (const Json &candidate : size["candidates"]) {
    kinds.insert(candidate["kind"]);
    EXPECT_EQ(candidate["layer_bits"].size(), candidate["stacked"] ? 3 : 1) << candidate;
    EXPECT_LT(candidate["bits_per_key"], 20.5) << candidate;
    EXPECT_GT(candidate["ns_negative"], 0) << candidate;
    EXPECT_GT(candidate["ns_present"], 0) << candidate;
  }
  EXPECT_EQ(kinds, (std::set<std::string>{"register_blocked", "split_block", "bloom", "cuckoo",
                                          "stacked_register_blocked", "stacked_split_block", "stacked_bloom",
                                          "stacked_cuckoo"}));
}

TEST(WeirLabPerformance, takes_the_least_cost_there_is) {
  for (const Json &size : half_asked()["sizes"])
    for (const Json &best : size["best"]) {
      double least = 1e300, least_plain = 1e300;
      for (const Json &candidate : size["candidates"]) {
        const double rho = candidate["ns_negative"].get<double>() +
                           candidate["efpr_predicted"].get<double>() * best["work_ns"].get<double>();
        least = std::min(least, rho);
        if (!candidate["stacked"]) least_plain = std::min(least_plain, rho);
      }
      EXPECT_DOUBLE_EQ(best["rho"], least);
      EXPECT_DOUBLE_EQ(best["plain_rho"], least_plain);
      EXPECT_DOUBLE_EQ(best["over_plain"], least / least_plain);
    }
}

TEST(WeirLabPerformance, prefers_one_line_where_false_positives_are_cheap) {
  for (const Json &size : most_asked()["sizes"]) {
    const Json &cheapest = size["best"].front();
    EXPECT_EQ(cheapest["work_ns"], 4);
    EXPECT_NE(cheapest["plain_kind"], "cuckoo") << cheapest;
    EXPECT_GT(cheapest["over_plain"], 0.7)
        << "a stack asks its first layer, which is a plain filter: " << cheapest;
  }
}

TEST(WeirLabPerformance, prefers_stacks_where_false_positives_are_dear) {
  for (const std::size_t size : {0u, 1u}) {
    const Json &most = most_asked()["sizes"][size]["best"].back();
    const Json &half = half_asked()["sizes"][size]["best"].back();
    EXPECT_EQ(most["work_ns"], 1 << 20);
    EXPECT_TRUE(most["stacked"]) << most;
    EXPECT_TRUE(half["stacked"]) << half;
    EXPECT_LT(most["over_plain"], 0.6) << most;
    EXPECT_LT(half["over_plain"], 0.9) << half;
    EXPECT_LT(most["over_plain"], half["over_plain"]) << "more of the questions ask for known negatives";
  }
}

TEST(WeirLabPerformance, gives_the_same_rates_for_the_same_seed) {
  const auto rates = [](const char *seed) {
    const Outcome outcome = lab({"--seed", seed, "--most-keys", "4096", "--rounds", "1"});
    std::vector<double> all;
    const Json json = Json::parse(outcome.out, nullptr, false);
    for (const Json &candidate : json["sizes"][0]["candidates"]) all.push_back(candidate["efpr_measured"]);
    return all;
  };
  EXPECT_EQ(rates("7"), rates("7"));
  EXPECT_NE(rates("7"), rates("8"));
}

TEST(WeirLabPerformance, says_what_is_wrong_with_its_arguments) {
  EXPECT_EQ(lab({"--psi", "1.5"}).code, 2);
  EXPECT_EQ(lab({"--beta", "0"}).code, 2);
  EXPECT_EQ(lab({"--most-keys", "100"}).code, 2);
}

} // namespace
} // namespace weir::test::weir_lab_performance_test
