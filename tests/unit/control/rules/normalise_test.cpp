#include "control/rules/normalise.hpp"

#include "control/rules/feed.hpp"
#include "weir/build/input.hpp"
#include "weir/key/text.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <deque>
#include <string>
#include <vector>

namespace weir::rules::normalise_test {
namespace {

using Texts = std::vector<std::string>;

// Lists in configuration order; numbers run backwards so that no test can take ranks for numbers.
class Lists {
public:
  Lists &add(std::string name, Side side, const Texts &entries, bool goes_on = false) {
    std::string text;
    for (const std::string &entry : entries) text += entry + '\n';
    contents_.push_back(parse_feed(text, name).value());
    sources_.push_back({.name = std::move(name),
                        .number = ListId(100 - sources_.size()),
                        .side = side,
                        .v4 = contents_.back().v4,
                        .v6 = contents_.back().v6,
                        .goes_on = goes_on});
    return *this;
  }
  Lists &deciding_first() {
    put_deciding_first(sources_);
    return *this;
  }
  [[nodiscard]] std::span<const ListSource> sources() const { return sources_; }
  [[nodiscard]] Effective effective() const { return normalise(sources_).value(); }

private:
  std::deque<ListContent> contents_;
  std::vector<ListSource> sources_;
};

Texts texts(const SideState &side) {
  Texts out;
  for (const EntryV4 &e : side.v4)
    out.push_back(to_string(to_prefix(e)) + " " + std::to_string(e.list.value()));
  for (const EntryV6 &e : side.v6)
    out.push_back(to_string(to_prefix(e)) + " " + std::to_string(e.list.value()));
  return out;
}

TEST(Normalise, the_first_list_in_configuration_order_names_a_shared_prefix) {
  const Effective e = Lists()
                          .add("small", Side::deny, {"10.0.0.1", "::1"})
                          .add("large", Side::deny, {"10.0.0.0/8", "10.0.0.1", "10.0.0.2", "::1", "::2"})
                          .add("last", Side::deny, {"10.0.0.2", "10.0.0.3"})
                          .effective();
  EXPECT_EQ(texts(e.deny),
            (Texts{"10.0.0.0/8 99", "10.0.0.1 100", "10.0.0.2 99", "10.0.0.3 98", "::1 100", "::2 99"}));
  EXPECT_TRUE(texts(e.allow).empty());
  EXPECT_TRUE(e.conflicts.empty());
  EXPECT_EQ(e.entries(), 6u);
}

TEST(Normalise, of_equal_prefixes_a_list_that_only_counts_has_none_and_its_exceptions_are_told) {
  Lists lists;
  lists.add("ops", Side::allow, {"10.9.9.9"})
      .add("trial", Side::deny, {"10.0.0.0/8", "10.0.0.1", "10.1.0.0/16", "192.0.2.1", "2001:db8::1"}, true)
      .add("drop", Side::deny, {"10.0.0.0/8", "10.0.0.1", "10.1.2.0/24", "2001:db8::/32"});
  const Effective e = lists.deciding_first().effective();
  EXPECT_EQ(texts(e.deny), (Texts{"10.0.0.0/8 98", "10.0.0.1 98", "10.1.0.0/16 99", "10.1.2.0/24 98",
                                  "192.0.2.1 99", "2001:db8::/32 98", "2001:db8::1 99"}));
  ASSERT_EQ(e.conflicts.size(), 1u);
  EXPECT_EQ(e.conflicts[0].kind, ConflictKind::goes_on_inside);
  EXPECT_EQ(e.conflicts[0].count, 2u);
  EXPECT_EQ(
      e.conflicts[0].text(),
      "2 entries of deny list trial lie inside prefixes of deny list drop, and the longer prefix wins: "
      "on_match of trial drops nothing of them below a rate: 10.1.0.0/16 inside 10.0.0.0/8, 2001:db8::1 "
      "inside 2001:db8::/32");
}

TEST(Normalise, many_lists_of_all_sizes_come_out_as_one_run_named_by_the_first_of_each) {
  Lists lists;
  std::vector<std::pair<std::string, std::string>> expected; // prefix, number
  for (int list = 0; list < 9; ++list) {
    Texts entries;
    for (int i = 0; i < 400; ++i)
      if (i % (list * list / 2 + 1) == list % 3)
        entries.push_back("10.0." + std::to_string(i / 256) + '.' + std::to_string(i % 256));
    for (const std::string &entry : entries)
      if (std::ranges::find(expected, entry, &std::pair<std::string, std::string>::first) == expected.end())
        expected.emplace_back(entry, std::to_string(100 - list));
    lists.add("list" + std::to_string(list), Side::deny, entries);
  }
  Texts wanted;
  for (const auto &[prefix, number] : expected) wanted.push_back(prefix + " " + number);
  Texts got = texts(lists.effective().deny);
  EXPECT_TRUE(std::ranges::is_sorted(lists.effective().deny.v4,
                                     [](const auto &a, const auto &b) { return before(a, b); }));
  std::ranges::sort(got);
  std::ranges::sort(wanted);
  EXPECT_EQ(got, wanted);
}

TEST(Normalise, sides_are_kept_apart) {
  const Effective e =
      Lists().add("a", Side::allow, {"10.0.0.7"}).add("d", Side::deny, {"10.0.0.0/8"}).effective();
  EXPECT_EQ(texts(e.allow), Texts{"10.0.0.7 100"});
  EXPECT_EQ(texts(e.deny), Texts{"10.0.0.0/8 99"});
  EXPECT_TRUE(e.conflicts.empty()) << "an exception inside a denied network is what allow lists are for";
}

TEST(Normalise, counts_hosts_prefixes_and_what_earlier_lists_name) {
  const Effective e = Lists()
                          .add("a", Side::deny, {"10.0.0.0/8", "10.0.0.1", "::1"})
                          .add("b", Side::deny, {"10.0.0.1", "10.0.0.2", "::1", "::/8"})
                          .effective();
  ASSERT_EQ(e.counts.size(), 2u);
  EXPECT_EQ(e.counts[0].v4_hosts, 1u);
  EXPECT_EQ(e.counts[0].v4_prefixes, 1u);
  EXPECT_EQ(e.counts[0].shared, 0u);
  EXPECT_EQ(e.counts[1].v4_hosts, 2u);
  EXPECT_EQ(e.counts[1].v6, 2u);
  EXPECT_EQ(e.counts[1].shared, 2u);
}

TEST(Normalise, a_list_out_of_order_is_refused) {
  const std::vector<EntryV4> unsorted{{.host = 2}, {.host = 1}}, twice{{.host = 1}, {.host = 1}};
  for (const auto &entries : {unsorted, twice}) {
    const ListSource source{.name = "a", .number = 0, .side = Side::deny, .v4 = entries, .v6 = {}};
    EXPECT_FALSE(normalise(std::span(&source, 1)));
  }
}

TEST(Normalise, two_lists_of_one_number_or_name_are_refused) {
  const ListSource a{.name = "a", .number = 3}, b{.name = "b", .number = 3}, c{.name = "a", .number = 4};
  EXPECT_FALSE(normalise(std::vector{a, b}));
  EXPECT_FALSE(normalise(std::vector{a, c}));
}

TEST(Conflicts, the_same_prefix_on_both_sides_is_named) {
  const Effective e = Lists()
                          .add("ops", Side::allow, {"10.0.0.7", "10.0.0.0/8"})
                          .add("bad", Side::deny, {"10.0.0.7", "11.0.0.1"})
                          .effective();
  ASSERT_EQ(e.conflicts.size(), 1u);
  EXPECT_EQ(e.conflicts[0].kind, ConflictKind::same_prefix);
  EXPECT_EQ(e.conflicts[0].text(),
            "1 entry of deny list bad is on allow list ops too, and allow wins: 10.0.0.7");
}

TEST(Conflicts, deny_entries_inside_an_allowed_prefix_are_counted_with_examples) {
  const Effective e = Lists()
                          .add("ops", Side::allow, {"10.0.0.0/8", "2001:db8::/32"})
                          .add("bad", Side::deny,
                               {"9.0.0.0/8", "10.0.0.1", "10.0.0.0/16", "10.2.0.0/16", "10.255.255.255",
                                "11.0.0.0", "2001:db8::1"})
                          .effective();
  ASSERT_EQ(e.conflicts.size(), 1u);
  EXPECT_EQ(e.conflicts[0].kind, ConflictKind::inside_allow);
  EXPECT_EQ(e.conflicts[0].count, 5u);
  EXPECT_EQ(e.conflicts[0].examples, (Texts{"10.0.0.0/16 inside 10.0.0.0/8", "10.0.0.1 inside 10.0.0.0/8",
                                            "10.2.0.0/16 inside 10.0.0.0/8"}));
  EXPECT_TRUE(e.conflicts[0].text().ends_with(", ..."));
}

TEST(Conflicts, never_deny_is_an_allow_list_before_all_others_and_conflicts_with_it_say_so) {
  const std::vector<Prefix> prefixes{*parse_prefix("192.0.2.0/24"), *parse_prefix("192.0.2.0/24"),
                                     *parse_prefix("::1")};
  const NeverDeny guard(prefixes);
  EXPECT_EQ(guard.v4.size(), 1u);
  Lists lists;
  lists.add("ops", Side::allow, {"192.0.2.5"})
      .add("bad", Side::deny, {"0.0.0.0/0", "192.0.2.5", "192.0.2.77", "::1"});
  std::vector<ListSource> sources{guard.source(7)};
  sources.insert(sources.end(), lists.sources().begin(), lists.sources().end());
  const Effective e = normalise(sources).value();
  EXPECT_EQ(texts(e.allow), (Texts{"192.0.2.0/24 7", "192.0.2.5 100", "::1 7"}));
  ASSERT_EQ(e.conflicts.size(), 2u);
  EXPECT_EQ(e.conflicts[0].kind, ConflictKind::inside_never_deny);
  EXPECT_EQ(e.conflicts[0].count, 3u);
  EXPECT_EQ(e.conflicts[1].kind, ConflictKind::covers_never_deny);
  EXPECT_EQ(e.conflicts[1].examples, Texts{"0.0.0.0/0 over 192.0.2.0/24"});
}

TEST(EffectiveList, is_the_first_list_of_the_side_that_holds_the_prefix_itself) {
  Lists lists;
  lists.add("a", Side::deny, {"10.0.0.0/8"})
      .add("b", Side::deny, {"10.0.0.0/8", "10.0.0.1", "::1"})
      .add("c", Side::allow, {"10.0.0.2"});
  const auto value = [&](Side side, const char *prefix) {
    return effective_list(lists.sources(), side, *parse_prefix(prefix));
  };
  EXPECT_EQ(value(Side::deny, "10.0.0.0/8"), 100);
  EXPECT_EQ(value(Side::deny, "10.0.0.1"), 99);
  EXPECT_EQ(value(Side::deny, "::1"), 99);
  EXPECT_EQ(value(Side::deny, "10.0.0.0/16"), std::nullopt);
  EXPECT_EQ(value(Side::deny, "10.0.0.2"), std::nullopt);
  EXPECT_EQ(value(Side::allow, "10.0.0.2"), 98);
}

TEST(Delta, carries_the_prefix_and_sets_or_unsets_its_list) {
  const image::Delta set = make_delta(Side::allow, *parse_prefix("2001:db8::/32"), ListId(5));
  EXPECT_EQ(set.op, image::DeltaOp::set);
  EXPECT_EQ(set.side, Side::allow);
  EXPECT_EQ(set.family, Family::ipv6);
  EXPECT_EQ(set.length, 32);
  EXPECT_EQ(set.list, 5);
  EXPECT_EQ(set.address[1], 0x01);
  EXPECT_EQ(make_delta(Side::deny, *parse_prefix("10.0.0.1"), std::nullopt).op, image::DeltaOp::unset);
}

TEST(RulesDigest, changes_with_every_part_of_the_rules_and_with_nothing_else) {
  const auto digest = [](const Lists &lists, const Policy &policy = {}) {
    return rules_digest(lists.effective(), policy);
  };
  const auto base = digest(Lists().add("a", Side::deny, {"10.0.0.1", "::1"}));
  EXPECT_EQ(base, digest(Lists().add("a", Side::deny, {"::1", "10.0.0.1", "10.0.0.1"})));
  EXPECT_NE(base, digest(Lists().add("b", Side::deny, {"10.0.0.1", "::1"})));
  EXPECT_NE(base, digest(Lists().add("a", Side::allow, {"10.0.0.1", "::1"})));
  EXPECT_NE(base, digest(Lists().add("a", Side::deny, {"10.0.0.2", "::1"})));
  EXPECT_NE(base, digest(Lists().add("a", Side::deny, {"10.0.0.1"})));
  Policy drop;
  drop.fallthrough = Verdict::drop;
  EXPECT_NE(base, digest(Lists().add("a", Side::deny, {"10.0.0.1", "::1"}), drop));
  Policy pass;
  pass.too_many_tags = Verdict::pass;
  EXPECT_NE(base, digest(Lists().add("a", Side::deny, {"10.0.0.1", "::1"}), pass));
  Policy inner;
  inner.tunnels = Tunnels::inner;
  EXPECT_NE(base, digest(Lists().add("a", Side::deny, {"10.0.0.1", "::1"}), inner));
  EXPECT_NE(std::vector(base.begin(), base.begin() + 16), std::vector(base.begin() + 16, base.end()));
  EXPECT_EQ(to_hex(base).size(), 64u);
}

TEST(BuildInput, points_at_the_effective_state) {
  const Effective e = Lists().add("a", Side::deny, {"10.0.0.1"}).add("o", Side::allow, {"::1"}).effective();
  const build::BuildInput input = build_input(e, Policy{});
  EXPECT_EQ(input.deny.v4.data(), e.deny.v4.data());
  EXPECT_EQ(input.allow.v6.size(), 1u);
  EXPECT_EQ(input.lists.size(), 2u);
  EXPECT_EQ(input.rules_digest, rules_digest(e, Policy{}));
}

} // namespace
} // namespace weir::rules::normalise_test
