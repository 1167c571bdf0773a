// Plans of the deny side's stacked filter: budgets, memory, known negatives.
#include "control/plan/plan.hpp"
#include "control/watch/deny_filter_watch.hpp"
#include "tests/support/image_memory.hpp"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <cmath>

namespace weir::plan::deny_filter_test {
namespace {

using build::EntryV4;
using test::entry_v4;
using workload::Negatives;

// Sources lie between denied hosts: others are never asked about.
constexpr std::uint32_t denied_first = 0x0B000000, source_first = 0x0B000001;
Address source(std::uint32_t number) { return Address::from_host(source_first + 3 * number); }

struct Case {
  std::vector<EntryV4> deny, allow{};
  config::Config config{};
  Negatives negatives{};
  Calibration calibration = built_in_calibration();

  explicit Case(std::uint32_t hosts) {
    for (std::uint32_t i = 0; i < hosts; ++i) deny.push_back({denied_first + 3 * i, 32, 0, 1});
    config.source = "weir.yaml";
  }
  Case &compact(double budget, double unknown, std::optional<std::uint64_t> bytes = {}) {
    config.compact = {
        .false_positive_budget = budget, .unknown_budget = unknown, .memory_bytes = bytes, .line = 7};
    return *this;
  }
  // As many samples as one likes of a Zipf law, without the noise.
  Case &zipf(std::uint32_t sources, double samples) {
    double all = 0;
    for (std::uint32_t i = 1; i <= sources; ++i) all += 1.0 / i;
    for (std::uint32_t i = 0; i < sources; ++i)
      negatives.hottest.push_back({source(i), samples / all / (i + 1)});
    negatives.total = samples;
    return *this;
  }
  [[nodiscard]] build::BuildInput input() const {
    build::BuildInput in;
    in.deny.v4 = deny;
    in.allow.v4 = allow;
    in.seed = 5;
    return in;
  }
  [[nodiscard]] Result<DenyFilterPlan> plan() const {
    const build::BuildInput in = input();
    return plan_deny_filter({in, config, negatives, calibration});
  }
};

TEST(DenyFilter, is_none_in_exact_mode_unless_asked_for) {
  Case exact(1000);
  EXPECT_FALSE(exact.plan().value().stacks());
  exact.config.front_filter = config::FrontFilter::stacked;
  const DenyFilterPlan front = exact.plan().value();
  EXPECT_TRUE(front.stacks());
  EXPECT_FALSE(front.compact);
  EXPECT_EQ(front.why, "the configuration says so");
}

TEST(DenyFilter, of_compact_mode_keeps_both_budgets) {
  for (const double budget : {1e-2, 1e-3, 1e-4}) {
    SCOPED_TRACE(budget);
    const DenyFilterPlan unknown = Case(50'000).compact(budget, 2e-2).plan().value();
    EXPECT_EQ(unknown.hot, 0u) << "nothing is known of the traffic";
    EXPECT_DOUBLE_EQ(unknown.stack.efpr, unknown.stack.efpb);
    EXPECT_LE(unknown.stack.efpr, budget * 1.001);
    const DenyFilterPlan known = Case(50'000).compact(budget, 2e-2).zipf(20'000, 1e6).plan().value();
    EXPECT_LE(known.stack.efpr, budget * 1.001);
    EXPECT_LE(known.stack.efpb, 2e-2 * 1.001);
    EXPECT_TRUE(known.keeps_budget());
    EXPECT_LE(known.stack.bits, unknown.stack.bits) << "what is known of the traffic never costs memory";
  }
}

TEST(DenyFilter, takes_less_memory_where_a_few_sources_ask_most) {
  const DenyFilterPlan unknown = Case(50'000).compact(1e-3, 2e-2).plan().value();
  const DenyFilterPlan known = Case(50'000).compact(1e-3, 2e-2).zipf(5'000, 1e6).plan().value();
  EXPECT_GE(known.stack.layers.size(), 2u);
  EXPECT_LT(known.stack.bits, 0.85 * unknown.stack.bits);
  EXPECT_EQ(known.hot, static_cast<std::uint64_t>(known.stack.known));
  ASSERT_EQ(known.known.size(), known.hot);
  EXPECT_EQ(known.known[0], Address::from_host(source_first)) << "the hottest first";
  ASSERT_TRUE(known.advice);
  EXPECT_TRUE(known.advice->stack) << known.advice->words;
}

TEST(DenyFilter, makes_the_fewest_errors_in_the_memory_there_is_and_says_what_would_do) {
  const std::uint64_t bytes = 50'000 * 9 / 8;
  const DenyFilterPlan unknown = Case(50'000).compact(1e-4, 5e-2, bytes).plan().value();
  Case strangers(50'000); // who ask half of the questions
  strangers.compact(1e-4, 5e-2, bytes).zipf(5'000, 1e6).negatives.total = 2e6;
  const DenyFilterPlan known = strangers.plan().value();
  for (const DenyFilterPlan *plan : {&unknown, &known}) {
    EXPECT_LE(plan->stack.bits, 8.0 * bytes);
    EXPECT_LE(plan->stack.efpb, 5e-2 * 1.001);
    EXPECT_FALSE(plan->keeps_budget());
    ASSERT_TRUE(plan->needed_bits);
    EXPECT_GT(*plan->needed_bits, 8.0 * bytes);
    EXPECT_NE(plan->why.find("more than false_positive_budget: 0.01 %, which would take"), std::string::npos)
        << plan->why;
  }
  EXPECT_LT(known.stack.efpr, unknown.stack.efpr * 0.9);
  const DenyFilterPlan all = Case(50'000).compact(1e-4, 5e-2, bytes).zipf(5'000, 1e6).plan().value();
  EXPECT_TRUE(all.keeps_budget()) << "where nobody is a stranger";
}

TEST(DenyFilter, that_cannot_keep_the_unknown_budget_is_refused_with_what_is_needed) {
  const auto plan = Case(50'000).compact(1e-4, 1e-2, 8192).plan();
  ASSERT_FALSE(plan);
  EXPECT_EQ(plan.error().code, Errc::refused);
  EXPECT_NE(plan.error().message.find("weir.yaml:7: mode.compact.memory: 8.0 KiB is too little for"),
            std::string::npos)
      << plan.error().message;
  EXPECT_NE(plan.error().message.find("KiB are needed; allow more memory or a larger unknown_budget"),
            std::string::npos)
      << plan.error().message;
}

TEST(DenyFilter, knows_no_source_that_a_list_denies_but_allowed_hosts_and_those_hit_once) {
  Case c(20'000);
  c.deny.push_back({0x60000000, 8, 0, 1}); // 96.0.0.0/8
  c.allow = {entry_v4("70.0.0.1", 2), {denied_first, 32, 0, 2}, entry_v4("71.0.0.0/24", 2)};
  c.compact(1e-3, 2e-2).zipf(5'000, 1e6);
  const Address listed = Address::from_host(denied_first + 3), inside = Address::from_host(0x60000001);
  c.negatives.hottest.insert(c.negatives.hottest.begin(), {{listed, 1e5}, {inside, 1e5}});
  c.negatives.denied_wrongly = {Address::from_host(0x51000000), inside, Address::from_host(source_first)};
  const DenyFilterPlan plan = c.plan().value();
  const auto knows = [&](std::uint32_t host) {
    return std::ranges::count(plan.known, Address::from_host(host));
  };
  EXPECT_EQ(plan.denied, 1u);
  EXPECT_EQ(std::ranges::count(plan.known, listed), 0);
  EXPECT_EQ(std::ranges::count(plan.known, inside), 0);
  EXPECT_EQ(knows(0x46000001), 1) << "allowed";
  EXPECT_EQ(knows(denied_first), 0) << "allowed, and a key all the same";
  EXPECT_EQ(knows(0x51000000), 1) << "hit once";
  EXPECT_EQ(knows(source_first), 1) << "hot, and not twice";
  EXPECT_EQ(plan.known_count, plan.known.size());
}

TEST(DenyFilter, leaves_out_sources_that_lie_far_from_any_denied_host) {
  Case c(20'000);
  c.compact(1e-3, 2e-2).zipf(5'000, 1e6);
  const Address far = Address::from_host(0x50000001);
  c.negatives.hottest.insert(c.negatives.hottest.begin(), {far, 1e6});
  c.negatives.total += 1e6;
  const DenyFilterPlan plan = c.plan().value();
  EXPECT_EQ(std::ranges::count(plan.known, far), 0);
  EXPECT_NEAR(plan.samples, 1e6, 1);
  watch::DenyFilterWatch watch;
  watch.begin({.stacks = true, .rates = {}}, {}, plan.asked_cells);
  watch.negative(far);
  watch.negative(source(1));
  EXPECT_EQ(watch.samples(), 1u);
}

const DenyFilterPlan::Tried &tried(const DenyFilterPlan &plan, DenyForm form) {
  return *std::ranges::find(plan.tried, form, &DenyFilterPlan::Tried::form);
}

TEST(DenyFilter, tries_every_form_also_where_a_list_is_dynamic_and_says_why_one_was_taken) {
  Case c(50'000);
  config::List bans;
  bans.dynamic = true;
  c.config.lists.push_back(bans);
  for (const bool traffic : {false, true}) {
    c.compact(1e-3, 2e-2);
    if (traffic) c.zipf(20'000, 1e6);
    const DenyFilterPlan plan = c.plan().value();
    EXPECT_EQ(plan.tried.size(), deny_forms.size());
    EXPECT_FALSE(facts_of(plan.form).in_place) << "the overlay has room for what is added";
    EXPECT_EQ(plan.planned_keys, plan.keys) << "no room for what it never takes";
    double least = 1e300;
    for (const DenyFilterPlan::Tried &t : plan.tried) {
      SCOPED_TRACE(name_of(t.form));
      EXPECT_GT(t.bits, 0);
      EXPECT_GT(t.ns, 0);
      EXPECT_LE(t.efpb, 2e-2 * 1.001);
      EXPECT_EQ(t.why_not.empty(), t.chosen);
      if (facts_of(t.form).built && t.efpr <= 1e-3 * 1.001) least = std::min(least, t.bits);
      if (!facts_of(t.form).layers) {
        EXPECT_EQ(t.known_rate, 0) << "no known source is ever denied";
      }
    }
    EXPECT_LE(plan.stack.bits, least / (1 - form_saving_min));
    EXPECT_NE(plan.why.find(" bits a host, "), std::string::npos) << plan.why;
    EXPECT_NE(tried(plan, DenyForm::cuckoo).why_not.find("sized to be compared"), std::string::npos);
    EXPECT_NE(tried(plan, DenyForm::bloom).why_not.find("times the memory"), std::string::npos);
  }
}

TEST(DenyFilter, takes_the_judge_that_the_configuration_names) {
  using config::Judge;
  for (const Judge judge : {Judge::stacked, Judge::chained_and, Judge::fuse}) {
    Case c(20'000);
    c.compact(1e-3, 2e-2).zipf(5'000, 1e6).config.compact->judge = judge;
    const DenyFilterPlan plan = c.plan().value();
    EXPECT_EQ(plan.chosen, name_of(judge));
    EXPECT_EQ(facts_of(plan.form).judge, judge);
    EXPECT_NE(plan.why.find("the configuration asks for it"), std::string::npos) << plan.why;
    EXPECT_LE(plan.stack.efpr, 1e-3 * 1.001);
    for (const DenyFilterPlan::Tried &t : plan.tried) {
      EXPECT_GT(t.bits, 0) << "each is sized";
      if (facts_of(t.form).judge != judge && facts_of(t.form).built) {
        EXPECT_EQ(t.why_not, "the configuration asks for another");
      }
    }
  }
  Case little(50'000);
  little.compact(1e-4, 1e-2, 8192).config.compact->judge = Judge::chained_and;
  const auto refused = little.plan();
  ASSERT_FALSE(refused);
  EXPECT_NE(refused.error().message.find("are needed; allow more memory"), std::string::npos)
      << refused.error().message;
}

// Of all questions that nobody was known to ask, the exact stage errs in half; of the known ones in none.
TEST(DenyFilter, of_a_chained_filter_knows_as_many_as_pay_and_keeps_to_the_memory) {
  const std::uint64_t bytes = 50'000; // eight bits a host
  Case c(50'000);
  c.compact(1e-5, 5e-2, bytes).zipf(20'000, 1e6).config.compact->judge = config::Judge::chained_and;
  c.negatives.total = 1.25e6; // a fifth of the questions come from strangers
  const DenyFilterPlan plan = c.plan().value();
  EXPECT_LE(plan.stack.bits, 8.0 * bytes);
  EXPECT_EQ(plan.form, DenyForm::chained_and);
  ASSERT_EQ(plan.stack.layers.size(), 2u);
  EXPECT_EQ(plan.hot, 20'000u) << "each costs a bit in sixty-four";
  EXPECT_NEAR(plan.stack.efpb, std::exp2(-1.0 - plan.stack.layers[0].digits), 1e-12);
  EXPECT_NEAR(plan.stack.efpr, 0.2 * plan.stack.efpb, 1e-6);
  EXPECT_FALSE(plan.keeps_budget());
  ASSERT_TRUE(plan.needed_bits);
}

TEST(DenyFilter, is_weighed_against_the_cost_of_tables_and_says_both) {
  Case c(200'000);
  Cost none, worse;
  none.ns = 0.1; // nothing is cheaper
  worse.ns = 1e4;
  const build::BuildInput in = c.input();
  const auto weigh = [&](const Cost &cost) {
    return weigh_front_stack({in, c.config, c.negatives, c.calibration}, cost);
  };
  const DenyFilterPlan early = weigh(none);
  EXPECT_NE(early.why.find("too few samples"), std::string::npos);
  EXPECT_FALSE(early.stacks());
  ASSERT_EQ(early.tried.size(), 2u) << "what they would cost is shown all the same";
  for (const DenyFilterPlan::Tried &tried : early.tried) {
    EXPECT_FALSE(tried.chosen);
    EXPECT_FALSE(tried.why_not.empty());
  }
  EXPECT_GT(early.tried[0].ns, 0);
  c.zipf(5'000, 1e6);
  const DenyFilterPlan dear = weigh(none);
  EXPECT_FALSE(dear.stacks());
  EXPECT_NE(dear.why.find("0.1 with front filter none"), std::string::npos) << dear.why;
  const DenyFilterPlan taken = weigh(worse);
  EXPECT_TRUE(taken.stacks());
  EXPECT_EQ(taken.chosen, "stacked");
  for (const DenyFilterPlan *plan : {&dear, &taken}) {
    ASSERT_EQ(plan->tried.size(), 2u) << "a chained filter is shown beside it";
    EXPECT_EQ(plan->tried[0].chosen, plan->stacks());
    EXPECT_EQ(plan->tried[1].form, DenyForm::chained_and);
    EXPECT_GT(plan->tried[1].ns, 0);
    EXPECT_FALSE(plan->tried[1].chosen);
  }
  c.config.front_filter = config::FrontFilter::none;
  EXPECT_FALSE(weigh(worse).stacks()) << "the configuration forbids it";
}

TEST(DenyFilter, is_an_object_in_json_with_the_advice_in_words) {
  Case c(20'000);
  c.compact(1e-3, 2e-2).zipf(5'000, 1e6);
  DenyFilterPlan plan = c.plan().value();
  plan.built = DenyFilterPlan::Built{1234, {0.1, 0.2, 0.3}, 5e-4, 1e-2, 3, 1.5};
  const auto json = nlohmann::json::parse(to_json(plan), nullptr, false);
  ASSERT_TRUE(json.is_object()) << to_json(plan);
  EXPECT_EQ(json.at("chosen"), plan.chosen);
  EXPECT_EQ(json.at("mode"), "compact");
  ASSERT_EQ(json.at("tried").size(), deny_forms.size());
  unsigned chosen = 0;
  for (const auto &row : json.at("tried")) {
    for (const char *number : {"bits_per_key", "efpr", "efpb", "known", "ns_per_lookup"})
      EXPECT_TRUE(row.at(number).is_number()) << number;
    EXPECT_TRUE(row.at("update") == "in_place" || row.at("update") == "overlay");
    chosen += row.at("chosen").get<bool>();
  }
  EXPECT_EQ(chosen, 1u);
  EXPECT_NEAR(json.at("predicted").at("efpr").get<double>(), plan.stack.efpr, 1e-6);
  EXPECT_EQ(json.at("layers").size(), plan.stack.layers.size());
  EXPECT_EQ(json.at("built").at("rates").size(), 3u);
  EXPECT_EQ(json.at("known_negatives"), plan.known.size());
  EXPECT_NE(json.at("advice").at("words").get<std::string>().find("% of the negative questions"),
            std::string::npos);
  EXPECT_TRUE(nlohmann::json::parse(to_json(DenyFilterPlan{}), nullptr, false).is_object());
}

} // namespace
} // namespace weir::plan::deny_filter_test
