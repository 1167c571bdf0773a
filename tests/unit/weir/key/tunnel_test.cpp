// What a packet carries, found behind each kind of tunnel header that tunnel.hpp names.
#include "tests/support/packets.hpp"
#include "weir/key/text.hpp"
#include "weir/key/tunnel.hpp"

#include <gtest/gtest.h>

#include <memory>

namespace weir::tunnel_test {
namespace {

using test::Frame;
using test::FrameBuilder;

constexpr const char *carried = "10.9.8.7", *carried_v6 = "2001:db8:9::7";

ParsedPacket inside(const Frame &frame) {
  const auto copy = std::make_unique<std::uint8_t[]>(frame.bytes.size()); // ends where the frame ends
  std::copy(frame.bytes.begin(), frame.bytes.end(), copy.get());
  return look_inside(copy.get(), frame.bytes.size(), parse_packet(copy.get(), frame.bytes.size()));
}

std::string source_of(const FrameBuilder &builder) {
  const Frame frame = builder.frame();
  const ParsedPacket packet = inside(frame);
  if (!packet.is_ip()) return std::string(name_of(packet.kind));
  return to_string(address_at(packet, frame.bytes.data(), packet.source_offset));
}

FrameBuilder from_v4() { return FrameBuilder().ethernet().ipv4(); }
FrameBuilder from_v6() { return FrameBuilder().ethernet().ipv6(); }

TEST(Tunnel, carries_ip_in_ip_of_each_family) {
  EXPECT_EQ(source_of(from_v4().ipv4({.source = carried}).udp(1, 2)), carried);
  EXPECT_EQ(source_of(from_v4().ipv6({.source = carried_v6})), carried_v6);
  EXPECT_EQ(source_of(from_v6().ipv4({.source = carried})), carried);
  EXPECT_EQ(source_of(from_v6().ipv6({.source = carried_v6})), carried_v6);
  EXPECT_EQ(
      source_of(FrameBuilder().ethernet().vlan(7).ipv4({.options_words = 10}).ipv4({.source = carried})),
      carried);
  const Frame frame = from_v4().ipv6({.source = carried_v6, .destination = "2001:db8::5"}).frame();
  const ParsedPacket packet = inside(frame);
  EXPECT_EQ(packet.kind, PacketKind::ipv6);
  EXPECT_EQ(to_string(address_at(packet, frame.bytes.data(), packet.destination_offset)), "2001:db8::5");
}

TEST(Tunnel, carries_gre_with_every_option) {
  for (unsigned options = 0; options < 8; ++options) {
    const unsigned flags = (options & 1) << 15 | (options & 2) << 12 | (options & 4) << 10;
    EXPECT_EQ(source_of(from_v4().gre(flags).ipv4({.source = carried})), carried) << flags;
    EXPECT_EQ(source_of(from_v6().gre(flags).ipv6({.source = carried_v6})), carried_v6) << flags;
    EXPECT_EQ(source_of(from_v4().gre(flags).ethernet().vlan(3).ipv4({.source = carried})), carried) << flags;
  }
}

TEST(Tunnel, looks_into_gre_of_version_0_without_routing_alone) {
  EXPECT_EQ(source_of(from_v4().gre(0x0001).ipv4({.source = carried})), "non_ip") << "PPTP";
  EXPECT_EQ(source_of(from_v4().gre(0x4000).ipv4({.source = carried})), "non_ip");
  EXPECT_EQ(source_of(from_v4().gre(0, 0x880B).payload(40)), "non_ip");
}

TEST(Tunnel, carries_the_frame_in_vxlan) {
  const auto over = [](unsigned port, unsigned flags) {
    return source_of(from_v4().udp(1, port).vxlan(flags).ethernet().ipv4({.source = carried}));
  };
  EXPECT_EQ(over(4789, 0x08), carried);
  EXPECT_EQ(over(4789, 0xFF), carried) << "hosts step over what is reserved";
  EXPECT_EQ(over(4789, 0xF7), "non_ip") << "without a VNI";
  EXPECT_EQ(over(4788, 0x08), "non_ip");
  EXPECT_EQ(source_of(from_v4().udp(1, 4789).vxlan().ethernet().vlan(1).vlan(2).vlan(3).ipv4()),
            "too_many_tags");
  EXPECT_EQ(source_of(from_v4().udp(1, 4789).vxlan().ethernet().arp("10.0.0.1", "10.0.0.2")), "non_ip");
  EXPECT_EQ(source_of(from_v6().udp(1, 4789).vxlan().ethernet().snap().ipv6({.source = carried_v6})),
            carried_v6);
}

TEST(Tunnel, is_found_behind_up_to_eight_headers_of_ipv6) {
  const auto behind = [](std::vector<unsigned> kinds) {
    return source_of(
        FrameBuilder().ethernet().ipv6({.extensions = std::move(kinds)}).ipv6({.source = carried_v6}));
  };
  EXPECT_EQ(behind({60}), carried_v6) << "as Linux sends it, with a limit of encapsulation";
  EXPECT_EQ(behind({0, 43, 60, 44}), carried_v6);
  EXPECT_EQ(behind({60, 60, 60, 60, 60, 60, 60, 60}), carried_v6);
  EXPECT_EQ(behind({60, 60, 60, 60, 60, 60, 60, 60, 60}), "malformed");
  EXPECT_EQ(behind({51}), "non_ip") << "authentication header";
}

TEST(Tunnel, a_later_fragment_has_no_header_inside) {
  EXPECT_EQ(source_of(FrameBuilder().ethernet().ipv4({.more_fragments = true}).ipv4({.source = carried})),
            carried);
  EXPECT_EQ(source_of(FrameBuilder().ethernet().ipv4({.fragment_offset = 1}).ipv4({.source = carried})),
            "non_ip");
  Frame later = FrameBuilder().ethernet().ipv6({.extensions = {44}}).ipv4({.source = carried}).frame();
  EXPECT_TRUE(inside(later).is_ip());
  later.bytes[14 + 40 + 3] = 0x08; // offset 1
  EXPECT_EQ(inside(later).kind, PacketKind::non_ip);
}

TEST(Tunnel, a_header_inside_that_does_not_fit_is_malformed) {
  const auto each_cut = [](const FrameBuilder &builder, std::size_t from) {
    const std::size_t whole = builder.frame().bytes.size();
    for (std::size_t cut = from; cut < whole; ++cut)
      EXPECT_EQ(inside(builder.frame(cut)).kind, PacketKind::malformed) << cut << " of " << whole;
    EXPECT_TRUE(inside(builder.frame()).is_ip());
  };
  each_cut(from_v4().ipv4({.source = carried}), 34);
  each_cut(from_v6().ipv6(), 54);
  each_cut(from_v4().gre(0xB000).ipv4(), 34 + 4);
  each_cut(from_v4().udp(1, 4789).vxlan().ethernet().ipv4(), 34 + 4);
  each_cut(FrameBuilder().ethernet().ipv6({.extensions = {60, 0}}).ipv4(), 54);
  EXPECT_EQ(inside(from_v4().gre().ipv4().frame(34 + 2)).kind, PacketKind::malformed);
  EXPECT_EQ(source_of(from_v4().ipv4({.version = 6u})), "malformed");
  EXPECT_EQ(source_of(from_v4().ipv4({.ihl = 4u})), "malformed");
}

TEST(Tunnel, nothing_is_inside_what_carries_nothing) {
  EXPECT_EQ(source_of(from_v4().udp(53, 1024).payload(60)), "non_ip");
  EXPECT_EQ(source_of(from_v6().tcp(1, 4789).payload(60)), "non_ip");
  EXPECT_EQ(source_of(FrameBuilder().ethernet().arp("10.0.0.1", "10.0.0.2")), "non_ip");
  EXPECT_EQ(source_of(FrameBuilder()
                          .ethernet()
                          .ipv4({.source = "0.0.0.0", .destination = "255.255.255.255"})
                          .udp(68, 67)
                          .payload(60)),
            "non_ip")
      << "link local";
}

TEST(Tunnel, a_tunnel_in_a_tunnel_is_not_looked_into) {
  EXPECT_EQ(source_of(from_v4().ipv4({.source = carried}).ipv4({.source = "10.1.1.1"})), carried);
}

TEST(Tunnel, plain_packets_that_may_carry_something_are_told_apart) {
  const auto may = [](const FrameBuilder &builder) {
    const Frame frame = builder.frame();
    EXPECT_TRUE(is_plain_ipv4<0>(frame.bytes.data(), frame.bytes.size()));
    return may_carry(frame.bytes.data(), frame.bytes.size());
  };
  EXPECT_TRUE(may(from_v4().ipv4()));
  EXPECT_TRUE(may(from_v4().ipv6()));
  EXPECT_TRUE(may(from_v4().gre().ipv4()));
  EXPECT_TRUE(may(from_v4().udp(1, 4789).vxlan().ethernet().ipv4()));
  EXPECT_FALSE(may(from_v4().udp(4789, 1).payload(60)));
  EXPECT_FALSE(may(from_v4().tcp(1, 4789)));
  EXPECT_FALSE(may(from_v4().payload(60)));
  EXPECT_FALSE(may(FrameBuilder().ethernet().ipv4({.protocol = 111u})));
}

} // namespace
} // namespace weir::tunnel_test
