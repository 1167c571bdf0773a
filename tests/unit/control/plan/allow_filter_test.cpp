// What the planner puts in front of the allow tables, and which denied keys it guards.
#include "control/plan/allow_filter.hpp"
#include "control/plan/allow_stack_size.hpp"
#include "control/plan/plan.hpp"
#include "tests/support/filter_checks.hpp"
#include "tests/support/image_memory.hpp"
#include "tests/support/slot_counts.hpp"
#include "weir/build/prefix_ranges.hpp"
#include "weir/key/text.hpp"

#include <gtest/gtest.h>

#include <memory>

namespace weir::plan::allow_filter_test {
namespace {

using build::EntryV4;
using build::EntryV6;
using test::entry_v4;
using test::entry_v6;

struct Rules {
  std::vector<EntryV4> deny4, allow4;
  std::vector<EntryV6> deny6{}, allow6{};

  [[nodiscard]] build::BuildInput input() const {
    build::BuildInput in;
    in.deny = {deny4, deny6};
    in.allow = {allow4, allow6};
    in.seed = 5;
    return in;
  }
};

std::vector<std::string> texts(const std::vector<build::VulnerableKey> &keys) {
  std::vector<std::string> out;
  for (const build::VulnerableKey &v : keys) out.push_back(to_string(v.key));
  return out;
}

std::vector<EntryV4> hosts(std::uint32_t first, std::uint32_t count, ListId list) {
  std::vector<EntryV4> out;
  for (std::uint32_t i = 0; i < count; ++i) out.push_back({first + 3 * i, 32, 0, list});
  return out;
}

using Texts = std::vector<std::string>;

TEST(VulnerableKeys, of_a_side_with_allowed_hosts_alone_are_the_denied_hosts) {
  const Rules rules{{entry_v4("10.0.0.0/8", 1), entry_v4("10.0.0.1", 1), entry_v4("192.0.2.9", 1)},
                    {entry_v4("172.16.0.1", 2)}};
  const Vulnerable v = vulnerable_keys(rules.input(), {});
  EXPECT_EQ(texts(v.keys), (Texts{"10.0.0.1", "192.0.2.9"}));
  EXPECT_EQ(v.prefixes, 1u) << "its addresses cannot be listed";
}

TEST(VulnerableKeys, are_masked_to_the_lengths_that_the_allow_side_is_asked_for) {
  const Rules rules{{entry_v4("10.0.0.1", 1), entry_v4("10.0.0.2", 1), entry_v4("10.1.0.1", 1)},
                    {entry_v4("10.0.0.0/28", 2), entry_v4("10.0.1.0/24", 2)},
                    {entry_v6("2001:db8::1", 1)},
                    {entry_v6("2001:db8:1::/48", 2)}};
  build::BuildInput input = rules.input();
  input.ranges = std::make_shared<const build::PrefixRanges>(); // prefixes in the tables
  const Vulnerable v = vulnerable_keys(input, {});
  ASSERT_EQ(texts(v.keys), (Texts{"10.0.0.0/24", "2001:db8::/48"}))
      << "10.0.0.0/28 is allowed, nothing is asked for below 10.1.0.0/16";
  EXPECT_EQ(v.keys[0].cost, 2) << "of two hosts";
}

TEST(VulnerableKeys, are_hosts_alone_where_ranges_have_the_prefixes) {
  const Rules rules{{entry_v4("10.0.0.1", 1), entry_v4("10.1.0.1", 1)},
                    {entry_v4("10.0.1.0/24", 2), entry_v4("10.0.0.9", 2)},
                    {entry_v6("2001:db8::1", 1)},
                    {entry_v6("2001:db8:1::/48", 2), entry_v6("2001:db8::9", 2)}};
  EXPECT_EQ(texts(vulnerable_keys(rules.input(), {}).keys), (Texts{"10.0.0.1", "10.1.0.1", "2001:db8::1"}));
  const Rules none{{entry_v4("10.0.0.1", 1)}, {entry_v4("10.0.1.0/24", 2)}};
  EXPECT_TRUE(vulnerable_keys(none.input(), {}).keys.empty()) << "no allow table is asked";
}

TEST(VulnerableKeys, that_samples_name_come_first_also_inside_denied_prefixes) {
  const Rules rules{{entry_v4("10.0.0.0/8", 1), entry_v4("192.0.2.1", 1), entry_v4("192.0.2.2", 1)},
                    {entry_v4("172.16.0.1", 2)}};
  const Address inside = parse_address("10.9.9.9").value(), host = parse_address("192.0.2.2").value();
  const Vulnerable v = vulnerable_keys(rules.input(), {{inside, 40}, {host, 7}});
  EXPECT_EQ(texts(v.keys), (Texts{"10.9.9.9", "192.0.2.2", "192.0.2.1"}));
  EXPECT_EQ(v.keys[0].cost, 40);
  EXPECT_EQ(v.keys[1].cost, 8);
}

TEST(VulnerableKeys, of_many_hosts_are_taken_from_all_over_up_to_the_limit) {
  Rules rules;
  rules.deny4 = hosts(0x0B000000, 10'000, 1);
  rules.allow4 = {entry_v4("172.16.0.1", 2)};
  const Address last = Address::from_host(rules.deny4.back().host);
  const Vulnerable v = vulnerable_keys(rules.input(), {{last, 3}}, 1000);
  EXPECT_LE(v.keys.size(), 1000u);
  EXPECT_GT(v.keys.size(), 800u);
  EXPECT_NEAR(static_cast<double>(v.keys.size() + v.left_out), 10'000, 1100);
  EXPECT_EQ(v.keys[0].key.address, last) << "sampled";
  EXPECT_GT(v.keys.back().key.address.host(), rules.deny4[9000].host);
}

config::Config forced(unsigned bits = 0, const std::string &filter = "seesaw") {
  config::Config config;
  config.allow.filter = filter;
  if (bits != 0) config.allow.bits_per_key = bits;
  config.policy.confirm = Confirm::on_conflict;
  return config;
}

Calibration with_l2(std::uint64_t bytes) {
  Calibration c = built_in_calibration();
  c.l2_bytes = bytes;
  return c;
}

AllowFilterPlan planned(const Rules &rules, const config::Config &config, std::uint64_t l2_bytes = 2 << 20) {
  return plan_allow_filter(rules.input(), config, 0.1, with_l2(l2_bytes), {}).value();
}

TEST(AllowFilter, is_none_while_the_allow_tables_fit_half_of_l2) {
  Rules rules;
  rules.allow4 = hosts(0x0A000000, 20'000, 2);
  rules.deny4 = hosts(0x0B000000, 20'000, 1);
  const AllowFilterPlan small = planned(rules, {});
  EXPECT_EQ(small.chosen, "none");
  EXPECT_NE(small.why.find("fit half of L2"), std::string::npos) << small.why;
  const AllowFilterPlan large = planned(rules, {}, 256 << 10);
  EXPECT_EQ(large.chosen, "cuckoo");
  EXPECT_NE(large.why.find("exceed half of L2"), std::string::npos) << large.why;
  config::Config off;
  off.allow.filter = "none";
  EXPECT_EQ(planned(rules, off, 256 << 10).chosen, "none");
}

TEST(AllowFilter, is_the_kind_that_is_predicted_to_let_least_of_the_cost_through) {
  Rules rules;
  rules.allow4 = hosts(0x0A000000, 20'000, 2);
  rules.deny4 = hosts(0x0B000000, 20'000, 1);
  std::vector<std::string> chosen;
  for (const unsigned prefixes : {0, 5'000}) { // whose addresses nobody can list
    for (std::uint32_t n = 0; n < prefixes; ++n) rules.deny4.push_back({0x0C000000 + (n << 8), 24, 0, 1});
    for (const unsigned bits : {6, 20}) {
      const AllowFilterPlan plan = planned(rules, forced(bits, "auto"), 256 << 10);
      const auto rate_of = [&](const std::string &kind) {
        return planned(rules, forced(bits, kind)).predicted().weighted_churned;
      };
      const double seesaw = rate_of("seesaw"), cuckoo = rate_of("cuckoo"), stacked = rate_of("stacked"),
                   least = std::min({seesaw, cuckoo, stacked});
      EXPECT_EQ(plan.chosen, least == cuckoo ? "cuckoo" : least == stacked ? "stacked" : "seesaw") << bits;
      EXPECT_DOUBLE_EQ(plan.predicted().weighted_churned, least) << bits;
      ASSERT_EQ(plan.rivals.size(), 2u);
      EXPECT_DOUBLE_EQ(plan.rivals[0].weighted_churned + plan.rivals[1].weighted_churned,
                       seesaw + cuckoo + stacked - least)
          << bits;
      EXPECT_LE(plan.rivals[0].weighted_churned, plan.rivals[1].weighted_churned);
      EXPECT_NE(plan.why.find(" is predicted to let"), std::string::npos) << plan.why;
      chosen.push_back(plan.chosen);
    }
  }
  EXPECT_EQ(chosen.front(), "stacked") << "with few bits and all addresses known";
  EXPECT_EQ(chosen.back(), "cuckoo") << "with many bits and a fifth of the cost elsewhere";
}

TEST(AllowFilter, is_never_a_seesaw_filter_that_a_plain_layer_of_counts_beats_where_no_negative_is_known) {
  Rules rules;
  rules.allow4 = hosts(0x0A000000, 20'000, 2);
  rules.deny4 = {entry_v4("0.0.0.0/1", 1)};
  for (const unsigned bits : {6, 20}) {
    const AllowFilterPlan plan = planned(rules, forced(bits, "auto"), 256 << 10);
    EXPECT_EQ(plan.rivals.size(), 2u) << "a stack may know nobody";
    EXPECT_NE(plan.chosen, "seesaw") << plan.why;
  }
  const AllowFilterPlan stack = planned(rules, forced(6, "stacked"), 256 << 10);
  ASSERT_TRUE(stack.sized) << "it can be forced all the same";
  EXPECT_EQ(stack.sized->guarded, 0u);
  EXPECT_LT(stack.predicted().plain, 0.3);
}

TEST(AllowFilter, favours_some_where_few_addresses_carry_the_cost) {
  Rules rules;
  rules.allow4 = hosts(0x0A000000, 20'000, 2);
  rules.deny4 = hosts(0x0B000000, 100, 1);
  const std::vector<HotAddress> hot{{Address::from_host(0x0B000001), 1'000'000}};
  config::Config config;
  config.allow.bits_per_key = 10;
  config.policy.confirm = Confirm::on_conflict;
  const auto plan = plan_allow_filter(rules.input(), config, 0.1, with_l2(256 << 10), hot).value();
  EXPECT_NE(plan.chosen, "cuckoo") << plan.why;
}
TEST(AllowFilter, can_be_forced_in_front_of_nothing) {
  const AllowFilterPlan none_yet = planned({}, forced());
  ASSERT_TRUE(none_yet.sized);
  EXPECT_EQ(none_yet.keys, 0u);
  EXPECT_GT(none_yet.planned_keys, 0u) << "lists that are empty now may be filled";
}

TEST(AllowFilter, has_the_bits_that_the_configuration_gives) {
  Rules rules;
  rules.allow4 = hosts(0x0A000000, 20'000, 2);
  rules.deny4 = hosts(0x0B000000, 20'000, 1);
  double before = 1;
  for (const unsigned bits : {12, 20, 28}) {
    const AllowFilterPlan plan = planned(rules, forced(bits));
    EXPECT_NEAR(plan.bits_per_key(), bits, 0.2);
    EXPECT_LT(plan.predicted().weighted_churned, before / 2) << "more bits, fewer errors";
    before = plan.predicted().weighted_churned;
  }
}

// The prediction against the real image: every guarded key and as many that nobody guards.
TEST(AllowFilter, accepts_about_as_much_as_was_predicted) {
  Rules rules;
  rules.allow4 = hosts(0x0A000000, 30'000, 2);
  rules.deny4 = hosts(0x0B000000, 30'000, 1);
  const AllowFilterPlan plan = planned(rules, forced(16));
  build::BuildInput in = rules.input();
  in.lists = {{"bad", 1}, {"good", 2, Side::allow}};
  in.allow_filter.params = plan.sized->params;
  in.allow_filter.guarded = plan.guarded;
  const test::ImageMemory m = test::ImageMemory::build(in);
  const image::ImageView view = m.view();
  EXPECT_EQ(m.report().allow_filter->keys, 30'000u);
  const SeesawForecast fresh =
      forecast_seesaw(*plan.sized->params.as<build::SeesawParams>(), static_cast<double>(plan.planned_keys),
                      static_cast<double>(plan.sized->guarded), 0);
  EXPECT_LE(m.report().guard_accepts, 1.5 * fresh.guarded + 0.005) << "planned for more keys";
  std::uint64_t accepted = 0;
  for (std::uint32_t i = 0; i < 30'000; ++i)
    accepted += view.allow_filter.contains(hash_v4(byteswap32(0x30000000 + 17 * i), view.seeds_v4[32]));
  const double rate = static_cast<double>(accepted) / 30'000;
  EXPECT_GT(rate, 0);
  EXPECT_LE(rate, 1.3 * plan.predicted().plain);
}

TEST(AllowFilter, of_the_cuckoo_kind_accepts_what_was_predicted_and_has_the_bits_given) {
  Rules rules;
  rules.allow4 = hosts(0x0A000000, 30'000, 2);
  for (const unsigned bits : {8, 12}) {
    const AllowFilterPlan plan = planned(rules, forced(bits, "cuckoo"));
    ASSERT_TRUE(plan.sized && plan.sized->params.as<build::CuckooParams>() != nullptr);
    EXPECT_LE(plan.bits_per_key(), bits);
    EXPECT_GT(plan.bits_per_key(), bits - 0.1);
    build::BuildInput in = rules.input();
    in.lists = {{"bad", 1}, {"good", 2, Side::allow}};
    in.allow_filter.params = plan.sized->params;
    const test::ImageMemory m = test::ImageMemory::build(in);
    const image::ImageView view = m.view();
    std::vector<KeyHash> strangers;
    for (std::uint32_t i = 0; i < 200'000; ++i)
      strangers.push_back(hash_v4(byteswap32(0x30000000 + 17 * i), view.seeds_v4[32]));
    EXPECT_TRUE(test::rate_is(plan.predicted().plain, test::accepted(view.allow_filter, strangers),
                              strangers.size()));
    EXPECT_LT(plan.predicted().plain, plan.predicted().plain_churned) << "there is room for more keys";
  }
}

// Every known key and as many strangers, in an image planned for a quarter more keys than it has.
TEST(AllowFilter, of_the_stacked_kind_accepts_what_was_predicted_and_has_the_bits_given) {
  Rules rules;
  rules.allow4 = hosts(0x0A000000, 30'000, 2);
  rules.deny4 = hosts(0x0B000000, 30'000, 1);
  for (const unsigned bits : {6, 14}) {
    const AllowFilterPlan plan = planned(rules, forced(bits, "stacked"));
    ASSERT_TRUE(plan.sized);
    const auto *params = plan.sized->params.as<build::StackedCountingParams>();
    ASSERT_NE(params, nullptr);
    EXPECT_LE(plan.bits_per_key(), bits);
    EXPECT_GT(plan.bits_per_key(), bits - 0.1);
    EXPECT_EQ(plan.guarded.size(), plan.sized->guarded);
    build::BuildInput in = rules.input();
    in.lists = {{"bad", 1}, {"good", 2, Side::allow}};
    in.allow_filter.params = plan.sized->params;
    in.allow_filter.guarded = plan.guarded;
    const test::ImageMemory m = test::ImageMemory::build(in);
    const image::ImageView view = m.view();
    std::vector<KeyHash> strangers;
    for (std::uint32_t i = 0; i < 200'000; ++i)
      strangers.push_back(hash_v4(byteswap32(0x30000000 + 17 * i), view.seeds_v4[32]));
    const AllowStackForecast now =
        forecast_stack(params->shape, 30'000, static_cast<double>(plan.sized->guarded), 0);
    EXPECT_TRUE(test::rate_is(now.others, test::accepted(view.allow_filter, strangers), strangers.size()))
        << bits;
    const auto accepted =
        static_cast<std::size_t>(m.report().guard_accepts * static_cast<double>(plan.guarded.size()) + 0.5);
    EXPECT_TRUE(test::rate_is(now.known, accepted, plan.guarded.size())) << bits;
    EXPECT_LT(now.others, plan.predicted().plain) << "there is room for more keys";
    EXPECT_LT(plan.predicted().weighted, plan.predicted().weighted_churned);
  }
}

TEST(AllowFilter, of_the_stacked_kind_is_said_in_plans_as_well) {
  Rules rules;
  rules.allow4 = hosts(0x0A000000, 100, 2);
  rules.deny4 = hosts(0x0B000000, 100, 1);
  const Plan plan =
      make_plan(rules.input(), forced(0, "stacked"), {.memory = {.available_bytes = 1 << 30}}).value();
  const std::string text = to_text(plan), json = to_json(plan);
  EXPECT_NE(text.find("allow filter stacked: the configuration says so"), std::string::npos) << text;
  EXPECT_NE(text.find("100 of 100 vulnerable keys known; confirm on_conflict"), std::string::npos) << text;
  EXPECT_NE(json.find(R"("allow_filter":{"chosen":"stacked")"), std::string::npos) << json;
  EXPECT_NE(json.find(R"("layer_bytes":[)"), std::string::npos) << json;
}

TEST(AllowFilter, of_the_cuckoo_kind_is_said_in_plans_as_well) {
  Rules rules;
  rules.allow4 = hosts(0x0A000000, 100, 2);
  const Plan plan =
      make_plan(rules.input(), forced(0, "cuckoo"), {.memory = {.available_bytes = 1 << 30}}).value();
  const std::string text = to_text(plan), json = to_json(plan);
  EXPECT_NE(text.find("allow filter cuckoo: the configuration says so"), std::string::npos) << text;
  EXPECT_NE(text.find("fingerprints of 20 bits; confirm on_conflict"), std::string::npos) << text;
  EXPECT_NE(json.find(R"("allow_filter":{"chosen":"cuckoo")"), std::string::npos) << json;
  EXPECT_NE(json.find(R"("fingerprint_bits":20)"), std::string::npos) << json;
}

TEST(AllowFilter, is_said_in_plans_for_people_and_for_programs) {
  Rules rules;
  rules.allow4 = hosts(0x0A000000, 100, 2);
  rules.deny4 = hosts(0x0B000000, 100, 1);
  const Plan plan = make_plan(rules.input(), forced(), {.memory = {.available_bytes = 1 << 30}}).value();
  const std::string text = to_text(plan), json = to_json(plan);
  EXPECT_NE(text.find("allow filter seesaw: the configuration says so"), std::string::npos) << text;
  EXPECT_NE(text.find("confirm on_conflict"), std::string::npos) << text;
  EXPECT_NE(json.find(R"("allow_filter":{"chosen":"seesaw")"), std::string::npos) << json;
  EXPECT_NE(json.find(R"("predicted":{"weighted":)"), std::string::npos) << json;
}

// ---- a kind that nobody has heard of

const AllowFilterPlanner slot_counts_planner{
    .name = "slot_counts",
    .noun = "a count for each slot",
    .guarded_word = {},
    .size = [](const AllowFilterTask &task) -> Result<SizedAllowFilter> {
      const auto slots = static_cast<std::uint32_t>(task.bits_total / 16 / 32 * 32);
      const double rate = static_cast<double>(task.planned_keys) / slots;
      return SizedAllowFilter{.params = test::SlotCountsParams{task.planned_keys, {slots}},
                              .rates = {rate, rate, rate, rate},
                              .json = {},
                              .text = {}};
    }};

TEST(AllowFilter, of_a_new_kind_is_planned_with_a_row_of_the_planner) {
  Rules rules;
  rules.allow4 = hosts(0x0A000000, 20'000, 2);
  rules.deny4 = hosts(0x0B000000, 20'000, 1);
  std::vector<const AllowFilterPlanner *> planners(allow_filter_planners().begin(),
                                                   allow_filter_planners().end());
  planners.push_back(&slot_counts_planner);
  const auto planned_as = [&](const char *filter) {
    return plan_allow_filter(rules.input(), forced(20, filter), 0.1, with_l2(256 << 10), {}, planners);
  };
  const AllowFilterPlan plan = planned_as("slot_counts").value();
  EXPECT_EQ(plan.chosen, "slot_counts");
  EXPECT_NE(plan.sized->params.as<test::SlotCountsParams>(), nullptr);
  EXPECT_NEAR(plan.bits_per_key(), 20, 0.5);
  EXPECT_TRUE(plan.guarded.empty());

  const AllowFilterPlan best = planned_as("auto").value();
  EXPECT_EQ(best.chosen, planned(rules, forced(20, "auto"), 256 << 10).chosen);
  ASSERT_EQ(best.rivals.size(), 3u);
  EXPECT_EQ(best.rivals.back().filter, "slot_counts") << "it is the worst of all";

  const auto unknown = planned_as("no_such_kind");
  ASSERT_FALSE(unknown);
  EXPECT_NE(unknown.error().message.find("no_such_kind cannot be planned"), std::string::npos);
}

} // namespace
} // namespace weir::plan::allow_filter_test
