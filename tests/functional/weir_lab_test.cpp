// weir-lab small: its JSON has what it promises, and the filters stand to each other as they must.
#include "tests/support/process.hpp"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace weir::test::weir_lab_test {
namespace {

using Json = nlohmann::json;

const std::vector<std::string> filters{"seesaw",
                                       "seesaw_printed",
                                       "counting_bloom",
                                       "counting_bloom_best",
                                       "weighted_bloom",
                                       "weighted_bloom_best",
                                       "stacked_counting",
                                       "stacked_counting_best",
                                       "stacked_optimised",
                                       "cuckoo"};

Outcome lab(std::vector<std::string> arguments) {
  arguments.insert(arguments.begin(), {program("weir-lab").string(), "seesaw"});
  return run(arguments);
}
Json report(const std::vector<std::string> &arguments) {
  const Outcome outcome = lab(arguments);
  EXPECT_TRUE(outcome.ok()) << outcome.err;
  return Json::parse(outcome.out, nullptr, false);
}

TEST(WeirLab, shows_every_filter_fresh_and_churned_in_equal_space) {
  const Json json = report({"--keys", "20000", "--negatives", "40000", "--bits", "24", "--seeds", "2"});
  for (const char *member :
       {"weighted_fpr", "weighted_fpr_by_class", "plain_fpr", "weighted_fpr_churned", "plain_fpr_churned",
        "insert_ns", "query_ns", "query_batch_ns", "delete_ns", "bits_per_key_used"})
    for (const std::string &filter : filters)
      EXPECT_TRUE(json.at(member).at(filter).is_number()) << member << ' ' << filter;
  for (const std::string &filter : filters) {
    EXPECT_LE(json["bits_per_key_used"][filter], 24.0) << filter;
    EXPECT_GE(json["bits_per_key_used"][filter], 23.7) << filter;
    EXPECT_GT(json["query_ns"][filter], 0) << filter;
  }
  EXPECT_EQ(json.at("false_negatives"), 0);
  EXPECT_TRUE(json.at("overflows").is_number());
  EXPECT_EQ(json.at("bits_per_key"), 24);
}

TEST(WeirLab, measures_what_the_models_predict_and_finds_the_order_known) {
  const Json json = report({"--keys", "20000", "--negatives", "40000", "--no-timing"});
  for (const std::string of : {"weighted_fpr", "weighted_fpr_churned"}) {
    const Json &measured = json.at(of + "_by_class"), &predicted = json.at(of + "_predicted");
    for (const std::string filter :
         {"counting_bloom", "counting_bloom_best", "weighted_bloom", "weighted_bloom_best",
          "stacked_counting", "stacked_counting_best", "stacked_optimised"})
      EXPECT_NEAR(measured.at(filter).get<double>() / predicted.at(filter).get<double>(), 1, 0.15)
          << of << ' ' << filter;
    EXPECT_TRUE(predicted.at("seesaw_printed").is_null()) << "no model, no figure";
  }
  const auto rate = [&](const char *filter) {
    return json.at("weighted_fpr_churned_by_class").at(filter).get<double>();
  };
  EXPECT_LT(rate("cuckoo"), rate("seesaw"));
  EXPECT_LT(rate("seesaw"), rate("stacked_counting"));
  EXPECT_LT(rate("stacked_optimised"), rate("stacked_counting"));
  EXPECT_LT(rate("stacked_counting"), rate("counting_bloom"));
  EXPECT_LT(rate("seesaw"), rate("seesaw_printed"));
  EXPECT_FALSE(json.contains("query_ns"));
}

TEST(WeirLab, gives_each_rival_its_best_width_of_cells_and_then_the_seesaw_filter_is_behind_most_of_them) {
  const auto churned = [](std::vector<std::string> more) {
    std::vector<std::string> arguments{
        "--keys",      "40000",    "--negatives",
        "40000",       "--rounds", "40",
        "--no-timing", "--only",   "seesaw,counting_bloom_best,weighted_bloom_best,stacked_counting_best"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    const Json json = report(arguments);
    for (const char *filter : {"counting_bloom_best", "weighted_bloom_best"})
      EXPECT_NE(json.at("shape").at(filter).get<std::string>().find("cells of 2 bits"), std::string::npos)
          << json.at("shape").at(filter);
    return json.at("weighted_fpr_churned_by_class");
  };
  for (const char *bits : {"20", "32"}) { // 5 % known: behind all of them
    const Json rates = churned({"--vulnerable", "0.05", "--bits", bits});
    for (const char *filter : {"counting_bloom_best", "weighted_bloom_best", "stacked_counting_best"})
      EXPECT_LT(rates.at(filter).get<double>(), rates.at("seesaw").get<double>()) << filter << ' ' << bits;
  }
  const Json rates = churned({"--vulnerable", "0.2", "--bits", "12"});
  EXPECT_LT(rates.at("seesaw").get<double>(), rates.at("counting_bloom_best").get<double>())
      << "few bits, 20 % known: ahead of the one that favours nobody";
  EXPECT_LT(rates.at("stacked_counting_best").get<double>(), rates.at("seesaw").get<double>());
}

// What docs/filters.md and docs/papers.md promise of a million keys, measured.
TEST(WeirLab, keeps_at_a_million_keys_what_was_set_out) {
  for (const auto &[bits, seesaw, stacked] :
       {std::tuple("20", 0.0075, 0.0018), std::tuple("32", 0.0013, 0.00012)}) {
    const Json json = report({"--keys", "1000000", "--negatives", "1000000", "--bits", bits, "--seeds", "1",
                              "--only", "seesaw,stacked_optimised", "--no-timing"});
    const Json &rates = json.at("weighted_fpr_churned_by_class");
    EXPECT_LT(rates.at("seesaw").get<double>(), seesaw) << bits;
    EXPECT_LT(rates.at("stacked_optimised").get<double>(), stacked) << bits;
    EXPECT_EQ(json.at("false_negatives"), 0);
  }
}

TEST(WeirLab, gives_the_same_rates_for_the_same_seed_and_others_for_another) {
  const std::vector<std::string> small{"--keys",   "5000", "--negatives", "5000",
                                       "--rounds", "3",    "--no-timing"};
  const auto with_seed = [&](const char *seed) {
    std::vector<std::string> arguments = small;
    arguments.insert(arguments.end(), {"--seed", seed});
    return report(arguments);
  };
  EXPECT_EQ(with_seed("7"), with_seed("7"));
  EXPECT_NE(with_seed("7").at("plain_fpr"), with_seed("8").at("plain_fpr"));
}

TEST(WeirLab, shows_how_late_guarding_takes_effect_round_by_round) {
  const Json json = report({"--ada", "--keys", "10000", "--negatives", "10000", "--rounds", "20", "--churn",
                            "0.1", "--skew", "1.5", "--only", "seesaw,counting_bloom", "--no-timing"});
  const Json &rounds = json.at("rate_by_round").at("seesaw");
  ASSERT_EQ(rounds.size(), 21u) << "before the first round and after each";
  EXPECT_LT(rounds[20].get<double>(), rounds[0].get<double>() / 3);
  EXPECT_EQ(json.at("weighted_fpr").size(), 2u);
}

TEST(WeirLab, knows_three_sets_of_keys) {
  for (const char *keyset : {"urls", "ycsb", "addresses"}) {
    const Json json = report({"--keyset", keyset, "--keys", "10000", "--negatives", "50000", "--only",
                              "counting_bloom", "--no-timing"});
    EXPECT_EQ(json.at("keyset"), keyset);
    EXPECT_NEAR(json.at("plain_fpr").at("counting_bloom").get<double>(), 0.092, 0.008) << keyset;
  }
}

TEST(WeirLab, says_what_is_wrong_with_its_arguments_and_ends_with_2) {
  for (const auto &[arguments, word] :
       std::vector<std::pair<std::vector<std::string>, std::string>>{{{"--bits", "many"}, "--bits"},
                                                                     {{"--keys", "1"}, "--keys"},
                                                                     {{"--keyset", "dogs"}, "ycsb"},
                                                                     {{"--only", "abacus"}, "cuckoo"},
                                                                     {{"--hashes", "99"}, "hashes"},
                                                                     {{"--unheard-of"}, "--unheard-of"}}) {
    const Outcome outcome = lab(arguments);
    EXPECT_EQ(outcome.code, 2) << arguments[0];
    EXPECT_NE(outcome.err.find(word), std::string::npos) << arguments[0] << ": " << outcome.err;
    EXPECT_TRUE(outcome.out.empty()) << arguments[0];
  }
  EXPECT_EQ(run({program("weir-lab").string()}).code, 2) << "no experiment named";
}

TEST(WeirLab, explains_itself) {
  const Outcome help = lab({"--help"});
  EXPECT_TRUE(help.ok());
  for (const char *word : {"--skew", "--vulnerable", "--ada", "Examples"})
    EXPECT_NE(help.out.find(word), std::string::npos) << word;
}

} // namespace
} // namespace weir::test::weir_lab_test
