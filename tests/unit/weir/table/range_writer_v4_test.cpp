#include "tests/support/longest_match.hpp"
#include "tests/support/range_section.hpp"
#include "tests/support/seed.hpp"
#include "weir/table/range_read.hpp"
#include "weir/table/range_writer_v4.hpp"

#include <gtest/gtest.h>

#include <map>

namespace weir::range_writer_v4_test {
namespace {

using build::EntryV4, build::RangePlanV4, table::CellRange, table::RangeMapV4;
using Writer = table::RangeWriterV4<>;
namespace value = table::value;

class RangeWriterV4Test : public testing::Test {
protected:
  explicit RangeWriterV4Test(const std::vector<EntryV4> &entries = {{10u << 24, 8, 0, 1}})
      : section(test::range_section<RangePlanV4>(entries)), map(test::attached<RangeMapV4>(section.bytes())),
        writer(*Writer::adopt(section.bytes())) {}

  table::RangeHeaderV4 &header() { return *reinterpret_cast<table::RangeHeaderV4 *>(section.bytes().data()); }
  std::uint32_t find(std::uint32_t host) const { return map.find(byteswap32(host)); }
  static std::vector<CellRange> hosts(unsigned count, std::uint16_t list, unsigned apart = 1) {
    std::vector<CellRange> out;
    for (unsigned i = 0; i < count; ++i)
      out.push_back({static_cast<std::uint16_t>(i * apart),
                     value::make(ListId(static_cast<std::uint16_t>(list + i % 3u)), 32)});
    return out;
  }

  test::AlignedBytes section;
  RangeMapV4 map;
  Writer writer;
};

TEST_F(RangeWriterV4Test, a_16_answers_by_its_new_ranges_and_all_others_as_before) {
  const std::vector<CellRange> ranges{{0, 0}, {0x1200, value::make(5, 24)}, {0x1300, value::make(1, 8)}};
  ASSERT_EQ(writer.put(0x0A01, ranges), Writer::Put::changed);
  EXPECT_EQ(find(0x0A01'0000), 0u);
  EXPECT_EQ(find(0x0A01'11FF), 0u);
  EXPECT_EQ(find(0x0A01'1200), value::make(5, 24));
  EXPECT_EQ(find(0x0A01'FFFF), value::make(1, 8));
  EXPECT_EQ(find(0x0A00'FFFF), value::make(1, 8));
  EXPECT_EQ(find(0x0A02'0000), value::make(1, 8));
  EXPECT_EQ(find(0x0B00'0000), 0u);
  EXPECT_TRUE(RangeMapV4::attach(section.bytes()));
}

TEST_F(RangeWriterV4Test, lines_that_were_replaced_are_free_after_a_grace_period) {
  const std::uint32_t free = writer.free_lines();
  ASSERT_EQ(writer.put(7, hosts(2048, 1)), Writer::Put::changed);
  const std::uint32_t taken = free - writer.free_lines();
  EXPECT_GE(taken, 128u);
  ASSERT_EQ(writer.put(7, std::vector<CellRange>{{0, 0}}), Writer::Put::changed);
  EXPECT_EQ(writer.free_lines(), free - taken) << "readers may be in the old lines";
  EXPECT_EQ(writer.retired_lines(), taken);
  writer.grace_passed();
  EXPECT_EQ(writer.free_lines(), free);
  EXPECT_EQ(writer.retired_lines(), 0u);
}

TEST_F(RangeWriterV4Test, without_lines_to_spare_nothing_changes_and_a_rebuild_is_asked_for) {
  const auto crowded = hosts(65'536, 1);
  EXPECT_EQ(writer.put(7, crowded), Writer::Put::needs_rebuild);
  EXPECT_EQ(find(7u << 16 | 5), 0u);
  std::uint32_t cell = 100;
  while (writer.put(cell, hosts(200, 1, 300)) == Writer::Put::changed) ++cell;
  EXPECT_EQ(find(cell << 16), 0u);
  EXPECT_EQ(find((cell - 1) << 16), value::make(1, 32));
  ASSERT_EQ(writer.put(100, std::vector<CellRange>{{0, 0}}), Writer::Put::changed);
  EXPECT_EQ(writer.put(cell, hosts(200, 1, 300)), Writer::Put::needs_rebuild);
  writer.grace_passed();
  EXPECT_EQ(writer.put(cell, hosts(200, 1, 300)), Writer::Put::changed);
}

TEST_F(RangeWriterV4Test, cells_of_one_answer_share_a_line) {
  const std::uint32_t free = writer.free_lines();
  const std::vector<CellRange> one{{0, value::make(4, 12)}}, other{{0, value::make(1, 8)}};
  for (std::uint32_t c = 0x2000; c < 0x2010; ++c) ASSERT_EQ(writer.put(c, one), Writer::Put::changed);
  EXPECT_EQ(writer.free_lines(), free - 1);
  for (std::uint32_t c = 0x2000; c < 0x2010; ++c) ASSERT_EQ(writer.put(c, other), Writer::Put::changed);
  writer.grace_passed();
  EXPECT_EQ(writer.free_lines(), free) << "the line of 10.0.0.0/8 was there";
  ASSERT_EQ(writer.put(0x2000, one), Writer::Put::changed);
  EXPECT_EQ(find(0x2000'1234), value::make(4, 12));
}

TEST_F(RangeWriterV4Test, new_pairs_of_list_and_length_fill_the_dictionary_and_then_ask_for_a_rebuild) {
  const std::uint32_t room = header().values - header().values_used;
  for (std::uint32_t i = 0; i < room; ++i)
    ASSERT_EQ(
        writer.put(9,
                   std::vector<CellRange>{{0, value::make(ListId(static_cast<std::uint16_t>(100 + i)), 16)}}),
        Writer::Put::changed)
        << i;
  EXPECT_EQ(writer.put(9, std::vector<CellRange>{{0, value::make(99, 16)}}), Writer::Put::needs_rebuild);
  EXPECT_EQ(find(9u << 16), value::make(ListId(static_cast<std::uint16_t>(100 + room - 1)), 16));
  EXPECT_TRUE(RangeMapV4::attach(section.bytes()));
}

TEST_F(RangeWriterV4Test, neighbours_of_one_answer_become_one_range) {
  const std::uint32_t free = writer.free_lines();
  std::vector<CellRange> same;
  for (unsigned i = 0; i < 1000; ++i)
    same.push_back({static_cast<std::uint16_t>(i * 50), value::make(3, 20)});
  ASSERT_EQ(writer.put(0x3000, same), Writer::Put::changed);
  EXPECT_EQ(writer.free_lines(), free - 1);
}

// A /16 of a set of prefixes, as a builder of all of them would cut it.
std::vector<CellRange> ranges_of(const std::vector<EntryV4> &entries, std::uint32_t cell) {
  const test::LongestMatch slow(entries);
  std::map<std::uint32_t, std::uint32_t> starts{{cell << 16, 0}};
  for (const Address &a : test::boundaries(entries))
    if (a.host() >> 16 == cell) starts[a.host()];
  std::vector<CellRange> out;
  for (const auto &[host, unused] : starts)
    out.push_back({static_cast<std::uint16_t>(host), slow.find(Address::from_host(host))});
  return out;
}

template <class Plan> void change_many() {
  const std::uint64_t seed = test::seed_or(91);
  WEIR_TRACE_SEED(seed);
  std::mt19937_64 random(seed);
  auto before = test::random_entries<EntryV4>(random, 600, 9);
  std::erase_if(before,
                [](const EntryV4 &e) { return e.length == 0; }); // which answers wherever no other does
  const auto section = test::range_section<Plan>(before);
  const auto map = test::attached<RangeMapV4>(section.bytes());
  auto writer = *Writer::adopt(section.bytes());
  std::map<std::uint32_t, std::vector<EntryV4>> changed;
  for (unsigned round = 0; round < 300; ++round) {
    const std::uint32_t cell = before[random() % before.size()].host >> 16;
    std::vector<EntryV4> inside;
    for (unsigned i = 1 + static_cast<unsigned>(random() % 60); i > 0; --i) {
      const unsigned length = 17 + static_cast<unsigned>(random() % 4 * 5);
      const Prefix p{masked(Address::from_host(cell << 16 | (random() & 0xFFFF)), length),
                     static_cast<std::uint8_t>(length)};
      inside.push_back(test::entry_of(p, static_cast<std::uint16_t>(random() % 9)));
    }
    inside = test::in_order(std::move(inside));
    if (random() % 3 == 0) writer.grace_passed();
    if (writer.put(cell, ranges_of(inside, cell)) != Writer::Put::changed) continue; // nothing changed
    changed[cell] = std::move(inside);
  }
  EXPECT_GT(changed.size(), 50u);
  for (const auto &[cell, inside] : changed) {
    const test::LongestMatch slow(inside);
    for (const Address &a : test::boundaries(inside)) {
      if (a.host() >> 16 != cell) continue;
      ASSERT_EQ(map.find(a.wire()), slow.find(a));
    }
  }
  const test::LongestMatch slow(before);
  for (const Address &a : test::boundaries(before)) {
    if (changed.contains(a.host() >> 16)) continue;
    ASSERT_EQ(map.find(a.wire()), slow.find(a));
  }
  EXPECT_TRUE(RangeMapV4::attach(section.bytes()));
}

TEST(RangeWriterV4, after_many_changes_every_boundary_is_answered_as_a_map_of_the_last_prefixes_does) {
  change_many<RangePlanV4>();
}
TEST(RangeWriterV4, after_many_changes_points_are_answered_as_in_a_map_of_the_last_prefixes) {
  change_many<test::PointsPlanV4>();
}

// Hosts inside and outside a prefix, crowded enough for lines of lines, at both ends of the /16, and side by side.
TEST(RangeWriterV4, ranges_of_a_16_with_points_are_read_back_as_they_were_given) {
  const std::uint64_t seed = test::seed_or(92);
  WEIR_TRACE_SEED(seed);
  std::mt19937_64 random(seed);
  const auto section = test::range_section<test::PointsPlanV4>(
      std::vector<EntryV4>{{0x0A00'0001, 32, 0, ListId(1)}, {0x0A00'0100, 24, 0, ListId(2)}});
  const auto map = test::attached<RangeMapV4>(section.bytes());
  auto writer = *Writer::adopt(section.bytes());
  for (unsigned round = 0; round < 200; ++round) {
    std::vector<EntryV4> inside{{0x0A07'0000, static_cast<std::uint8_t>(17 + round % 8), 0, ListId(3)}};
    for (const std::uint32_t end : {0x0A07'0000u, 0x0A07'FFFFu})
      if (random() % 2 == 0) inside.push_back({end, 32, 0, ListId(4)});
    for (unsigned i = 1u << random() % 9; i > 0; --i)
      inside.push_back({0x0A07'0000u + static_cast<std::uint32_t>(random() % (round % 2 ? 0x10000 : 700)), 32,
                        0, ListId(static_cast<std::uint16_t>(4 + random() % 2))});
    inside = test::in_order(std::move(inside));
    const auto given = ranges_of(inside, 0x0A07);
    ASSERT_EQ(writer.put(0x0A07, given), Writer::Put::changed);
    writer.grace_passed();
    std::vector<table::CellRange> read, merged;
    table::read_cell(map, 0x0A07, read);
    for (const table::CellRange &r : given)
      if (merged.empty() || merged.back().value != r.value) merged.push_back(r);
    ASSERT_EQ(read, merged) << round;
    ASSERT_TRUE(RangeMapV4::attach(section.bytes()));
  }
}

TEST(RangeWriterV4, lines_that_cells_share_are_free_when_the_last_of_them_has_let_go) {
  std::vector<EntryV4> crowd;
  for (std::uint32_t i = 0; i < 2000; ++i)
    crowd.push_back({i, 32, 0, ListId(static_cast<std::uint16_t>(i % 7))});
  const auto section = test::range_section<RangePlanV4>(crowd);
  const auto &h = *reinterpret_cast<const table::RangeHeaderV4 *>(section.bytes().data());
  auto *cells = reinterpret_cast<std::uint64_t *>(
      section.bytes().data() + table::range_layout_v4(h.values, h.lines, h.covering).cells);
  for (std::uint32_t c = 1; c < table::range_cells; ++c) cells[c] = cells[0]; // no builder does that
  auto writer = *Writer::adopt(section.bytes());
  const std::uint32_t free = writer.free_lines();
  const std::vector<CellRange> nothing{{0, 0}};
  for (std::uint32_t c = 0; c + 1 < table::range_cells; ++c)
    ASSERT_EQ(writer.put(c, nothing), Writer::Put::changed);
  EXPECT_EQ(writer.retired_lines(), 0u);
  ASSERT_EQ(writer.put(table::range_cells - 1, nothing), Writer::Put::changed);
  EXPECT_GT(writer.retired_lines(), 100u);
  writer.grace_passed();
  EXPECT_EQ(writer.free_lines(), h.lines - 1);
  EXPECT_GT(writer.free_lines(), free);
}

} // namespace
} // namespace weir::range_writer_v4_test
