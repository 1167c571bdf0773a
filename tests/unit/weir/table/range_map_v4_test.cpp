#include "tests/support/longest_match.hpp"
#include "tests/support/range_section.hpp"
#include "weir/key/text.hpp"

#include <gtest/gtest.h>

#include <string_view>
#include <utility>

namespace weir::range_map_v4_test {
namespace {

using build::EntryV4, build::RangePlanV4, table::RangeMapV4;
namespace value = table::value;

std::uint32_t wire(std::string_view text) { return parse_prefix(text)->address.wire(); }

std::vector<EntryV4> entries(std::initializer_list<std::pair<std::string_view, std::uint16_t>> prefixes) {
  std::vector<EntryV4> out;
  for (const auto &[text, list] : prefixes) out.push_back(test::entry_of(*parse_prefix(text), list));
  return test::in_order(std::move(out));
}

class RangeMapV4Test : public testing::Test {
protected:
  void build(const std::vector<EntryV4> &from) {
    section = test::range_section<RangePlanV4>(from);
    map = test::attached<RangeMapV4>(section.bytes());
  }
  test::AlignedBytes section{0};
  RangeMapV4 map;
};

TEST_F(RangeMapV4Test, without_prefixes_nothing_matches) {
  build({});
  for (const char *address : {"0.0.0.0", "10.1.2.3", "255.255.255.255"})
    EXPECT_EQ(map.find(wire(address)), 0u);
}

TEST_F(RangeMapV4Test, the_longest_prefix_answers_with_its_list_and_length) {
  build(entries({{"10.0.0.0/8", 1}, {"10.1.0.0/16", 2}, {"10.1.2.0/24", 1}, {"10.1.2.3/32", 3}}));
  EXPECT_EQ(map.find(wire("9.255.255.255")), 0u);
  EXPECT_EQ(map.find(wire("10.0.0.0")), value::make(1, 8));
  EXPECT_EQ(map.find(wire("10.1.0.0")), value::make(2, 16));
  EXPECT_EQ(map.find(wire("10.1.2.2")), value::make(1, 24));
  EXPECT_EQ(map.find(wire("10.1.2.3")), value::make(3, 32));
  EXPECT_EQ(map.find(wire("10.1.2.4")), value::make(1, 24));
  EXPECT_EQ(map.find(wire("10.1.3.0")), value::make(2, 16));
  EXPECT_EQ(map.find(wire("10.2.0.0")), value::make(1, 8));
  EXPECT_EQ(map.find(wire("11.0.0.0")), 0u);
}

TEST_F(RangeMapV4Test, prefixes_of_one_address_are_told_apart_by_their_lengths) {
  build(entries({{"0.0.0.0/0", 9}, {"0.0.0.0/1", 8}, {"0.0.0.0/32", 7}, {"255.255.255.255/32", 6}}));
  EXPECT_EQ(map.find(wire("0.0.0.0")), value::make(7, 32));
  EXPECT_EQ(map.find(wire("0.0.0.1")), value::make(8, 1));
  EXPECT_EQ(map.find(wire("128.0.0.0")), value::make(9, 0));
  EXPECT_EQ(map.find(wire("255.255.255.254")), value::make(9, 0));
  EXPECT_EQ(map.find(wire("255.255.255.255")), value::make(6, 32));
}

TEST_F(RangeMapV4Test, a_prefix_ends_where_the_one_around_it_does) {
  build(entries({{"192.0.0.0/2", 1},
                 {"240.0.0.0/4", 2},
                 {"255.255.255.0/24", 3},
                 {"10.0.0.0/8", 4},
                 {"10.255.0.0/16", 5}}));
  EXPECT_EQ(map.find(wire("255.255.255.255")), value::make(3, 24));
  EXPECT_EQ(map.find(wire("255.255.254.255")), value::make(2, 4));
  EXPECT_EQ(map.find(wire("10.255.255.255")), value::make(5, 16));
  EXPECT_EQ(map.find(wire("11.0.0.0")), 0u);
}

TEST_F(RangeMapV4Test, neighbours_of_one_list_and_length_are_one_range) {
  std::vector<EntryV4> all;
  for (std::uint32_t i = 0; i < 256; ++i) all.push_back({10u << 24 | i << 16, 16, 0, 5});
  const auto plan = RangePlanV4::make(all);
  ASSERT_TRUE(plan);
  EXPECT_EQ(plan->footprint().ranges, 3u);
  EXPECT_EQ(plan->footprint().lines_used, 2u) << "one of the list and one of nothing";
}

// Every address of a /16 that is full: 65,536 ranges, lines of lines of lines.
TEST_F(RangeMapV4Test, a_range_for_each_address_of_a_16_is_found) {
  std::vector<EntryV4> all;
  for (std::uint32_t i = 0; i < 65'536; ++i)
    all.push_back({0xC0A8'0000 | i, 32, 0, ListId(static_cast<std::uint16_t>(i % 16'000))});
  build(all);
  for (std::uint32_t i = 0; i < 65'536; ++i)
    ASSERT_EQ(map.find(byteswap32(0xC0A8'0000 | i)),
              value::make(ListId(static_cast<std::uint16_t>(i % 16'000)), 32))
        << i;
  EXPECT_EQ(map.find(byteswap32(0xC0A7'FFFF)), 0u);
  EXPECT_EQ(map.find(byteswap32(0xC0A9'0000)), 0u);
}

TEST_F(RangeMapV4Test, every_number_of_ranges_in_a_21_is_found) {
  for (std::uint32_t ranges = 1; ranges < 300; ++ranges) {
    std::vector<EntryV4> all;
    for (std::uint32_t i = 0; i < ranges; ++i)
      all.push_back({0x0A0A'0800 + i * i % 2048 / ranges + i * (2048 / ranges), 32, 0,
                     ListId(static_cast<std::uint16_t>(i))});
    all = test::in_order(std::move(all));
    build(all);
    const test::LongestMatch slow(all);
    for (std::uint32_t host = 0x0A0A'0000; host < 0x0A0A'1800; ++host)
      ASSERT_EQ(map.find(byteswap32(host)), slow.find(Address::from_host(host)))
          << ranges << " ranges, " << host;
  }
}

TEST_F(RangeMapV4Test, the_same_prefixes_give_the_same_bytes) {
  std::mt19937_64 random(5);
  const auto all = test::random_entries<EntryV4>(random, 500, 9);
  const auto a = test::range_section<RangePlanV4>(all), b = test::range_section<RangePlanV4>(all);
  EXPECT_TRUE(std::ranges::equal(a.bytes(), b.bytes()));
}

TEST_F(RangeMapV4Test, more_pairs_of_list_and_length_than_fit_are_refused_with_a_remedy) {
  std::vector<EntryV4> all;
  for (std::uint32_t i = 0; i < 16'384; ++i)
    all.push_back({i << 16, 16, 0, ListId(static_cast<std::uint16_t>(i))});
  const auto plan = RangePlanV4::make(all);
  ASSERT_FALSE(plan);
  EXPECT_EQ(plan.error().code, Errc::refused);
  EXPECT_NE(plan.error().message.find("16383"), std::string::npos) << plan.error().message;
  EXPECT_NE(plan.error().message.find("fewer lists"), std::string::npos) << plan.error().message;
  all.pop_back();
  EXPECT_TRUE(RangePlanV4::make(all));
}

TEST_F(RangeMapV4Test, prefixes_out_of_order_or_with_bits_beyond_their_length_are_refused) {
  EXPECT_FALSE(RangePlanV4::make(std::vector<EntryV4>{{2, 32, 0, 1}, {1, 32, 0, 1}}));
  EXPECT_FALSE(RangePlanV4::make(std::vector<EntryV4>{{0, 9, 0, 1}, {0, 8, 0, 1}}));
  EXPECT_FALSE(RangePlanV4::make(std::vector<EntryV4>{{1, 31, 0, 1}}));
  EXPECT_FALSE(RangePlanV4::make(std::vector<EntryV4>{{0, 33, 0, 1}}));
}

// ---- the trust border --------------------------------------------------------------------------

class RangeMapV4Attach : public RangeMapV4Test {
protected:
  RangeMapV4Attach() {
    std::vector<EntryV4> all;
    for (std::uint32_t i = 0; i < 40; ++i)
      all.push_back({10u << 24 | i << 1, 32, 0, ListId(static_cast<std::uint16_t>(i))});
    build(all);
  }
  table::RangeHeaderV4 &header() { return *reinterpret_cast<table::RangeHeaderV4 *>(section.bytes().data()); }
  template <class T> T *part(std::uint64_t at) { return reinterpret_cast<T *>(section.bytes().data() + at); }
  table::RangeLayoutV4 layout() {
    return table::range_layout_v4(header().values, header().lines, header().covering);
  }
  std::uint64_t *cells() { return part<std::uint64_t>(layout().cells); }
  table::RangeLine *lines() { return part<table::RangeLine>(layout().lines); }
  std::uint32_t *values() { return part<std::uint32_t>(layout().values); }
  std::string objection() {
    const auto attached = RangeMapV4::attach(section.bytes());
    return attached ? "" : attached.error().message;
  }
};

TEST_F(RangeMapV4Attach, headers_that_contradict_the_section_are_refused) {
  EXPECT_EQ(objection(), "");
  for (const auto change : std::initializer_list<void (*)(table::RangeHeaderV4 &)>{
           [](auto &h) { h.values = 0; }, [](auto &h) { h.values = 16'385; },
           [](auto &h) {
             ++h.values;
             h.lines = ~0u;
           },
           [](auto &h) { h.values_used = 0; }, [](auto &h) { h.values_used = h.values + 1; },
           [](auto &h) { ++h.lines; }, [](auto &h) { h.lines = 0; },
           [](auto &h) { h.lines_used = h.lines + 1; }, [](auto &h) { h.reserved.back() = 1; }}) {
    const table::RangeHeaderV4 kept = header();
    change(header());
    EXPECT_NE(objection(), "");
    header() = kept;
  }
  EXPECT_FALSE(RangeMapV4::attach(section.bytes().first(section.bytes().size() - 1)));
  EXPECT_FALSE(RangeMapV4::attach(section.bytes().first(63)));
  EXPECT_FALSE(RangeMapV4::attach({}));
  EXPECT_EQ(objection(), "");
}

TEST_F(RangeMapV4Attach, a_cell_that_leads_outside_is_refused) {
  cells()[7] = header().lines - 1;
  EXPECT_EQ(objection(), "");
  cells()[7] = header().lines;
  EXPECT_NE(objection().find("cell 7"), std::string::npos) << objection();
  cells()[7] = std::uint64_t{0x8000'0000} << 32 | (header().lines - 1);
  EXPECT_NE(objection().find("cell 7"), std::string::npos) << objection();
}

TEST_F(RangeMapV4Attach, a_value_that_is_none_or_leads_outside_or_to_itself_is_refused) {
  for (const std::uint32_t line : {0u, 1u, header().lines - 1}) {
    table::RangeLine &at = lines()[line];
    const table::RangeLine kept = at;
    for (const std::uint32_t wrong :
         {header().values, 0x4000u, 0x7FFFu, 0x8000u, 0xFFFFu, 0x8000u + header().lines - line}) {
      at.value[3] = static_cast<std::uint16_t>(wrong);
      EXPECT_NE(objection().find("line " + std::to_string(line)), std::string::npos) << wrong << objection();
      at = kept;
    }
    at.value[3] = static_cast<std::uint16_t>(header().values - 1);
    EXPECT_EQ(objection(), "");
    at = kept;
  }
}

TEST_F(RangeMapV4Attach, more_steps_than_an_address_may_take_are_refused) {
  for (std::uint32_t i = 0; i + 1 < header().lines; ++i) lines()[i].value[0] = 0x8001;
  ASSERT_GT(header().lines, table::range_steps_max);
  EXPECT_NE(objection().find("255 steps"), std::string::npos) << objection();
}

TEST_F(RangeMapV4Attach, points_stand_in_sections_that_say_so_and_never_in_place_0) {
  table::RangeLine &line = lines()[1];
  const table::RangeLine kept = line;
  line.value[3] = table::range_point | 1;
  EXPECT_NE(objection().find("line 1 has value"), std::string::npos) << objection();
  header().points = 1;
  EXPECT_EQ(objection(), "");
  line.value[3] = static_cast<std::uint16_t>(table::range_point | header().values);
  EXPECT_NE(objection().find("line 1 has value"), std::string::npos) << objection();
  line = kept;
  line.value[0] = table::range_point | 1;
  EXPECT_NE(objection().find("line 1 begins with a point"), std::string::npos) << objection();
  line = kept;
  line.value[3] = table::range_lead | table::range_point | 1;
  EXPECT_NE(objection().find("line 1 leads on by 16385 lines"), std::string::npos) << objection();
  line = kept;
  header().points = 2;
  EXPECT_NE(objection().find("neither there nor not: 2"), std::string::npos) << objection();
}

TEST_F(RangeMapV4Attach, values_without_list_or_with_flags_or_an_impossible_length_are_refused) {
  for (const std::uint32_t wrong :
       {0u, value::make(1, 33), value::make(1, 8) | value::tombstone, 32u << 16}) {
    const std::uint32_t kept = std::exchange(values()[1], wrong);
    EXPECT_NE(objection(), "") << wrong;
    values()[1] = kept;
  }
  values()[0] = value::make(1, 8);
  EXPECT_NE(objection(), "");
  values()[0] = 0;
  values()[header().values - 1] = value::make(1, 8);
  EXPECT_NE(objection(), "") << "not in use";
}

} // namespace
} // namespace weir::range_map_v4_test
