// Packet rules in a real worker on ring ports: what each action does, and what it counts.
#include "dataplane/image/classifier_bound.hpp"
#include "tests/support/dataplane_client.hpp"
#include "tests/support/eal.hpp"
#include "tests/support/judged.hpp"
#include "tests/support/random_packet_rules.hpp"
#include "tests/support/ring_gate.hpp"
#include "tests/support/test_image.hpp"
#include "weir/base/hex.hpp"
#include "weir/key/text.hpp"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <thread>

namespace weir::test::stage_rules_test {
namespace {

using Json = nlohmann::json;
using config::PacketRule;
using dataplane::CounterId;

constexpr unsigned wan = 0, lan = 1;

PacketRule rule(std::string name, RuleAction action) {
  PacketRule made;
  made.name = std::move(name);
  made.action = action;
  return made;
}
PacketRule udp_to(std::string name, RuleAction action, std::uint16_t port) {
  PacketRule made = rule(std::move(name), action);
  made.protocols = {17};
  made.to_ports = {{port, port}};
  return made;
}

class StageRules : public testing::Test {
protected:
  void SetUp() override {
    ASSERT_TRUE(start_eal());
    gate_ = std::make_unique<RingGate>();
    lists_.policy.match = Match::source;
    lists_.lists = {{"ops", Side::allow, {parse_prefix("10.0.0.7").value()}},
                    {"bad", Side::deny, {parse_prefix("10.0.0.0/8").value()}}};
  }

  [[nodiscard]] WireMessage stage(const std::vector<PacketRule> &rules) {
    PacketRuleSet set;
    set.config.rules = rules;
    const auto sections = set.sections(1);
    const TestImage image(lists_, {.generation = ++generation_, .packet_rules = sections.rules});
    DataplaneClient control(gate_->socket());
    const WireMessage staged = control.stage(image.bytes());
    if (!staged.is(wire::Type::staged)) return staged;
    return control.commit(generation_, 0);
  }
  void enforce(const std::vector<PacketRule> &rules) {
    const WireMessage answer = stage(rules);
    ASSERT_TRUE(answer.is(wire::Type::committed)) << answer.refusal();
  }

  void expect(unsigned port, const FrameBuilder &frame, Verdict verdict, Reason reason) {
    expect_judged(*gate_, port, frame, verdict, reason);
  }
  [[nodiscard]] Json counted(const std::string &rule) {
    DataplaneClient control(gate_->socket());
    return Json::parse(control.query(R"({"what":"stats"})"))["rules"].value(rule, Json());
  }

  static FrameBuilder udp(const char *source, unsigned to_port) {
    return FrameBuilder().ethernet().ipv4({.source = source}).udp(4000, to_port);
  }

  RuleSet lists_;
  std::unique_ptr<RingGate> gate_;
  std::uint64_t generation_ = 0;
};

TEST_F(StageRules, decide_before_the_lists_do_and_only_what_they_match) {
  enforce({udp_to("dns", RuleAction::drop, 53), udp_to("ntp", RuleAction::pass, 123)});
  expect(wan, udp("10.0.0.7", 53), Verdict::drop, Reason::rule);
  expect(wan, udp("10.0.0.1", 123), Verdict::pass, Reason::rule);
  expect(wan, udp("10.0.0.7", 80), Verdict::pass, Reason::allow);
  expect(wan, udp("10.0.0.1", 80), Verdict::drop, Reason::deny);
  expect(wan, udp("192.0.2.1", 80), Verdict::pass, Reason::fallthrough);
  expect(wan, FrameBuilder().ethernet().ipv6().udp(4000, 53), Verdict::drop, Reason::rule);
  expect(wan, FrameBuilder().ethernet().ipv4({.source = "10.0.0.7", .ihl = 3u}).udp(1, 53), Verdict::drop,
         Reason::malformed);
  expect(wan, FrameBuilder().ethernet().ipv4({.source = "192.0.2.1", .fragment_offset = 5}).udp(1, 53),
         Verdict::pass, Reason::fallthrough);
  EXPECT_EQ(counted("dns"), (Json{{"packets", 2}, {"passed", 0}, {"dropped", 2}}));
  EXPECT_EQ(counted("ntp"), (Json{{"packets", 1}, {"passed", 1}, {"dropped", 0}}));
}

TEST_F(StageRules, the_first_that_matches_decides_alone) {
  enforce({udp_to("seen", RuleAction::count, 53), udp_to("dns", RuleAction::drop, 53)});
  expect(wan, udp("192.0.2.1", 53), Verdict::pass, Reason::fallthrough);
  expect(wan, udp("10.0.0.1", 53), Verdict::drop, Reason::deny);
  EXPECT_EQ(counted("seen"), (Json{{"packets", 2}, {"passed", 0}, {"dropped", 0}}));
  EXPECT_EQ(counted("dns").value("packets", 1), 0);
}

TEST_F(StageRules, know_the_port_that_a_packet_enters_and_its_vlan) {
  PacketRule entering = rule("entering", RuleAction::drop), tagged = rule("tagged", RuleAction::drop);
  entering.port = "lan";
  tagged.vlans = {{12, 12}};
  enforce({entering, tagged});
  expect(wan, udp("192.0.2.1", 1), Verdict::pass, Reason::fallthrough);
  expect(lan, udp("192.0.2.1", 1), Verdict::drop, Reason::rule);
  expect(wan, FrameBuilder().ethernet().vlan(12).ipv4().udp(1, 2), Verdict::drop, Reason::rule);
  expect(wan, FrameBuilder().ethernet().vlan(13).vlan(12).ipv4().udp(1, 2), Verdict::pass,
         Reason::fallthrough);
}

TEST_F(StageRules, of_a_port_that_is_not_there_match_nothing_and_a_warning_says_so) {
  PacketRule entering = rule("entering", RuleAction::drop);
  entering.port = "dmz";
  enforce({entering});
  expect(wan, udp("192.0.2.1", 1), Verdict::pass, Reason::fallthrough);
  DataplaneClient control(gate_->socket());
  EXPECT_NE(control.query(R"({"what":"stats"})").find("ask for port dmz"), std::string::npos);
}

TEST_F(StageRules, a_rate_limit_drops_what_is_beyond_it_and_the_lists_judge_the_others) {
  constexpr std::uint64_t burst = 4, flood = 300;
  PacketRule limit = udp_to("dns", RuleAction::rate_limit, 53);
  limit.packets = 1; // a second
  limit.burst = burst;
  limit.per = RulePer::source;
  const auto &counters = gate_->dataplane().counters.worker(0);
  const auto begin = std::chrono::steady_clock::now();
  for (const unsigned generations : {1u, 2u}) { // under the second the limit goes on as it was
    enforce({limit});
    for (const char *source : {"192.0.2.1", "192.0.2.2"})
      for (unsigned i = 0; i < flood; ++i) ASSERT_TRUE(gate_->offer(wan, udp(source, 53).frame().bytes));
    for (int i = 0; i < 20'000 && counters[CounterId::judged].get() < 2 * flood * generations; ++i)
      std::this_thread::sleep_for(std::chrono::microseconds(500));
  }
  expect(wan, udp("10.0.0.1", 53), Verdict::drop, Reason::deny);
  const auto seconds = static_cast<std::uint64_t>(
      std::chrono::ceil<std::chrono::seconds>(std::chrono::steady_clock::now() - begin).count());
  const Json dns = counted("dns");
  EXPECT_EQ(dns.value("packets", 0u), 4 * flood + 1);
  const std::uint64_t within = 4 * flood - dns.value("dropped", std::uint64_t{0});
  EXPECT_GE(within, 2 * burst);
  EXPECT_LE(within, 2 * (burst + seconds)) << "each source has its own, and both generations one";
}

TEST_F(StageRules, reject_sends_an_answer_by_the_port_that_the_packet_came_in_by) {
  PacketRule smb = rule("smb", RuleAction::reject);
  smb.protocols = {6};
  smb.to_ports = {{445, 445}};
  enforce({smb});
  const auto syn = FrameBuilder().ethernet().ipv4().tcp(4000, 445).frame();
  ASSERT_TRUE(gate_->offer(wan, syn.bytes));
  std::vector<std::uint8_t> answer;
  for (int i = 0; i < 20'000 && answer.empty(); ++i) {
    gate_->take(wan, [&](std::span<const std::uint8_t> frame) { answer.assign(frame.begin(), frame.end()); });
    std::this_thread::sleep_for(std::chrono::microseconds(500));
  }
  ASSERT_EQ(answer.size(), 60u);
  EXPECT_EQ(answer[23], 6);
  EXPECT_EQ(answer[47], 0x14) << "RST and ACK";
  EXPECT_EQ(gate_->take(lan), 0u);
  DataplaneClient control(gate_->socket());
  const Json rules = Json::parse(control.query(R"({"what":"stats"})"))["packet_rules"];
  EXPECT_EQ(rules.value("rejects_sent", 0), 1) << rules;
  EXPECT_EQ(rules.value("rejects_held", 1), 0) << rules;
}

TEST_F(StageRules, reject_answers_a_flood_as_far_as_its_cap_goes) {
  enforce({udp_to("dns", RuleAction::reject, 53)});
  const auto frame = udp("192.0.2.1", 53).frame();
  constexpr unsigned flood = 2'000;
  for (unsigned i = 0; i < flood; ++i) ASSERT_TRUE(gate_->offer(wan, frame.bytes));
  const auto &counters = gate_->dataplane().counters.worker(0);
  for (int i = 0; i < 20'000 && counters[CounterId::judged].get() < flood; ++i)
    std::this_thread::sleep_for(std::chrono::microseconds(500));
  const std::uint64_t sent = counters[CounterId::rejects_sent].get();
  EXPECT_GE(sent, 100u) << "what may go at once";
  EXPECT_EQ(sent + counters[CounterId::rejects_held].get(), flood);
  EXPECT_EQ(gate_->take(wan), sent);
}

TEST_F(StageRules, explain_takes_a_packet_through_them) {
  enforce({udp_to("dns", RuleAction::drop, 53)});
  DataplaneClient control(gate_->socket());
  const auto frame = udp("10.0.0.7", 53).frame();
  const Json why = Json::parse(control.query(
      Json{{"what", "explain"}, {"packet", hex_of(frame.bytes.data(), frame.bytes.size())}, {"port", "wan"}}
          .dump()));
  EXPECT_EQ(why.value("reason", ""), "rule") << why;
  EXPECT_EQ(why.value("rule", ""), "dns") << why;
}

TEST_F(StageRules, that_take_too_much_memory_are_refused_and_those_in_force_stay) {
  enforce({udp_to("dns", RuleAction::drop, 53)});
  const std::size_t before = dataplane::classifier_bytes_max.exchange(4096);
  std::vector<PacketRule> many;
  for (std::uint16_t i = 0; i < 200; ++i)
    many.push_back(udp_to("r" + std::to_string(i), RuleAction::pass, i));
  const WireMessage answer = stage(many);
  dataplane::classifier_bytes_max = before;
  EXPECT_NE(answer.refusal().find("packet rules: the classifier of their 200 patterns"), std::string::npos)
      << answer.refusal();
  expect(wan, udp("192.0.2.1", 53), Verdict::drop, Reason::rule);
}

} // namespace
} // namespace weir::test::stage_rules_test
