// Prefixes set and unset in place, in random order: the map answers and knows its prefixes as one does that was built
// of what is left.
#include "tests/support/longest_match.hpp"
#include "tests/support/range_section.hpp"
#include "tests/support/seed.hpp"
#include "weir/image/prefix_writer.hpp"

#include <gtest/gtest.h>

#include "weir/key/text.hpp"

#include <algorithm>
#include <map>

namespace weir::prefix_writer_test {
namespace {

struct V4 {
  using Entry = build::EntryV4;
  using Plan = build::RangePlanV4;
  using Writer = image::PrefixWriterV4;
  static std::uint32_t first(const Address &a) { return a.host(); }
};
struct V6 {
  using Entry = build::EntryV6;
  using Plan = build::RangePlanV6;
  using Writer = image::PrefixWriterV6;
  static table::AddressV6 first(const Address &a) {
    return table::address_of(table::KeyV6::load(a.bytes.data()));
  }
};

template <class Family> class PrefixWriterProperty : public testing::Test {};
using Families = testing::Types<V4, V6>;
TYPED_TEST_SUITE(PrefixWriterProperty, Families);

TYPED_TEST(PrefixWriterProperty, leaves_a_map_that_answers_as_one_built_of_what_is_left) {
  using F = TypeParam;
  using Entry = typename F::Entry;
  using Map = typename F::Writer::Map;
  const std::uint64_t seed = test::seed_or(331);
  WEIR_TRACE_SEED(seed);
  std::mt19937_64 random(seed);
  std::uint64_t changes = 0, rebuilds = 0;
  for (unsigned round = 0; round < 30; ++round) {
    const unsigned bits = sizeof(Entry) == sizeof(build::EntryV4) ? 32 : 128;
    auto all = test::random_entries<Entry>(random, 1 + static_cast<unsigned>(random() % 300), 5);
    std::erase_if(all, [&](const Entry &e) { return e.length == bits; }); // hosts stand in tables
    if (all.empty()) continue;
    std::map<Prefix, Entry> rules;
    for (const Entry &e : all)
      if (random() % 2 == 0) rules.emplace(test::prefix_of(e), e);
    const auto entries = [&] {
      std::vector<Entry> out;
      for (const auto &[prefix, e] : rules) out.push_back(e);
      return test::in_order(std::move(out));
    };
    const auto section = test::range_section<typename F::Plan>(entries());
    const Map map = test::attached<Map>(section.bytes());
    auto writer = F::Writer::adopt(section.bytes(), map).value();
    const auto expect_same = [&](const Prefix &p) {
      const test::LongestMatch slow(entries());
      const Address last = test::last_address(p);
      for (const Address &a : {p.address, last, test::moved(p.address, -1), test::moved(last, 1)})
        ASSERT_EQ(map.find(table::question_of(F::first(a))), slow.find(a))
            << "beside a change of /" << +p.length;
    };
    for (unsigned i = 0; i < 150; ++i) {
      Entry e = all[random() % all.size()];
      e.list = ListId(static_cast<std::uint16_t>(random() % 5));
      const Prefix p = test::prefix_of(e);
      const bool set = random() % 2 == 0;
      const std::uint32_t value = set ? table::value::make(e.list, e.length) : 0;
      const auto first = F::first(p.address);
      const auto known = rules.find(p);
      ASSERT_EQ(writer.find(first, p.length),
                known == rules.end() ? 0 : table::value::make(known->second.list, p.length));
      image::Change change = writer.put(first, p.length, value);
      for (unsigned again = 0; change == image::Change::waits && again < 3; ++again) {
        writer.grace_passed();
        change = writer.put(first, p.length, value);
      }
      if (change != image::Change::in_place) {
        ++rebuilds; // of more parts than one change may touch, or where room has run out: nothing is known of it
        break;
      }
      ++changes;
      rules.erase(p);
      if (set) rules.emplace(p, e);
      if (random() % 4 == 0) writer.grace_passed();
      expect_same(p);
    }
    if (testing::Test::HasFailure()) return;
    EXPECT_TRUE(Map::attach(section.bytes()));
  }
  EXPECT_GT(changes, 300u) << rebuilds << " times no room";
}

TYPED_TEST(PrefixWriterProperty, knows_what_answers_once_a_longer_prefix_is_gone) {
  using F = TypeParam;
  using Entry = typename F::Entry;
  const bool v4 = sizeof(Entry) == sizeof(build::EntryV4);
  const auto prefix = [&](const char *four, const char *six) {
    return parse_prefix(v4 ? four : six).value();
  };
  const Prefix wide = prefix("10.1.0.0/17", "2001:db8::/33"), half = prefix("10.1.0.0/18", "2001:db8::/34"),
               other = prefix("10.1.64.0/18", "2001:db8:4000::/34");
  const auto section = test::range_section<typename F::Plan>(std::vector<Entry>{
      test::entry_of(wide, 1, Entry{}), test::entry_of(half, 2, Entry{}), test::entry_of(other, 3, Entry{})});
  const auto map = test::attached<typename F::Writer::Map>(section.bytes());
  auto writer = F::Writer::adopt(section.bytes(), map).value();
  const auto first = [](const Prefix &p) { return F::first(p.address); };
  const auto list_at = [&](const Prefix &p) {
    return table::value::list_of(map.find(table::question_of(first(p))));
  };
  EXPECT_NE(writer.find(first(wide), wide.length), 0u)
      << "no address of its own is left, and yet it is there";
  EXPECT_EQ(writer.put(first(half), half.length, 0), image::Change::in_place);
  EXPECT_EQ(list_at(half), 1u);
  EXPECT_EQ(list_at(other), 3u);
  EXPECT_EQ(writer.put(first(wide), wide.length, 0), image::Change::in_place);
  EXPECT_EQ(map.find(table::question_of(first(half))), 0u);
  EXPECT_EQ(writer.put(first(other), other.length, 0), image::Change::in_place);
  EXPECT_EQ(map.find(table::question_of(first(other))), 0u) << "the prefix around it is gone as well";
}

TYPED_TEST(PrefixWriterProperty, leaves_a_prefix_that_spans_too_much_to_a_rebuild_and_changes_nothing) {
  using F = TypeParam;
  using Entry = typename F::Entry;
  const bool v4 = sizeof(Entry) == sizeof(build::EntryV4);
  const Prefix wide = parse_prefix(v4 ? "0.0.0.0/1" : "2000::/3").value(),
               known = parse_prefix(v4 ? "10.1.0.0/17" : "2001:db8::/33").value();
  const auto section =
      test::range_section<typename F::Plan>(std::vector<Entry>{test::entry_of(known, 1, Entry{})});
  const test::AlignedBytes before(section.bytes());
  const auto map = test::attached<typename F::Writer::Map>(section.bytes());
  auto writer = F::Writer::adopt(section.bytes(), map).value();
  EXPECT_EQ(writer.put(F::first(wide.address), wide.length, table::value::make(2, wide.length)),
            image::Change::needs_rebuild);
  EXPECT_TRUE(std::ranges::equal(before.bytes(), section.bytes()));
}

} // namespace
} // namespace weir::prefix_writer_test
