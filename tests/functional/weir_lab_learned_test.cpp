// weir-lab learned: trees find a law no stronger than it is, nobody is missed behind them, and errors stay as set.
#include "tests/support/process.hpp"
#include "tests/support/seed.hpp"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace weir::test::weir_lab_learned_test {
namespace {

using Json = nlohmann::json;

Json learned(std::vector<std::string> arguments) {
  arguments.insert(arguments.begin(), {program("weir-lab").string(), "learned", "--rounds", "1"});
  const Outcome outcome = run(arguments);
  EXPECT_TRUE(outcome.ok()) << outcome.err;
  return Json::parse(outcome.out, nullptr, false);
}
std::vector<std::string> small(std::vector<std::string> more) {
  more.insert(more.end(), {"--members", "5000", "--others", "8000", "--unseen", "10000", "--trees", "30"});
  return more;
}

TEST(WeirLabLearned, finds_laws_of_both_kinds_of_keys_and_no_law_where_there_is_none) {
  const std::uint64_t seed = seed_or(7);
  WEIR_TRACE_SEED(seed);
  for (const char *keyset : {"urls", "addresses"})
    for (const double auc : {0.5, 0.87, 0.95}) {
      const Json json = learned(small({"--keyset", keyset, "--auc", std::to_string(auc), "--shares", "0.5",
                                       "--seed", std::to_string(seed), "--no-classifiers"}));
      EXPECT_NEAR(json.at("auc_possible"), auc, 0.015) << keyset;
      const double reached = json.at("shares").at(0).at("auc_unseen");
      EXPECT_LT(reached, auc + 0.01) << keyset;
      EXPECT_GT(reached, auc == 0.5 ? 0.48 : 0.5 + 0.5 * (auc - 0.5)) << keyset;
    }
}

TEST(WeirLabLearned, misses_no_member_and_keeps_its_error_over_the_universe) {
  const std::uint64_t seed = seed_or(8);
  WEIR_TRACE_SEED(seed);
  const Json json = learned(
      small({"--auc", "0.99", "--shares", "0,0.25,1", "--seed", std::to_string(seed), "--no-classifiers"}));
  ASSERT_EQ(json.at("shares").size(), 3u);
  for (const Json &row : json.at("shares"))
    for (const char *counted : {"model_counted", "model_not_counted"})
      for (const char *name : {"bloom", "bloomier", "chained"}) {
        SCOPED_TRACE(row.at("share").dump() + ' ' + counted + ' ' + name);
        const Json &filter = row.at(counted).at(name);
        EXPECT_EQ(filter.at("missed"), 0);
        // Exact filters leave the trees' error alone, which is counted; a Bloom filter's is a mean.
        EXPECT_LE(filter.at("error"), std::string(name) == "bloom" ? 0.0145 : 0.01);
        const auto all =
            filter.at("model_bits").get<std::uint64_t>() + filter.at("backup_bits").get<std::uint64_t>();
        EXPECT_EQ(filter.at("bits"), std::string(counted) == "model_counted"
                                         ? all
                                         : filter.at("backup_bits").get<std::uint64_t>());
        EXPECT_EQ(filter.at("trees") == 0, filter.at("model_bits") == 0);
      }
}

TEST(WeirLabLearned, takes_no_more_with_trees_than_without_and_less_where_they_pay) {
  const Json json = learned({"--members", "60000", "--others", "60000", "--auc", "0.99", "--shares", "0,1",
                             "--trees", "24", "--unseen", "1000", "--no-classifiers"});
  const Json &without = json.at("shares").at(0).at("model_counted"),
             &with = json.at("shares").at(1).at("model_counted");
  for (const char *name : {"bloom", "bloomier", "chained"})
    EXPECT_LE(with.at(name).at("bits"), without.at(name).at("bits")) << name;
  EXPECT_LT(with.at("bloom").at("bits").get<double>(), 0.95 * without.at("bloom").at("bits").get<double>());
  EXPECT_GT(with.at("chained_saves_of_bloom"), 0.7);
  EXPECT_EQ(without.at("chained").at("bits"), json.at("plain_chained_bits"));
}

// [SLBF Table 3].
TEST(WeirLabLearned, sets_classifiers_of_traffic_beside_the_law_that_made_it) {
  const auto classifiers = [](const char *auc, const char *seed) {
    const Outcome outcome =
        run({program("weir-lab").string(), "classifiers", "--auc", auc, "--members", "30000", "--others",
             "30000", "--trees", "100", "--rounds", "1", "--seed", seed});
    EXPECT_TRUE(outcome.ok()) << outcome.err;
    return Json::parse(outcome.out, nullptr, false);
  };
  for (const char *auc : {"0.82", "0.92"}) {
    const Json json = classifiers(auc, "1");
    const double possible = json.at("auc_possible"), trees = json.at("classifiers").at(0).at("auc");
    EXPECT_NEAR(possible, std::stod(auc), 0.015);
    EXPECT_LT(trees, possible);
    EXPECT_GT(trees, possible - 0.04);
    for (std::size_t i = 1; i < 3; ++i) {
      const Json &linear = json.at("classifiers").at(i);
      EXPECT_LT(linear.at("auc"), trees - 0.05) << "classes are no numbers";
      EXPECT_GT(linear.at("auc"), 0.5);
      EXPECT_EQ(linear.at("bits"), 32 * (15 + 1));
      EXPECT_GT(linear.at("training_seconds"), 0);
    }
  }
  EXPECT_EQ(classifiers("0.9", "2").at("classifiers").at(0).at("auc"),
            classifiers("0.9", "2").at("classifiers").at(0).at("auc"));
  EXPECT_NE(classifiers("0.9", "2").at("classifiers").at(0).at("auc"),
            classifiers("0.9", "3").at("classifiers").at(0).at("auc"));
}

TEST(WeirLabLearned, sets_linear_classifiers_beside_the_trees) {
  const Json json = learned(small({"--auc", "0.95", "--shares", "0"}));
  ASSERT_EQ(json.at("classifiers").size(), 3u);
  const Json &trees = json.at("classifiers").at(0);
  for (const Json &rival : json.at("classifiers")) {
    EXPECT_GT(rival.at("mops"), 0) << rival;
    EXPECT_GT(rival.at("bits"), 0) << rival;
    EXPECT_GT(rival.at("auc"), 0.7) << rival;
    EXPECT_LE(rival.at("auc"), trees.at("auc")) << rival;
  }
}

TEST(WeirLabLearned, repeats_itself_for_the_same_seed) {
  const auto rows = [](const char *seed) {
    Json json = learned(small({"--shares", "0.5", "--seed", seed, "--no-classifiers"}));
    json.at("shares").at(0).erase("training_seconds");
    return json.at("shares");
  };
  EXPECT_EQ(rows("3"), rows("3"));
  EXPECT_NE(rows("3"), rows("4"));
}

Json rival(std::vector<std::string> arguments) {
  arguments.insert(arguments.begin(), {program("weir-lab").string(), "learned-rival", "--members", "20000",
                                       "--others", "60000", "--known", "30000", "--trees", "32"});
  const Outcome outcome = run(arguments);
  EXPECT_TRUE(outcome.ok()) << outcome.err;
  return Json::parse(outcome.out, nullptr, false);
}

// [Stacked figure 4a]: what is learned holds for every skew, what is known by name pays with it.
TEST(WeirLabLearnedRival, is_ahead_where_space_is_short_and_behind_where_few_negatives_are_hot) {
  const Json rows = rival({"--bits", "5", "--zipf", "0,1.25", "--no-timing"}).at("rows");
  ASSERT_EQ(rows.size(), 2u);
  for (const Json &row : rows) {
    EXPECT_GT(row.at("trees"), 0);
    EXPECT_LE(row.at("learned").at("bits_per_key"), 5);
    EXPECT_LT(row.at("learned").at("efpr"), row.at("plain").at("efpr"));
  }
  EXPECT_LT(rows[0].at("learned").at("efpr"), rows[0].at("stacked").at("efpr"));
  EXPECT_GT(rows[1].at("learned").at("efpr"), rows[1].at("stacked").at("efpr"));
}

// [Stacked figure 6d].
TEST(WeirLabLearnedRival, needs_more_space_for_a_rate_the_more_keys_are_swapped) {
  const auto bits = [](const char *swapped) {
    const Json row = rival({"--efpr", "0.01", "--swapped", swapped, "--no-timing"}).at("rows").at(0);
    EXPECT_LT(row.at("learned").at("efpr"), 0.0125);
    return row.at("learned").at("bits_per_key").get<double>();
  };
  EXPECT_LT(bits("0") + 0.2, bits("0.1"));
}

TEST(WeirLabLearnedRival, takes_the_time_of_its_features_into_what_a_question_costs) {
  const Json json = rival({"--bits", "8", "--iops", "1000", "--positive-share", "0,1"});
  const Json &learned = json.at("rows").at(0).at("learned");
  ASSERT_EQ(learned.at("workload").size(), 2u);
  EXPECT_GT(json.at("features_ns"), json.at("hash_ns"));
  EXPECT_GT(learned.at("workload").at(0).at("filter_ns"), json.at("features_ns"));
  EXPECT_NEAR(learned.at("workload").at(1).at("total_ns"), 1e6, 1e4); // every present key is read
}

TEST(WeirLabLearned, refuses_what_it_cannot_do) {
  const Outcome outcome = run({program("weir-lab").string(), "learned", "--depth", "7"});
  EXPECT_EQ(outcome.code, 2);
  EXPECT_NE(outcome.err.find("--depth"), std::string::npos) << outcome.err;
}

} // namespace
} // namespace weir::test::weir_lab_learned_test
