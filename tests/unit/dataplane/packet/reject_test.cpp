// Answers to rejected packets: right to the bit for whom they are for, and none where there must be none.
#include "dataplane/packet/reject.hpp"

#include "tests/support/packets.hpp"
#include "weir/key/text.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <numeric>
#include <vector>

namespace weir::test::reject_test {
namespace {

using Bytes8 = std::vector<std::uint8_t>;

Bytes8 reply_to(const Frame &frame) {
  Bytes8 reply(dataplane::reply_bytes_max, 0xEE);
  const ParsedPacket outer = parse_packet(frame.bytes.data(), frame.bytes.size());
  EXPECT_TRUE(outer.is_ip());
  reply.resize(dataplane::write_reply(frame.bytes, outer,
                                      tuple_of(frame.bytes.data(), frame.bytes.size(), outer), reply.data()));
  return reply;
}

// The sum of 16-bit numbers, by the definition of RFC 1071: all ones where the checksum in it is right.
std::uint32_t folded(const std::uint8_t *at, std::size_t bytes, std::uint32_t sum = 0) {
  for (std::size_t i = 0; i < bytes; ++i) sum += i % 2 == 0 ? at[i] * 256u : at[i];
  while (sum > 0xFFFF) sum = sum % 65'536 + sum / 65'536;
  return sum;
}
std::uint32_t number(const Bytes8 &bytes, std::size_t at, std::size_t size) {
  return std::accumulate(bytes.begin() + static_cast<std::ptrdiff_t>(at),
                         bytes.begin() + static_cast<std::ptrdiff_t>(at + size), 0u,
                         [](std::uint32_t sum, std::uint8_t byte) { return sum * 256 + byte; });
}
// With the addresses, as TCP and ICMPv6 have it.
std::uint32_t folded_with_addresses(const Bytes8 &reply, std::size_t ip, bool v6, std::uint32_t protocol) {
  const std::size_t header = v6 ? 40 : 20;
  const std::size_t carried = v6 ? number(reply, ip + 4, 2) : number(reply, ip + 2, 2) - header;
  const std::uint32_t addresses = folded(reply.data() + ip + (v6 ? 8 : 12), v6 ? 32 : 8);
  return folded(reply.data() + ip + header, carried,
                addresses + protocol + static_cast<std::uint32_t>(carried));
}

void set_tcp(Frame &frame, std::size_t tcp, std::uint32_t seq, std::uint32_t ack) {
  for (std::size_t i = 0; i < 4; ++i) {
    frame.bytes[tcp + 4 + i] = static_cast<std::uint8_t>(seq >> (24 - 8 * i));
    frame.bytes[tcp + 8 + i] = static_cast<std::uint8_t>(ack >> (24 - 8 * i));
  }
}

TEST(Reject, answers_a_syn_with_a_reset_that_acknowledges_it) {
  Frame frame = FrameBuilder()
                    .ethernet()
                    .ipv4({.source = "192.0.2.1", .destination = "198.51.100.7"})
                    .tcp(4000, 443)
                    .frame();
  set_tcp(frame, 34, 0xFFFFFFFF, 0);
  const Bytes8 reply = reply_to(frame);
  ASSERT_EQ(reply.size(), 60u);
  EXPECT_TRUE(std::equal(reply.begin(), reply.begin() + 6, frame.bytes.begin() + 6))
      << "to whom it came from";
  EXPECT_TRUE(std::equal(reply.begin() + 6, reply.begin() + 12, frame.bytes.begin()));
  EXPECT_EQ(number(reply, 26, 4), 0xC6336407u) << "from the destination";
  EXPECT_EQ(number(reply, 30, 4), 0xC0000201u);
  EXPECT_EQ(folded(reply.data() + 14, 20), 0xFFFFu) << "checksum of the IP header";
  EXPECT_EQ(number(reply, 34, 2), 443u);
  EXPECT_EQ(number(reply, 36, 2), 4000u);
  EXPECT_EQ(number(reply, 38, 4), 0u);
  EXPECT_EQ(number(reply, 42, 4), 0u) << "0xFFFFFFFF and the SYN";
  EXPECT_EQ(reply[47], 0x14) << "RST and ACK";
  EXPECT_EQ(folded_with_addresses(reply, 14, false, 6), 0xFFFFu);
  EXPECT_EQ(number(reply, 54, 4), 0u) << "padding says nothing";
}

TEST(Reject, answers_data_of_a_connection_with_the_number_that_the_sender_waits_for) {
  Frame frame = FrameBuilder().ethernet().ipv4().tcp(4000, 443, 0x18).payload(100).frame();
  set_tcp(frame, 34, 1000, 77'777);
  const Bytes8 reply = reply_to(frame);
  ASSERT_EQ(reply.size(), 60u);
  EXPECT_EQ(number(reply, 38, 4), 77'777u);
  EXPECT_EQ(reply[47], 0x04) << "RST alone";
  EXPECT_EQ(folded_with_addresses(reply, 14, false, 6), 0xFFFFu);
}

TEST(Reject, acknowledges_data_that_came_without_an_acknowledgement) {
  Frame frame = FrameBuilder().ethernet().ipv4().tcp(4000, 443, 0x01).payload(100).frame(); // FIN
  set_tcp(frame, 34, 1000, 0);
  EXPECT_EQ(number(reply_to(frame), 42, 4), 1101u);
}

TEST(Reject, keeps_the_tags_of_the_packet) {
  const Frame frame = FrameBuilder().ethernet().vlan(200, 0x88A8).vlan(100).ipv6().tcp(4000, 443).frame();
  const Bytes8 reply = reply_to(frame);
  ASSERT_EQ(reply.size(), 14u + 8 + 40 + 20);
  EXPECT_TRUE(std::equal(reply.begin() + 12, reply.begin() + 22, frame.bytes.begin() + 12));
  EXPECT_EQ(folded_with_addresses(reply, 22, true, 6), 0xFFFFu);
  EXPECT_TRUE(std::equal(reply.begin() + 22 + 8, reply.begin() + 22 + 24, frame.bytes.begin() + 22 + 24));
}

TEST(Reject, tells_other_protocols_that_an_administrator_forbids_it) {
  const Frame v4 = FrameBuilder().ethernet().ipv4().udp(4000, 53).payload(30).frame();
  const Bytes8 of_v4 = reply_to(v4);
  ASSERT_EQ(of_v4.size(), 14u + 20 + 8 + 58);
  EXPECT_EQ(of_v4[34], 3);
  EXPECT_EQ(of_v4[35], 13);
  EXPECT_EQ(of_v4[23], 1) << "ICMP";
  EXPECT_EQ(folded(of_v4.data() + 34, of_v4.size() - 34), 0xFFFFu);
  EXPECT_TRUE(std::equal(of_v4.begin() + 42, of_v4.end(), v4.bytes.begin() + 14)) << "with the packet in it";
  const Frame v6 = FrameBuilder().ethernet().ipv6().udp(4000, 53).payload(2000).frame();
  const Bytes8 of_v6 = reply_to(v6);
  EXPECT_EQ(of_v6.size(), 14u + 1280) << "as much as every host of IPv6 takes";
  EXPECT_EQ(of_v6[54], 1);
  EXPECT_EQ(of_v6[55], 1);
  EXPECT_EQ(folded_with_addresses(of_v6, 14, true, 58), 0xFFFFu);
  const Frame large = FrameBuilder().ethernet().ipv4().udp(4000, 53).payload(1400).frame();
  EXPECT_EQ(reply_to(large).size(), 14u + 576);
  EXPECT_NE(reply_to(FrameBuilder().ethernet().ipv4().icmp(8).frame()).size(), 0u) << "a ping";
  EXPECT_NE(
      reply_to(FrameBuilder().ethernet().ipv4({.more_fragments = true}).udp(1, 2).payload(8).frame()).size(),
      0u)
      << "a first fragment";
}

TEST(Reject, answers_nothing_that_must_not_be_answered) {
  const auto v4 = [](const Ipv4Fields &fields) { return FrameBuilder().ethernet().ipv4(fields); };
  const std::vector<std::pair<const char *, Frame>> silent{
      {"a reset", v4({}).tcp(1, 2, 0x04).frame()},
      {"an ICMP error", v4({}).icmp(3).payload(28).frame()},
      {"an echo reply", v4({}).icmp(0).frame()},
      {"an ICMPv6 error", FrameBuilder().ethernet().ipv6().icmp6(1).payload(48).frame()},
      {"a later fragment", v4({.fragment_offset = 3}).udp(1, 2).payload(8).frame()},
      {"the first fragment of a connection", v4({.more_fragments = true}).tcp(1, 2).frame()},
      {"to many", v4({.destination = "224.0.0.5"}).udp(1, 2).frame()},
      {"to everybody", v4({.destination = "255.255.255.255"}).udp(1, 2).frame()},
      {"from nobody", v4({.source = "0.0.0.0"}).udp(1, 2).frame()},
      {"from many", v4({.source = "239.1.1.1"}).udp(1, 2).frame()},
      {"from this host", v4({.source = "127.0.0.1"}).udp(1, 2).frame()},
      {"to many, IPv6", FrameBuilder().ethernet().ipv6({.destination = "ff05::1"}).udp(1, 2).frame()},
      {"from nobody, IPv6", FrameBuilder().ethernet().ipv6({.source = "::"}).udp(1, 2).frame()},
      {"without a length of its own", FrameBuilder().ethernet().snap().ipv4().udp(1, 2).frame()},
      {"half a TCP header", v4({}).tcp(1, 2).frame(14 + 20 + 10)},
      {"no transport header", v4({}).udp(1, 2).frame(14 + 20)}};
  for (const auto &[what, frame] : silent) EXPECT_EQ(reply_to(frame).size(), 0u) << what;
  Frame group = v4({}).udp(1, 2).frame();
  group.bytes[0] |= 1;
  EXPECT_EQ(reply_to(group).size(), 0u) << "to a group of the link";
}

// Whatever a header says of lengths, nothing beyond the frame is read (under ASan) and nothing beyond the room written.
TEST(Reject, keeps_to_the_bytes_that_there_are) {
  const std::array<Frame, 4> frames{
      FrameBuilder().ethernet().ipv4({.options_words = 10}).tcp(1, 2).payload(40).frame(),
      FrameBuilder().ethernet().ipv6({.extensions = {0, 44}}).tcp(1, 2).payload(40).frame(),
      FrameBuilder().ethernet().vlan(5).ipv4().udp(1, 2).payload(1500).frame(),
      FrameBuilder().ethernet().ipv6().icmp6(128).payload(1500).frame()};
  for (const Frame &frame : frames)
    for (std::size_t at = 12; at < std::min<std::size_t>(frame.bytes.size(), 110); ++at)
      for (const int value : {0x00, 0x01, 0x45, 0xF0, 0xFF})
        for (const std::size_t cut : {std::size_t{0}, std::size_t{11}, frame.bytes.size() / 2}) {
          Frame damaged = frame;
          damaged.bytes[at] = static_cast<std::uint8_t>(value);
          damaged.bytes.resize(damaged.bytes.size() - cut);
          damaged.bytes.shrink_to_fit();
          const ParsedPacket outer = parse_packet(damaged.bytes.data(), damaged.bytes.size());
          if (!outer.is_ip()) continue;
          ASSERT_LE(reply_to(damaged).size(), dataplane::reply_bytes_max);
        }
}

} // namespace
} // namespace weir::test::reject_test
