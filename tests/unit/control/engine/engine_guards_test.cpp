// What whoever writes into a feed cannot bring about: the attacks, each against a running engine.
#include "tests/support/engine_bench.hpp"
#include "tests/support/fake_dataplane.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <atomic>

namespace weir::control::engine_guards_test {
namespace {

using test::EngineBench;
using test::FakeDataplane;

std::string hosts(unsigned from, unsigned to) {
  std::string text;
  for (unsigned i = from; i < to; ++i) text += to_string(Address::from_host(0x0B000000 + i)) + "\n";
  return text;
}

class EngineGuards : public testing::Test {
protected:
  EngineGuards() : bench("version: 1\nlists: []\n"), dataplane(bench.socket()) {}

  void begin(const std::string &lists) {
    bench.configure("version: 1\nlists:\n" + lists);
    const auto applied = bench.apply(0, true);
    ASSERT_TRUE(applied) << applied.error().message;
    ASSERT_TRUE(bench.run_until_live());
  }
  void expect_refused(const std::vector<std::string> &words) {
    const Generation live = bench.engine().live_record().id;
    const auto applied = bench.apply();
    ASSERT_FALSE(applied);
    EXPECT_EQ(applied.error().code, Errc::refused);
    for (const std::string &word : words) {
      EXPECT_NE(applied.error().message.find(word), std::string::npos)
          << word << " in " << applied.error().message;
      EXPECT_NE(bench.engine().last_error().text.find(word), std::string::npos)
          << "status says it as well: " << word;
    }
    EXPECT_EQ(bench.engine().live_record().id, live) << "what is in force stays";
  }

  EngineBench bench;
  FakeDataplane dataplane;
};

constexpr const char *drop = "- {name: drop, action: deny, file: drop.txt}\n";
constexpr const char *drop_and_ops = "- {name: ops, action: allow, file: ops.txt}\n"
                                     "- {name: drop, action: deny, file: drop.txt}\n";

TEST_F(EngineGuards, four_prefixes_over_half_of_IPv4_in_a_feed_of_2000_lines_are_refused_by_line) {
  bench.write_list("drop.txt", hosts(0, 2000));
  begin(drop);
  bench.write_list("drop.txt", hosts(0, 2000) + "0.0.0.0/1\n128.0.0.0/2\n192.0.0.0/2\n160.0.0.0/7\n");
  expect_refused({"shortest_prefix", "--force", "drop.txt:2001: \"0.0.0.0/1\"",
                  "drop.txt:2003: \"192.0.0.0/2\"", "drop.txt:2004: \"160.0.0.0/7\""});
  EXPECT_EQ(dataplane.denies("128.1.1.1"), "");
  EXPECT_EQ(dataplane.denies("11.0.0.1"), "drop");
}

TEST_F(EngineGuards, an_allow_feed_cannot_void_the_deny_lists) {
  bench.write_list("ops.txt", "192.0.2.1\n");
  bench.write_list("drop.txt", "11.0.0.0/24\n");
  begin(drop_and_ops);
  bench.write_list("ops.txt", "0.0.0.0/0\n");
  expect_refused({"allow list ops", "ops.txt:1: \"0.0.0.0/0\""});
  EXPECT_EQ(dataplane.list_of(Side::allow, "11.0.0.1"), "");
  std::string many; // as much in prefixes that are long enough
  for (unsigned i = 0; i < 5000; ++i) many += to_string(Prefix{Address::from_host(i << 16), 16}) + "\n";
  bench.write_list("ops.txt", many);
  expect_refused({"list ops", "guard.max_covered.allow", "and 4995 more"});
}

TEST_F(EngineGuards, the_first_load_of_a_list_is_held_by_lengths_and_coverage_too) {
  bench.write_list("drop.txt", "11.0.0.0/24\n");
  begin(drop);
  bench.write_list("ops.txt", "0.0.0.0/0\n");
  bench.configure(std::string("version: 1\nlists:\n") + drop_and_ops);
  expect_refused({"ops.txt:1"});
  bench.configure("version: 1\nlists:\n- {name: ops, action: allow, file: ops.txt, entries: [0.0.0.0/0]}\n" +
                  std::string(drop));
  EXPECT_TRUE(bench.apply()) << "the configuration names it itself";
}

TEST_F(EngineGuards, growth_below_max_change_is_refused_when_it_comes_again) {
  std::atomic<std::uint64_t> boot_s = 1000, wall_s = 1'700'000'000;
  bench.adjust = [&](EngineOptions &options) {
    options.clock = {
        .wall_s = [&] { return wall_s.load(); }, .boot_s = [&] { return boot_s.load(); }, .boot_id = "a"};
  };
  bench.restart();
  const std::string lists = std::string(drop) + "guard: {max_change: 30%}\n";
  bench.write_list("drop.txt", hosts(0, 2000));
  begin(lists);
  bench.write_list("drop.txt", hosts(0, 2580)); // +29%
  ASSERT_TRUE(bench.apply());
  boot_s += 3600;
  bench.write_list("drop.txt", hosts(0, 3328)); // +29%
  expect_refused({"and with 29.0% within the day before it", "guard.max_change", "drop.txt:2581: "});
  bench.restart();
  ASSERT_TRUE(bench.run_until_live());
  wall_s += 10 * 86'400; // setting the clock gives nothing back, nor does a restart
  expect_refused({"29.0%"});
  boot_s += 86'400;
  EXPECT_TRUE(bench.apply()) << "another day";
  bench.write_list("drop.txt", hosts(0, 4200));
  expect_refused({"max_change"});
  ASSERT_TRUE(bench.apply(0, true));
  bench.write_list("drop.txt", hosts(0, 5000));
  EXPECT_TRUE(bench.apply()) << "a forced change begins a day anew";
}

TEST_F(EngineGuards, what_was_refused_spends_nothing) {
  const std::string lists = std::string(drop) + "guard: {max_change: 30%}\n";
  bench.write_list("drop.txt", hosts(0, 2000));
  begin(lists);
  bench.write_list("drop.txt", hosts(0, 4000));
  expect_refused({"max_change"});
  bench.write_list("drop.txt", hosts(0, 2500));
  EXPECT_TRUE(bench.apply());
}

TEST_F(EngineGuards, deny_lists_may_not_cover_most_of_the_addresses_together) {
  std::string one, two;
  for (unsigned i = 1; i < 40; ++i) one += std::to_string(i) + ".0.0.0/8\n";
  for (unsigned i = 20; i < 70; ++i) two += std::to_string(i) + ".0.0.0/8\n";
  bench.write_list("drop.txt", one);
  bench.write_list("two.txt", "");
  const std::string lists = std::string(drop) + "- {name: two, action: deny, file: two.txt}\n";
  begin(lists);
  bench.write_list("two.txt", two);
  expect_refused({"all deny lists together: 1,157,627,904 IPv4 addresses (27%)", "guard.max_covered.deny",
                  "two.txt:", "and 45 more"});
  bench.configure("version: 1\nlists:\n" + lists + "guard: {max_covered: {deny: {ipv4: 28%}}}\n");
  ASSERT_TRUE(bench.apply());
  bench.configure("version: 1\nlists:\n" + lists);
  bench.write_list("two.txt", two.substr(0, two.size() - 11));
  const auto less = bench.apply();
  ASSERT_TRUE(less) << "what shrinks is never refused: " << less.error().message;
  EXPECT_NE(fmt::format("{}", fmt::join(less->warnings, "\n")).find("accepted before"), std::string::npos);
}

TEST_F(EngineGuards, a_list_that_is_replaced_counts_beside_those_that_stay) {
  std::string one, two;
  for (unsigned i = 1; i < 40; ++i) one += std::to_string(i) + ".0.0.0/8\n";
  for (unsigned i = 40; i < 70; ++i) two += std::to_string(i) + ".0.0.0/8\n";
  bench.write_list("drop.txt", one);
  bench.write_list("two.txt", "");
  begin(std::string(drop) + "- {name: two, action: deny, file: two.txt}\n");
  bench.write_list("next.txt", two);
  const Generation live = bench.engine().live_record().id;
  const auto refused = bench.replace("two", "next.txt");
  ASSERT_FALSE(refused) << "alone it covers 12%, with the other list 27%";
  for (const char *word :
       {"all deny lists together: 1,157,627,904 IPv4 addresses (27%)", "next.txt:1: \"40.0.0.0/8\""})
    EXPECT_NE(refused.error().message.find(word), std::string::npos) << refused.error().message;
  EXPECT_EQ(bench.engine().live_record().id, live);
  bench.write_list("next.txt", two.substr(0, 5 * 11));
  EXPECT_TRUE(bench.replace("two", "next.txt")) << "44 /8 of 64 that fit";
}

TEST_F(EngineGuards, a_ceiling_of_the_list_itself_holds_and_names_the_lines) {
  bench.write_list("drop.txt", "11.0.0.0/24\n");
  begin("- {name: drop, action: deny, file: drop.txt, max_covered: {ipv4: /20, ipv6: /48}}\n");
  bench.write_list("drop.txt", "11.0.0.0/24\n11.1.0.0/21\n11.2.0.0/21\n");
  expect_refused({"list drop", "max_covered of the list", "drop.txt:2: \"11.1.0.0/21\""});
  bench.write_list("drop.txt", "11.0.0.0/24\n2001:db8::/47\n");
  expect_refused({"1.00 times an IPv6 /47", "drop.txt:2: \"2001:db8::/47\""});
}

TEST_F(EngineGuards, a_replace_is_held_as_an_apply_is_and_force_says_what_it_lets_in) {
  bench.write_list("drop.txt", hosts(0, 20));
  begin(drop);
  bench.write_list("next.txt", "0.0.0.0/1\n");
  const auto refused = bench.replace("drop", "next.txt");
  ASSERT_FALSE(refused);
  EXPECT_NE(refused.error().message.find("next.txt:1: \"0.0.0.0/1\""), std::string::npos)
      << refused.error().message;
  const auto forced = bench.replace("drop", "next.txt", true);
  ASSERT_TRUE(forced);
  EXPECT_NE(
      fmt::format("{}", fmt::join(forced->warnings, "\n")).find("forced: list drop: 1 prefix is shorter"),
      std::string::npos);
  EXPECT_EQ(dataplane.denies("100.1.1.1"), "drop");
  bench.write_list("next.txt", "0.0.0.0/1\n10.0.0.1\n");
  EXPECT_TRUE(bench.replace("drop", "next.txt")) << "what is in force was accepted once";
}

TEST_F(EngineGuards, entries_by_hand_are_held_by_lengths_unless_forced) {
  bench.write_list("drop.txt", hosts(0, 20));
  begin(std::string(drop) + "- {name: bans, action: deny, dynamic: true}\n"
                            "- {name: ops, action: allow, dynamic: true}\n");
  const auto refused = bench.add("bans", "0.0.0.0/1");
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Errc::refused);
  EXPECT_NE(refused.error().message.find("0.0.0.0/1: shorter than shortest_prefix for deny list bans"),
            std::string::npos)
      << refused.error().message;
  EXPECT_FALSE(bench.add("ops", "10.0.0.0/8"));
  EXPECT_TRUE(bench.add("ops", "10.0.0.0/16"));
  EXPECT_TRUE(bench.add("bans", "12.0.0.0/8"));
  std::optional<Result<EntriesDone>> forced;
  bench.engine().add(
      "ops", {{parse_prefix("10.0.0.0/8").value(), {}, {}}},
      [&](Result<EntriesDone> done) { forced = std::move(done); }, true);
  ASSERT_TRUE(bench.run_until([&] { return forced.has_value(); }));
  EXPECT_TRUE(*forced);
}

TEST_F(EngineGuards, an_entry_that_carries_IPv4_can_stand_for_both_and_the_guards_see_both) {
  bench.write_list("drop.txt", "::ffff:11.0.0.1\n64:ff9b::11.0.0.2\n2002:b00:3::/48\n");
  begin("- {name: drop, action: deny, file: drop.txt, mapped: both}\n");
  EXPECT_EQ(dataplane.denies("11.0.0.1"), "drop");
  EXPECT_EQ(dataplane.denies("11.0.0.2"), "drop");
  EXPECT_EQ(dataplane.denies("11.0.0.3"), "drop");
  EXPECT_EQ(dataplane.denies("11.0.0.4"), "");
  bench.write_list("drop.txt", "::ffff:0.0.0.0/97\n");
  expect_refused({"\"0.0.0.0/1\""});
}

std::string line(const Address &address, unsigned length) {
  return to_string(Prefix{masked(address, length), static_cast<std::uint8_t>(length)}) + "\n";
}
// One line of each length from 32 to 128 around one address.
std::string nested_v6(unsigned from = 32) {
  std::string text;
  for (unsigned length = from; length <= 128; ++length)
    text += line(parse_address("2001:db8:5555:5555:5555:5555:5555:5555").value(), length);
  return text;
}
// The same lengths, none inside another.
std::string apart_v6(unsigned from = 32) {
  std::string text;
  for (unsigned length = from; length <= 128; ++length) {
    Address address = parse_address("2001:db8::").value();
    address.bytes[3] = static_cast<std::uint8_t>(length);
    text += line(address, length);
  }
  return text;
}

TEST_F(EngineGuards, lines_that_nest_around_one_address_are_refused_at_the_first_load_and_later) {
  bench.write_list("drop.txt", hosts(0, 10));
  begin(drop);
  bench.write_list("drop.txt", hosts(0, 10) + nested_v6());
  expect_refused({"list drop: 97 lines nest around 2001:db8:5555:5555:5555:5555:5555:5555", "max_nested",
                  "12 for IPv6", "--force", "drop.txt:11: \"2001:db8::/32\"", "and 92 more"});
  EXPECT_EQ(dataplane.denies("11.0.0.1"), "drop");
  bench.write_list("more.txt", nested_v6());
  bench.write_list("drop.txt", hosts(0, 10));
  bench.configure(std::string("version: 1\nlists:\n") + drop +
                  "- {name: more, action: deny, file: more.txt}\n");
  expect_refused({"list more: 97 lines nest"});
  bench.configure(std::string("version: 1\nlists:\n") + drop +
                  "- {name: more, action: deny, file: more.txt, max_nested: {ipv6: 97}}\n");
  const auto applied = bench.apply();
  ASSERT_TRUE(applied) << applied.error().message;
  EXPECT_NE(fmt::format("{}", fmt::join(applied->warnings, "\n")).find("list more: 97 prefix lengths"),
            std::string::npos)
      << "a new list is warned of";
}

TEST_F(EngineGuards, fifteen_lines_that_nest_below_one_group_of_IPv4_are_refused) {
  bench.write_list("drop.txt", hosts(0, 10));
  begin(drop);
  std::string nested;
  for (unsigned length = 17; length < 32; ++length) nested += line(Address::from_host(0xC0005555), length);
  bench.write_list("drop.txt", hosts(0, 10) + nested);
  expect_refused({"15 lines nest around 192.0.85.84", "max_nested", "8 for IPv4", "drop.txt:11: "});
  bench.write_list("drop.txt", hosts(0, 10) + nested.substr(0, nested.find("192.0.85.0/25")));
  EXPECT_TRUE(bench.apply()) << "eight are what a published list may have";
}

TEST_F(EngineGuards, a_list_in_force_may_not_bring_further_lengths_one_at_a_time_or_apart) {
  bench.write_list("drop.txt", hosts(0, 10) + apart_v6(100)); // 29 lengths
  begin(drop);
  bench.write_list("drop.txt", hosts(0, 10) + apart_v6());
  expect_refused({"list drop: 97 prefix lengths of IPv6, more than max_lengths for list drop: 32", "--force",
                  "drop.txt:11: \"2001:d20::/32\"", "and 63 more"});
  bench.write_list("drop.txt", hosts(0, 10) + apart_v6(97));
  EXPECT_TRUE(bench.apply()) << "32 may be";
  bench.write_list("drop.txt", hosts(0, 10) + apart_v6(96));
  expect_refused({"33 prefix lengths"});
  ASSERT_TRUE(bench.apply(0, true));
  bench.write_list("drop.txt", hosts(0, 11) + apart_v6(96));
  EXPECT_TRUE(bench.apply()) << "what was forced stays";
}

TEST_F(EngineGuards, lengths_that_the_configuration_sets_or_names_hold_from_the_first_load_on) {
  bench.write_list("drop.txt", hosts(0, 10) + apart_v6());
  bench.configure(
      "version: 1\nlists:\n- {name: drop, action: deny, file: drop.txt, max_lengths: {ipv6: 96}}\n");
  expect_refused({"97 prefix lengths", "max_lengths"});
  bench.configure("version: 1\nlists:\n- {name: drop, action: deny, file: drop.txt, max_lengths: {ipv6: 96}, "
                  "entries: ['2001:d20::/32']}\n");
  EXPECT_TRUE(bench.apply()) << "the configuration names the 97th itself";
}

} // namespace
} // namespace weir::control::engine_guards_test
