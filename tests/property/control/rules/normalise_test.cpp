// Random lists: normalise() agrees with ordered maps that are filled entry by entry.
#include "control/rules/normalise.hpp"

#include "tests/support/seed.hpp"
#include "weir/key/text.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <deque>
#include <map>
#include <random>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace weir::rules::normalise_test {
namespace {

std::uint64_t seed() { return test::seed_or(20261121); }

struct RandomList {
  std::string name;
  ListId number{};
  Side side = Side::deny;
  std::set<Prefix> prefixes;
  std::vector<EntryV4> v4;
  std::vector<EntryV6> v6;
};

// Few different addresses, so that prefixes nest, repeat and contradict each other all the time.
Prefix random_prefix(std::mt19937_64 &random) {
  const unsigned bits = random() % 2 == 0 ? 32 : 128;
  const auto length =
      static_cast<std::uint8_t>(random() % 4 == 0 ? random() % (bits + 1) : bits - random() % 4);
  std::uint8_t bytes[16] = {};
  for (std::uint8_t &byte : bytes)
    byte = random() % 3 == 0 ? static_cast<std::uint8_t>(random() % 3 * 127) : 0;
  const Address address =
      bits == 32 ? Address::from_wire(load_unaligned<std::uint32_t>(bytes)) : Address::from_v6(bytes);
  return {masked(address, length), length};
}

std::deque<RandomList> random_lists(std::mt19937_64 &random) {
  std::deque<RandomList> lists(random() % 7);
  std::vector<ListId> numbers(40);
  for (std::size_t i = 0; i < numbers.size(); ++i) numbers[i] = ListId(i * 1000);
  std::ranges::shuffle(numbers, random);
  for (std::size_t i = 0; i < lists.size(); ++i) {
    RandomList &list = lists[i];
    list.name = random() % 4 == 0 && i == 0 ? std::string(never_deny_name) : "list" + std::to_string(i);
    list.number = numbers[i];
    list.side = list.name == never_deny_name || random() % 3 == 0 ? Side::allow : Side::deny;
    for (std::uint64_t n = random() % 60; n > 0; --n) list.prefixes.insert(random_prefix(random));
    for (const Prefix &p : list.prefixes) {
      if (p.family() == Family::ipv4)
        list.v4.push_back(to_entry_v4(p));
      else
        list.v6.push_back(to_entry_v6(p));
    }
  }
  return lists;
}

std::vector<ListSource> sources_of(const std::deque<RandomList> &lists) {
  std::vector<ListSource> sources;
  for (const RandomList &l : lists) sources.push_back({l.name, l.number, l.side, l.v4, l.v6});
  return sources;
}

std::map<Prefix, ListId> brute_force(const std::deque<RandomList> &lists, Side side) {
  std::map<Prefix, ListId> state;
  for (const RandomList &list : lists)
    if (list.side == side)
      for (const Prefix &p : list.prefixes) state.emplace(p, list.number);
  return state;
}

std::map<Prefix, ListId> as_map(const SideState &side) {
  std::map<Prefix, ListId> state;
  for (const EntryV4 &e : side.v4) state.emplace(to_prefix(e), e.list);
  for (const EntryV6 &e : side.v6) state.emplace(to_prefix(e), e.list);
  return state;
}

// Deny entries without effect, and never_deny prefixes below a deny entry.
std::pair<std::uint64_t, std::uint64_t> brute_force_conflicts(const std::deque<RandomList> &lists) {
  std::set<Prefix> never_deny;
  for (const RandomList &list : lists)
    if (list.name == never_deny_name) never_deny = list.prefixes;
  const auto deny = brute_force(lists, Side::deny), allow = brute_force(lists, Side::allow);
  std::uint64_t void_entries = 0, covered = 0;
  for (const auto &denied : deny)
    void_entries +=
        std::ranges::any_of(allow, [&](const auto &allowed) { return allowed.first.covers(denied.first); });
  for (const Prefix &n : never_deny)
    covered +=
        !deny.contains(n) && std::ranges::any_of(deny, [&](const auto &d) { return d.first.covers(n); });
  return {void_entries, covered};
}

TEST(NormaliseProperty, agrees_with_ordered_maps_on_random_lists) {
  for (int round = 0; round < 400; ++round) {
    SCOPED_TRACE("WEIR_SEED=" + std::to_string(seed()) + " round " + std::to_string(round));
    std::mt19937_64 random(seed() + static_cast<std::uint64_t>(round));
    const auto lists = random_lists(random);
    const auto sources = sources_of(lists);
    const auto effective = normalise(sources);
    ASSERT_TRUE(effective) << effective.error().message;
    for (const Side side : {Side::deny, Side::allow}) {
      const SideState &state = side == Side::deny ? effective->deny : effective->allow;
      const auto expected = brute_force(lists, side);
      ASSERT_EQ(as_map(state), expected);
      ASSERT_EQ(state.v4.size() + state.v6.size(), expected.size());
      ASSERT_TRUE(std::ranges::is_sorted(state.v4)) << "the builder's own order";
      ASSERT_TRUE(std::ranges::is_sorted(state.v6));
      for (int probe = 0; probe < 20; ++probe) {
        const Prefix p = random_prefix(random);
        const auto at = expected.find(p);
        ASSERT_EQ(effective_list(sources, side, p),
                  at == expected.end() ? std::nullopt : std::optional(at->second));
      }
    }
    std::uint64_t void_entries = 0, covered = 0;
    for (const Conflict &c : effective->conflicts)
      (c.kind == ConflictKind::covers_never_deny ? covered : void_entries) += c.count;
    ASSERT_EQ(std::pair(void_entries, covered), brute_force_conflicts(lists));
  }
}

} // namespace
} // namespace weir::rules::normalise_test
