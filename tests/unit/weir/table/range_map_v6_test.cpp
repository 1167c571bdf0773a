#include "tests/support/longest_match.hpp"
#include "tests/support/range_section.hpp"
#include "weir/key/text.hpp"

#include <gtest/gtest.h>

#include <string_view>
#include <utility>

namespace weir::range_map_v6_test {
namespace {

using build::EntryV6, build::RangePlanV6, table::RangeMapV6;
namespace value = table::value;

std::vector<EntryV6> entries(std::initializer_list<std::pair<std::string_view, std::uint16_t>> prefixes) {
  std::vector<EntryV6> out;
  for (const auto &[text, list] : prefixes)
    out.push_back(test::entry_of(*parse_prefix(text), list, EntryV6{}));
  return test::in_order(std::move(out));
}

class RangeMapV6Test : public testing::Test {
protected:
  void build(const std::vector<EntryV6> &from) {
    section = test::range_section<RangePlanV6>(from);
    map = test::attached<RangeMapV6>(section.bytes());
  }
  std::uint32_t find(const Address &a) const { return map.find(table::KeyV6::load(a.bytes.data())); }
  std::uint32_t find(std::string_view text) const { return find(parse_prefix(text)->address); }
  test::AlignedBytes section{0};
  RangeMapV6 map;
};

TEST_F(RangeMapV6Test, without_prefixes_nothing_matches) {
  build({});
  for (const char *a : {"::", "2001:db8::1", "ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff"})
    EXPECT_EQ(find(a), 0u);
}

TEST_F(RangeMapV6Test, the_longest_prefix_answers_in_every_window) {
  build(entries({{"2001:db8::/32", 1},
                 {"2001:db8:1::/48", 2},
                 {"2001:db8:1:2::/64", 3},
                 {"2001:db8:1:2:3::/80", 4},
                 {"2001:db8:1:2:3:4::/96", 5},
                 {"2001:db8:1:2:3:4:5::/112", 6},
                 {"2001:db8:1:2:3:4:5:6/128", 7}}));
  EXPECT_EQ(find("2001:db7:ffff:ffff:ffff:ffff:ffff:ffff"), 0u);
  EXPECT_EQ(find("2001:db8::"), value::make(1, 32));
  EXPECT_EQ(find("2001:db8:1::"), value::make(2, 48));
  EXPECT_EQ(find("2001:db8:1:2::"), value::make(3, 64));
  EXPECT_EQ(find("2001:db8:1:2:3::"), value::make(4, 80));
  EXPECT_EQ(find("2001:db8:1:2:3:4::"), value::make(5, 96));
  EXPECT_EQ(find("2001:db8:1:2:3:4:5:5"), value::make(6, 112));
  EXPECT_EQ(find("2001:db8:1:2:3:4:5:6"), value::make(7, 128));
  EXPECT_EQ(find("2001:db8:1:2:3:4:5:7"), value::make(6, 112));
  EXPECT_EQ(find("2001:db8:1:2:3:4:6::"), value::make(5, 96));
  EXPECT_EQ(find("2001:db8:1:2:3:5::"), value::make(4, 80));
  EXPECT_EQ(find("2001:db8:1:2:4::"), value::make(3, 64));
  EXPECT_EQ(find("2001:db8:1:3::"), value::make(2, 48));
  EXPECT_EQ(find("2001:db8:2::"), value::make(1, 32));
  EXPECT_EQ(find("2001:db9::"), 0u);
}

TEST_F(RangeMapV6Test, the_first_and_the_last_address_have_prefixes_of_their_own) {
  build(entries(
      {{"::/0", 9}, {"::/128", 1}, {"ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff/128", 2}, {"ff00::/8", 3}}));
  EXPECT_EQ(find("::"), value::make(1, 128));
  EXPECT_EQ(find("::1"), value::make(9, 0));
  EXPECT_EQ(find("fe00::"), value::make(9, 0));
  EXPECT_EQ(find("ffff:ffff:ffff:ffff:ffff:ffff:ffff:fffe"), value::make(3, 8));
  EXPECT_EQ(find("ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff"), value::make(2, 128));
}

// A prefix alone below a short one: one line beside that of its /32, where each window had one.
TEST_F(RangeMapV6Test, a_long_prefix_that_stands_alone_takes_one_line_more) {
  const auto lines = [&](const std::vector<EntryV6> &of) {
    build(of);
    return map.header().lines_used;
  };
  const auto around = entries({{"2001:db8::/32", 1}, {"2001:db8:8000::/33", 2}});
  auto with_long =
      entries({{"2001:db8::/32", 1}, {"2001:db8:8000::/33", 2}, {"2001:db8:1:2:3:4:5:6/127", 3}});
  EXPECT_EQ(lines(with_long), lines(around) + 1);
  build(with_long);
  EXPECT_EQ(find("2001:db8:1:2:3:4:5:5"), value::make(1, 32));
  EXPECT_EQ(find("2001:db8:1:2:3:4:5:6"), value::make(3, 127));
  EXPECT_EQ(find("2001:db8:1:2:3:4:5:7"), value::make(3, 127));
  EXPECT_EQ(find("2001:db8:1:2:3:4:5:8"), value::make(1, 32));
  EXPECT_EQ(find("2001:db8:1:ffff:ffff:ffff:ffff:ffff"), value::make(1, 32));
  // Three that part in the last window alone are more than the wide line has values: they share it and have one line of that window.
  with_long = entries({{"2001:db8::/32", 1},
                       {"2001:db8:8000::/33", 2},
                       {"2001:db8:1:2:3:4:5:10/127", 3},
                       {"2001:db8:1:2:3:4:5:20/127", 4},
                       {"2001:db8:1:2:3:4:5:30/127", 5}});
  EXPECT_EQ(lines(with_long), lines(around) + 2);
  build(with_long);
  EXPECT_EQ(find("2001:db8:1:2:3:4:5:31"), value::make(5, 127));
  EXPECT_EQ(find("2001:db8:1:2:3:4:5:2f"), value::make(1, 32));
}

// More lines below one /32 than a value reaches: lines between repeat the way.
TEST_F(RangeMapV6Test, a_line_further_ahead_than_a_value_reaches_is_found) {
  std::vector<EntryV6> all;
  for (std::uint32_t i = 0; i < 60'000; ++i) {
    EntryV6 e{{0x2A, 0, 0x14, 0x50}, 64, 0, ListId(static_cast<std::uint16_t>(i % 7))};
    e.address[4] = static_cast<std::uint8_t>(i >> 8);
    e.address[5] = static_cast<std::uint8_t>(i);
    e.address[7] = 5;
    all.push_back(e);
  }
  build(all);
  const auto *header = reinterpret_cast<const table::RangeHeaderV6 *>(section.bytes().data());
  ASSERT_GT(header->lines_used, 2 * table::range_ahead_max - 10'000);
  for (const EntryV6 &e : all) {
    ASSERT_EQ(find(test::prefix_of(e).address), value::make(e.list, 64));
    ASSERT_EQ(find(test::moved(test::prefix_of(e).address, -1)), 0u);
    ASSERT_EQ(find(test::moved(test::last_address(test::prefix_of(e)), 1)), 0u);
  }
}

// Nor from a wide line, of which one place leads to few lines and the next one to very many.
TEST_F(RangeMapV6Test, a_wide_line_reaches_lines_further_ahead_as_well) {
  std::vector<EntryV6> all;
  for (std::uint32_t i = 0; i < 40'020; ++i) {
    const bool few = i < 20;
    EntryV6 e{{0x2A, 0, 0x14, 0x50}, 112, 0, ListId(static_cast<std::uint16_t>(i % 7))};
    e.address[7] = e.address[9] = few ? 1 : 2;
    e.address[10] = static_cast<std::uint8_t>(i >> 8);
    e.address[11] = static_cast<std::uint8_t>(i);
    e.address[13] = 5;
    all.push_back(e);
  }
  build(all);
  ASSERT_GT(map.header().lines_used, table::range_ahead_max);
  ASSERT_TRUE(map.has_wide_lines());
  for (const EntryV6 &e : all) {
    ASSERT_EQ(find(test::prefix_of(e).address), value::make(e.list, 112));
    ASSERT_EQ(find(test::moved(test::prefix_of(e).address, -1)), 0u);
    ASSERT_EQ(find(test::moved(test::last_address(test::prefix_of(e)), 1)), 0u);
  }
}

TEST_F(RangeMapV6Test, many_prefixes_of_32_bits_below_one_16_are_spread_over_the_array) {
  std::vector<EntryV6> all;
  for (std::uint32_t i = 0; i < 65'536; ++i) {
    EntryV6 e{{0x2A, 0}, 32, 0, ListId(static_cast<std::uint16_t>(i % 3000))};
    e.address[2] = static_cast<std::uint8_t>(i >> 8);
    e.address[3] = static_cast<std::uint8_t>(i);
    all.push_back(e);
  }
  build(all);
  for (const EntryV6 &e : all) ASSERT_EQ(find(test::prefix_of(e).address), value::make(e.list, 32));
  EXPECT_GT(table::RangeMapV6::root_shift(map.root(0x2A00)), 10u);
}

TEST_F(RangeMapV6Test, the_same_prefixes_give_the_same_bytes) {
  std::mt19937_64 random(6);
  const auto all = test::random_entries<EntryV6>(random, 500, 9);
  const auto a = test::range_section<RangePlanV6>(all), b = test::range_section<RangePlanV6>(all);
  EXPECT_TRUE(std::ranges::equal(a.bytes(), b.bytes()));
}

TEST_F(RangeMapV6Test, prefixes_out_of_order_or_with_bits_beyond_their_length_are_refused) {
  const EntryV6 one{{0, 0, 0, 1}, 32, 0, 1}, two{{0, 0, 0, 2}, 32, 0, 1};
  EXPECT_TRUE(RangePlanV6::make(std::vector{one, two}));
  EXPECT_FALSE(RangePlanV6::make(std::vector{two, one}));
  EXPECT_FALSE(RangePlanV6::make(std::vector<EntryV6>{{{0, 0, 0, 1}, 31, 0, 1}}));
  EXPECT_FALSE(RangePlanV6::make(std::vector<EntryV6>{{{}, 129, 0, 1}}));
}

// ---- the trust border --------------------------------------------------------------------------

class RangeMapV6Attach : public RangeMapV6Test {
protected:
  RangeMapV6Attach() { build(entries({{"2001:db8::/32", 1}, {"2001:db8:1::/48", 2}, {"2a00::/12", 3}})); }
  table::RangeHeaderV6 &header() { return *reinterpret_cast<table::RangeHeaderV6 *>(section.bytes().data()); }
  template <class T> T *part(std::uint64_t at) { return reinterpret_cast<T *>(section.bytes().data() + at); }
  table::RangeLayoutV6 layout() {
    return table::range_layout_v6(header().values, header().array, header().lines, header().covering,
                                  header().host_marks);
  }
  std::string objection() {
    const auto attached = RangeMapV6::attach(section.bytes());
    return attached ? "" : attached.error().message;
  }
};

TEST_F(RangeMapV6Attach, headers_that_contradict_the_section_are_refused) {
  EXPECT_EQ(objection(), "");
  for (const auto change : std::initializer_list<void (*)(table::RangeHeaderV6 &)>{
           [](auto &h) { h.values = 0; }, [](auto &h) { h.values_used = h.values + 1; },
           [](auto &h) { ++h.lines; }, [](auto &h) { h.array = 0; }, [](auto &h) { h.array = ~0u; },
           [](auto &h) { h.array_used = h.array + 1; }, [](auto &h) { h.reserved.back() = 1; },
           [](auto &h) { h.host_marks *= 2; }, [](auto &h) { h.host_marks = 1000; },
           [](auto &h) { h.wide = 2; }}) {
    const table::RangeHeaderV6 kept = header();
    change(header());
    EXPECT_NE(objection(), "");
    header() = kept;
  }
}

TEST_F(RangeMapV6Attach, a_root_with_places_outside_the_array_is_refused) {
  auto *roots = part<std::uint32_t>(layout().roots);
  roots[3] = RangeMapV6::make_root(header().array - 2, 1);
  EXPECT_EQ(objection(), "");
  for (const std::uint32_t wrong :
       {RangeMapV6::make_root(header().array - 1, 1), RangeMapV6::make_root(header().array, 0),
        RangeMapV6::make_root(0, 16), RangeMapV6::make_root(0, 17), ~0u}) {
    roots[3] = wrong;
    EXPECT_NE(objection().find("root 3"), std::string::npos) << wrong << objection();
  }
}

TEST_F(RangeMapV6Attach, a_place_that_leads_to_no_line_is_refused) {
  part<std::uint32_t>(layout().array)[1] = header().lines;
  EXPECT_NE(objection().find("place 1"), std::string::npos) << objection();
}

TEST_F(RangeMapV6Attach, a_line_of_no_window_is_refused) {
  auto &line = part<table::RangeLine>(layout().lines)[header().lines - 1];
  line.key[0] = 7;
  EXPECT_EQ(objection(), "");
  line.key[0] = 8;
  EXPECT_NE(objection().find("has window 8"), std::string::npos) << objection();
  header().wide = 1;
  for (const std::uint16_t good : {8, 11}) {
    line.key[0] = good;
    EXPECT_EQ(objection(), "") << good;
  }
  line.key[0] = 17;
  EXPECT_NE(objection().find("has window 17"), std::string::npos) << objection();
  line.key[0] = 12;
  EXPECT_NE(objection().find("has window 4, and is wide"), std::string::npos) << objection();
}

TEST_F(RangeMapV6Attach, a_wide_line_that_leads_astray_is_refused) {
  auto &line = part<table::WideRangeLine>(layout().lines)[header().lines - 2];
  const std::string name = "line " + std::to_string(header().lines - 2);
  header().wide = 1;
  line.first_window = table::range_wide | 3;
  for (auto &high : line.high) high = ~std::uint64_t{0}; // no value
  for (auto &value : line.value) value = table::range_lead | 1;
  EXPECT_EQ(objection(), "");
  line.value[5] = table::range_lead | 2;
  EXPECT_NE(objection().find(name + " leads to line"), std::string::npos) << objection();
  line.value[5] = table::range_lead;
  EXPECT_NE(objection().find(name + " leads to itself"), std::string::npos) << objection();
  line.value[5] = static_cast<std::uint16_t>(header().values);
  EXPECT_NE(objection().find(name + " has value"), std::string::npos) << objection();
}

TEST_F(RangeMapV6Attach, a_place_that_leads_to_another_line_than_a_first_one_is_refused) {
  part<std::uint32_t>(layout().array)[1] = header().lines - 1; // a spare line
  EXPECT_NE(objection().find("place 1 leads to line " + std::to_string(header().lines - 1) + " of window 0"),
            std::string::npos)
      << objection();
}

TEST_F(RangeMapV6Attach, places_share_all_their_lines_or_none) {
  auto *array = part<std::uint32_t>(layout().array);
  auto *lines = part<table::FirstLineV6>(layout().lines);
  const std::uint32_t first = header().lines - 4;
  for (std::uint32_t l = first; l < header().lines; ++l) {
    lines[l] = {};
    lines[l].kind = table::range_first;
  }
  array[0] = RangeMapV6::make_place(first, 2);
  for (const std::uint32_t good : {array[0], array[1]}) {
    array[1] = good;
    EXPECT_EQ(objection(), "");
  }
  for (const std::uint32_t shares_some :
       {RangeMapV6::make_place(first, 1), RangeMapV6::make_place(first + 2, 1),
        RangeMapV6::make_place(first + 3, 0)}) {
    array[1] = shares_some;
    EXPECT_NE(objection().find("place 1 shares some of its lines"), std::string::npos) << objection();
  }
  for (const std::uint32_t beyond :
       {RangeMapV6::make_place(first + 1, 2), RangeMapV6::make_place(0, 10), RangeMapV6::make_place(0, 31)}) {
    array[1] = beyond;
    EXPECT_NE(objection().find("place 1 leads to line"), std::string::npos) << objection();
  }
}

TEST_F(RangeMapV6Attach, a_value_that_leads_to_a_first_line_is_refused) {
  auto *lines = part<table::RangeLine>(layout().lines);
  const std::uint32_t from = header().lines - 2;
  lines[from].value[3] = table::range_lead | 1;
  EXPECT_EQ(objection(), "");
  lines[from + 1].key[0] = table::range_first;
  EXPECT_NE(objection().find("line " + std::to_string(from) + " leads to line " + std::to_string(from + 1) +
                             ", which"),
            std::string::npos)
      << objection();
}

TEST_F(RangeMapV6Attach, a_first_line_with_a_value_that_is_not_there_is_refused) {
  const std::uint32_t place = part<std::uint32_t>(layout().array)[0];
  auto &line = part<table::FirstLineV6>(layout().lines)[RangeMapV6::first_of_place(place)];
  line.value[10] = static_cast<std::uint16_t>(header().values);
  EXPECT_NE(objection().find("has value " + std::to_string(header().values)), std::string::npos)
      << objection();
}

} // namespace
} // namespace weir::range_map_v6_test
