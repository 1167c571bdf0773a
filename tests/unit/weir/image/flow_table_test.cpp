// Section flow_table: every flow is found and no other, and what is damaged is refused.
#include "weir/image/flow_table.hpp"

#include "tests/support/random_rules.hpp"
#include "weir/build/flow_table_builder.hpp"

#include <gtest/gtest.h>

#include <cstring>

namespace weir::test::flow_table_test {
namespace {

using image::FlowTableView, image::FlowV4, image::FlowV6;

template <class Flow> std::vector<Flow> random_flows(Random &random, std::size_t count, std::uint32_t rules) {
  std::vector<Flow> flows(count);
  for (Flow &flow : flows) {
    for (std::size_t at = 0; at < sizeof flow.addresses; at += 8) {
      const std::uint64_t bits = random.bits();
      std::memcpy(reinterpret_cast<std::byte *>(&flow.addresses) + at, &bits, 8);
    }
    const auto asked = image::flow_word::asked(static_cast<std::uint32_t>(random.bits()), 6);
    flow.word = image::flow_word::leading_to(asked, RuleId(static_cast<std::uint16_t>(random.below(rules))));
  }
  return flows;
}

template <class Flow> Flow question(Flow flow) {
  flow.word &= image::flow_word::asked_mask;
  return flow;
}

TEST(FlowTable, finds_every_flow_and_its_rule_and_no_other) {
  for (const std::size_t count : {0, 1, 5, 100, 20'000}) {
    Random random(test_seed() + count);
    const auto v4 = random_flows<FlowV4>(random, count, 7);
    const auto v6 = random_flows<FlowV6>(random, count / 2, 7);
    const auto section = build::build_flow_table({.v4 = v4, .v6 = v6, .seed = random.bits()});
    ASSERT_TRUE(section) << section.error().message;
    const auto view = FlowTableView::attach(*section, 7);
    ASSERT_TRUE(view) << view.error().message;
    EXPECT_EQ(view->flows(), v4.size() + v6.size());
    for (const FlowV4 &flow : v4)
      ASSERT_EQ(view->v4().find(question(flow)), image::flow_word::rule_of(flow.word))
          << "WEIR_SEED=" << test_seed();
    for (const FlowV6 &flow : v6)
      ASSERT_EQ(view->v6().find(question(flow)), image::flow_word::rule_of(flow.word));
    for (const FlowV4 &flow : v4) { // the same but for one bit
      FlowV4 other = question(flow);
      other.word ^= std::uint64_t{1} << random.below(40);
      ASSERT_EQ(view->v4().find(other), no_rule) << "WEIR_SEED=" << test_seed();
    }
    EXPECT_EQ(view->v4().find(question(random_flows<FlowV4>(random, 1, 1)[0])), no_rule);
    EXPECT_LT(section->size(), 64 + (v4.size() * 16 + v6.size() * 128 / 3) * 1.25 + 1024)
        << "fuller than half";
  }
}

TEST(FlowTable, of_the_same_flows_and_seed_has_the_same_bytes) {
  Random random(test_seed());
  const auto flows = random_flows<FlowV4>(random, 500, 2);
  const auto once = build::build_flow_table({.v4 = flows, .v6 = {}, .seed = 9});
  EXPECT_EQ(once.value(), build::build_flow_table({.v4 = flows, .v6 = {}, .seed = 9}).value());
}

TEST(FlowTable, a_flow_that_stands_there_many_times_is_an_error_and_no_endless_search) {
  Random random(test_seed());
  const std::vector<FlowV4> flows(20, random_flows<FlowV4>(random, 1, 1)[0]);
  EXPECT_FALSE(build::build_flow_table({.v4 = flows, .v6 = {}, .seed = 9}));
}

TEST(FlowTable, damaged_or_leading_nowhere_is_refused) {
  Random random(test_seed());
  const auto flows = random_flows<FlowV4>(random, 30, 3);
  const std::vector<std::byte> whole = build::build_flow_table({.v4 = flows, .v6 = {}, .seed = 9}).value();
  EXPECT_TRUE(FlowTableView::attach(whole, 3));
  EXPECT_FALSE(FlowTableView::attach(whole, 2)) << "rules that are not there";
  for (std::size_t bytes = 0; bytes < whole.size(); bytes += 8)
    EXPECT_FALSE(FlowTableView::attach({whole.data(), bytes}, 3)) << bytes;
  for (std::size_t at = 0; at < whole.size(); at += 3) {
    std::vector<std::byte> damaged = whole;
    damaged[at] ^= std::byte{0x10};
    const auto view = FlowTableView::attach(damaged, 3);
    if (!view) continue;
    // A flow may have become another one that hashes to the same buckets, or one that leads elsewhere: never out of bounds.
    for (const FlowV4 &flow : flows) {
      const RuleId rule = view->v4().find(question(flow));
      ASSERT_TRUE(rule == no_rule || rule.value() < 3);
    }
  }
}

} // namespace
} // namespace weir::test::flow_table_test
