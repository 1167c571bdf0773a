// What rules say of an address, held against the oracle.
#include "control/engine/holders.hpp"

#include "tests/support/random_rules.hpp"
#include "weir/key/text.hpp"

#include <gtest/gtest.h>

#include <algorithm>

namespace weir::control::holders_test {
namespace {

// Every second entry of each list goes to the dynamic ones.
std::shared_ptr<RuleSet> rules_of(const test::RuleSet &random, DynamicEntries &dynamic) {
  auto rules = std::make_shared<RuleSet>();
  rules->config.policy = random.policy;
  ListId number(1);
  for (const test::TestList &list : random.lists) {
    config::List definition;
    definition.name = list.name;
    definition.action = list.side;
    definition.on_match = list.on_match;
    auto body = std::make_shared<ListBody>();
    for (std::size_t i = 0; i < list.prefixes.size(); ++i) {
      const Prefix &prefix = list.prefixes[i];
      if (i % 2 == 1)
        dynamic.put(number, prefix, {.added_at = i, .expires_at = 0});
      else if (prefix.family() == Family::ipv4)
        body->v4.push_back(rules::to_entry_v4(prefix));
      else
        body->v6.push_back(rules::to_entry_v6(prefix));
    }
    const auto sort = [](auto &entries) {
      std::ranges::sort(entries, [](const auto &a, const auto &b) { return rules::before(a, b); });
      const auto rest =
          std::ranges::unique(entries, [](const auto &a, const auto &b) { return rules::same_prefix(a, b); });
      entries.erase(rest.begin(), rest.end());
    };
    sort(body->v4);
    sort(body->v6);
    body->count();
    rules->lists.push_back({.definition = definition, .number = number, .body = body});
    ++number;
  }
  rules->make_sources(ListId(0));
  return rules;
}

TEST(Holders, the_one_that_decides_is_the_oracles) {
  test::Random random(test::test_seed());
  SCOPED_TRACE("WEIR_SEED=" + std::to_string(test::test_seed()));
  for (unsigned round = 0; round < 20; ++round) {
    test::RuleSet some = test::random_rules(random, {.lists = 1 + random.below(40), .prefixes_per_list = 30});
    for (test::TestList &list : some.lists)
      if (list.side == Side::deny && random.one_in(3)) list.on_match = RuleAction::count;
    test::RuleSet ordered = some; // of equal prefixes the list that decides has the entry
    std::ranges::stable_partition(ordered.lists,
                                  [](const test::TestList &list) { return !goes_on(list.on_match); });
    const test::Oracle oracle = ordered.oracle();
    DynamicEntries dynamic;
    const auto rules = rules_of(some, dynamic);
    for (unsigned i = 0; i < 300; ++i) {
      const Family family = random.one_in(2) ? Family::ipv4 : Family::ipv6;
      const Address address = test::interesting_address(random, some, family);
      const RuleVerdict said = judge(*rules, dynamic_holders(dynamic, address), address);
      const auto allowed = oracle.allowed_by(address), denied = oracle.denied_by(address);
      const std::string name = said.holders.empty() ? "" : rules->sources[said.holders.front().source].name;
      ASSERT_EQ(name, allowed ? *allowed : denied ? *denied : "") << to_string(address);
      const auto named = std::ranges::find(some.lists, name, &test::TestList::name);
      const bool decides = !allowed && denied && named != some.lists.end() && !goes_on(named->on_match);
      ASSERT_EQ(said.reason, allowed ? Reason::allow : decides ? Reason::deny : Reason::fallthrough);
      ASSERT_EQ(said.verdict, allowed ? Verdict::pass : decides ? Verdict::drop : some.policy.fallthrough);
      std::size_t around = 0; // of each list once: by its file, or by hand, or by both
      for (const test::TestList &list : some.lists) {
        std::set<std::pair<Prefix, bool>> entries;
        for (std::size_t p = 0; p < list.prefixes.size(); ++p)
          if (list.prefixes[p].covers(Prefix{address, static_cast<std::uint8_t>(address_bits(family))}))
            entries.insert({list.prefixes[p], p % 2 == 1});
        around += entries.size();
      }
      ASSERT_EQ(said.holders.size(), around) << to_string(address);
    }
  }
}

} // namespace
} // namespace weir::control::holders_test
