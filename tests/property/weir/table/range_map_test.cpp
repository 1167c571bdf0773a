// Range maps against the slow and obvious longest match, with random nests of prefixes.
#include "tests/support/longest_match.hpp"
#include "tests/support/range_section.hpp"
#include "tests/support/seed.hpp"
#include "weir/table/range_read.hpp"

#include <gtest/gtest.h>

namespace weir::range_map_test {
namespace {

using build::EntryV4, build::EntryV6, build::RangePlanV4, build::RangePlanV6, table::RangeMapV4,
    table::RangeMapV6;

struct V4 {
  using Entry = EntryV4;
  using Plan = RangePlanV4;
  using Map = RangeMapV4;
  static std::uint32_t find(const Map &map, const Address &a) { return map.find(a.wire()); }
};

struct V4Points : V4 {
  using Plan = test::PointsPlanV4;
};

struct V6 {
  using Entry = EntryV6;
  using Plan = RangePlanV6;
  using Map = RangeMapV6;
  static std::uint32_t find(const Map &map, const Address &a) {
    return map.find(table::KeyV6::load(a.bytes.data()));
  }
};

template <class Family> class RangeMapProperty : public testing::Test {};
using Families = testing::Types<V4, V4Points, V6>;
TYPED_TEST_SUITE(RangeMapProperty, Families);

TYPED_TEST(RangeMapProperty, answers_are_those_of_the_longest_match_at_every_boundary) {
  using F = TypeParam;
  const std::uint64_t seed = test::seed_or(311);
  WEIR_TRACE_SEED(seed);
  std::mt19937_64 random(seed);
  for (unsigned round = 0; round < 60; ++round) {
    const unsigned count = 1 + static_cast<unsigned>(random() % (1u << (1 + random() % 11)));
    const auto entries = test::random_entries<typename F::Entry>(random, count, 1 + random() % 20);
    const auto section = test::range_section<typename F::Plan>(entries);
    const auto map = test::attached<typename F::Map>(section.bytes());
    const test::LongestMatch slow(entries);
    for (const Address &a : test::boundaries(entries))
      ASSERT_EQ(F::find(map, a), slow.find(a)) << round << ": " << entries.size() << " prefixes";
    for (unsigned i = 0; i < 500; ++i) { // anywhere, and near a prefix
      Address a = test::prefix_of(entries[random() % entries.size()]).address;
      for (unsigned byte = random() % 3 ? address_bytes(a.family) / 2 : 0; byte < address_bytes(a.family);
           ++byte)
        a.bytes[byte] = static_cast<std::uint8_t>(random());
      ASSERT_EQ(F::find(map, a), slow.find(a)) << round << ": " << entries.size() << " prefixes";
    }
  }
}

// Crowds below one /16: every number of ranges a line, and lines of lines.
TYPED_TEST(RangeMapProperty, crowded_places_are_answered_alike) {
  using F = TypeParam;
  const std::uint64_t seed = test::seed_or(312);
  WEIR_TRACE_SEED(seed);
  std::mt19937_64 random(seed);
  for (unsigned round = 0; round < 12; ++round) {
    std::vector<typename F::Entry> entries;
    const unsigned count = 100u << random() % 7;
    for (unsigned i = 0; i < count; ++i) {
      Address a = test::prefix_of(typename F::Entry{}).address;
      const unsigned bits = address_bits(a.family);
      a.bytes[0] = 0x2A;
      for (unsigned byte = bits / 8 - 2; byte < bits / 8; ++byte)
        a.bytes[byte] = static_cast<std::uint8_t>(random());
      if (round % 2 != 0) a.bytes[2] = static_cast<std::uint8_t>(random() % 4);
      const unsigned length = bits - static_cast<unsigned>(random() % (1 + round % 12));
      entries.push_back(test::entry_of({masked(a, length), static_cast<std::uint8_t>(length)},
                                       static_cast<std::uint16_t>(random() % 50), typename F::Entry{}));
    }
    entries = test::in_order(std::move(entries));
    const auto section = test::range_section<typename F::Plan>(entries);
    const auto map = test::attached<typename F::Map>(section.bytes());
    const test::LongestMatch slow(entries);
    for (const Address &a : test::boundaries(entries))
      ASSERT_EQ(F::find(map, a), slow.find(a)) << round << ": " << entries.size() << " prefixes";
  }
}

// Prefixes of which some have long ways in common and part in few places: where wide lines take several windows at once, lead on to
// wide lines and to others, and are led to.
TEST(RangeMapV6Property, prefixes_that_part_late_are_answered_and_read_back_alike) {
  const std::uint64_t seed = test::seed_or(314);
  WEIR_TRACE_SEED(seed);
  std::mt19937_64 random(seed);
  unsigned wide = 0, wide_that_lead_on = 0;
  for (unsigned round = 0; round < 100; ++round) {
    std::vector<EntryV6> entries;
    const unsigned count = 2u << random() % 9, kinds = 1 + static_cast<unsigned>(random() % 5);
    for (unsigned i = 0; i < count; ++i) {
      Address a = test::prefix_of(EntryV6{}).address;
      for (unsigned w = 0; w < 8; ++w) {
        const std::uint64_t drawn = random() % 40;
        const auto kind = static_cast<std::uint16_t>(0x3000 * (random() % kinds));
        const auto word = static_cast<std::uint16_t>(drawn == 0   ? random()
                                                     : drawn == 1 ? 0xFFFF
                                                     : drawn == 2 ? 0
                                                                  : kind);
        a.bytes[2 * std::size_t{w}] = static_cast<std::uint8_t>(word >> 8);
        a.bytes[2 * std::size_t{w} + 1] = static_cast<std::uint8_t>(word);
      }
      const auto length = static_cast<std::uint8_t>(random() % 3 == 0 ? random() % 129 : 128 - random() % 12);
      entries.push_back(
          test::entry_of({masked(a, length), length}, static_cast<std::uint16_t>(random() % 50), EntryV6{}));
    }
    entries = test::in_order(std::move(entries));
    const auto section = test::range_section<RangePlanV6>(entries);
    const auto map = test::attached<RangeMapV6>(section.bytes());
    const test::LongestMatch slow(entries);
    const auto *header = &map.header();
    for (std::uint32_t i = 0; i < header->lines_used; ++i) {
      const table::RangeLine &line = map.lines()[i];
      wide += table::is_wide(line) ? 1 : 0;
      wide_that_lead_on +=
          table::is_wide(line) && std::ranges::any_of(table::values_of_v6(line), table::leads_on) ? 1 : 0;
    }
    std::vector<table::PlaceRange> ranges;
    for (const Address &a : test::boundaries(entries)) {
      const table::KeyV6 key = table::KeyV6::load(a.bytes.data());
      ASSERT_EQ(map.find(key), slow.find(a)) << round << ": " << entries.size() << " prefixes";
      const std::uint32_t root = RangeMapV6::window(key, 0), shift = RangeMapV6::root_shift(map.root(root));
      table::read_place(map, root, RangeMapV6::window(key, 1) >> (16 - shift), ranges);
      for (std::size_t i = 1; i < ranges.size(); ++i) ASSERT_LT(ranges[i - 1].first, ranges[i].first);
      const auto behind =
          std::ranges::upper_bound(ranges, table::address_of(key), {}, &table::PlaceRange::first);
      ASSERT_NE(behind, ranges.begin());
      const std::uint32_t answer = std::prev(behind)->value;
      ASSERT_EQ(answer != 0 ? answer : map.value(0), slow.find(a)) << round;
    }
  }
  EXPECT_GT(wide, 1000u);
  EXPECT_GT(wide_that_lead_on, 100u);
}

// Crowds of 48s below a few 32s, close together or spread, beside others in one place or alone: where first lines take shares of window 2,
// crowds share a line, and what is too much moves into lines behind. Read back, and written again in place.
TEST(RangeMapV6Property, crowds_below_32s_are_answered_read_back_and_written_alike) {
  const std::uint64_t seed = test::seed_or(315);
  WEIR_TRACE_SEED(seed);
  std::mt19937_64 random(seed);
  unsigned with_shares = 0, most_shares = 0, written = 0;
  for (unsigned round = 0; round < 100; ++round) {
    std::vector<EntryV6> entries;
    const unsigned count = 8u << random() % 9, crowds = 1 + static_cast<unsigned>(random() % 30);
    const unsigned apart = 1u << random() % 12, dense = static_cast<unsigned>(random() % 3);
    // The first one begins a place, or not.
    const auto first = static_cast<unsigned>(random() % 0x8000 & (random() % 2 == 0 ? 0xF000 : 0xFFFF));
    for (unsigned i = 0; i < count; ++i) {
      Address a = test::prefix_of(EntryV6{}).address;
      const auto put = [&a](unsigned window, std::uint64_t word) {
        a.bytes[2 * std::size_t{window}] = static_cast<std::uint8_t>(word >> 8);
        a.bytes[2 * std::size_t{window} + 1] = static_cast<std::uint8_t>(word);
      };
      const std::uint64_t crowd =
          random() % crowds * (random() % 2); // the first one is as large as all others
      put(0, 0x2A00 + crowd % 2);
      put(1, first + crowd * apart);
      put(2, dense == 0 ? i : dense == 1 ? random() % count : random());
      if (random() % 16 == 0) put(3, random());
      if (random() % 64 == 0) put(7, random());
      const auto length = static_cast<std::uint8_t>(random() % 8 != 0   ? 48
                                                    : random() % 3 == 0 ? random() % 129
                                                                        : 24 + random() % 40);
      entries.push_back(
          test::entry_of({masked(a, length), length}, static_cast<std::uint16_t>(random() % 50), EntryV6{}));
    }
    entries = test::in_order(std::move(entries));
    const auto section = test::range_section<RangePlanV6>(entries);
    const auto map = test::attached<RangeMapV6>(section.bytes());
    for (std::uint32_t i = 0; i < map.header().array_used; ++i) {
      const unsigned shift = RangeMapV6::place_shift(map.array()[i]);
      with_shares += shift != 0 ? 1 : 0;
      most_shares = std::max(most_shares, shift);
    }
    const test::LongestMatch slow(entries);
    auto writer = *table::RangeWriterV6<>::adopt(section.bytes());
    std::vector<table::PlaceRange> ranges;
    std::uint64_t last_place = ~std::uint64_t{0};
    for (const bool again : {false, true}) {
      for (const Address &a : test::boundaries(entries)) {
        const table::KeyV6 key = table::KeyV6::load(a.bytes.data());
        ASSERT_EQ(map.find(key), slow.find(a)) << round << ": " << entries.size() << " prefixes, " << again;
        const std::uint32_t root = RangeMapV6::window(key, 0), shift = RangeMapV6::root_shift(map.root(root));
        const std::uint32_t place = RangeMapV6::window(key, 1) >> (16 - shift);
        if (again || (std::uint64_t{root} << 16 | place) != last_place) {
          last_place = std::uint64_t{root} << 16 | place;
          table::read_place(map, root, place, ranges);
          for (std::size_t i = 1; i < ranges.size(); ++i) {
            ASSERT_LT(ranges[i - 1].first, ranges[i].first);
            ASSERT_NE(ranges[i - 1].value, ranges[i].value);
          }
          if (!again && writer.put(root, place, ranges) == table::RangeWriterV6<>::Put::changed) ++written;
          if (random() % 2 == 0) writer.grace_passed();
        }
        const auto behind =
            std::ranges::upper_bound(ranges, table::address_of(key), {}, &table::PlaceRange::first);
        ASSERT_NE(behind, ranges.begin());
        const std::uint32_t answer = std::prev(behind)->value;
        ASSERT_EQ(answer != 0 ? answer : map.value(0), slow.find(a)) << round;
      }
    }
    ASSERT_TRUE(RangeMapV6::attach(section.bytes()));
  }
  EXPECT_GT(with_shares, 60u);
  EXPECT_GE(most_shares, 5u);
  EXPECT_GT(written, 200u);
}

// Whatever stands in a section: it is refused, or every question ends inside it. The sanitizers watch.
TYPED_TEST(RangeMapProperty, a_section_with_changed_bits_is_refused_or_answers_from_inside) {
  using F = TypeParam;
  const std::uint64_t seed = test::seed_or(313);
  WEIR_TRACE_SEED(seed);
  std::mt19937_64 random(seed);
  const auto entries = test::random_entries<typename F::Entry>(random, 700, 12);
  const auto whole = test::range_section<typename F::Plan>(entries);
  const auto places = test::boundaries(entries);
  const test::LongestMatch slow(entries);
  unsigned refused = 0, accepted = 0;
  for (unsigned round = 0; round < 1500; ++round) {
    const test::AlignedBytes section(whole.bytes());
    const std::size_t bytes = section.bytes().size();
    for (unsigned flips = 1 + random() % 4; flips > 0;
         --flips) { // half of them in the header or in the lines
      const std::size_t at = random() % 4 == 0 ? random() % 64
                             : random() % 2    ? random() % bytes
                                               : bytes - 1 - random() % (bytes / 16);
      section.bytes()[at] ^= static_cast<std::byte>(1u << random() % 8);
    }
    const auto map = F::Map::attach(section.bytes());
    map ? ++accepted : ++refused;
    if (!map) continue;
    for (unsigned i = 0; i < 200; ++i) (void)F::find(*map, places[random() % places.size()]);
  }
  EXPECT_GT(refused, 100u);
  EXPECT_GT(accepted, 100u);
}

} // namespace
} // namespace weir::range_map_test
