// What packet rules see of a packet.
#include "weir/key/tuple.hpp"

#include "tests/support/packets.hpp"

#include <gtest/gtest.h>

namespace weir::test::tuple_test {
namespace {

PacketTuple tuple_in(const Frame &frame) {
  const ParsedPacket outer = parse_packet(frame.bytes.data(), frame.bytes.size());
  EXPECT_TRUE(outer.is_ip());
  return tuple_of(frame.bytes.data(), frame.bytes.size(), outer);
}

unsigned to_port(const Frame &frame, const PacketTuple &tuple) {
  return detail::load_be16(frame.bytes.data() + tuple.ports_offset + 2);
}

TEST(PacketTuple, has_the_ports_behind_options_and_extension_headers) {
  const Frame v4 = FrameBuilder().ethernet().ipv4({.options_words = 5}).tcp(1000, 443).frame();
  EXPECT_EQ(tuple_in(v4).protocol, 6);
  EXPECT_EQ(to_port(v4, tuple_in(v4)), 443u);
  const Frame v6 = FrameBuilder().ethernet().ipv6({.extensions = {0, 60, 43}}).udp(1000, 53).frame();
  EXPECT_EQ(tuple_in(v6).protocol, 17);
  EXPECT_EQ(to_port(v6, tuple_in(v6)), 53u);
  EXPECT_TRUE(tuple_in(v6).is_v6);
}

TEST(PacketTuple, has_no_ports_where_none_stand) {
  EXPECT_FALSE(tuple_in(FrameBuilder().ethernet().ipv4().icmp(8).frame()).has_ports());
  const auto later = FrameBuilder().ethernet().ipv4({.fragment_offset = 8}).udp(1, 53).frame();
  EXPECT_FALSE(tuple_in(later).has_ports());
  EXPECT_EQ(tuple_in(later).protocol, 17) << "but its header says what it is a part of";
  const auto cut = FrameBuilder().ethernet().ipv4().udp(1, 53).frame(14 + 20 + 3);
  EXPECT_FALSE(tuple_in(cut).has_ports());
  const auto first = FrameBuilder().ethernet().ipv4({.more_fragments = true}).udp(1, 53).frame();
  EXPECT_TRUE(tuple_in(first).has_ports());
}

TEST(PacketTuple, a_later_fragment_of_ipv6_has_the_protocol_that_its_header_names) {
  Frame later = FrameBuilder().ethernet().ipv6({.extensions = {44}}).udp(1, 53).frame();
  later.bytes[14 + 40 + 3] = 8; // fragment offset 1
  EXPECT_FALSE(tuple_in(later).has_ports());
  EXPECT_EQ(tuple_in(later).protocol, 17);
}

TEST(PacketTuple, names_the_outermost_vlan_and_no_priority_tag) {
  EXPECT_EQ(tuple_in(FrameBuilder().ethernet().ipv4().udp(1, 2).frame()).vlan, 0);
  EXPECT_EQ(tuple_in(FrameBuilder().ethernet().vlan(12).ipv4().udp(1, 2).frame()).vlan, 12);
  EXPECT_EQ(tuple_in(FrameBuilder().ethernet().vlan(0x2000).vlan(0xE000 | 12).vlan(13).ipv4().frame()).vlan,
            12);
}

} // namespace
} // namespace weir::test::tuple_test
