// weir-lab stacked, small: its JSON has what it promises, and stacks do what was predicted of them.
#include "tests/support/process.hpp"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace weir::test {
namespace {

using Json = nlohmann::json;

Outcome lab(std::vector<std::string> arguments) {
  arguments.insert(arguments.begin(), {program("weir-lab").string(), "stacked"});
  return run(arguments);
}
Json report(std::vector<std::string> arguments) {
  const Outcome outcome = lab(std::move(arguments));
  EXPECT_TRUE(outcome.ok()) << outcome.err;
  return Json::parse(outcome.out, nullptr, false);
}

TEST(WeirLabStacked, shows_a_stack_of_each_base_beside_its_plain_filter_in_equal_space) {
  for (const char *base : {"bloom", "cuckoo", "cqf", "fuse"}) {
    SCOPED_TRACE(base);
    const Json json =
        report({"--base", base, "--positives", "50000", "--negatives", "500000", "--bits", "11"});
    for (const char *member :
         {"layers", "known_negatives", "psi", "efpr_predicted", "efpr_measured", "efpb_predicted",
          "efpb_measured", "bits_per_key", "optimiser_seconds", "build_seconds", "query_ns",
          "plain_fpr_measured", "plain_bits_per_key", "plain_query_ns"})
      EXPECT_TRUE(json.contains(member)) << member;
    EXPECT_LE(json["bits_per_key"], 11.0);
    EXPECT_LE(json["plain_bits_per_key"], json["bits_per_key"]);
    EXPECT_LT(json["efpr_measured"], json["plain_fpr_measured"]);
    EXPECT_NEAR(json["efpb_measured"].get<double>() / json["efpb_predicted"].get<double>(), 1, 0.1);
    EXPECT_EQ(json["layers"][0]["keys"], 50'000);
    for (const char *times : {"query_ns", "plain_query_ns"})
      for (const char *of : {"positive", "known_negative", "unknown_negative"})
        EXPECT_GT(json[times][of], 0) << times << ' ' << of;
  }
}

TEST(WeirLabStacked, measures_what_was_predicted) {
  for (const char *base : {"bloom", "cuckoo"}) {
    const Json json = report(
        {"--base", base, "--positives", "100000", "--negatives", "1000000", "--zipf", "0.5", "--no-timing"});
    EXPECT_NEAR(json["efpr_measured"].get<double>() / json["efpr_predicted"].get<double>(), 1, 0.1) << base;
    EXPECT_TRUE(json["query_ns"].is_null());
  }
}

TEST(WeirLabStacked, fuse_layers_are_exact_over_the_universe) {
  const Json json = report({"--base", "fuse", "--bits", "9", "--no-timing"});
  EXPECT_EQ(json["efpr_measured"], 0);
  EXPECT_EQ(json["known_negatives"], 1'000'000);
  EXPECT_LT(json["efpb_measured"], 0.015);
}

TEST(WeirLabStacked, finds_the_bits_for_a_rate) {
  const Json json = report({"--efpr", "0.005", "--zipf", "0.75", "--no-timing"});
  EXPECT_NEAR(json["efpr_measured"].get<double>(), 0.005, 0.0005);
  EXPECT_LT(json["bits_per_key"], 11.03) << "what the plain filter takes";
}

TEST(WeirLabStacked, gives_the_same_rates_for_the_same_seed) {
  const auto rates = [](const char *seed) {
    Json json = report({"--seed", seed, "--positives", "20000", "--negatives", "100000", "--no-timing"});
    json.erase("optimiser_seconds");
    json.erase("build_seconds");
    return json;
  };
  EXPECT_EQ(rates("7"), rates("7"));
  EXPECT_NE(rates("7"), rates("8"));
}

TEST(WeirLabStacked, says_what_is_wrong_with_its_arguments) {
  EXPECT_EQ(lab({"--base", "sieve"}).code, 2);
  EXPECT_EQ(lab({"--bits", "many"}).code, 2);
  EXPECT_EQ(lab({"--depth", "4"}).code, 2);
  const Outcome tight = lab({"--base", "cqf", "--bits", "2.5"});
  EXPECT_EQ(tight.code, 1);
  EXPECT_NE(tight.err.find("allow more bits"), std::string::npos) << tight.err;
}

} // namespace
} // namespace weir::test
