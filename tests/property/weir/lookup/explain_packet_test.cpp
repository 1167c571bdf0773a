// What `explain --packet` says of a frame, against the oracle: the same verdict, reason and list as for traffic.
#include "weir/lookup/explain_packet.hpp"

#include "tests/support/random_packet_rules.hpp"
#include "tests/support/test_image.hpp"

#include <gtest/gtest.h>

#include <array>

namespace weir::test::explain_packet_test {
namespace {

TEST(ExplainPacket, agrees_with_the_oracle_on_every_packet) {
  std::array<unsigned, reason_count> seen{};
  for (unsigned round = 0; round < 60; ++round) {
    Random random(test_seed() + round);
    RuleSet rules = random_rules(random, {.lists = 4, .prefixes_per_list = 60});
    rules.policy.tunnels = static_cast<Tunnels>(random.below(3));
    const Oracle oracle = rules.oracle();
    const TestImage image(rules, {.seed = random.bits()});
    for (unsigned i = 0; i < 500; ++i) {
      const Frame frame = random_frame(random, rules);
      const auto side = static_cast<PortSide>(random.below(3));
      const lookup::PacketExplanation why =
          lookup::explain_packet(rules.policy, frame.bytes, side, [&](const Address &address) {
            return lookup::explain(image.view(), address);
          });
      const Judgement wanted = oracle.judge(frame.bytes, side);
      const Judgement said{why.verdict, why.reason, why.list};
      std::string path;
      for (const auto &[step, text] : why.path) path += step + ": " + text + "\n";
      ASSERT_EQ(to_string(said), to_string(wanted))
          << "rule set " << round << ", frame " << i << ", match " << name_of(rules.policy.match)
          << ", tunnels " << name_of(rules.policy.tunnels) << ", WEIR_SEED=" << test_seed() << "\n"
          << path;
      ASSERT_EQ(why.address.has_value(), wanted.reason == Reason::allow || wanted.reason == Reason::deny ||
                                             wanted.reason == Reason::fallthrough)
          << path;
      ++seen[static_cast<std::size_t>(wanted.reason)];
    }
  }
  for (const Reason reason : {Reason::malformed, Reason::non_ip, Reason::too_many_tags, Reason::link_local,
                              Reason::allow, Reason::deny, Reason::fallthrough})
    EXPECT_GT(seen[static_cast<std::size_t>(reason)], 10u) << name_of(reason);
}

// Packet rules, one pattern after the other and by exact flows, against the oracle's own reading of the configuration.
TEST(ExplainPacket, agrees_with_the_oracle_where_packet_rules_decide) {
  unsigned by_rule = 0, by_flow = 0, by_lists = 0;
  for (unsigned round = 0; round < 60; ++round) {
    Random random(test_seed() + 1000 + round);
    RuleSet lists = random_rules(random, {.lists = 4, .prefixes_per_list = 60});
    lists.policy.tunnels = static_cast<Tunnels>(random.below(3));
    std::vector<Frame> frames;
    for (unsigned i = 0; i < 400; ++i) frames.push_back(random_frame(random, lists));
    const PacketRuleSet rules = random_packet_rules(random, lists, {.rules = 20, .flows = 60}, frames);
    const auto sections = rules.sections(random.bits());
    const TestImage image(lists, {.packet_rules = sections.rules, .flows = sections.flows});
    Oracle oracle = lists.oracle();
    rules.tell(oracle);
    for (const Frame &frame : frames) {
      const std::string port = random.one_in(3) ? "wan" : random.one_in(2) ? "lan" : "";
      const auto side = static_cast<PortSide>(random.below(3));
      const lookup::PacketExplanation why = lookup::explain_packet(
          lists.policy, frame.bytes, side,
          [&](const Address &address) { return lookup::explain(image.view(), address); },
          {&image.view().packet_rules, &image.view().flows, port});
      const Judgement wanted = oracle.judge(frame.bytes, side, port);
      const Judgement said{why.verdict, why.reason, why.rule.empty() ? why.list : why.rule};
      std::string path;
      for (const auto &[step, text] : why.path) path += step + ": " + text + "\n";
      ASSERT_EQ(to_string(said), to_string(wanted))
          << "round " << round << ", WEIR_SEED=" << test_seed() << "\n"
          << path;
      by_rule += wanted.reason == Reason::rule && wanted.list != "flows";
      by_flow += wanted.list == "flows";
      by_lists += wanted.reason == Reason::allow || wanted.reason == Reason::deny;
    }
  }
  EXPECT_GT(by_rule, 500u);
  EXPECT_GT(by_flow, 500u);
  EXPECT_GT(by_lists, 500u);
}

// Cut anywhere, with any byte changed: read within its bounds (under ASan), and answered.
TEST(ExplainPacket, takes_any_bytes) {
  Random random(test_seed());
  const RuleSet rules = random_rules(random, {.lists = 2, .prefixes_per_list = 10});
  const TestImage image(rules);
  for (unsigned i = 0; i < 3000; ++i) {
    std::vector<std::uint8_t> bytes = random_frame(random, rules).bytes;
    if (bytes.empty()) continue;
    bytes.resize(1 + random.below(static_cast<std::uint32_t>(bytes.size())));
    bytes[random.below(static_cast<std::uint32_t>(bytes.size()))] = static_cast<std::uint8_t>(random.bits());
    Policy policy = rules.policy;
    policy.tunnels = static_cast<Tunnels>(random.below(3));
    const auto why = lookup::explain_packet(policy, bytes, PortSide::outside, [&](const Address &address) {
      return lookup::explain(image.view(), address);
    });
    ASSERT_GE(why.path.size(), 2u) << "WEIR_SEED=" << test_seed();
  }
}

} // namespace
} // namespace weir::test::explain_packet_test
