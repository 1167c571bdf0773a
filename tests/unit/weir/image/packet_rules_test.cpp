// Section packet_rules: what a reader refuses, and that a view stays within what it was given.
#include "weir/image/packet_rules.hpp"

#include "tests/support/packets.hpp"
#include "weir/build/packet_rules_builder.hpp"
#include "weir/key/text.hpp"

#include <gtest/gtest.h>

#include <cstring>
#include <functional>

namespace weir::test::packet_rules_test {
namespace {

using image::PacketRulesView, image::RuleEntry, image::RulePattern;

struct Rules {
  std::vector<RuleEntry> entries{build::rule_entry("telnet", RuleAction::drop),
                                 build::rule_entry("dns", RuleAction::count)};
  std::vector<RulePattern> patterns{build::any_packet(0), build::any_packet(1)};
  std::vector<std::string> ports{"wan"};

  Rules() {
    patterns[0].names_protocol = patterns[0].names_ports = 1;
    patterns[0].protocol = 6;
    patterns[0].from_port_last = 65'535;
    patterns[0].to_port_first = patterns[0].to_port_last = 23;
    patterns[1].port = 0;
    patterns[1].family = 4;
    patterns[1].from = parse_prefix("10.0.0.0/8").value().address.bytes;
    patterns[1].from_length = 8;
  }
  [[nodiscard]] Result<std::vector<std::byte>> build() const {
    return build::build_packet_rules({.rules = entries, .patterns = patterns, .ports = ports});
  }
};

TEST(PacketRules, come_back_as_they_were_written) {
  const auto section = Rules().build();
  ASSERT_TRUE(section) << section.error().message;
  const auto view = PacketRulesView::attach(*section);
  ASSERT_TRUE(view) << view.error().message;
  ASSERT_EQ(view->rules().size(), 2u);
  EXPECT_EQ(view->rule(1).name_text(), "dns");
  EXPECT_EQ(view->patterns().size(), 2u);
  EXPECT_STREQ(view->ports()[0].name.data(), "wan");
}

TEST(PacketRules, the_first_pattern_that_matches_decides) {
  const auto section = Rules().build();
  const auto view = PacketRulesView::attach(section.value()).value();
  const auto asked = [&](const FrameBuilder &builder, std::string_view port) {
    const Frame frame = builder.frame();
    const ParsedPacket outer = parse_packet(frame.bytes.data(), frame.bytes.size());
    return view.first_match(tuple_of(frame.bytes.data(), frame.bytes.size(), outer), frame.bytes.data(),
                            port);
  };
  const FrameBuilder telnet = FrameBuilder().ethernet().ipv4({.source = "10.1.1.1"}).tcp(1, 23);
  EXPECT_EQ(asked(telnet, "wan"), 0);
  EXPECT_EQ(asked(FrameBuilder().ethernet().ipv4({.source = "10.1.1.1"}).tcp(1, 24), "wan"), 1);
  EXPECT_EQ(asked(FrameBuilder().ethernet().ipv4({.source = "10.1.1.1"}).tcp(1, 24), "lan"), no_rule);
  EXPECT_EQ(asked(FrameBuilder().ethernet().ipv4({.source = "11.1.1.1"}).udp(1, 23), "wan"), no_rule);
  EXPECT_EQ(asked(FrameBuilder().ethernet().ipv6().tcp(1, 23), ""), 0);
  EXPECT_EQ(
      asked(FrameBuilder().ethernet().ipv4({.source = "10.1.1.1", .fragment_offset = 9}).tcp(1, 23), "wan"),
      1)
      << "a later fragment has no ports";
}

struct Damage {
  const char *what;
  std::function<void(Rules &)> done;
};

TEST(PacketRules, that_make_no_sense_are_refused) {
  const std::vector<Damage> all{
      {"no rules", [](Rules &r) { r.entries.clear(), r.patterns.clear(); }},
      {"a pattern of no rule", [](Rules &r) { r.patterns[1].rule = 2; }},
      {"patterns out of order", [](Rules &r) { std::swap(r.patterns[0], r.patterns[1]); }},
      {"a family of none", [](Rules &r) { r.patterns[0].family = 5; }},
      {"a prefix of both families", [](Rules &r) { r.patterns[0].from_length = 1; }},
      {"a prefix that is too long", [](Rules &r) { r.patterns[1].from_length = 33; }},
      {"bits beyond a prefix", [](Rules &r) { r.patterns[1].from[3] = 1; }},
      {"ports the wrong way round", [](Rules &r) { r.patterns[0].to_port_first = 24; }},
      {"ports without saying so", [](Rules &r) { r.patterns[0].names_ports = 0; }},
      {"a protocol without saying so", [](Rules &r) { r.patterns[0].names_protocol = 0; }},
      {"a VLAN that there is not", [](Rules &r) { r.patterns[0].vlan_last = 4096; }},
      {"VLANs the wrong way round",
       [](Rules &r) { r.patterns[0].vlan_first = 9, r.patterns[0].vlan_last = 8; }},
      {"a port without a name", [](Rules &r) { r.patterns[1].port = 1; }},
      {"reserved bytes", [](Rules &r) { r.patterns[0].reserved[10] = 1; }},
      {"two rules of one name", [](Rules &r) { r.entries[1] = r.entries[0]; }},
      {"a rule without a name", [](Rules &r) { r.entries[0].name = {}; }},
      {"an action that there is not", [](Rules &r) { r.entries[0].action = static_cast<RuleAction>(5); }},
      {"a limit of nothing", [](Rules &r) { r.entries[0].action = RuleAction::rate_limit; }},
      {"a limit of what has none", [](Rules &r) { r.entries[0].packets = 1; }},
      {"an empty port", [](Rules &r) { r.ports[0].clear(); }}};
  for (const Damage &damage : all) {
    Rules rules;
    damage.done(rules);
    EXPECT_FALSE(rules.build()) << damage.what;
  }
  EXPECT_TRUE(Rules().build());
}

TEST(PacketRules, cut_anywhere_are_refused) {
  const std::vector<std::byte> whole = Rules().build().value();
  for (std::size_t bytes = 0; bytes < whole.size(); ++bytes)
    EXPECT_FALSE(PacketRulesView::attach({whole.data(), bytes})) << bytes;
}

// Counts that would lead out of the section, or overflow what is multiplied with them.
TEST(PacketRules, counts_that_the_bytes_do_not_have_are_refused) {
  const std::vector<std::byte> whole = Rules().build().value();
  for (const std::size_t at : {0, 4, 8})
    for (const std::uint32_t count : {3u, 4097u, 16'385u, 0xFFFFFFFFu}) {
      std::vector<std::byte> damaged = whole;
      std::memcpy(damaged.data() + at, &count, sizeof count);
      EXPECT_FALSE(PacketRulesView::attach(damaged)) << at << " " << count;
    }
}

} // namespace
} // namespace weir::test::packet_rules_test
