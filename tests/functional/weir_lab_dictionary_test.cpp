// weir-lab dictionary: no key of the universe is answered wrongly, and space is what the model says.
#include "tests/support/process.hpp"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace weir::test::weir_lab_dictionary_test {
namespace {

using Json = nlohmann::json;

Json dictionary(std::vector<std::string> arguments) {
  arguments.insert(arguments.begin(), {program("weir-lab").string(), "dictionary"});
  const Outcome outcome = run(arguments);
  EXPECT_TRUE(outcome.ok()) << outcome.err;
  return Json::parse(outcome.out, nullptr, false);
}

// [Chained §5.1] at its worst lambda: a fifth over the bound in four-wise tables of a million keys.
TEST(WeirLabDictionary, takes_at_most_a_fifth_more_than_the_bound_and_makes_no_error) {
  const Json json = dictionary({"--lambda", "4", "--rounds", "1"});
  EXPECT_EQ(json.at("errors"), 0);
  EXPECT_LT(json.at("overhead"), 0.2);
  EXPECT_NEAR(json.at("lower_bound"), 3.6096, 1e-4);
  EXPECT_NEAR(json.at("bits_per_positive").get<double>() /
                  json.at("predicted_bits_per_positive").get<double>(),
              1, 0.01);
  EXPECT_NEAR(json.at("unseen_rate"), 0.125, 0.002);
  EXPECT_EQ(json.at("ribbon").at("errors"), 0);
  EXPECT_LT(json.at("ribbon").at("overhead"), 0.13);
  const Json &rival = json.at("exact_bloomier");
  EXPECT_EQ(rival.at("errors"), 0);
  EXPECT_NEAR(rival.at("bits_per_positive"), 5 * 1.076, 0.03);
  for (const char *time : {"build_ns", "query_ns", "query_batch_ns"}) {
    EXPECT_GT(json.at(time), 0) << time;
    EXPECT_GT(rival.at(time), 0) << time;
  }
}

TEST(WeirLabDictionary, saves_64_percent_of_the_exact_bloomier_filter_at_sixteen) {
  for (const char *ways : {"3", "4"})
    EXPECT_GT(dictionary({"--lambda", "16", "--ways", ways, "--rounds", "1", "--positives", "300000"})
                  .at("space_saved"),
              0.63)
        << ways;
}

TEST(WeirLabDictionary, is_the_exact_filter_alone_below_two_negatives_a_positive) {
  const Json json = dictionary({"--lambda", "1.5", "--rounds", "1", "--positives", "10000"});
  EXPECT_EQ(json.at("first_stage_bits"), 0);
  EXPECT_EQ(json.at("bits_per_positive"), json.at("exact_bloomier").at("bits_per_positive"));
  EXPECT_EQ(json.at("errors"), 0);
}

// [Chained Alg. 2]: no key is answered wrongly here either, in what the model says and no more than its bound.
TEST(WeirLabDictionary, has_and_not_beside_it_in_the_bits_of_its_model) {
  for (const char *ways : {"3", "4"}) {
    SCOPED_TRACE(ways);
    const Json json = dictionary({"--lambda", "8", "--ways", ways, "--rounds", "1", "--positives", "200000"});
    const Json &and_not = json.at("and_not");
    EXPECT_EQ(and_not.at("errors"), 0);
    const double bits = and_not.at("bits_per_positive");
    EXPECT_NEAR(bits / and_not.at("predicted_bits_per_positive").get<double>(), 1, 0.05);
    EXPECT_LT(bits, and_not.at("bits_per_positive_max"));
    EXPECT_GT(bits, json.at("bits_per_positive")) << "`&` takes less";
    EXPECT_GT(and_not.at("layers"), 4);
  }
}

TEST(WeirLabDictionary, has_every_form_in_the_bits_of_its_model) {
  for (const char *lambda : {"1.5", "5", "16"}) {
    SCOPED_TRACE(lambda);
    const Json json = dictionary({"--lambda", lambda, "--rounds", "1", "--positives", "200000"});
    for (const char *form : {"shared_slots", "ribbon"}) {
      EXPECT_EQ(json.at(form).at("errors"), 0) << form;
      EXPECT_NEAR(json.at(form).at("bits_per_positive").get<double>() /
                      json.at(form).at("predicted_bits_per_positive").get<double>(),
                  1, 0.01)
          << form;
    }
  }
}

// [Chained Alg. 2]: a smaller delta has fewer layers of more bits. Rates of 1/4 / 8 and 1/16 are whole bits of fingerprint.
TEST(WeirLabDictionary, takes_the_delta_of_and_not_from_the_command_line) {
  const auto of = [](const char *delta) {
    const Json json =
        dictionary({"--lambda", "8", "--rounds", "1", "--positives", "200000", "--delta", delta});
    const Json &and_not = json.at("and_not");
    EXPECT_EQ(and_not.at("errors"), 0) << delta;
    EXPECT_NEAR(and_not.at("bits_per_positive").get<double>() /
                    and_not.at("predicted_bits_per_positive").get<double>(),
                1, 0.05)
        << delta;
    return and_not;
  };
  const Json half = of("0.5"), quarter = of("0.25");
  EXPECT_LT(quarter.at("layers"), half.at("layers"));
  EXPECT_GT(quarter.at("bits_per_positive"), half.at("bits_per_positive"));
  EXPECT_FALSE(quarter.contains("bits_per_positive_max"));
}

TEST(WeirLabDictionary, refuses_what_it_cannot_do) {
  const Outcome outcome = run({program("weir-lab").string(), "dictionary", "--ways", "5"});
  EXPECT_EQ(outcome.code, 2);
  EXPECT_NE(outcome.err.find("--ways"), std::string::npos) << outcome.err;
}

} // namespace
} // namespace weir::test::weir_lab_dictionary_test
