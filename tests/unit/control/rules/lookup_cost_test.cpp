#include "control/rules/lookup_cost.hpp"
#include "tests/support/seed.hpp"
#include "weir/key/text.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <set>

namespace weir::rules::lookup_cost_test {
namespace {

Prefix prefix_of(const Address &address, unsigned length) {
  return {masked(address, length), static_cast<std::uint8_t>(length)};
}

struct Content {
  std::vector<EntryV4> v4;
  std::vector<EntryV6> v6;
  [[nodiscard]] Entries entries() const { return {.v4 = v4, .v6 = v6}; }
};

Content content(const std::vector<Prefix> &prefixes) {
  Content c;
  for (const Prefix &p : prefixes) {
    if (p.family() == Family::ipv4)
      c.v4.push_back(to_entry_v4(p));
    else
      c.v6.push_back(to_entry_v6(p));
  }
  const auto order = [](const auto &a, const auto &b) { return before(a, b); };
  std::ranges::sort(c.v4, order);
  std::ranges::sort(c.v6, order);
  return c;
}

const config::List list = [] {
  config::List l;
  l.name = "drop";
  return l;
}();

std::string nesting(const Content &after, const Content &before = {}) {
  const auto objection = object_to_nesting(list, after.entries(), before.entries(), {8, 12});
  if (!objection) return "";
  return (objection->accepted ? "accepted: " : "") + objection->sentence;
}

// A range of addresses as published by country, written as prefixes: from the address after the first of a
// /`length` to the end of it.
std::vector<Prefix> all_but_the_first(const char *network, unsigned length) {
  std::vector<Prefix> prefixes;
  const Address address = parse_address(network).value();
  for (unsigned l = length + 1; l <= address_bits(address.family); ++l) {
    Address at = address;
    at.bytes[(l - 1) / 8] = static_cast<std::uint8_t>(at.bytes[(l - 1) / 8] | 0x80 >> (l - 1) % 8);
    prefixes.push_back(prefix_of(at, l));
  }
  return prefixes;
}

TEST(MaxNested, ranges_written_as_prefixes_bring_every_length_and_nest_nowhere) {
  const Content ranges = content(all_but_the_first("2001:db8::", 12));
  EXPECT_EQ(nesting(ranges), "");
  const auto told = object_to_variety(list, ranges.entries(), {}, {.most = {16, 32}, .first_load = true});
  ASSERT_TRUE(told);
  EXPECT_TRUE(told->accepted) << "a list that is new is warned of alone";
  EXPECT_NE(told->sentence.find("116 prefix lengths of IPv6"), std::string::npos) << told->sentence;
  EXPECT_NE(told->sentence.find("unless the list has max_lengths: {ipv6: 128}"), std::string::npos)
      << told->sentence;
  EXPECT_EQ(told->lines.size(), 5u);
  EXPECT_EQ(told->more, 111u);
}

TEST(MaxNested, counts_the_lines_around_one_address_as_a_slow_count_does) {
  const std::uint64_t seed = test::seed_or(31);
  WEIR_TRACE_SEED(seed);
  std::mt19937_64 random(seed);
  unsigned refused = 0;
  for (unsigned round = 0; round < 300; ++round) {
    std::set<Prefix> drawn;
    const unsigned lines = 1 + random() % 60;
    for (unsigned i = 0; i < lines; ++i)
      drawn.insert(prefix_of(Address::from_host(0x0A000000 | static_cast<std::uint32_t>(random() % 4) << 30 |
                                                static_cast<std::uint32_t>(random() % 3)),
                             17 + static_cast<unsigned>(random() % 16)));
    std::size_t deepest = 0;
    for (const Prefix &inner : drawn)
      deepest = std::max<std::size_t>(deepest, static_cast<std::size_t>(std::ranges::count_if(
                                                   drawn, [&](const Prefix &p) { return p.covers(inner); })));
    const std::string said = nesting(content({drawn.begin(), drawn.end()}));
    ASSERT_EQ(said.empty(), deepest <= 8) << deepest << " " << said;
    if (said.empty()) continue;
    ++refused;
    ASSERT_NE(said.find(": " + std::to_string(deepest) + " lines nest"), std::string::npos) << said;
  }
  EXPECT_GT(refused, 10u);
  EXPECT_LT(refused, 300u);
}

TEST(MaxNested, what_is_in_force_stays_and_one_more_line_is_refused) {
  std::vector<Prefix> nested;
  for (unsigned length = 17; length < 29; ++length)
    nested.push_back(prefix_of(Address::from_host(0x0A010203), length));
  const Content accepted = content(nested);
  EXPECT_EQ(nesting(accepted, accepted).substr(0, 30), "accepted: list drop: 12 lines ");
  nested.push_back(prefix_of(Address::from_host(0x0A010203), 32));
  EXPECT_EQ(nesting(content(nested), accepted).substr(0, 20), "list drop: 13 lines ");
}

TEST(MaxNested, short_prefixes_of_IPv4_cost_nothing_and_do_not_count) {
  std::vector<Prefix> nested;
  for (unsigned length = 1; length < 25; ++length)
    nested.push_back(prefix_of(Address::from_host(0x0A010203), length));
  EXPECT_EQ(nesting(content(nested)), "");
  nested.push_back(prefix_of(Address::from_host(0x0A010203), 25));
  EXPECT_NE(nesting(content(nested)).find("9 lines nest around 10.1.2.0"), std::string::npos)
      << nesting(content(nested));
}

TEST(MaxLengths, counts_lengths_of_IPv4_below_one_group_alone) {
  std::vector<Prefix> prefixes;
  for (unsigned length = 17; length < 25; ++length) // eight lengths, each below a /16 of its own
    prefixes.push_back(prefix_of(Address::from_host(0x0A000000 + (length << 16)), length));
  const LengthsAsked asked{.most = {4, 128}};
  EXPECT_FALSE(object_to_variety(list, content(prefixes).entries(), {}, asked));
  const auto below_one = all_but_the_first("10.9.0.0", 24);
  prefixes.insert(prefixes.end(), below_one.begin(), below_one.end());
  const auto objection = object_to_variety(list, content(prefixes).entries(), {}, asked);
  ASSERT_TRUE(objection);
  EXPECT_FALSE(objection->accepted);
  EXPECT_NE(objection->sentence.find("8 prefix lengths of IPv4 below one /16"), std::string::npos)
      << objection->sentence;
  ASSERT_EQ(objection->lines.size(), 5u);
  for (const Prefix &line : objection->lines) EXPECT_EQ(line.address.host() >> 16, 0x0A09u);
}

} // namespace
} // namespace weir::rules::lookup_cost_test
