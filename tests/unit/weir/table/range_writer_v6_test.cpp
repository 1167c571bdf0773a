#include "tests/support/longest_match.hpp"
#include "tests/support/range_section.hpp"
#include "tests/support/seed.hpp"
#include "weir/table/range_read.hpp"
#include "weir/table/range_writer_v6.hpp"

#include <gtest/gtest.h>

#include <map>

namespace weir::range_writer_v6_test {
namespace {

using build::EntryV6, build::RangePlanV6, table::AddressV6, table::PlaceRange, table::RangeMapV6;
using Writer = table::RangeWriterV6<>;
namespace value = table::value;

AddressV6 number_of(const Address &a) {
  const auto half = [&](unsigned at) {
    return std::byteswap(load_unaligned<std::uint64_t>(a.bytes.data() + at));
  };
  return {half(0), half(8)};
}
std::uint32_t find(const RangeMapV6 &map, const Address &a) {
  return map.find(table::KeyV6::load(a.bytes.data()));
}

std::uint32_t place_of(const Address &a, unsigned shift) {
  return static_cast<std::uint32_t>((a.bytes[2] << 8 | a.bytes[3]) >> (16 - shift));
}
std::uint32_t root_of(const Address &a) { return static_cast<std::uint32_t>(a.bytes[0] << 8 | a.bytes[1]); }
Address first_of_place(std::uint32_t root, std::uint32_t place, unsigned shift) {
  Address a;
  a.family = Family::ipv6;
  const std::uint32_t key = place << (16 - shift);
  a.bytes[0] = static_cast<std::uint8_t>(root >> 8);
  a.bytes[1] = static_cast<std::uint8_t>(root);
  a.bytes[2] = static_cast<std::uint8_t>(key >> 8);
  a.bytes[3] = static_cast<std::uint8_t>(key);
  return a;
}

// A place of a set of prefixes, as a builder of all of them would cut it.
std::vector<PlaceRange> ranges_of(const std::vector<EntryV6> &entries, std::uint32_t root,
                                  std::uint32_t place, unsigned shift) {
  const test::LongestMatch slow(entries);
  const Address begin = first_of_place(root, place, shift);
  std::map<Address, std::uint32_t> starts{{begin, slow.find(begin)}};
  for (const Address &a : test::boundaries(entries))
    if (root_of(a) == root && place_of(a, shift) == place) starts[a] = slow.find(a);
  std::vector<PlaceRange> out;
  for (const auto &[address, found] : starts) out.push_back({number_of(address), found});
  return out;
}

std::vector<EntryV6> crowd(std::mt19937_64 &random, unsigned count, unsigned lists) {
  std::vector<EntryV6> out;
  for (unsigned i = 0; i < count; ++i) {
    Address a;
    a.family = Family::ipv6;
    for (unsigned byte = 2; byte < 16; ++byte)
      a.bytes[byte] = static_cast<std::uint8_t>(byte == 4 ? random() % 3 : random());
    a.bytes[0] = 0x2A;
    a.bytes[1] = static_cast<std::uint8_t>(random() % 2);
    const unsigned length = 20 + static_cast<unsigned>(random() % 6 * 12);
    out.push_back(test::entry_of({masked(a, length), static_cast<std::uint8_t>(length)},
                                 static_cast<std::uint16_t>(random() % lists), EntryV6{}));
  }
  return test::in_order(std::move(out));
}

TEST(RangeWriterV6, after_many_changes_every_boundary_is_answered_as_a_map_of_the_last_prefixes_does) {
  const std::uint64_t seed = test::seed_or(92);
  WEIR_TRACE_SEED(seed);
  std::mt19937_64 random(seed);
  const auto before = crowd(random, 3000, 6), after = crowd(random, 3000, 6);
  const auto section = test::range_section<RangePlanV6>(before);
  const auto map = test::attached<RangeMapV6>(section.bytes());
  auto writer = *Writer::adopt(section.bytes());
  ASSERT_GT(writer.shift(0x2A00), 3u);
  std::map<std::pair<std::uint32_t, std::uint32_t>, bool> changed;
  const auto is_changed = [&](const Address &a) {
    const auto found = changed.find({root_of(a), place_of(a, writer.shift(root_of(a)))});
    return found != changed.end() && found->second;
  };
  for (unsigned round = 0; round < 200; ++round) {
    const auto root = static_cast<std::uint32_t>(0x2A00 + random() % 2);
    const auto place = static_cast<std::uint32_t>(random() % (1u << writer.shift(root)));
    const bool to_after = random() % 3 != 0;
    if (random() % 2 == 0) writer.grace_passed();
    if (writer.put(root, place, ranges_of(to_after ? after : before, root, place, writer.shift(root))) !=
        Writer::Put::changed)
      continue;
    changed[{root, place}] = to_after;
  }
  EXPECT_GT(changed.size(), 50u);
  const test::LongestMatch slow_before(before), slow_after(after);
  for (const auto *entries : {&before, &after})
    for (const Address &a : test::boundaries(*entries))
      ASSERT_EQ(find(map, a), is_changed(a) ? slow_after.find(a) : slow_before.find(a));
  EXPECT_TRUE(RangeMapV6::attach(section.bytes()));
}

TEST(RangeWriterV6, a_16_that_shared_its_place_gets_one_of_its_own) {
  const std::vector<EntryV6> all{{{0x20}, 8, 0, 1}};
  const auto section = test::range_section<RangePlanV6>(all);
  const auto map = test::attached<RangeMapV6>(section.bytes());
  auto writer = *Writer::adopt(section.bytes());
  const std::uint32_t places = writer.free_places();
  const Address inside = first_of_place(0x2001, 0x1234, 16), other = first_of_place(0x2002, 0x1234, 16);
  const std::vector<PlaceRange> ranges{{number_of(first_of_place(0x2001, 0, 0)), value::make(1, 8)},
                                       {number_of(inside), value::make(7, 32)},
                                       {number_of(first_of_place(0x2001, 0x1235, 16)), value::make(1, 8)}};
  ASSERT_EQ(writer.put(0x2001, 0, ranges), Writer::Put::changed);
  EXPECT_EQ(writer.free_places(), places - 1);
  EXPECT_EQ(find(map, inside), value::make(7, 32));
  EXPECT_EQ(find(map, test::moved(inside, -1)), value::make(1, 8));
  EXPECT_EQ(find(map, other), value::make(1, 8));
  ASSERT_EQ(writer.put(0x2001, 0, std::span(ranges).first(1)), Writer::Put::changed);
  EXPECT_EQ(writer.free_places(), places - 1) << "it has one by now";
  EXPECT_EQ(find(map, inside), value::make(1, 8));
  EXPECT_TRUE(RangeMapV6::attach(section.bytes()));
}

// Readers of such a map look for none.
TEST(RangeWriterV6, a_map_that_was_built_without_wide_lines_gets_none_in_place) {
  const std::vector<EntryV6> before{{{0x20, 0x01}, 20, 0, 1}};
  const std::vector<EntryV6> after{{{0x20, 0x01}, 20, 0, 1},
                                   {{0x20, 0x01, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12}, 112, 0, 2}};
  const auto section = test::range_section<RangePlanV6>(before);
  const auto map = test::attached<RangeMapV6>(section.bytes());
  ASSERT_FALSE(map.has_wide_lines());
  auto writer = *Writer::adopt(section.bytes());
  const Address inside = test::prefix_of(after[1]).address;
  const unsigned shift = writer.shift(0x2001);
  const std::uint32_t place = place_of(inside, shift);
  ASSERT_EQ(writer.put(0x2001, place, ranges_of(after, 0x2001, place, shift)), Writer::Put::changed);
  EXPECT_EQ(find(map, inside), value::make(2, 112));
  EXPECT_EQ(find(map, test::moved(inside, -1)), value::make(1, 20));
  EXPECT_TRUE(RangeMapV6::attach(section.bytes())) << "it would refuse a wide line";
  ASSERT_TRUE(test::attached<RangeMapV6>(test::range_section<RangePlanV6>(after).bytes()).has_wide_lines())
      << "a build makes one of it";
}

// Lines that wide ones lead to are in use as long as these.
TEST(RangeWriterV6, lines_behind_wide_ones_are_kept_and_come_back) {
  std::vector<EntryV6> all;
  for (std::uint8_t i = 0; i < 40; ++i)
    all.push_back({{0x20, 0x01, 0, 1, 0, 2, 0, 3, 0, 4, 0, 5, 0, 6, 1, i}, 128, 0, ListId(i)});
  const auto section = test::range_section<RangePlanV6>(all);
  const auto map = test::attached<RangeMapV6>(section.bytes());
  ASSERT_TRUE(map.has_wide_lines());
  auto writer = *Writer::adopt(section.bytes());
  const unsigned shift = writer.shift(0x2001);
  const std::uint32_t place = place_of(test::prefix_of(all[0]).address, shift);
  const auto ranges = ranges_of(all, 0x2001, place, shift);
  const auto put = [&] {
    const auto done = writer.put(0x2001, place, ranges);
    writer.grace_passed();
    return done;
  };
  ASSERT_EQ(put(), Writer::Put::changed); // other places go on with the lines as built
  const std::uint32_t free = writer.free_lines();
  for (unsigned round = 0; round < 300; ++round) { // many times as many as there are free lines
    ASSERT_EQ(put(), Writer::Put::changed) << round;
    ASSERT_EQ(writer.free_lines(), free) << round;
  }
  const test::LongestMatch slow(all);
  for (const Address &a : test::boundaries(all)) ASSERT_EQ(find(map, a), slow.find(a));
}

// 48s below one /32, and the place that they are in.
struct Crowd {
  explicit Crowd(unsigned count, std::vector<EntryV6> beside = {}) : all(std::move(beside)) {
    for (unsigned i = 0; i < count; ++i) {
      const unsigned spread = i * (0x10000 / count);
      EntryV6 e{{0x20, 0x01, 0, 9}, 48, 0, ListId(static_cast<std::uint16_t>(i % 100))};
      e.address[4] = static_cast<std::uint8_t>(spread >> 8);
      e.address[5] = static_cast<std::uint8_t>(spread);
      all.push_back(e);
    }
    all = test::in_order(std::move(all));
    section = test::range_section<RangePlanV6>(all);
    map = test::attached<RangeMapV6>(section.bytes());
    shift = RangeMapV6::root_shift(map.root(0x2001));
    place = place_of(test::prefix_of(all[0]).address, shift);
    ranges = ranges_of(all, 0x2001, place, shift);
  }
  unsigned first_shift() const {
    return RangeMapV6::place_shift(map.array()[RangeMapV6::first_place(map.root(0x2001)) + place]);
  }
  void expect_answers() const {
    const test::LongestMatch slow(all);
    for (const Address &a : test::boundaries(all)) ASSERT_EQ(find(map, a), slow.find(a));
  }
  std::vector<EntryV6> all;
  test::AlignedBytes section{0};
  RangeMapV6 map;
  unsigned shift = 0;
  std::uint32_t place = 0;
  std::vector<PlaceRange> ranges;
};

TEST(RangeWriterV6, all_first_lines_of_a_place_come_back) {
  Crowd crowd(200);
  ASSERT_GT(crowd.first_shift(), 2u);
  auto writer = *Writer::adopt(crowd.section.bytes());
  const auto put = [&] {
    const auto done = writer.put(0x2001, crowd.place, crowd.ranges);
    writer.grace_passed();
    return done;
  };
  ASSERT_EQ(put(), Writer::Put::changed);
  const std::uint32_t free = writer.free_lines();
  for (unsigned round = 0; round < 50; ++round) {
    ASSERT_EQ(put(), Writer::Put::changed) << round;
    ASSERT_EQ(writer.free_lines(), free) << round;
  }
  EXPECT_GT(crowd.first_shift(), 2u);
  crowd.expect_answers();
}

// Of a /34 below the /32 that begins the place, each line has one answer at most, the first of the line, which has no key.
TEST(RangeWriterV6, what_begins_a_place_is_read_back_from_all_of_its_lines) {
  const Crowd crowd(200, {{{0x20, 0x01, 0, 0, 0x40}, 34, 0, 7}});
  ASSERT_GT(crowd.first_shift(), 2u);
  auto writer = *Writer::adopt(crowd.section.bytes());
  std::vector<PlaceRange> ranges;
  table::read_place(crowd.map, 0x2001, crowd.place, ranges);
  EXPECT_EQ(ranges.size(), 2 * crowd.all.size() + 1);
  ASSERT_EQ(writer.put(0x2001, crowd.place, ranges), Writer::Put::changed);
  crowd.expect_answers();
}

TEST(RangeWriterV6, first_lines_that_places_share_come_back_with_the_last_of_these) {
  Crowd crowd(200);
  auto writer = *Writer::adopt(crowd.section.bytes());
  const std::uint32_t free = writer.free_lines();
  const std::uint32_t *const places = crowd.map.array() + RangeMapV6::first_place(crowd.map.root(0x2001));
  std::vector<std::uint32_t> sharing;
  for (std::uint32_t p = 0; p < 1u << crowd.shift; ++p)
    if (p != crowd.place && places[p] == places[crowd.place]) sharing.push_back(p);
  ASSERT_GT(sharing.size(), 2u);
  ASSERT_EQ(writer.put(0x2001, crowd.place, crowd.ranges), Writer::Put::changed);
  for (const std::uint32_t p : sharing) // a line each
    ASSERT_EQ(writer.put(0x2001, p, ranges_of(crowd.all, 0x2001, p, crowd.shift)), Writer::Put::changed);
  EXPECT_LT(writer.free_lines(), free - sharing.size());
  writer.grace_passed();
  EXPECT_EQ(writer.free_lines(), free - sharing.size());
  crowd.expect_answers();
}

// With room for few lines a place has one first line, and more behind it.
TEST(RangeWriterV6, a_place_makes_do_with_as_few_lines_as_there_is_room_for) {
  Crowd crowd(1500);
  ASSERT_GT(crowd.first_shift(), 5u);
  auto writer = *Writer::adopt(crowd.section.bytes());
  unsigned with_one = 0;
  while (writer.put(0x2001, crowd.place, crowd.ranges) == Writer::Put::changed) {
    with_one += crowd.first_shift() == 0 ? 1 : 0;
    crowd.expect_answers();
  }
  EXPECT_GT(with_one, 0u);
  EXPECT_TRUE(RangeMapV6::attach(crowd.section.bytes()));
}

TEST(RangeWriterV6, lines_are_free_after_a_grace_period_and_without_any_a_rebuild_is_asked_for) {
  std::mt19937_64 random(4);
  const auto all = crowd(random, 2000, 6);
  const auto section = test::range_section<RangePlanV6>(all);
  const auto map = test::attached<RangeMapV6>(section.bytes());
  auto writer = *Writer::adopt(section.bytes());
  const unsigned shift = writer.shift(0x2A01);
  const auto again = [&] { return writer.put(0x2A01, 1, ranges_of(all, 0x2A01, 1, shift)); };
  ASSERT_EQ(again(), Writer::Put::changed);
  const std::uint32_t free = writer.free_lines();
  ASSERT_EQ(again(), Writer::Put::changed);
  const std::uint32_t taken = free - writer.free_lines();
  EXPECT_GT(taken, 0u);
  writer.grace_passed();
  EXPECT_GE(writer.free_lines(), free);
  while (again() == Writer::Put::changed) {
  }
  const test::LongestMatch slow(all);
  for (const Address &a : test::boundaries(all)) ASSERT_EQ(find(map, a), slow.find(a));
  writer.grace_passed();
  EXPECT_EQ(again(), Writer::Put::changed);
}

} // namespace
} // namespace weir::range_writer_v6_test
