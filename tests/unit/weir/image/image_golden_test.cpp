// The bytes of format version 6, pinned: header and section table - whose checksums cover every
// section - of a fixed image. A change here is a change of format and needs a new version number.
#include "tests/support/deny_filter_case.hpp"
#include "tests/support/offenders_case.hpp"
#include "weir/build/flow_table_builder.hpp"
#include "weir/build/packet_rules_builder.hpp"
#include "weir/build/prefix_ranges.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdio>
#include <fstream>
#include <memory>
#include <sstream>

namespace weir::image_golden_test {
namespace {

// Tests run from the top of the tree.
constexpr const char *golden_file = "tests/golden/image_v6.hex";
constexpr const char *golden_ranges_file = "tests/golden/image_v6_ranges.hex";
constexpr const char *golden_words_file = "tests/golden/image_v6_words.hex";
constexpr const char *golden_seesaw_file = "tests/golden/image_v6_seesaw.hex";
constexpr const char *golden_cuckoo_file = "tests/golden/image_v6_cuckoo.hex";
constexpr const char *golden_stack_file = "tests/golden/image_v6_stack.hex";
constexpr const char *golden_rules_file = "tests/golden/image_v6_rules.hex";
constexpr const char *golden_actions_file = "tests/golden/image_v6_actions.hex";
constexpr const char *golden_offenders_file = "tests/golden/image_v6_offenders.hex";
constexpr const char *golden_learned_offenders_file = "tests/golden/image_v6_offenders_learned.hex";
constexpr const char *golden_stacked_file = "tests/golden/image_v6_stacked.hex";

std::string hex_lines(Bytes bytes) {
  std::string out;
  char text[8];
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    std::snprintf(text, sizeof text, "%02x", static_cast<unsigned>(bytes[i]));
    out += text;
    out += i % 32 == 31 ? '\n' : ' ';
  }
  return out;
}

void expect_bytes(const build::BuildInput &in, const char *name, bool with_ranges = false) {
  build::BuildInput input = in;
  if (!with_ranges) input.ranges = std::make_shared<const build::PrefixRanges>(); // prefixes in the tables
  const test::ImageMemory m = test::ImageMemory::build(input);
  const auto &header = *reinterpret_cast<const image::ImageHeader *>(m.bytes().data());
  const std::string now =
      hex_lines(m.bytes().first(sizeof header + header.section_count * sizeof(image::SectionEntry)));

  std::ifstream file(name);
  ASSERT_TRUE(file.good()) << name << " cannot be read: run from the top of the tree";
  std::stringstream pinned;
  pinned << file.rdbuf();
  EXPECT_EQ(now, pinned.str());
}

TEST(Image, bytes_of_format_version_6_are_what_they_were) {
  using test::entry_v4, test::entry_v6;
  const std::vector<build::EntryV4> deny4{entry_v4("0.0.0.0/0", 1), entry_v4("0.0.0.0", 0),
                                          entry_v4("10.0.0.0/8", 0), entry_v4("10.0.0.0/24", 3),
                                          entry_v4("255.255.255.255", 3)};
  const std::vector<build::EntryV4> allow4{entry_v4("10.0.0.7", 7)};
  const std::vector<build::EntryV6> deny6{entry_v6("::/0", 1), entry_v6("::", 0),
                                          entry_v6("2001:db8::/32", 3)};
  build::BuildInput in;
  in.policy.match = Match::source;
  in.lists = {
      {"drop", 0, Side::deny}, {"all", 1, Side::deny}, {"bans", 3, Side::deny}, {"ops", 7, Side::allow}};
  in.deny = {deny4, deny6, true};
  in.allow = {allow4, {}, false};
  in.identity.generation = 42;
  in.identity.sequence = 1234;
  in.seed = 0xC0FFEE;
  for (std::size_t i = 0; i < in.identity.store_id.size(); ++i)
    in.identity.store_id[i] = static_cast<std::uint8_t>(i);
  expect_bytes(in, golden_file);
  expect_bytes(in, golden_ranges_file, true);
}

// Hosts in words, so many that some stand behind them.
TEST(Image, bytes_of_hosts_in_words_are_what_they_were) {
  std::vector<build::EntryV4> deny4{test::entry_v4("10.0.0.0/8", 1)};
  for (std::uint32_t n = 0; n < 500; ++n)
    deny4.push_back({0x0B000000 + n * 65'537, 32, 0, ListId(static_cast<std::uint16_t>(n % 20))});
  build::BuildInput in;
  in.lists = {{"drop", 0, Side::deny}, {"all", 1, Side::deny}};
  in.deny.v4 = deny4;
  in.deny.hosts_v4 = build::HostHome::words;
  in.identity.generation = 42;
  in.seed = 0xC0FFEE;
  expect_bytes(in, golden_words_file, true);
}

// The section of a filter, its guarded keys and the policy that goes with it.
TEST(Image, bytes_of_a_filter_of_the_allow_side_are_what_they_were) {
  using test::entry_v4, test::entry_v6;
  const std::vector<build::EntryV4> allow4{entry_v4("10.0.0.0/16", 7), entry_v4("10.0.0.0/24", 7),
                                           entry_v4("10.0.0.7", 7), entry_v4("192.0.2.1", 7)};
  const std::vector<build::EntryV6> allow6{entry_v6("2001:db8::/32", 7)};
  const std::vector<build::VulnerableKey> guarded{{parse_prefix("10.0.0.8").value()},
                                                  {parse_prefix("2001:db9::/32").value()}};
  build::BuildInput in;
  in.policy.confirm = Confirm::on_conflict;
  in.lists = {{"ops", 7, Side::allow}};
  in.allow = {allow4, allow6};
  in.allow_filter = {.params = build::SeesawParams{.planned_keys = 8, .cell_words = 5, .modulator_words = 2},
                     .guarded = guarded};
  in.identity.generation = 42;
  in.seed = 0xC0FFEE;
  expect_bytes(in, golden_seesaw_file);
  in.allow_filter = {};
  in.allow_filter.params = build::CuckooParams{8, {3, 18}};
  expect_bytes(in, golden_cuckoo_file);
  in.allow_filter = {.params = {}, .guarded = guarded};
  in.allow_filter.params = build::StackedCountingParams{8, {{5, 2, 3}, {1, 1, 2}, {2, 2, 4}}};
  expect_bytes(in, golden_stacked_file);
}

// Compact mode: no table of hosts, ranges that are spared, layers of two kinds.
TEST(Image, bytes_of_a_stack_that_judges_are_what_they_were) {
  using test::entry_v4, test::entry_v6;
  const std::vector<build::EntryV4> deny4{entry_v4("10.0.0.1", 3), entry_v4("10.0.0.9", 3),
                                          entry_v4("192.0.2.0/24", 3)};
  const std::vector<build::EntryV6> deny6{entry_v6("2001:db8::1", 3)};
  const std::vector<Address> known{parse_address("10.0.0.2").value(), parse_address("2001:db8::2").value()};
  const std::vector<Prefix> spared{parse_prefix("10.0.1.0/24").value(),
                                   parse_prefix("2001:db8:1::/48").value()};
  build::BuildInput in;
  in.lists = {{"bans", 3, Side::deny}};
  in.deny = {deny4, deny6};
  in.identity.generation = 42;
  in.seed = 0xC0FFEE;
  build::DenyFilterSizes plan = test::plan_of({.fuse_below = true}, image::DenyFilterRole::judge);
  plan.known = known;
  plan.spared = spared;
  plan.psi = 0.25;
  const build::DenyFilter stack = build::build_deny_filter(in.deny, plan, in.seed).value();
  in.deny_filter = stack.input();
  expect_bytes(in, golden_stack_file);
}

image::OffenderGroup offender_group(float below, std::uint32_t words, image::OffenderAnswer answer) {
  image::OffenderGroup g{};
  g.below = below;
  g.words = words;
  g.told = g.other = image::stack_rate_parts(0.5);
  g.hashes = 4;
  g.answer = answer;
  return g;
}

// A pair that takes turns, and a stable filter behind trees with ranges that are spared; sizes are given, not planned.
TEST(Image, bytes_of_a_memory_of_offenders_are_what_they_were) {
  using image::OffenderAnswer;
  const auto image_of = [](const build::OffendersInput &offenders) {
    return build::build_offenders(offenders).value();
  };
  build::BuildInput in;
  in.identity.generation = 42;
  in.seed = 0xC0FFEE;
  build::OffendersInput offenders;
  offenders.action = OffenderAction::rate_limit;
  offenders.limit = 100, offenders.burst = 200;
  offenders.tells_above = 1000;
  offenders.seed = 77;
  offenders.targets = {.accepted = 0.01, .missed = 0.1, .gap = 1000};
  offenders.plan = {.filter = OffenderFilter::rotating,
                    .turn = 1000,
                    .groups = {offender_group(INFINITY, 200, OffenderAnswer::filter)},
                    .cell_bits = 200 * 128,
                    .accepted = 0.004};
  const auto rotating = image_of(offenders);
  in.offenders = rotating;
  expect_bytes(in, golden_offenders_file);

  const std::vector<Prefix> spared{parse_prefix("10.0.1.0/24").value(),
                                   parse_prefix("2001:db8:1::/48").value()};
  const auto trees = test::one_split(image::offender_features(OffenderElement::header), 1, 128, -1, 1);
  const std::vector<std::byte> neighbours(image::offender_neighbours, std::byte{48});
  offenders.element = OffenderElement::header;
  offenders.action = OffenderAction::drop;
  offenders.plan = {.filter = OffenderFilter::stable,
                    .groups = {offender_group(0, 300, OffenderAnswer::filter),
                               offender_group(INFINITY, 0, OffenderAnswer::accept)},
                    .cell_bits = 300 * 64,
                    .accepted = 0.01,
                    .missed = 0.09};
  offenders.plan.groups[0].max = 3;
  offenders.plan.groups[0].decrements = 12.25;
  offenders.model = 1;
  offenders.spared = spared;
  offenders.neighbours = neighbours;
  offenders.trees = trees->section();
  const auto stable = image_of(offenders);
  in.offenders = stable;
  expect_bytes(in, golden_learned_offenders_file);
}

// Packet rules with a port and a rate, and flows of both families.
TEST(Image, bytes_of_packet_rules_and_flows_are_what_they_were) {
  std::vector<image::RuleEntry> rules{build::rule_entry("telnet", RuleAction::reject),
                                      build::rule_entry("dns", RuleAction::rate_limit)};
  rules[1].packets = 1000;
  rules[1].burst = 2000;
  rules[1].per = RulePer::source;
  rules[1].flows = 3;
  std::vector<image::RulePattern> patterns{build::any_packet(0)};
  patterns[0].names_protocol = patterns[0].names_ports = 1;
  patterns[0].protocol = 6;
  patterns[0].from_port_last = 65'535;
  patterns[0].to_port_first = 23;
  patterns[0].to_port_last = 25;
  patterns[0].vlan_first = patterns[0].vlan_last = 12;
  patterns[0].port = 0;
  const std::vector<std::string> ports{"wan"};
  const auto packet_rules =
      build::build_packet_rules({.rules = rules, .patterns = patterns, .ports = ports}).value();
  const std::uint64_t word = image::flow_word::leading_to(image::flow_word::asked(0x35002710, 17), 1);
  const std::vector<image::FlowV4> v4{{0x0100000A'0200000A, word}, {0x0100000A'0300000A, word}};
  const std::vector<image::FlowV6> v6{{{0xB80D0120, 1, 0xB80D0120, 2}, word}};
  const auto flows = build::build_flow_table({.v4 = v4, .v6 = v6, .seed = 0xC0FFEE}).value();
  build::BuildInput in;
  in.packet_rules = packet_rules;
  in.flows = flows;
  in.identity.generation = 42;
  in.seed = 0xC0FFEE;
  expect_bytes(in, golden_rules_file, true);
}

// A deny list that rejects, and one with a rate for each address.
TEST(Image, bytes_of_list_actions_are_what_they_were) {
  const std::vector<image::ListActionEntry> entries{{.list = 3,
                                                     .action = RuleAction::reject,
                                                     .per = RulePer::rule,
                                                     .packets = 0,
                                                     .burst = 0,
                                                     .reserved = {}},
                                                    {.list = 7,
                                                     .action = RuleAction::rate_limit,
                                                     .per = RulePer::source,
                                                     .packets = 1000,
                                                     .burst = 2000,
                                                     .reserved = {}}};
  const auto list_actions = image::list_actions_section(entries);
  const std::vector<build::EntryV4> deny4{test::entry_v4("10.0.0.0/8", 3), test::entry_v4("10.0.0.1", 7)};
  build::BuildInput in;
  in.lists = {{"drop", 3, Side::deny}, {"bans", 7, Side::deny}};
  in.deny.v4 = deny4;
  in.list_actions = list_actions;
  in.identity.generation = 42;
  in.seed = 0xC0FFEE;
  expect_bytes(in, golden_actions_file, true);
}

} // namespace
} // namespace weir::image_golden_test
