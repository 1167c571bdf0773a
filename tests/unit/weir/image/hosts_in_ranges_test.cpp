// Few hosts beside many prefixes of the deny side: they stand in the range map, and changes find them there.
#include "tests/support/image_memory.hpp"
#include "weir/image/writer.hpp"
#include "weir/key/text.hpp"

#include <gtest/gtest.h>

#include <algorithm>

namespace weir::hosts_in_ranges_test {
namespace {

using image::Change;

class HostsInRanges : public testing::TestWithParam<Family> {
protected:
  static constexpr ListId wide{1}, bans{2}, other{3};

  // Hosts: one inside a prefix, one alone, and the last address of all.
  const bool v4 = GetParam() == Family::ipv4;
  const Address inside = at(v4 ? "10.0.7.9" : "2001:db8:7::9"), alone = at(v4 ? "10.99.0.1" : "2001:db9::1"),
                last = at(v4 ? "255.255.255.255" : "ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff");

  static Address at(const std::string &text) { return parse_address(text).value(); }
  [[nodiscard]] Prefix host(const Address &a) const {
    return {a, static_cast<std::uint8_t>(address_bits(GetParam()))};
  }
  [[nodiscard]] test::ImageMemory build(unsigned prefixes) const {
    std::vector<build::EntryV4> four;
    std::vector<build::EntryV6> six;
    const auto add = [&](const Prefix &p, ListId list) {
      if (v4)
        four.push_back({p.address.host(), p.length, 0, list});
      else
        six.push_back({p.address.bytes, p.length, 0, list});
    };
    for (unsigned n = 0; n < prefixes; ++n)
      add(parse_prefix(v4 ? "10.0." + std::to_string(n) + ".0/24" : "2001:db8:" + std::to_string(n) + "::/48")
              .value(),
          wide);
    for (const Address &a : {inside, alone, last}) add(host(a), bans);
    std::ranges::sort(four);
    std::ranges::sort(six);
    build::BuildInput in;
    in.lists = {{"wide", wide}, {"bans", bans}, {"other", other}};
    in.deny = {four, six};
    in.seed = 11;
    return test::ImageMemory::build(in);
  }
  [[nodiscard]] std::uint32_t tabled_hosts(const image::ImageView &view) const {
    return (v4 ? view.ranges_v4[Side::deny].in_use() : view.ranges_v6[Side::deny].in_use()) &
           table::range_hosts;
  }
  [[nodiscard]] image::Delta delta(const Address &a, std::optional<ListId> list) const {
    image::Delta d;
    d.op = list ? image::DeltaOp::set : image::DeltaOp::unset;
    d.side = Side::deny;
    d.family = GetParam();
    d.length = host(a).length;
    d.list = list.value_or(ListId());
    d.address = a.bytes;
    return d;
  }
  [[nodiscard]] static ListId list_at(const image::ImageWriter &writer, const Address &a) {
    return table::value::list_of(image::lookup(writer.view(), Side::deny, a));
  }
};

TEST_P(HostsInRanges, are_there_where_prefixes_are_eight_times_as_many) {
  EXPECT_EQ(tabled_hosts(build(24).view()), 0u);
  EXPECT_NE(tabled_hosts(build(23).view()), 0u);
}

TEST_P(HostsInRanges, leave_what_is_around_them_when_they_are_taken_out) {
  const test::ImageMemory memory = build(30);
  auto writer = image::ImageWriter::attach(memory.bytes(), [] {}).value();
  EXPECT_EQ(list_at(writer, inside), bans);
  EXPECT_EQ(writer.apply(delta(inside, std::nullopt)), Change::in_place);
  EXPECT_EQ(list_at(writer, inside), wide);
  for (const Address &a : {alone, last}) {
    EXPECT_EQ(list_at(writer, a), bans);
    EXPECT_EQ(writer.apply(delta(a, std::nullopt)), Change::in_place);
    EXPECT_EQ(list_at(writer, a), no_list);
    EXPECT_EQ(writer.apply(delta(a, std::nullopt)), Change::unchanged);
  }
}

TEST_P(HostsInRanges, give_way_to_another_list_and_do_not_come_back_after_it) {
  const test::ImageMemory memory = build(30);
  auto writer = image::ImageWriter::attach(memory.bytes(), [] {}).value();
  EXPECT_EQ(writer.apply(delta(inside, bans)), Change::unchanged);
  EXPECT_EQ(writer.apply(delta(inside, other)), Change::in_place);
  EXPECT_EQ(tabled_hosts(writer.view()) != 0, !v4) << "one of IPv6 that comes stands in the table";
  EXPECT_EQ(list_at(writer, inside), other);
  EXPECT_EQ(list_at(writer, alone), bans);
  EXPECT_EQ(writer.apply(delta(inside, std::nullopt)), Change::in_place);
  EXPECT_EQ(list_at(writer, inside), wide);
  EXPECT_EQ(writer.apply(delta(inside, other)), Change::in_place);
  EXPECT_EQ(list_at(writer, inside), other);
}

TEST_P(HostsInRanges, join_the_map_in_place_where_they_are_few) {
  const test::ImageMemory memory = build(100);
  auto writer = image::ImageWriter::attach(memory.bytes(), [] {}).value();
  const Address beside = at(v4 ? "10.0.7.10" : "2001:db8:7::a"), far = at(v4 ? "172.16.0.1" : "2001:dba::1");
  for (const Address &a : {beside, far}) {
    EXPECT_EQ(writer.apply(delta(a, other)), Change::in_place);
    EXPECT_EQ(writer.apply(delta(a, other)), Change::unchanged);
    EXPECT_EQ(list_at(writer, a), other);
    EXPECT_EQ(tabled_hosts(writer.view()) != 0, !v4);
  }
  EXPECT_EQ(list_at(writer, inside), bans);
  EXPECT_EQ(writer.apply(delta(beside, std::nullopt)), Change::in_place);
  EXPECT_EQ(list_at(writer, beside), wide);
  EXPECT_EQ(writer.apply(delta(far, std::nullopt)), Change::in_place);
  EXPECT_EQ(list_at(writer, far), no_list);
}

// 32,000 hosts without order, and one prefix, or more.
class ManyHostsInRanges : public testing::TestWithParam<build::HostHome> {
protected:
  static constexpr std::uint32_t hosts = 32'000;
  static Address odd(std::uint32_t i) { return Address::from_host(i * 2654435761u | 1); }
  // No neighbour of an odd one but by chance, with which it would be one range.
  static Address even(std::uint32_t i) { return Address::from_host((i * 2654435761u + 0x5000) & ~1u); }

  static build::BuildInput input(std::span<const build::EntryV4> entries, build::HostHome home) {
    build::BuildInput in;
    in.lists = {{"wide", ListId(1)}, {"bans", ListId(2)}};
    in.deny.v4 = entries;
    in.deny.hosts_v4 = home;
    in.seed = 12;
    return in;
  }
  static std::vector<build::EntryV4> entries() {
    std::vector<build::EntryV4> all{{10u << 24, 8, 0, ListId(1)}};
    for (std::uint32_t i = 0; i < hosts; ++i) all.push_back({odd(i).host(), 32, 0, ListId(2)});
    std::ranges::sort(all);
    return all;
  }
  static image::Delta add(const Prefix &prefix) {
    image::Delta d;
    d.op = image::DeltaOp::set;
    d.side = Side::deny;
    d.family = Family::ipv4;
    d.length = prefix.length;
    d.list = ListId(2);
    d.address = prefix.address.bytes;
    return d;
  }
  static bool asks_table(const image::ImageWriter &writer) {
    return (writer.view().ranges_v4[Side::deny].in_use() & table::range_hosts) != 0;
  }
};

// First into the map, until half of its spare lines are taken, then into the table, which has room for a sixteenth as
// many; prefixes still find lines.
TEST_P(ManyHostsInRanges, take_what_comes_and_leave_lines_for_prefixes) {
  const auto all = entries();
  const test::ImageMemory memory = test::ImageMemory::build(input(all, GetParam()));
  auto writer = image::ImageWriter::attach(memory.bytes(), [] {}).value();
  ASSERT_FALSE(asks_table(writer));
  const image::ImageWriter::MapLoad before = writer.map_load();
  ASSERT_NE(before.lines, 0u);
  std::uint32_t joined = 0, i = 0;
  for (; !asks_table(writer) && i < hosts; ++i) {
    ASSERT_EQ(writer.apply(add({even(i), 32})), Change::in_place) << i;
    joined = i;
  }
  EXPECT_GT(joined, 100u);
  writer.grace_passed();
  const image::ImageWriter::MapLoad full = writer.map_load();
  EXPECT_EQ(full.hosts_beside, 1u);
  EXPECT_NEAR(full.free_lines, before.free_lines / 2.0, 8);
  EXPECT_FALSE(full.saturated());
  image::ImageWriter::BatchDone done;
  for (const std::uint32_t end = i + hosts / 17; i < end; ++i) {
    const image::Delta d = add({even(i), 32});
    done = writer.apply_batch({&d, 1});
    ASSERT_EQ(done.applied, 1u);
    ASSERT_EQ(done.in_overlay, 0u);
  }
  EXPECT_TRUE(done.map_saturated);
  EXPECT_TRUE(writer.map_load().saturated());
  for (std::uint32_t n = 0; n < i; ++n)
    ASSERT_EQ(table::value::list_of(image::lookup(writer.view(), Side::deny, even(n))), ListId(2)) << n;
  for (unsigned n = 0; n < 50; ++n)
    ASSERT_EQ(writer.apply(add(parse_prefix(std::to_string(n + 20) + ".77.5.64/27").value())),
              Change::in_place);
}

TEST_P(ManyHostsInRanges, that_come_stand_in_the_table_where_a_filter_is_before_it) {
  const auto all = entries();
  build::BuildInput in = input(all, GetParam());
  in.deny.front_filter = true;
  const test::ImageMemory memory = test::ImageMemory::build(in);
  auto writer = image::ImageWriter::attach(memory.bytes(), [] {}).value();
  EXPECT_EQ(writer.apply(add({even(3), 32})), Change::in_place);
  EXPECT_TRUE(asks_table(writer));
  EXPECT_EQ(writer.map_load().lines, 0u);
}

// Fifty hosts of a /24 need lower lines, which are for the addresses around them alone.
TEST_P(ManyHostsInRanges, of_a_crowded_24_leave_one_line_to_the_rest_of_its_16) {
  std::vector<build::EntryV4> all;
  for (std::uint32_t i = 0; i < 50; ++i) all.push_back({0x0B0B3000 + 5 * i, 32, 0, ListId(2)});
  const test::ImageMemory memory = test::ImageMemory::build(input(all, GetParam()));
  const image::ImageView view = memory.view();
  const table::RangeMapV4 &map = view.ranges_v4[Side::deny];
  unsigned asked_twice = 0;
  for (std::uint32_t key = 0; key < 0x10000; ++key)
    asked_twice += map.lines_asked(byteswap32(0x0B0B0000 + key)) > 1 ? 1 : 0;
  EXPECT_GT(asked_twice, 0u);
  EXPECT_LE(asked_twice, 256u);
}

// A host of IPv6 that gets another list goes to the table, and asks for no new map of IPv4.
TEST_P(ManyHostsInRanges, are_not_counted_beside_the_map_when_they_are_of_the_other_family) {
  std::vector<build::EntryV6> six;
  for (std::uint8_t n = 0; n < 80; ++n) six.push_back({{0x20, 1, 0xd, 0xb8, n}, 48, 0, ListId(1)});
  six.push_back({{0x20, 1, 0xd, 0xb9}, 128, 0, ListId(2)});
  const auto all = entries();
  build::BuildInput in = input(all, GetParam());
  in.deny.v6 = six;
  const test::ImageMemory memory = test::ImageMemory::build(in);
  auto writer = image::ImageWriter::attach(memory.bytes(), [] {}).value();
  image::Delta d;
  d.op = image::DeltaOp::set;
  d.side = Side::deny;
  d.family = Family::ipv6;
  d.length = 128;
  d.list = ListId(1);
  d.address = six.back().address;
  ASSERT_EQ(writer.apply(d), Change::in_place);
  EXPECT_EQ(writer.map_load().hosts_beside, 0u);
}

// A /16 with thousands of hosts would be written anew for each that comes.
TEST_P(ManyHostsInRanges, of_one_crowded_16_stand_in_the_table) {
  std::vector<build::EntryV4> all{{10u << 24, 8, 0, ListId(1)}};
  for (std::uint32_t i = 0; i < 3000; ++i) all.push_back({0x0B0B0000 + 9 * i, 32, 0, ListId(2)});
  const test::ImageMemory memory = test::ImageMemory::build(input(all, GetParam()));
  auto writer = image::ImageWriter::attach(memory.bytes(), [] {}).value();
  EXPECT_EQ(writer.apply(add({Address::from_host(0x0B0B0004), 32})), Change::in_place);
  EXPECT_TRUE(asks_table(writer));
  EXPECT_EQ(writer.map_load().hosts_beside, 1u);
}

INSTANTIATE_TEST_SUITE_P(Homes, ManyHostsInRanges,
                         testing::Values(build::HostHome::ranges, build::HostHome::points),
                         [](const auto &home) {
                           return home.param == build::HostHome::ranges ? "ranges" : "points";
                         });
INSTANTIATE_TEST_SUITE_P(Families, HostsInRanges, testing::Values(Family::ipv4, Family::ipv6),
                         [](const auto &family) { return family.param == Family::ipv4 ? "v4" : "v6"; });

} // namespace
} // namespace weir::hosts_in_ranges_test
