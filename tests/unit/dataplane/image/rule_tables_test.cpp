// Classifiers of packet rules: the quick one, the one for rules that cross too much for that, and where both end.
#include "dataplane/image/rule_tables.hpp"

#include "dataplane/image/classifier_bound.hpp"
#include "tests/support/eal.hpp"
#include "tests/support/packets.hpp"
#include "tests/support/random_rules.hpp"
#include "weir/build/packet_rules_builder.hpp"
#include "weir/key/parse.hpp"
#include "weir/key/text.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fmt/format.h>

#include <algorithm>
#include <random>

namespace weir::test::rule_tables_test {
namespace {

using dataplane::RuleTables;
using image::RulePattern;
using testing::HasSubstr;
using testing::Not;

constexpr std::uint32_t source = 0x0A0B0C0D, destination = 0xC0A80101;
using Random = std::mt19937_64;

void name_prefix(std::array<std::uint8_t, 16> &to, std::uint8_t &length, std::uint32_t address,
                 unsigned bits) {
  length = static_cast<std::uint8_t>(bits);
  to = masked(Address::from_host(address), bits).bytes;
}

// Networks around two addresses, and ranges of both ports around the middle: each crosses each.
RulePattern crossing(Random &random, std::uint16_t rule) {
  RulePattern p = build::any_packet(RuleId(rule));
  p.family = 4;
  name_prefix(p.from, p.from_length, source, static_cast<unsigned>(random() % 25));
  name_prefix(p.to, p.to_length, destination, static_cast<unsigned>(random() % 25));
  p.names_ports = 1;
  const auto below = [&random] { return static_cast<std::uint16_t>(random() % 32'768); };
  p.from_port_first = below();
  p.from_port_last = static_cast<std::uint16_t>(32'768 + below());
  p.to_port_first = below();
  p.to_port_last = static_cast<std::uint16_t>(32'768 + below());
  return p;
}

// As firewalls have them: networks on both sides, a client's ports, a few of a server's.
RulePattern usual(Random &random, std::uint16_t rule) {
  RulePattern p = build::any_packet(RuleId(rule));
  p.family = 4;
  name_prefix(p.from, p.from_length, 0x0A000000 | static_cast<std::uint32_t>(random() % (1u << 24)),
              static_cast<unsigned>(8 + random() % 17));
  name_prefix(p.to, p.to_length, 0xC6000000 | static_cast<std::uint32_t>(random() % (1u << 24)),
              static_cast<unsigned>(8 + random() % 17));
  p.names_ports = 1;
  p.from_port_first = 1024;
  p.from_port_last = 65'535;
  p.to_port_first = static_cast<std::uint16_t>(random() % 65'000);
  p.to_port_last = static_cast<std::uint16_t>(p.to_port_first + random() % 100);
  return p;
}

class RuleTablesTest : public testing::Test {
protected:
  void SetUp() override { ASSERT_TRUE(start_eal()); }

  // Rules in the hundred, each with as many patterns as that takes.
  void make(unsigned patterns, RulePattern (*of)(Random &, std::uint16_t)) {
    Random random(test_seed());
    std::vector<image::RuleEntry> rules;
    std::vector<RulePattern> all;
    const unsigned each = std::max(patterns / 100, 1u);
    for (unsigned i = 0; i < patterns; ++i) {
      const auto rule = static_cast<std::uint16_t>(i / each);
      if (rule == rules.size())
        rules.push_back(build::rule_entry(fmt::format("r{}", rule), RuleAction::count));
      all.push_back(of(random, rule));
    }
    section_ = build::build_packet_rules({.rules = rules, .patterns = all, .ports = {}}).value();
    view_ = image::PacketRulesView::attach(section_).value();
    testing::internal::CaptureStderr();
    built_ = RuleTables::build(view_, keeping_);
    log_ = testing::internal::GetCapturedStderr();
  }

  // The classifier and the patterns one after the other, of random packets near the patterns' networks.
  void expect_to_classify_like_the_section() {
    ASSERT_TRUE(built_) << built_.error().message;
    Random random(test_seed() + 1);
    unsigned matched = 0;
    for (unsigned n = 0; n < 20'000; ++n) {
      const auto near = [&random](std::uint32_t address) {
        return Address::from_host(address ^
                                  static_cast<std::uint32_t>(random() & ((1u << random() % 32) - 1)));
      };
      const Frame frame =
          FrameBuilder()
              .ethernet()
              .ipv4({.source = to_string(near(source)), .destination = to_string(near(destination))})
              .udp(static_cast<std::uint16_t>(random()), static_cast<std::uint16_t>(random()))
              .frame();
      const PacketTuple tuple = tuple_of(frame.bytes.data(), frame.bytes.size(),
                                         parse_packet(frame.bytes.data(), frame.bytes.size()));
      dataplane::RuleKeyV4 key{};
      key.protocol = tuple.protocol;
      key.from = load_unaligned<std::uint32_t>(frame.bytes.data() + tuple.source_offset);
      key.to = load_unaligned<std::uint32_t>(frame.bytes.data() + tuple.destination_offset);
      key.ports = load_unaligned<std::uint32_t>(frame.bytes.data() + tuple.ports_offset);
      key.has_ports = 1;
      const auto *at = reinterpret_cast<const std::uint8_t *>(&key);
      std::uint32_t found = 0;
      (*built_)->classify_v4(&at, &found, 1);
      const RuleId wanted = view_.first_match(tuple, frame.bytes.data(), "");
      ASSERT_EQ(found, wanted == no_rule ? 0 : wanted.value() + 1u) << n << ", WEIR_SEED=" << test_seed();
      matched += found != 0 ? 1 : 0;
    }
    EXPECT_GT(matched, 1000u);
  }

  std::vector<std::byte> section_;
  image::PacketRulesView view_;
  dataplane::RuleKeeping keeping_;
  Result<std::unique_ptr<RuleTables>> built_ = fail(Errc::io, "not built");
  std::string log_;
};

TEST_F(RuleTablesTest, rules_of_a_usual_kind_have_theirs_in_one_pass) {
  make(4'000, usual);
  ASSERT_TRUE(built_) << built_.error().message;
  EXPECT_THAT(log_, Not(HasSubstr("takes long"))) << log_;
}

TEST_F(RuleTablesTest, rules_that_all_cross_are_told_of_and_classified_all_the_same) {
  make(1'000, crossing);
  EXPECT_THAT(log_, HasSubstr("of 1000 patterns cross so much"));
  EXPECT_THAT(log_, HasSubstr("the classifier took"));
  expect_to_classify_like_the_section();
}

TEST_F(RuleTablesTest, a_few_that_cross_take_no_longer_than_others) {
  make(200, crossing);
  EXPECT_THAT(log_, Not(HasSubstr("takes long"))) << log_;
  expect_to_classify_like_the_section();
}

TEST_F(RuleTablesTest, more_that_cross_than_there_is_time_for_are_refused_at_once) {
  make(dataplane::crossing_patterns_max + 4, crossing);
  ASSERT_FALSE(built_);
  EXPECT_THAT(built_.error().message,
              HasSubstr("at most 4096 such patterns are possible. Write fewer rules"));
  EXPECT_THAT(log_, Not(HasSubstr("takes long"))) << log_;
}

TEST_F(RuleTablesTest, what_does_not_fit_is_refused_with_the_room_that_there_is) {
  const std::size_t before = dataplane::classifier_bytes_max.exchange(std::size_t{1} << 20);
  make(300, crossing);
  dataplane::classifier_bytes_max = before;
  ASSERT_FALSE(built_);
  EXPECT_THAT(built_.error().message, HasSubstr("do not fit the 1 MiB that there are for it"));
}

} // namespace
} // namespace weir::test::rule_tables_test
