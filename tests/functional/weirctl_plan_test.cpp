// What `weirctl plan` says before anything happens, and that the generation then is what it said.
#include "tests/support/weir_pair.hpp"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace weir::test {

namespace {

using Json = nlohmann::json;

constexpr const char *lists = "- {name: hosts, action: deny, file: hosts.txt}\n"
                              "- {name: bans, action: deny, dynamic: true}\n";

class WeirctlPlan : public ::testing::Test {
protected:
  WeirctlPlan() : pair_(setup()) { write_addresses(pair_.folder() / "hosts.txt", 0, 20'000); }
  void SetUp() override { ASSERT_NO_FATAL_FAILURE(pair_.start()); }

  static PairSetup setup() {
    PairSetup setup = PairSetup::idle();
    setup.lists = lists;
    return setup;
  }
  Json plan_with(const std::string &more) {
    pair_.write_config(lists, more);
    return pair_.must({"plan", pair_.config()});
  }
  static const Json &chosen_of(const Json &plan) {
    for (const Json &candidate : plan.at("candidates"))
      if (candidate.at("chosen").get<bool>()) return candidate;
    return plan;
  }

  WeirPair pair_;
};

TEST_F(WeirctlPlan, shows_every_candidate_with_its_price_and_why_the_others_were_not_taken) {
  const Json plan = pair_.must({"plan"});
  ASSERT_EQ(plan.at("candidates").size(), 4u);
  unsigned chosen = 0;
  for (const Json &candidate : plan.at("candidates")) {
    EXPECT_GT(candidate.at("ns_per_lookup").get<double>(), 0);
    EXPECT_GT(candidate.at("bytes").get<std::uint64_t>(), 0u);
    EXPECT_EQ(candidate.at("why_not").get<std::string>().empty(), candidate.at("chosen").get<bool>());
    chosen += candidate.at("chosen").get<bool>() ? 1 : 0;
  }
  EXPECT_EQ(chosen, 1u);
  EXPECT_FALSE(plan.at("hit_ratio_measured").get<bool>());
  EXPECT_NE(plan.at("why").get<std::string>().find("10 % hits (assumed"), std::string::npos)
      << plan.at("why");
  EXPECT_NE(plan.at("calibration").get<std::string>().find("built-in figures"), std::string::npos);
}

TEST_F(WeirctlPlan, takes_what_the_configuration_names_and_says_so) {
  for (const std::string predictor : {"inline_bits", "chained"})
    for (const std::string front : {"none", "split_block_bloom"}) {
      const Json plan = plan_with("predictor: " + predictor + "\nfront_filter: " + front + "\n");
      EXPECT_EQ(chosen_of(plan).at("predictor"), predictor);
      EXPECT_EQ(chosen_of(plan).at("front_filter"), front);
      EXPECT_NE(plan.at("why").get<std::string>().find("the configuration says so"), std::string::npos);
      EXPECT_EQ(plan.at("candidates").size(), 4u) << "what the others would have cost is shown still";
    }
}

TEST_F(WeirctlPlan, is_what_the_next_generation_becomes) {
  const Json plan = plan_with("predictor: chained\n");
  pair_.must({"apply", pair_.config()});
  const Json live = pair_.must({"generations"}).at("generations").back();
  EXPECT_TRUE(live.at("live").get<bool>());
  EXPECT_EQ(live.at("plan").at("predictor"), "chained");
  EXPECT_EQ(live.at("image_bytes"), plan.at("image_bytes"));
  EXPECT_TRUE(live.at("plan").at("trained").at("exact").get<bool>());
  EXPECT_EQ(pair_.verdict(numbered_address(7)), "drop");
  EXPECT_EQ(pair_.verdict("198.51.100.1"), "pass");
}

TEST_F(WeirctlPlan, an_unknown_predictor_is_refused_with_line_value_and_remedy) {
  pair_.write_config(lists, "predictor: chaned\n");
  const Reply reply = pair_.ctl({"plan", pair_.config()});
  EXPECT_EQ(reply.status, 1);
  const std::string said = reply.out + reply.err;
  EXPECT_NE(said.find("\\\"chaned\\\" is not one of auto, inline_bits, chained"), std::string::npos) << said;
}

} // namespace
} // namespace weir::test
