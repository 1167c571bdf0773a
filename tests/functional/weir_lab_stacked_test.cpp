// weir-lab stacked, small: its JSON has what it promises, and stacks do what was predicted of them.
#include "tests/support/process.hpp"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace weir::test::weir_lab_stacked_test {
namespace {

using Json = nlohmann::json;

Outcome lab(std::vector<std::string> arguments, const std::string &experiment = "stacked") {
  arguments.insert(arguments.begin(), {program("weir-lab").string(), experiment});
  return run(arguments);
}
Json report(std::vector<std::string> arguments, const std::string &experiment = "stacked") {
  const Outcome outcome = lab(std::move(arguments), experiment);
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
    std::uint64_t bits = 0;
    for (const Json &layer : json["layers"]) {
      EXPECT_TRUE(layer["rate"] > 0 && layer["rate"] <= 1) << layer;
      bits += layer["bits"].get<std::uint64_t>();
    }
    EXPECT_NEAR(static_cast<double>(bits) / 50'000, json["bits_per_key"], 0.2) << "headers come to it";
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

// What docs/papers.md promises of a million keys and ten million negatives.
TEST(WeirLabStacked, keeps_at_a_million_keys_what_was_set_out) {
  const Json json = report(
      {"--positives", "1000000", "--negatives", "10000000", "--bits", "8", "--zipf", "1.0", "--no-timing"});
  EXPECT_LT(json["efpr_measured"].get<double>(), 0.00195);
  EXPECT_NEAR(json["efpr_measured"].get<double>() / json["efpr_predicted"].get<double>(), 1, 0.03);
  EXPECT_LE(json["bits_per_key"].get<double>(), 8);
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

TEST(WeirLabStacked, has_no_time_for_known_negatives_when_there_are_none) {
  const Json json = report({"--depth", "1", "--positives", "20000", "--negatives", "20000"});
  EXPECT_TRUE(json["query_ns"]["known_negative"].is_null());
  EXPECT_GT(json["query_ns"]["positive"], 0);
}

TEST(WeirLabStacked, adds_the_reads_of_a_slow_store_to_the_time_of_the_filter) {
  const Json json = report({"--iops", "1000,40000", "--positive-share", "0,0.5,1", "--zipf", "0.75"});
  ASSERT_EQ(json["workload"].size(), 6);
  for (const Json &row : json["workload"])
    for (const char *side : {"stacked", "plain"}) {
      SCOPED_TRACE(std::string(side) + " of " + row.dump());
      const Json &cost = row[side];
      const double share = row["positive_share"], accesses = cost["accesses"], ns = cost["filter_ns"];
      const double rate = json[*side == 's' ? "efpr_by_class" : "plain_fpr_by_class"];
      EXPECT_NEAR(accesses, share + (1 - share) * rate, 1e-9);
      EXPECT_GT(ns, 0);
      EXPECT_NEAR(cost["total_ns"].get<double>(), ns + accesses * 1e9 / row["iops"].get<double>(), 1e-3);
    }
  const Json &disks = json["workload"][0];
  EXPECT_LT(disks["stacked"]["total_ns"], disks["plain"]["total_ns"]);
  EXPECT_NEAR(json["plain_fpr_by_class"].get<double>(), 0.0216, 0.0022);
}

// ---- curves of the planner, held to stacks that were built ------------------------------------------

// The row of `rows` that begins with `first`.
Json row_at(const Json &rows, double first) {
  for (const Json &row : rows)
    if (std::abs(row[0].get<double>() - first) < 1e-9) return row;
  ADD_FAILURE() << "no row for " << first;
  return Json::array({0, 0, 0, 0, 0});
}

TEST(WeirLabStacking, plans_the_sizes_that_stacks_have) {
  const Json rows = report({"--only", "size_against_psi"}, "stacking")["size_against_psi"];
  for (const char *psi : {"0.25", "0.75"})
    for (const auto &[rate, column] : {std::pair{"0.01", 2}, std::pair{"0.0001", 4}}) {
      const Json built =
          report({"--psi", psi, "--negatives", "100000", "--efpr", rate, "--depth", "5", "--no-timing"});
      const Json planned = row_at(rows, std::stod(psi));
      EXPECT_NEAR(built["bits_per_key"].get<double>() / planned[column].get<double>(), 1, 0.005)
          << psi << ' ' << rate;
      EXPECT_LT(planned[column], planned[column - 1]) << "of the plain filter";
      const double error = std::stod(rate) > 0.001 ? 0.05 : 0.3; // some hundred wrong answers
      EXPECT_NEAR(built["efpr_measured"].get<double>() / std::stod(rate), 1, error) << psi << ' ' << rate;
    }
}

TEST(WeirLabStacking, plans_the_rates_that_stacks_have) {
  const Json rows = report({"--only", "efpr_against_bits"}, "stacking")["efpr_against_bits"];
  for (const auto &[psi, column] : {std::pair{"0.5", 2}, std::pair{"0.9", 3}}) {
    const Json built =
        report({"--psi", psi, "--negatives", "900000", "--bits", "9", "--depth", "5", "--no-timing"});
    const Json planned = row_at(rows, 9);
    EXPECT_NEAR(built["efpr_measured"].get<double>() / planned[column].get<double>(), 1, 0.05) << psi;
    EXPECT_NEAR(built["plain_fpr_measured"].get<double>() / planned[1].get<double>(), 1, 0.05) << psi;
  }
}

TEST(WeirLabStacking, has_parts_and_knows_their_names) {
  const Json json = report({"--only", "psi_needed,bits_saved"}, "stacking");
  EXPECT_TRUE(json.contains("psi_needed") && json.contains("bits_saved"));
  EXPECT_FALSE(json.contains("wins"));
  EXPECT_EQ(lab({"--only", "losses"}, "stacking").code, 2);
}

TEST(WeirLabBuilding, takes_longer_the_more_negatives_are_known) {
  const Json json = report({"--positives", "50000", "--known", "0,10", "--rounds", "3"}, "building");
  ASSERT_EQ(json["rows"].size(), 2);
  EXPECT_EQ(json["rows"][0]["layers"], 1);
  EXPECT_NEAR(json["rows"][1]["known_negatives"].get<double>(), 500'000, 1);
  EXPECT_GT(json["rows"][1]["build_seconds"], json["rows"][0]["build_seconds"]);
  EXPECT_GT(json["rows"][1]["optimiser_seconds"], 0);
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
} // namespace weir::test::weir_lab_stacked_test
