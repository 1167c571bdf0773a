// Deny lists that count, limit or reject, in a real worker on ring ports: what each does, and what it counts.
#include "tests/support/dataplane_client.hpp"
#include "tests/support/eal.hpp"
#include "tests/support/judged.hpp"
#include "tests/support/ring_gate.hpp"
#include "tests/support/test_image.hpp"
#include "weir/key/text.hpp"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <chrono>
#include <thread>

namespace weir::test::stage_lists_test {
namespace {

using Json = nlohmann::json;
using dataplane::CounterId;

constexpr unsigned wan = 0, lan = 1;

image::ListActionEntry entry(ListId list, RuleAction action, std::uint32_t packets = 0,
                             std::uint32_t burst = 0, RulePer per = RulePer::rule) {
  return {.list = list, .action = action, .per = per, .packets = packets, .burst = burst, .reserved = {}};
}

class StageLists : public testing::Test {
protected:
  void SetUp() override {
    ASSERT_TRUE(start_eal());
    gate_ = std::make_unique<RingGate>();
    const auto prefix = [](const char *text) { return parse_prefix(text).value(); };
    lists_.policy.match = Match::source;
    lists_.lists = {{"ops", Side::allow, {prefix("10.0.0.7")}},
                    {"soft", Side::deny, {prefix("10.0.0.0/8"), prefix("2001:db8::/32")}},
                    {"hard", Side::deny, {prefix("10.1.0.0/16"), prefix("192.0.2.66")}}};
  }

  void enforce(const std::vector<image::ListActionEntry> &entries) {
    const TestImage image(
        lists_, {.generation = ++generation_, .list_actions = image::list_actions_section(entries)});
    DataplaneClient control(gate_->socket());
    const WireMessage staged = control.stage(image.bytes());
    ASSERT_TRUE(staged.is(wire::Type::staged)) << staged.refusal();
    const WireMessage committed = control.commit(generation_, 0);
    ASSERT_TRUE(committed.is(wire::Type::committed)) << committed.refusal();
  }
  void expect(const FrameBuilder &frame, Verdict verdict, Reason reason) {
    expect_judged(*gate_, wan, frame, verdict, reason);
  }
  [[nodiscard]] Json stats() {
    DataplaneClient control(gate_->socket());
    return Json::parse(control.query(R"({"what":"stats"})"));
  }
  void flood(const std::vector<const char *> &sources, unsigned each) {
    const std::uint64_t before = gate_->judged();
    for (unsigned i = 0; i < each; ++i)
      for (const char *source : sources) ASSERT_TRUE(gate_->offer(wan, from(source).frame().bytes));
    for (int i = 0; i < 20'000 && gate_->judged() < before + each * sources.size(); ++i)
      std::this_thread::sleep_for(std::chrono::microseconds(500));
    ASSERT_EQ(gate_->judged(), before + each * sources.size());
  }
  static FrameBuilder from(const char *source, const char *to = "192.0.2.1") {
    return FrameBuilder().ethernet().ipv4({.source = source, .destination = to}).udp(4000, 53);
  }

  RuleSet lists_;
  std::unique_ptr<RingGate> gate_;
  std::uint64_t generation_ = 0;
};

TEST_F(StageLists, a_list_that_counts_leaves_its_packets_to_the_default_and_another_list_drops) {
  enforce({entry(ListId(1), RuleAction::count)});
  expect(from("10.0.0.1"), Verdict::pass, Reason::fallthrough);
  expect(from("10.0.0.7"), Verdict::pass, Reason::allow);
  expect(from("10.1.0.1"), Verdict::drop, Reason::deny);
  expect(FrameBuilder().ethernet().ipv6({.source = "2001:db8::1"}).udp(1, 2), Verdict::pass,
         Reason::fallthrough);
  lists_.policy.fallthrough = Verdict::drop;
  enforce({entry(ListId(1), RuleAction::count)});
  expect(from("10.0.0.1"), Verdict::drop, Reason::fallthrough);
  const Json now = stats();
  EXPECT_EQ(now["lists"], (Json{{"ops", 1}, {"soft", 3}, {"hard", 1}})) << "each is counted once";
  EXPECT_EQ(now["list_actions"].value("matched", 0), 3) << now["list_actions"];
  EXPECT_EQ(now.value("lost", 1), 0);
}

TEST_F(StageLists, a_list_that_counts_hides_no_other_address_of_the_packet) {
  lists_.policy.match = Match::either;
  enforce({entry(ListId(1), RuleAction::count)});
  expect(from("10.0.0.1", "192.0.2.66"), Verdict::drop, Reason::deny);
  expect(from("192.0.2.66", "10.0.0.1"), Verdict::drop, Reason::deny);
  expect(from("10.0.0.1", "10.0.0.7"), Verdict::pass, Reason::allow);
  expect(from("10.0.0.1", "10.0.0.2"), Verdict::pass, Reason::fallthrough);
  EXPECT_EQ(stats()["lists"].value("hard", 0), 2);
}

TEST_F(StageLists, a_limit_holds_for_the_list_or_for_each_address_and_goes_on_over_a_swap) {
  constexpr std::uint32_t burst = 4;
  constexpr unsigned each = 100;
  const auto begin = std::chrono::steady_clock::now();
  const auto limited = [&] { return gate_->dataplane().counters.worker(0)[CounterId::list_limited].get(); };
  for (unsigned generations = 0; generations < 2; ++generations) {
    enforce({entry(ListId(1), RuleAction::rate_limit, 1, burst, RulePer::source)});
    flood({"10.0.0.1", "10.0.0.2"}, each);
  }
  const std::uint64_t per_address = 4 * each - limited();
  enforce({entry(ListId(1), RuleAction::rate_limit, 1, burst)});
  flood({"10.0.0.1", "10.0.0.2"}, each);
  const std::uint64_t of_the_list = 6 * each - limited() - per_address;
  const auto seconds = static_cast<std::uint64_t>(
      std::chrono::ceil<std::chrono::seconds>(std::chrono::steady_clock::now() - begin).count());
  EXPECT_GE(per_address, 2 * burst);
  EXPECT_LE(per_address, 2 * (burst + seconds));
  EXPECT_GE(of_the_list, burst);
  EXPECT_LE(of_the_list, burst + seconds);
  EXPECT_EQ(stats()["lists"].value("soft", 0u), 6 * each) << "those dropped and those that went on";
}

TEST_F(StageLists, reject_tells_the_sender_and_counts_apart_from_packet_rules) {
  enforce({entry(ListId(1), RuleAction::reject)});
  ASSERT_TRUE(
      gate_->offer(wan, FrameBuilder().ethernet().ipv4({.source = "10.0.0.1"}).tcp(4000, 445).frame().bytes));
  std::vector<std::uint8_t> answer;
  for (int i = 0; i < 20'000 && answer.empty(); ++i) {
    gate_->take(wan, [&](std::span<const std::uint8_t> frame) { answer.assign(frame.begin(), frame.end()); });
    std::this_thread::sleep_for(std::chrono::microseconds(500));
  }
  ASSERT_EQ(answer.size(), 60u);
  EXPECT_EQ(answer[47], 0x14) << "RST and ACK";
  EXPECT_EQ(gate_->take(lan), 0u);
  const Json now = stats();
  EXPECT_EQ(now["list_actions"].value("rejects_sent", 0), 1) << now;
  EXPECT_EQ(now["packet_rules"].value("rejects_sent", 1), 0) << now;
  EXPECT_EQ(now["lists"].value("soft", 0), 1);
}

TEST_F(StageLists, an_image_whose_lists_all_drop_has_nothing_to_ask) {
  enforce({});
  EXPECT_EQ(gate_->dataplane().slot.current()->list_actions, nullptr);
  expect(from("10.0.0.1"), Verdict::drop, Reason::deny);
  EXPECT_EQ(stats()["list_actions"].value("matched", 1), 0);
}

TEST_F(StageLists, explain_says_what_the_list_does) {
  enforce({entry(ListId(1), RuleAction::rate_limit, 100, 200)});
  DataplaneClient control(gate_->socket());
  const std::string soft = control.query(R"({"what":"explain","address":"10.0.0.1"})"),
                    hard = control.query(R"({"what":"explain","address":"10.1.0.1"})");
  EXPECT_NE(soft.find(R"("verdict":"pass","reason":"default","list":"soft","entry":"10.0.0.0/8")"),
            std::string::npos)
      << soft;
  EXPECT_NE(soft.find("dropped beyond 100 packets a second, and 200 at once"), std::string::npos) << soft;
  EXPECT_NE(hard.find(R"("verdict":"drop","reason":"deny","list":"hard")"), std::string::npos) << hard;
}

} // namespace
} // namespace weir::test::stage_lists_test
