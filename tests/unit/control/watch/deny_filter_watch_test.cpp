// When another image is due because of the stacked filter of denied hosts.
#include "control/watch/deny_filter_watch.hpp"

#include <gtest/gtest.h>

#include <cmath>

namespace weir::watch::deny_filter_watch_test {
namespace {

wire::CounterValues did(std::uint64_t asked, std::uint64_t accepted, std::uint64_t wrong,
                        std::uint64_t denied) {
  using enum wire::CounterId;
  wire::CounterValues did;
  did[deny_asked] = asked, did[deny_accepted] = accepted, did[deny_false] = wrong, did[deny_denied] = denied;
  return did;
}

constexpr std::uint32_t source_first = 0x0B000001;
Address source(std::uint32_t number) { return Address::from_host(source_first + 3 * number); }

using Kind = DenyFilterWatch::Reason::Kind;

class Watched : public testing::Test {
protected:
  // Four known sources of equal heat ask half of the questions.
  void begin(bool compact, double samples = 1e6) {
    const std::vector<double> rates{0.05, 0.1, 0.05};
    std::vector<workload::HotSource> known;
    for (std::uint32_t i = 0; i < 4; ++i) known.push_back({source(i), samples / 8});
    watch.begin({.stacks = true,
                 .compact = compact,
                 .efpr = build::stacked_efpr(rates, 0.5),
                 .efpb = build::unknown_rate(rates),
                 .psi = 0.5,
                 .samples = samples,
                 .rates = rates},
                known);
  }
  // `known` of `questions` come from known sources.
  void ask(unsigned questions, double known) {
    for (unsigned i = 0; i < questions; ++i)
      watch.negative(i < known * questions ? source(i % 4) : Address::from_host(0x52000000 + i));
  }
  DenyFilterWatch watch;
};

TEST_F(Watched, a_filter_that_does_what_was_planned_stays) {
  begin(false);
  ask(2000, 0.5);
  const double efpr = watch.forecast().efpr;
  const auto wrong = static_cast<std::uint64_t>(1e6 * efpr * 1.4);
  EXPECT_EQ(watch.why_replan(did(1'000'000, wrong, wrong, 0)).kind, Kind::none)
      << "within half as much again";
  EXPECT_FALSE(watch.has_shifted());
}

TEST_F(Watched, a_front_filter_that_errs_beyond_the_band_is_due) {
  begin(false);
  const auto wrong = static_cast<std::uint64_t>(1e6 * watch.forecast().efpr * 1.7);
  const auto why = watch.why_replan(did(1'050'000, 50'000 + wrong, wrong, 0));
  EXPECT_EQ(why.kind, Kind::rate);
  EXPECT_NE(why.words.find("were predicted"), std::string::npos) << why.words;
  EXPECT_EQ(watch.why_replan(did(100, 29, 29, 0)).kind, Kind::none) << "29 errors may be bad luck";
}

// Of 100,000 denied packets every tenth was looked at, and of these every fifth was wrong: 20,000 of the
// 920,000 that no rule denies.
TEST_F(Watched, a_judge_is_measured_by_the_denials_that_were_checked) {
  begin(true);
  for (unsigned i = 0; i < 10'000; ++i) watch.denied(i % 5 == 0);
  for (unsigned i = 0; i < 2000; ++i) watch.wrong(Address::from_host(0x53000000 + i % 1500));
  const auto rate = watch.rate(did(1'000'000, 100'000, 0, 100'000));
  ASSERT_TRUE(rate.measured);
  EXPECT_NEAR(rate.share, 20'000.0 / 920'000, 1e-9);
  EXPECT_EQ(rate.sampled.wrong, 2000u);
  EXPECT_NEAR(static_cast<double>(rate.sampled.asked), 92'000, 1);
  EXPECT_EQ(watch.look().denied_wrongly.size(), 1500u) << "to be known from now on, each once";
  EXPECT_FALSE(watch.rate(did(0, 0, 0, 0)).measured);
}

TEST_F(Watched, a_judge_whose_denials_nobody_has_checked_is_not_measured) {
  begin(true);
  EXPECT_FALSE(watch.rate(did(1'000'000, 100'000, 0, 100'000)).measured);
  EXPECT_EQ(watch.why_replan(did(1'000'000, 100'000, 0, 100'000)).kind, Kind::none);
}

TEST_F(Watched, traffic_that_has_shifted_makes_another_plan_due_with_both_shares_of_psi) {
  begin(true);
  ask(400, 0.0);
  EXPECT_FALSE(watch.has_shifted()) << "too few questions";
  ask(1600, 0.1);
  ASSERT_TRUE(watch.has_shifted());
  const auto why = watch.why_replan({});
  EXPECT_EQ(why.kind, Kind::shift);
  EXPECT_NE(why.words.find("known sources ask 8 % of the questions that no list answers, 50 % when"),
            std::string::npos)
      << why.words;
  watch.forget_what_was_before_the_shift();
  EXPECT_EQ(watch.look().total, 2000);
}

TEST_F(Watched, traffic_that_the_filter_suits_better_than_planned_is_no_reason) {
  begin(true);
  ask(2000, 0.95);
  EXPECT_FALSE(watch.has_shifted());
  const auto rate = watch.rate({});
  EXPECT_GT(rate.variation, 0.3);
}

TEST_F(Watched, more_that_is_known_of_the_traffic_is_a_reason_and_only_once) {
  begin(true, 100);
  ask(799, 0.5);
  EXPECT_EQ(watch.why_replan({}).kind, Kind::none);
  ask(1, 1);
  EXPECT_EQ(watch.why_replan({}).kind, Kind::learned);
  begin(true, 800);
  EXPECT_EQ(watch.why_replan({}).kind, Kind::none);
}

} // namespace
} // namespace weir::watch::deny_filter_watch_test
