#include "control/rules/change_account.hpp"
#include "control/rules/guard.hpp"
#include "weir/key/text.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

namespace weir::rules::guard_test {
namespace {

std::vector<EntryV4> hosts(std::uint32_t from, std::uint32_t to) {
  std::vector<EntryV4> entries;
  for (std::uint32_t host = from; host < to; ++host) entries.push_back({.host = host});
  return entries;
}

ListChange change(const std::vector<EntryV4> &before, const std::vector<EntryV4> &after) {
  return change_of({.name = "a", .v4 = before, .v6 = {}}, {.name = "a", .v4 = after, .v6 = {}});
}

config::List list_of(Side action, std::vector<std::string> entries = {}) {
  config::List list;
  list.name = "drop";
  list.action = action;
  list.entries = std::move(entries);
  return list;
}
const config::List deny = list_of(Side::deny), allow = list_of(Side::allow);

std::vector<EntryV4> nets(std::initializer_list<const char *> texts) {
  std::vector<EntryV4> entries;
  for (const char *text : texts) entries.push_back(to_entry_v4(parse_prefix(text).value()));
  std::ranges::sort(entries, [](const EntryV4 &x, const EntryV4 &y) { return before(x, y); });
  return entries;
}

std::vector<EntryV4> with(std::vector<EntryV4> entries, const std::vector<EntryV4> &more) {
  entries.insert(entries.end(), more.begin(), more.end());
  std::ranges::sort(entries, [](const EntryV4 &x, const EntryV4 &y) { return before(x, y); });
  return entries;
}

// What max_change says of a list with a file; empty: nothing.
std::string refusal(const ListChange &change, double max_change, const Spent &earlier = {},
                    const config::List &list = deny) {
  const auto objection = object_to_change(list, change, max_change, earlier, true);
  return objection ? objection->sentence : std::string();
}

Effective rules_of(const std::vector<EntryV4> &entries, std::string name) {
  const ListSource source{.name = std::move(name), .number = 0, .side = Side::allow, .v4 = entries, .v6 = {}};
  return normalise(std::span(&source, 1)).value();
}

TEST(ListChange, counts_what_came_and_went_with_examples) {
  const ListChange c = change(hosts(0, 10), hosts(2, 13));
  EXPECT_EQ(c.before, 10u);
  EXPECT_EQ(c.after, 11u);
  EXPECT_EQ(c.removed, 2u);
  EXPECT_EQ(c.added, 3u);
  EXPECT_DOUBLE_EQ(c.share(), 0.5);
  EXPECT_EQ(c.removed_examples, (std::vector<std::string>{"0.0.0.0", "0.0.0.1"}));
  EXPECT_EQ(c.added_examples.size(), 3u);
}

TEST(ListChange, ignores_which_list_number_an_entry_carries) {
  std::vector<EntryV4> numbered = hosts(0, 10);
  for (EntryV4 &e : numbered) e.list = 7;
  EXPECT_EQ(change(hosts(0, 10), numbered).added, 0u);
}

TEST(MaxChange, a_reload_beyond_it_is_refused_with_the_way_to_force_it) {
  const ListChange c = change(hosts(0, 2000), hosts(500, 2000));
  EXPECT_EQ(refusal(c, 0.2), "list drop: +0 -500 on 2000 entries is a change of 25.0%, more than "
                             "guard.max_change: 20%. If it is meant, repeat with --force");
  EXPECT_EQ(refusal(c, 0.25), "");
}

TEST(MaxChange, small_deny_lists_first_loads_and_an_absent_bound_are_free) {
  EXPECT_EQ(refusal(change(hosts(0, 1000), hosts(5000, 5001)), 0.1), "");
  EXPECT_NE(refusal(change(hosts(0, 1001), hosts(5000, 5001)), 0.1), "");
  EXPECT_NE(refusal(change(hosts(0, 100), hosts(0, 1001)), 0.1), "") << "it is small no more";
  EXPECT_EQ(refusal(change({}, hosts(0, 5000)), 0.1), "");
  EXPECT_EQ(refusal(change(hosts(0, 5000), hosts(5000, 50'000)), 1.0), "");
}

TEST(MaxChange, allow_lists_that_come_from_a_file_are_asked_at_any_size) {
  const ListChange c = change(hosts(0, 10), hosts(0, 14));
  EXPECT_NE(refusal(c, 0.3, {}, allow), "");
  EXPECT_EQ(refusal(c, 0.5, {}, allow), "");
  EXPECT_FALSE(object_to_change(allow, c, 0.3, {}, false)) << "the configuration's own entries";
}

TEST(MaxChange, counts_addresses_and_not_lines_alone) {
  const std::vector<EntryV4> feed = hosts(0x0A000000, 0x0A000000 + 2000);
  const auto objection = object_to_change(
      deny, change(feed, with(feed, nets({"20.0.0.0/8", "21.0.0.0/8", "40.0.0.0/8", "50.0.0.0/9"}))), 0.3, {},
      true);
  ASSERT_TRUE(objection) << "four lines of 2,000";
  EXPECT_NE(objection->sentence.find("58,720,256 IPv4 addresses (1.4%) more"), std::string::npos)
      << objection->sentence;
  ASSERT_EQ(objection->lines.size(), 4u);
  EXPECT_EQ(to_string(objection->lines.front()), "20.0.0.0/8") << "the widest first";
  EXPECT_EQ(to_string(objection->lines.back()), "50.0.0.0/9");
}

TEST(MaxChange, a_few_addresses_of_a_deny_list_and_what_was_covered_already_are_free) {
  const std::vector<EntryV4> feed = hosts(0x0A000000, 0x0A000000 + 2000);
  EXPECT_EQ(refusal(change(feed, with(feed, nets({"20.0.0.0/17"}))), 0.3), "");
  const std::vector<EntryV4> wide = with(feed, nets({"20.0.0.0/8"}));
  EXPECT_EQ(refusal(change(wide, with(wide, nets({"20.0.0.0/9", "20.128.0.0/9"}))), 0.3), "");
  const std::vector<EntryV4> few = nets({"192.0.2.1"});
  EXPECT_NE(refusal(change(few, with(few, nets({"20.0.0.0/15"}))), 0.3), "") << "small lists as well";
  EXPECT_EQ(refusal(change(nets({"20.0.0.0/8"}), nets({"40.0.0.0/12"})), 0.3), "")
      << "a small deny list may lose what it had";
  EXPECT_NE(refusal(change(nets({"20.0.0.0/8"}), nets({"40.0.0.0/12"})), 0.3, {}, allow), "");
}

TEST(MaxChange, counts_IPv6_addresses_too) {
  const std::vector<EntryV6> before_{to_entry_v6(parse_prefix("2001:db8::/32").value())};
  std::vector<EntryV6> after = before_;
  after.push_back(to_entry_v6(parse_prefix("2a00::/20").value()));
  const ListChange c =
      change_of({.name = "a", .v4 = {}, .v6 = before_}, {.name = "a", .v4 = {}, .v6 = after});
  EXPECT_NE(refusal(c, 0.3).find("IPv6 /20"), std::string::npos) << refusal(c, 0.3);
  const std::vector<EntryV4> v4 = hosts(0, 10);
  const ListChange first_v6 =
      change_of({.name = "a", .v4 = v4, .v6 = {}}, {.name = "a", .v4 = v4, .v6 = after});
  EXPECT_NE(refusal(first_v6, 0.3).find("where none was"), std::string::npos);
}

TEST(MaxChange, many_small_changes_of_a_day_count_as_a_large_one) {
  const ListChange c = change(hosts(0, 2000), hosts(0, 2580));
  EXPECT_EQ(refusal(c, 0.3), "") << "29%";
  const std::string said = refusal(c, 0.3, spent_on(change(hosts(0, 2000), hosts(0, 2100))));
  EXPECT_NE(said.find("a change of 29.0%, and with 5.0% within the day before it more than guard.max_change"),
            std::string::npos)
      << said;
}

TEST(MaxChange, a_list_that_becomes_empty_is_refused_even_without_a_bound) {
  EXPECT_NE(refusal(change(hosts(0, 3), {}), 1.0), "");
}

// ---- shortest_prefix -----------------------------------------------------------------------------

std::optional<Objection> lengths(const config::List &list, const std::vector<EntryV4> &after,
                                 const std::vector<EntryV4> &in_force = {}) {
  const Named named(list);
  return object_to_lengths(list, {.v4 = after, .named_v4 = named.v4}, {.v4 = in_force},
                           config::shortest_prefix(config::Guard{}, list));
}

TEST(ShortestPrefix, deny_lists_may_hold_a_slash_8_and_allow_lists_a_slash_16) {
  EXPECT_FALSE(lengths(deny, nets({"10.0.0.0/8"})));
  EXPECT_TRUE(lengths(deny, nets({"10.0.0.0/7"})));
  EXPECT_FALSE(lengths(allow, nets({"10.0.0.0/16"})));
  EXPECT_TRUE(lengths(allow, nets({"10.0.0.0/15"})));
  const EntryV6 v6[] = {to_entry_v6(parse_prefix("2000::/16").value())};
  const auto v6_of = [&](const config::List &list) {
    return object_to_lengths(list, {.v6 = v6}, {}, config::shortest_prefix(config::Guard{}, list));
  };
  EXPECT_FALSE(v6_of(deny));
  EXPECT_TRUE(v6_of(allow));
}

TEST(ShortestPrefix, names_the_widest_lines_and_counts_the_others) {
  const auto objection = lengths(deny, nets({"0.0.0.0/4", "16.0.0.0/5", "24.0.0.0/6", "28.0.0.0/7",
                                             "30.0.0.0/7", "32.0.0.0/3", "64.0.0.0/7"}));
  ASSERT_TRUE(objection);
  EXPECT_EQ(objection->lines.size(), change_examples_max);
  EXPECT_EQ(objection->more, 2u);
  EXPECT_EQ(to_string(objection->lines.front()), "32.0.0.0/3");
  EXPECT_NE(objection->sentence.find("7 prefixes are shorter than shortest_prefix for deny list drop, /8 for "
                                     "IPv4 and /16 for IPv6"),
            std::string::npos)
      << objection->sentence;
}

TEST(ShortestPrefix, what_the_configuration_names_or_the_list_says_is_let_through) {
  EXPECT_FALSE(lengths(list_of(Side::deny, {"0.0.0.0/0"}), nets({"0.0.0.0/0"})));
  config::List own = allow;
  own.shortest_v4 = 8;
  EXPECT_FALSE(lengths(own, nets({"10.0.0.0/8"})));
  EXPECT_TRUE(lengths(own, nets({"10.0.0.0/7"})));
}

TEST(ShortestPrefix, what_is_in_force_is_told_and_not_refused) {
  const auto objection = lengths(deny, nets({"0.0.0.0/1"}), nets({"0.0.0.0/1"}));
  ASSERT_TRUE(objection);
  EXPECT_TRUE(objection->accepted);
  const auto more = lengths(deny, nets({"0.0.0.0/1", "128.0.0.0/1"}), nets({"0.0.0.0/1"}));
  ASSERT_TRUE(more);
  EXPECT_FALSE(more->accepted);
  EXPECT_EQ(to_string(more->lines.front()), "128.0.0.0/1");
}

// ---- max_covered ---------------------------------------------------------------------------------

TEST(MaxCovered, refuses_what_grows_beyond_it_and_never_what_shrinks) {
  const auto object = [](std::uint64_t after, std::uint64_t in_force) {
    return object_to_covered("list drop", "max_covered of the list", {.v4 = after}, {.v4 = in_force},
                             {.v4 = 0x1p-8, .v6 = 1}, {}, 0);
  };
  EXPECT_FALSE(object(1u << 24, 0));
  const auto objection = object((1u << 24) + 1, 0);
  ASSERT_TRUE(objection);
  EXPECT_FALSE(objection->accepted);
  EXPECT_EQ(objection->sentence, "list drop: 16,777,217 IPv4 addresses (0.39%) would be covered, more than "
                                 "max_covered of the list: {ipv4: 0.390625%}. If it is meant, raise "
                                 "max_covered of the list, or repeat with --force");
  ASSERT_TRUE(object(1u << 25, 1u << 26));
  EXPECT_TRUE(object(1u << 25, 1u << 26)->accepted);
}

// ---- the account of a day ------------------------------------------------------------------------

Spent lines_spent(double share) { return {.lines = share}; }

TEST(ChangeAccount, adds_up_a_day_and_forgets_what_is_older) {
  ChangeAccount account;
  account.add("drop", lines_spent(0.25), 1'000'000);
  account.add("drop", lines_spent(0.5), 1'040'000);
  account.add("other", lines_spent(3), 1'040'000);
  EXPECT_DOUBLE_EQ(account.of("drop", 1'040'000).lines, 0.75);
  EXPECT_DOUBLE_EQ(account.of("drop", 1'000'000 + ChangeAccount::day_s - 1).lines, 0.75);
  EXPECT_DOUBLE_EQ(account.of("drop", 1'000'000 + ChangeAccount::day_s).lines, 0.5);
  account.clear("drop");
  EXPECT_DOUBLE_EQ(account.of("drop", 1'040'000).lines, 0);
}

TEST(ChangeAccount, a_change_each_minute_takes_no_more_room_than_one_an_hour) {
  ChangeAccount account;
  for (std::uint64_t minute = 0; minute < 10'000; ++minute)
    account.add("drop", lines_spent(0.001), 3'600'000 + minute * 60);
  const std::string note = account.note(3'600'000 + 10'000 * 60);
  EXPECT_LE(std::ranges::count(note, '\n'), 26);
  EXPECT_GE(account.of("drop", 3'600'000 + 10'000 * 60).lines, 1.439);
}

TEST(ChangeAccount, comes_back_from_its_note_and_damage_costs_only_what_is_damaged) {
  ChangeAccount account;
  account.add("drop", {.lines = 0.1, .v4 = {7, 0, 1.0 / 3, 0}, .v6 = {0, 0x1p127, 0, 2e30}}, 5000);
  account.add("ops", lines_spent(0.2), 5000);
  const std::string note = account.note(5000);
  const ChangeAccount again = ChangeAccount::resume(note, 6000);
  EXPECT_EQ(again.of("drop", 6000).v4.gained_share, 1.0 / 3);
  EXPECT_EQ(again.of("drop", 6000).v6.lost, 0x1p127);
  EXPECT_EQ(again.of("ops", 6000).lines, 0.2);
  EXPECT_EQ(ChangeAccount::resume(note.substr(0, note.size() - 20), 6000).of("drop", 6000).lines, 0.1);
  EXPECT_TRUE(ChangeAccount::resume("nonsense", 6000).of("drop", 6000).nothing());
  EXPECT_FALSE(ChangeAccount::resume(note, 100).of("drop", 100).nothing()) << "a time to come counts as now";
  EXPECT_TRUE(ChangeAccount::resume(note, 100).of("drop", 100 + ChangeAccount::day_s).nothing());
}

TEST(EmptyRules, are_refused_unless_forced) {
  config::Config config;
  config.source = "weir.yaml";
  config.lists.resize(1);
  config.lists[0].file = "drop.txt";
  const auto status = check_not_empty(config, rules_of({}, "drop"), false);
  ASSERT_FALSE(status);
  EXPECT_EQ(
      status.error().message,
      "weir.yaml: the rule set is empty: no list has a single entry. If that is meant, repeat with --force");
  EXPECT_TRUE(check_not_empty(config, rules_of({}, "drop"), true));
  EXPECT_TRUE(check_not_empty(config, rules_of(hosts(0, 1), "drop"), false));
}

TEST(EmptyRules, never_deny_does_not_count_as_rules) {
  config::Config config;
  config.lists.resize(1);
  EXPECT_FALSE(check_not_empty(config, rules_of(hosts(0, 1), std::string(never_deny_name)), false));
}

TEST(EmptyRules, dynamic_lists_alone_may_start_empty) {
  config::Config config;
  EXPECT_FALSE(check_not_empty(config, {}, false)) << "no lists at all";
  config.lists.resize(1);
  config.lists[0].dynamic = true;
  EXPECT_TRUE(check_not_empty(config, {}, false));
}

} // namespace
} // namespace weir::rules::guard_test
