#include "control/rules/guard.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace weir::rules {
namespace {

std::vector<EntryV4> hosts(std::uint32_t from, std::uint32_t to) {
  std::vector<EntryV4> entries;
  for (std::uint32_t host = from; host < to; ++host) entries.push_back({.host = host});
  return entries;
}

ListChange change(const std::vector<EntryV4> &before, const std::vector<EntryV4> &after) {
  return change_of({.name = "a", .v4 = before, .v6 = {}}, {.name = "a", .v4 = after, .v6 = {}});
}

config::Guard guard(double max_change) {
  config::Guard g;
  g.max_change = max_change;
  return g;
}

Effective rules_of(const std::vector<EntryV4> &entries, std::string name) {
  const ListSource source{
      .name = std::move(name), .number = 0, .side = image::Side::allow, .v4 = entries, .v6 = {}};
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
  const auto status = check_change("drop", c, guard(0.2), false);
  ASSERT_FALSE(status);
  EXPECT_EQ(status.error().code, Errc::refused);
  EXPECT_EQ(status.error().message, "list drop: +0 -500 on 2000 entries is a change of 25.0%, more than "
                                    "guard.max_change: 20%. If it is meant, repeat with --force");
  EXPECT_TRUE(check_change("drop", c, guard(0.2), true));
  EXPECT_TRUE(check_change("drop", c, guard(0.25), false));
}

TEST(MaxChange, small_lists_first_loads_and_an_absent_bound_are_free) {
  EXPECT_TRUE(check_change("a", change(hosts(0, 1000), hosts(5000, 5001)), guard(0.1), false));
  EXPECT_FALSE(check_change("a", change(hosts(0, 1001), hosts(5000, 5001)), guard(0.1), false));
  EXPECT_TRUE(check_change("a", change({}, hosts(0, 5000)), guard(0.1), false));
  EXPECT_TRUE(check_change("a", change(hosts(0, 5000), hosts(5000, 50'000)), guard(1.0), false));
}

TEST(MaxChange, a_list_that_becomes_empty_is_refused_even_without_a_bound) {
  const ListChange c = change(hosts(0, 3), {});
  EXPECT_FALSE(check_change("a", c, guard(1.0), false));
  EXPECT_TRUE(check_change("a", c, guard(1.0), true));
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
} // namespace weir::rules
