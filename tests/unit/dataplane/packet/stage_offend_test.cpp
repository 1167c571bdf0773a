// Offenders in a real worker: who is told, who is met and what becomes of it, over swaps and marks.
#include "tests/support/dataplane_client.hpp"
#include "tests/support/eal.hpp"
#include "tests/support/offenders_case.hpp"
#include "tests/support/packets.hpp"
#include "tests/support/ring_gate.hpp"
#include "tests/support/test_image.hpp"
#include "weir/key/text.hpp"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <map>

namespace weir::test::stage_offend_test {
namespace {

using Json = nlohmann::json;

class StageOffend : public testing::Test {
protected:
  void SetUp() override {
    ASSERT_TRUE(start_eal());
    gate_ = std::make_unique<RingGate>();
  }

  // `denied`: prefixes of the deny list.
  void enforce(const std::vector<std::string> &denied, const OffendersCase &offenders,
               bool remembers = true) {
    RuleSet rules;
    rules.policy.match = Match::source;
    rules.policy.fallthrough = fallthrough_;
    std::vector<Prefix> prefixes;
    for (const std::string &text : denied) prefixes.push_back(parse_prefix(text).value());
    rules.lists = {{"bad", Side::deny, prefixes}, {"ops", Side::allow, {parse_prefix("10.9.9.9").value()}}};
    ImageOptions options{.generation = ++generation_};
    if (remembers) options.offenders = offenders.section();
    const TestImage image(rules, options);
    DataplaneClient control(gate_->socket());
    const WireMessage staged = control.stage(image.bytes());
    ASSERT_TRUE(staged.is(wire::Type::staged)) << staged.refusal();
    ASSERT_TRUE(control.commit(generation_, 0).is(wire::Type::committed));
  }

  RingGate::Outcome send(const std::string &source, std::uint16_t port = 80) {
    const bool v6 = source.find(':') != std::string::npos;
    const FrameBuilder frame = v6 ? FrameBuilder().ethernet().ipv6({.source = source.c_str()}).udp(1, port)
                                  : FrameBuilder().ethernet().ipv4({.source = source.c_str()}).udp(1, port);
    return gate_->judge(0, frame.frame().bytes);
  }
  void expect(const std::string &source, Verdict verdict, Reason reason, std::uint16_t port = 80) {
    const auto outcome = send(source, port);
    EXPECT_EQ(name_of(outcome.reason), name_of(reason)) << source;
    EXPECT_EQ(name_of(outcome.verdict), name_of(verdict)) << source;
    EXPECT_EQ(outcome.came_out, verdict == Verdict::pass) << source;
  }
  Json query(const char *what) {
    DataplaneClient control(gate_->socket());
    return Json::parse(control.query(std::string(R"({"what":")") + what + R"("})"), nullptr, false);
  }
  std::uint64_t count(const char *name) { return query("stats").at("offenders").at(name); }
  wire::Marked mark(const std::vector<std::string> &addresses, bool forget) {
    const wire::Mark about{forget ? 1u : 0u, static_cast<std::uint32_t>(addresses.size())};
    std::vector<std::byte> payload(sizeof about + addresses.size() * sizeof(wire::HostAddress));
    std::memcpy(payload.data(), &about, sizeof about);
    for (std::size_t i = 0; i < addresses.size(); ++i) {
      const Address address = parse_address(addresses[i]).value();
      const wire::HostAddress host{address.family, {}, address.bytes};
      std::memcpy(payload.data() + sizeof about + i * sizeof host, &host, sizeof host);
    }
    DataplaneClient control(gate_->socket());
    const WireMessage answer = control.ask(wire::Type::mark, payload);
    EXPECT_TRUE(answer.is(wire::Type::marked)) << answer.refusal();
    return answer.as<wire::Marked>();
  }

  std::unique_ptr<RingGate> gate_;
  Verdict fallthrough_ = Verdict::pass;
  std::uint64_t generation_ = 0;
};

TEST_F(StageOffend, who_was_denied_is_an_offender_when_no_list_says_so_any_more) {
  enforce({"10.0.0.0/8", "2001:db8::/32"}, {});
  expect("10.0.0.1", Verdict::drop, Reason::deny);
  expect("2001:db8::1", Verdict::drop, Reason::deny);
  expect("192.0.2.1", Verdict::pass, Reason::fallthrough);
  enforce({}, {});
  expect("10.0.0.1", Verdict::drop, Reason::offender);
  expect("2001:db8::1", Verdict::drop, Reason::offender);
  expect("10.0.0.2", Verdict::pass, Reason::fallthrough);
  expect("192.0.2.1", Verdict::pass, Reason::fallthrough);
  EXPECT_EQ(count("told"), 2u);
  EXPECT_EQ(count("met"), 2u);
  EXPECT_EQ(count("asked"), 5u);
  const Json about = query("offenders");
  EXPECT_EQ(about.at("told"), 2);
  EXPECT_EQ(about.at("cleared"), 0);
  EXPECT_EQ(about.at("filter"), "rotating");
}

TEST_F(StageOffend, a_list_has_its_word_before_the_memory) {
  enforce({"10.0.0.0/8"}, {});
  expect("10.0.0.1", Verdict::drop, Reason::deny);
  expect("10.9.9.9", Verdict::pass, Reason::allow);
  ASSERT_EQ(mark({"10.9.9.9", "10.0.0.3"}, false).done, 2u);
  expect("10.9.9.9", Verdict::pass, Reason::allow);
  expect("10.0.0.3", Verdict::drop, Reason::deny);
}

TEST_F(StageOffend, what_is_spared_is_neither_told_nor_met) {
  OffendersCase c;
  enforce({"10.0.0.0/8"}, c);
  expect("10.0.0.1", Verdict::drop, Reason::deny);
  c.spared = {parse_prefix("10.0.0.0/24").value()};
  enforce({}, c);
  expect("10.0.0.1", Verdict::pass, Reason::fallthrough);
  EXPECT_EQ(count("spared"), 1u);
  enforce({"10.0.0.0/8"}, c);
  expect("10.0.0.2", Verdict::drop, Reason::deny);
  c.spared = {};
  enforce({}, c);
  expect("10.0.0.2", Verdict::pass, Reason::fallthrough);
  expect("10.0.0.1", Verdict::drop, Reason::offender);
}

TEST_F(StageOffend, actions_count_or_drop_or_let_a_rate_pass) {
  OffendersCase c;
  c.action = OffenderAction::count;
  enforce({"10.0.0.0/8"}, c);
  expect("10.0.0.1", Verdict::drop, Reason::deny);
  enforce({}, c);
  expect("10.0.0.1", Verdict::pass, Reason::offender);
  c.action = OffenderAction::ban;
  enforce({}, c);
  expect("10.0.0.1", Verdict::pass, Reason::offender);
  c.action = OffenderAction::rate_limit;
  c.limit = 1, c.burst = 3;
  enforce({}, c);
  std::map<Verdict, unsigned> verdicts;
  for (int i = 0; i < 20; ++i) {
    const auto outcome = send("10.0.0.1");
    EXPECT_EQ(outcome.reason, Reason::offender);
    ++verdicts[outcome.verdict];
  }
  EXPECT_GE(verdicts[Verdict::pass], 3u);
  EXPECT_LE(verdicts[Verdict::pass], 3u + 10u) << "one a second more";
  EXPECT_EQ(count("limited"), verdicts[Verdict::drop]);
  expect("192.0.2.1", Verdict::pass, Reason::fallthrough);
}

TEST_F(StageOffend, under_default_drop_an_offender_passes_no_more_than_others) {
  fallthrough_ = Verdict::drop;
  OffendersCase c;
  c.action = OffenderAction::count;
  enforce({"10.0.0.0/8"}, c);
  expect("10.0.0.1", Verdict::drop, Reason::deny);
  enforce({}, c);
  expect("10.0.0.1", Verdict::drop, Reason::offender);
  expect("192.0.2.1", Verdict::drop, Reason::fallthrough);
}

TEST_F(StageOffend, who_sends_too_much_is_told) {
  OffendersCase c;
  c.tells_above = 20;
  enforce({}, c);
  bool met = false;
  for (int i = 0; i < 400 && !met; ++i) met = send("192.0.2.7").reason == Reason::offender;
  EXPECT_TRUE(met);
  expect("192.0.2.8", Verdict::pass, Reason::fallthrough);
  EXPECT_GE(count("over_rate"), 1u);
}

TEST_F(StageOffend, under_the_element_header_other_headers_are_another_element) {
  OffendersCase c;
  c.element = OffenderElement::header;
  enforce({"10.0.0.0/8"}, c);
  expect("10.0.0.1", Verdict::drop, Reason::deny, 22);
  enforce({}, c);
  expect("10.0.0.1", Verdict::drop, Reason::offender, 22);
  expect("10.0.0.1", Verdict::pass, Reason::fallthrough, 443);
}

TEST_F(StageOffend, marks_hold_over_a_change_of_shape_that_clears_the_memory) {
  OffendersCase c;
  enforce({"10.0.0.0/8"}, c);
  expect("10.0.0.1", Verdict::drop, Reason::deny);
  ASSERT_EQ(mark({"192.0.2.5", "2001:db8::5"}, false).done, 2u);
  expect("192.0.2.5", Verdict::drop, Reason::offender);
  c.targets.gap *= 2;
  enforce({}, c);
  EXPECT_EQ(query("offenders").at("cleared"), 1);
  expect("10.0.0.1", Verdict::pass, Reason::fallthrough);
  expect("192.0.2.5", Verdict::drop, Reason::offender);
  expect("2001:db8::5", Verdict::drop, Reason::offender);
  EXPECT_EQ(mark({"192.0.2.5"}, true).in_memory, 1u);
  expect("192.0.2.5", Verdict::pass, Reason::fallthrough);
}

// Who was denied and who is marked are samples of offenders to learn from; who is met by what the memory knows is not.
TEST_F(StageOffend, who_is_marked_is_told_to_control_as_an_offender_to_learn_from) {
  enforce({"10.0.0.0/8"}, {});
  ASSERT_EQ(mark({"192.0.2.5"}, false).done, 1u);
  std::map<Address, unsigned> flags;
  DataplaneClient control(gate_->socket());
  const auto until = [&](const char *address) {
    for (WireMessage message = control.receive(); message.header.type != wire::Type{};
         message = control.receive()) {
      if (!message.is(wire::Type::samples)) continue;
      for (std::size_t at = 0; at + sizeof(wire::Sample) <= message.payload.size();
           at += sizeof(wire::Sample)) {
        wire::Sample sample;
        std::memcpy(&sample, message.payload.data() + at, sizeof sample);
        flags[Address{sample.family, sample.address}] |= sample.flags;
      }
      if (flags.contains(parse_address(address).value())) return;
    }
  };
  expect("10.0.0.1", Verdict::drop, Reason::deny);
  expect("192.0.2.5", Verdict::drop, Reason::offender);
  until("192.0.2.5");
  const auto of = [&](const char *address) { return flags[parse_address(address).value()]; };
  EXPECT_EQ(of("192.0.2.5") & wire::sample_offender_told, wire::sample_offender_told);
  EXPECT_EQ(of("192.0.2.5") & wire::sample_offender_met, wire::sample_offender_met);
  EXPECT_EQ(count("told"), 1u) << "the memory was told of the one that was denied alone";
}

TEST_F(StageOffend, who_is_unmarked_is_none_until_it_is_told_again) {
  const OffendersCase c;
  enforce({"10.0.0.0/8"}, c);
  expect("10.0.0.1", Verdict::drop, Reason::deny);
  enforce({}, c);
  expect("10.0.0.1", Verdict::drop, Reason::offender);
  ASSERT_EQ(mark({"10.0.0.1"}, true).done, 1u);
  expect("10.0.0.1", Verdict::pass, Reason::fallthrough);
  EXPECT_EQ(query("offenders").at("forgotten"), 1);
  gate_->dataplane().generations.offenders().now()->marks().lift(parse_address("10.0.0.1").value());
  expect("10.0.0.1", Verdict::drop, Reason::offender);
}

TEST_F(StageOffend, without_the_section_nothing_is_remembered_and_marks_are_refused) {
  enforce({"10.0.0.0/8"}, {}, false);
  expect("10.0.0.1", Verdict::drop, Reason::deny);
  enforce({}, {}, false);
  expect("10.0.0.1", Verdict::pass, Reason::fallthrough);
  EXPECT_EQ(query("offenders"), Json({{"filter", "none"}}));
  DataplaneClient control(gate_->socket());
  const wire::Mark about{0, 0};
  const WireMessage answer = control.ask(wire::Type::mark, std::as_bytes(std::span(&about, 1)));
  ASSERT_TRUE(answer.is(wire::Type::refused));
  EXPECT_NE(answer.refusal().find("write the key offenders"), std::string::npos);
}

TEST_F(StageOffend, a_mark_message_of_the_wrong_size_or_with_a_bad_address_is_refused) {
  enforce({}, {});
  DataplaneClient control(gate_->socket());
  const wire::Mark about{0, 2};
  EXPECT_TRUE(control.ask(wire::Type::mark, std::as_bytes(std::span(&about, 1))).is(wire::Type::refused));
  std::vector<std::byte> payload(sizeof(wire::Mark) + sizeof(wire::HostAddress));
  const wire::Mark one{0, 1};
  std::memcpy(payload.data(), &one, sizeof one);
  payload[sizeof one] = std::byte{9};
  EXPECT_TRUE(control.ask(wire::Type::mark, payload).is(wire::Type::refused));
}

TEST_F(StageOffend, explain_says_what_the_memory_knows) {
  const OffendersCase c;
  enforce({"10.0.0.0/8"}, c);
  expect("10.0.0.1", Verdict::drop, Reason::deny);
  enforce({}, c);
  DataplaneClient control(gate_->socket());
  const auto explain = [&](const char *address) {
    return Json::parse(control.query(std::string(R"({"what":"explain","address":")") + address + R"("})"));
  };
  EXPECT_EQ(explain("10.0.0.1").at("reason"), "offender");
  EXPECT_EQ(explain("10.0.0.1").at("verdict"), "drop");
  EXPECT_EQ(explain("10.0.0.2").at("reason"), "default");
}

} // namespace
} // namespace weir::test::stage_offend_test
