// Few hosts beside many prefixes of the deny side: they stand in the range map, and changes find them there.
#include "tests/support/image_memory.hpp"
#include "weir/image/writer.hpp"
#include "weir/key/text.hpp"

#include <gtest/gtest.h>

#include <algorithm>

namespace weir {
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
  EXPECT_NE(tabled_hosts(writer.view()), 0u) << "a host that comes later stands in the table";
  EXPECT_EQ(list_at(writer, inside), other);
  EXPECT_EQ(list_at(writer, alone), bans);
  EXPECT_EQ(writer.apply(delta(inside, std::nullopt)), Change::in_place);
  EXPECT_EQ(list_at(writer, inside), wide);
  EXPECT_EQ(writer.apply(delta(inside, other)), Change::in_place);
  EXPECT_EQ(list_at(writer, inside), other);
}

// However many stand in the map, a sixteenth as many more have room in the table.
TEST(ManyHostsInRanges, leave_room_in_the_table_for_hosts_that_come_later) {
  constexpr std::uint32_t hosts = 32'000;
  std::vector<build::EntryV4> entries{{10u << 24, 8, 0, ListId(1)}};
  for (std::uint32_t i = 0; i < hosts; ++i) entries.push_back({i * 2654435761u | 1, 32, 0, ListId(2)});
  std::ranges::sort(entries);
  for (const build::HostHome home : {build::HostHome::ranges, build::HostHome::points}) {
    build::BuildInput in;
    in.lists = {{"wide", ListId(1)}, {"bans", ListId(2)}};
    in.deny.v4 = entries;
    in.deny.hosts_v4 = home;
    in.seed = 12;
    const test::ImageMemory memory = test::ImageMemory::build(in);
    auto writer = image::ImageWriter::attach(memory.bytes(), [] {}).value();
    ASSERT_EQ(writer.view().ranges_v4[Side::deny].in_use() & table::range_hosts, 0u);
    for (std::uint32_t i = 0; i < hosts / 16; ++i) {
      const Address a = Address::from_host(i * 2654435761u & ~1u);
      image::Delta d;
      d.op = image::DeltaOp::set;
      d.side = Side::deny;
      d.family = Family::ipv4;
      d.length = 32;
      d.list = ListId(2);
      d.address = a.bytes;
      ASSERT_EQ(writer.apply(d), Change::in_place) << i;
      ASSERT_EQ(table::value::list_of(image::lookup(writer.view(), Side::deny, a)), ListId(2));
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Families, HostsInRanges, testing::Values(Family::ipv4, Family::ipv6),
                         [](const auto &family) { return family.param == Family::ipv4 ? "v4" : "v6"; });

} // namespace
} // namespace weir
