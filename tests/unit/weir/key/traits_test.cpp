// Traits of headers: classes, and nothing read that is not there.
#include "weir/key/traits.hpp"

#include "tests/support/packets.hpp"
#include "tests/support/seed.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <random>

namespace weir::test::traits_test {
namespace {

Traits of(const FrameBuilder &frame) {
  const auto &bytes = frame.frame().bytes;
  return traits_of(bytes.data(), bytes.size(), parse_packet(bytes.data(), bytes.size()));
}

TEST(Traits, ports_have_classes) {
  EXPECT_EQ(port_class(22), 2);
  EXPECT_EQ(port_class(11211), 20);
  EXPECT_EQ(port_class(1), 21);
  EXPECT_EQ(port_class(1024), 22);
  EXPECT_EQ(port_class(32768), 23);
  EXPECT_EQ(port_class(65535), 23);
}

TEST(Traits, a_ttl_says_where_it_started_and_roughly_how_far_it_came) {
  EXPECT_EQ(ttl_class(64), ttl_class(57));
  EXPECT_NE(ttl_class(64), ttl_class(56));
  EXPECT_NE(ttl_class(64), ttl_class(65)) << "65 was counted down from 128";
  EXPECT_EQ(ttl_class(65), (2 << 3) | 7);
  EXPECT_EQ(ttl_class(255), 3 << 3);
  EXPECT_EQ(ttl_class(0), 0 << 3 | 4);
}

TEST(Traits, of_udp_and_icmp_in_both_families) {
  const Traits udp = of(FrameBuilder().ethernet().vlan(5).ipv4({.source = "192.0.2.1"}).udp(4000, 53));
  EXPECT_EQ(udp.protocol, 17);
  EXPECT_EQ(udp.port, port_class(53));
  EXPECT_EQ(udp.flags, 0);
  EXPECT_GT(udp.length, 0);
  const Traits v6 = of(FrameBuilder().ethernet().ipv6({.source = "2001:db8::1"}).udp(4000, 443));
  EXPECT_EQ(v6.protocol, 17);
  EXPECT_EQ(v6.port, port_class(443));
  const Traits icmp = of(FrameBuilder().ethernet().ipv6({.source = "2001:db8::1"}).icmp6(128));
  EXPECT_EQ(icmp.protocol, 58);
  EXPECT_EQ(icmp.port, 0);
  EXPECT_EQ(of(FrameBuilder().ethernet().arp("10.0.0.1", "10.0.0.2")), Traits());
}

TEST(Traits, of_tcp_with_its_flags_and_of_fragments) {
  // Ethernet, IPv4, TCP from 4000 to 22 with SYN.
  std::vector<std::uint8_t> frame(14 + 20 + 20);
  frame[12] = 8;
  std::uint8_t *const ip = frame.data() + 14, *const tcp = ip + 20;
  ip[0] = 0x45, ip[3] = 40, ip[8] = 64, ip[9] = 6, ip[12] = 192;
  tcp[0] = 0x0F, tcp[1] = 0xA0, tcp[3] = 22, tcp[12] = 0x50, tcp[13] = 0xC2;
  const auto traits = [&](std::size_t captured) {
    return traits_of(frame.data(), captured, parse_packet(frame.data(), captured));
  };
  EXPECT_EQ(traits(frame.size()),
            (Traits{.protocol = 6, .port = 2, .ttl = ttl_class(64), .length = 6, .flags = 2}));
  EXPECT_EQ(traits(14 + 20 + 4).port, 2) << "ports were captured, flags were not";
  EXPECT_EQ(traits(14 + 20 + 4).flags, 0);
  EXPECT_EQ(traits(14 + 20).port, 0);
  ip[6] = 0x20; // the first fragment
  EXPECT_EQ(traits(frame.size()).flags, 64 | 2);
  ip[7] = 1; // a later one
  EXPECT_EQ(traits(frame.size()).flags, 64);
  EXPECT_EQ(traits(frame.size()).port, 0);
}

// Under the sanitizers: of frames cut anywhere, with bytes that say anything.
TEST(Traits, nothing_beyond_what_was_captured_is_read) {
  const std::uint64_t seed = seed_or(7);
  WEIR_TRACE_SEED(seed);
  std::mt19937_64 random(seed);
  unsigned packets = 0;
  for (int i = 0; i < 20'000; ++i) {
    const std::size_t size = random() % 120;
    const auto frame = std::make_unique<std::uint8_t[]>(size);
    std::generate_n(frame.get(), size, [&] { return static_cast<std::uint8_t>(random()); });
    const bool v4 = random() % 2 == 0;
    if (size > 14) frame[12] = v4 ? 8 : 0x86, frame[13] = v4 ? 0 : 0xDD, frame[14] = v4 ? 0x45 : 0x60;
    if (size > 20 && !v4) frame[20] = std::array<std::uint8_t, 4>{0, 43, 44, 60}[random() % 4];
    const ParsedPacket parsed = parse_packet(frame.get(), size);
    const Traits traits = traits_of(frame.get(), size, parsed);
    if (!parsed.is_ip()) {
      ASSERT_EQ(traits, Traits());
      continue;
    }
    ++packets;
  }
  EXPECT_GT(packets, 1000u);
}

} // namespace
} // namespace weir::test::traits_test
