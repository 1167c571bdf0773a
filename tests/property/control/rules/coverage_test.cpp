// How many addresses lists cover, against a model that marks every block of a small part of the address
// space.
#include "control/rules/coverage.hpp"
#include "control/rules/guard.hpp"
#include "control/rules/sink.hpp"
#include "tests/support/seed.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <bitset>
#include <random>
#include <string>
#include <vector>

namespace weir::rules::coverage_test {
namespace {

std::uint64_t seed() { return test::seed_or(20261123); }

constexpr unsigned blocks_bits = 10; // a block is an address of the last 10 bits, or a prefix that holds all
constexpr std::size_t blocks = std::size_t{1} << blocks_bits;
using Marks = std::bitset<blocks>;

struct List {
  std::vector<EntryV4> v4;
  std::vector<EntryV6> v6;
  Marks marks_v4, marks_v6;

  [[nodiscard]] Entries entries() const { return {.v4 = v4, .v6 = v6}; }
  [[nodiscard]] ListSource source() const { return {.name = "a", .v4 = v4, .v6 = v6}; }
};

// Blocks lie in the first bits of an IPv6 address (so that counts are large) and the last ones of IPv4.
void add(List &list, bool four, unsigned from, unsigned depth) {
  const unsigned width = blocks_bits - depth; // of the prefix, in bits of blocks
  from = from >> width << width;
  if (four) {
    list.v4.push_back({.host = 0x0A000000 + from, .length = static_cast<std::uint8_t>(32 - width)});
  } else {
    EntryV6 e{.length = static_cast<std::uint8_t>(depth)};
    e.address[0] = static_cast<std::uint8_t>(from >> 2);
    e.address[1] = static_cast<std::uint8_t>(from << 6);
    list.v6.push_back(e);
  }
  for (unsigned i = from; i < from + (1u << width); ++i) (four ? list.marks_v4 : list.marks_v6).set(i);
}

void settle(List &list) {
  const auto unique = [](auto &entries) {
    sort_entries(entries);
    const auto rest =
        std::ranges::unique(entries, [](const auto &a, const auto &b) { return same_prefix(a, b); });
    entries.erase(rest.begin(), rest.end());
  };
  unique(list.v4);
  unique(list.v6);
}

List random_list(std::mt19937_64 &random, std::uint64_t most) {
  List list;
  for (std::uint64_t n = random() % (most + 1); n > 0; --n) {
    const unsigned shallow = random() % 8 == 0 ? 0 : 3; // now and then everything
    add(list, random() % 2 == 0, static_cast<unsigned>(random() % blocks),
        shallow + static_cast<unsigned>(random() % (blocks_bits + 1 - shallow)));
  }
  settle(list);
  return list;
}

AddressCount v6_count(std::size_t marked) {
  return marked == blocks ? ~AddressCount{0} : AddressCount{marked} << (128 - blocks_bits);
}

TEST(Coverage, of_several_lists_is_what_marking_every_address_counts) {
  for (int round = 0; round < 3000; ++round) {
    SCOPED_TRACE("WEIR_SEED=" + std::to_string(seed()) + " round " + std::to_string(round));
    std::mt19937_64 random(seed() + static_cast<std::uint64_t>(round));
    std::vector<List> lists(1 + random() % 5);
    Marks v4, v6;
    std::vector<Entries> entries;
    for (List &list : lists) {
      list = random_list(random, 24);
      v4 |= list.marks_v4;
      v6 |= list.marks_v6;
      const Covered own = covered_by(list.entries());
      ASSERT_EQ(own.v4, list.marks_v4.count());
      ASSERT_TRUE(own.v6 == v6_count(list.marks_v6.count()));
    }
    for (const List &list : lists) entries.push_back(list.entries());
    const Covered all = covered_by(entries);
    ASSERT_EQ(all.v4, v4.count());
    ASSERT_TRUE(all.v6 == v6_count(v6.count()));
  }
}

TEST(Coverage, entries_that_are_named_are_not_counted) {
  for (int round = 0; round < 2000; ++round) {
    SCOPED_TRACE("WEIR_SEED=" + std::to_string(seed()) + " round " + std::to_string(round));
    std::mt19937_64 random(seed() + static_cast<std::uint64_t>(round));
    const List list = random_list(random, 24);
    List named = random_list(random, 6), left;
    for (const EntryV4 &e : list.v4)
      if (random() % 3 == 0) named.v4.push_back(e);
    settle(named);
    for (const EntryV4 &e : list.v4)
      if (!contains<EntryV4>(named.v4, e))
        add(left, true, e.host - 0x0A000000, blocks_bits - (32 - e.length));
    Entries entries = list.entries();
    entries.named_v4 = named.v4;
    ASSERT_EQ(covered_by(entries).v4, left.marks_v4.count());
  }
}

TEST(Coverage, of_a_change_is_what_came_and_what_went) {
  for (int round = 0; round < 2000; ++round) {
    SCOPED_TRACE("WEIR_SEED=" + std::to_string(seed()) + " round " + std::to_string(round));
    std::mt19937_64 random(seed() + static_cast<std::uint64_t>(round));
    const List before = random_list(random, 24), after = random_list(random, 24);
    const ListChange change = change_of(before.source(), after.source());
    ASSERT_EQ(change.gained.v4, (after.marks_v4 & ~before.marks_v4).count());
    ASSERT_EQ(change.lost.v4, (before.marks_v4 & ~after.marks_v4).count());
    if ((before.marks_v6 | after.marks_v6).all()) continue; // all of IPv6 counts as one address less
    ASSERT_TRUE(change.gained.v6 == v6_count((after.marks_v6 & ~before.marks_v6).count()));
    ASSERT_TRUE(change.lost.v6 == v6_count((before.marks_v6 & ~after.marks_v6).count()));
  }
}

} // namespace
} // namespace weir::rules::coverage_test
