// The header parser, promise by promise.
#include "weir/key/parse.hpp"

#include "weir/key/text.hpp"

#include <gtest/gtest.h>

#include <initializer_list>
#include <memory>
#include <string>
#include <vector>

namespace weir {
namespace {

using Frame = std::vector<std::uint8_t>;

Frame ethernet(std::uint16_t type) {
  Frame f(12, 0x02);
  f.push_back(static_cast<std::uint8_t>(type >> 8));
  f.push_back(static_cast<std::uint8_t>(type));
  return f;
}

void append(Frame &frame, std::initializer_list<unsigned> bytes) {
  for (const unsigned b : bytes) frame.push_back(static_cast<std::uint8_t>(b));
}

// 20 bytes of header, then UDP ports 68 -> 67.
Frame dhcp_request(Frame f = ethernet(0x0800)) {
  append(f, {0x45, 0, 1, 0x48, 0, 0, 0, 0, 64, 17, 0, 0, 0, 0, 0, 0, 255, 255, 255, 255, 0, 68, 0, 67});
  return f;
}

Frame ipv4(Frame f = ethernet(0x0800)) {
  append(f, {0x45, 0, 0, 28, 0, 0, 0, 0, 64, 17, 0, 0, 10, 0, 0, 7, 192, 0, 2, 1, 0, 53, 0, 53, 0, 8, 0, 0});
  return f;
}

Frame neighbour_solicitation(unsigned type = 135, unsigned hop_limit = 255, unsigned next = 58) {
  Frame f = ethernet(0x86DD);
  append(f, {0x60, 0, 0, 0, 0, 24, next, hop_limit});
  append(f, {0xfe, 0x80, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1});
  append(f, {0xff, 2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0xff, 0, 0, 2});
  append(f, {type, 0, 0, 0});
  return f;
}

// Parses a copy that ends exactly where the frame ends, so that the address sanitizer sees every
// byte read too far.
ParsedPacket parse(const Frame &frame) {
  const auto copy = std::make_unique<std::uint8_t[]>(frame.size());
  std::copy(frame.begin(), frame.end(), copy.get());
  return parse_packet(copy.get(), frame.size());
}

TEST(Parser, finds_the_addresses_of_an_ipv4_packet) {
  const Frame frame = ipv4();
  const ParsedPacket p = parse(frame);
  ASSERT_EQ(p.kind, PacketKind::ipv4);
  EXPECT_FALSE(p.link_local);
  EXPECT_EQ(to_string(address_at(p, frame.data(), p.source_offset)), "10.0.0.7");
  EXPECT_EQ(to_string(address_at(p, frame.data(), p.destination_offset)), "192.0.2.1");
}

TEST(Parser, finds_the_addresses_of_an_ipv6_packet) {
  const Frame frame = neighbour_solicitation();
  const ParsedPacket p = parse(frame);
  ASSERT_EQ(p.kind, PacketKind::ipv6);
  EXPECT_EQ(to_string(address_at(p, frame.data(), p.source_offset)), "fe80::1");
  EXPECT_EQ(to_string(address_at(p, frame.data(), p.destination_offset)), "ff02::1:ff00:2");
}

TEST(Parser, steps_over_up_to_two_tags_of_each_kind) {
  for (const unsigned outer : {0x8100u, 0x88a8u, 0x9100u})
    for (const unsigned inner : {0x8100u, 0x88a8u, 0x9100u}) {
      Frame one = ethernet(static_cast<std::uint16_t>(outer));
      append(one, {0, 100, 0x08, 0x00});
      const ParsedPacket single = parse(ipv4(one));
      EXPECT_EQ(single.kind, PacketKind::ipv4);
      EXPECT_EQ(single.tags, 1);
      EXPECT_EQ(single.source_offset, 18 + 12);

      Frame two = ethernet(static_cast<std::uint16_t>(outer));
      append(two, {0, 100, inner >> 8, inner & 0xFF, 0, 200, 0x08, 0x00});
      const ParsedPacket stacked = parse(ipv4(two));
      EXPECT_EQ(stacked.kind, PacketKind::ipv4);
      EXPECT_EQ(stacked.tags, 2);
      EXPECT_EQ(stacked.source_offset, 22 + 12);
    }
}

TEST(Parser, a_third_tag_is_one_too_many) {
  Frame f = ethernet(0x8100);
  append(f, {0, 1, 0x81, 0x00, 0, 2, 0x81, 0x00, 0, 3, 0x08, 0x00});
  EXPECT_EQ(parse(ipv4(f)).kind, PacketKind::too_many_tags);
  f.resize(22); // the third tag announced, its bytes not captured
  EXPECT_EQ(parse(f).kind, PacketKind::too_many_tags);
}

TEST(Parser, what_is_not_ip_keeps_its_ethertype) {
  EXPECT_EQ(parse(ethernet(0x0806)).kind, PacketKind::non_ip);
  EXPECT_EQ(parse(ethernet(0x0806)).ethertype, 0x0806);
  EXPECT_EQ(parse(ethernet(0x8863)).kind, PacketKind::non_ip);
  EXPECT_EQ(parse(ethernet(0x0026)).kind, PacketKind::non_ip) << "an LLC length";
  Frame tagged = ethernet(0x8100);
  append(tagged, {0, 1, 0x88, 0x47});
  EXPECT_EQ(parse(tagged).ethertype, 0x8847);
}

TEST(Parser, a_header_cut_short_is_malformed) {
  const Frame whole4 = ipv4();
  for (std::size_t n = 0; n < 14 + 20; ++n)
    EXPECT_EQ(parse(Frame(whole4.begin(), whole4.begin() + static_cast<long>(n))).kind, PacketKind::malformed)
        << n;
  EXPECT_EQ(parse(Frame(whole4.begin(), whole4.begin() + 34)).kind, PacketKind::ipv4);

  const Frame whole6 = neighbour_solicitation();
  for (std::size_t n = 14; n < 14 + 40; ++n)
    EXPECT_EQ(parse(Frame(whole6.begin(), whole6.begin() + static_cast<long>(n))).kind, PacketKind::malformed)
        << n;

  Frame tag = ethernet(0x8100);
  append(tag, {0, 1, 8});
  EXPECT_EQ(parse(tag).kind, PacketKind::malformed);
}

TEST(Parser, a_version_that_contradicts_the_ethertype_is_malformed) {
  Frame four = ipv4(), six = neighbour_solicitation();
  four[14] = 0x65;
  six[14] = 0x40;
  EXPECT_EQ(parse(four).kind, PacketKind::malformed);
  EXPECT_EQ(parse(six).kind, PacketKind::malformed);
}

TEST(Parser, an_ihl_below_five_or_beyond_the_bytes_is_malformed) {
  Frame f = ipv4();
  f[14] = 0x44;
  EXPECT_EQ(parse(f).kind, PacketKind::malformed);
  f[14] = 0x47; // 28 bytes, exactly what is there
  EXPECT_EQ(parse(f).kind, PacketKind::ipv4);
  f[14] = 0x48;
  f[17] = 255;
  EXPECT_EQ(parse(f).kind, PacketKind::malformed);
}

TEST(Parser, a_total_length_below_the_header_is_malformed_and_beyond_the_capture_is_fine) {
  Frame f = ipv4();
  f[17] = 19;
  EXPECT_EQ(parse(f).kind, PacketKind::malformed);
  f[17] = 20;
  EXPECT_EQ(parse(f).kind, PacketKind::ipv4);
  f[16] = 0x40;
  EXPECT_EQ(parse(f).kind, PacketKind::ipv4);
}

TEST(Parser, neighbour_and_router_discovery_is_link_local) {
  for (unsigned type = 0; type < 256; ++type)
    EXPECT_EQ(parse(neighbour_solicitation(type)).link_local, type >= 133 && type <= 137) << type;
  EXPECT_FALSE(parse(neighbour_solicitation(135, 254)).link_local) << "it came through a router";
  EXPECT_FALSE(parse(neighbour_solicitation(135, 255, 0)).link_local) << "an extension header stands between";
  Frame cut = neighbour_solicitation();
  cut.resize(14 + 40);
  EXPECT_EQ(parse(cut).kind, PacketKind::ipv6);
  EXPECT_FALSE(parse(cut).link_local);
}

TEST(Parser, a_dhcp_request_is_link_local) {
  EXPECT_TRUE(parse(dhcp_request()).link_local);
  for (const auto &[at, byte] :
       std::initializer_list<std::pair<int, int>>{{26, 10}, {23, 6}, {21, 1}, {14 + 21, 67}, {14 + 23, 68}}) {
    Frame f = dhcp_request();
    f[static_cast<std::size_t>(at)] = static_cast<std::uint8_t>(byte);
    EXPECT_EQ(parse(f).kind, PacketKind::ipv4);
    EXPECT_FALSE(parse(f).link_local) << "byte " << at;
  }
  Frame first_fragment = dhcp_request();
  first_fragment[20] = 0x20;
  EXPECT_TRUE(parse(first_fragment).link_local);
  Frame ports_cut = dhcp_request();
  ports_cut.pop_back();
  EXPECT_FALSE(parse(ports_cut).link_local);
}

TEST(Parser, dhcp_ports_stand_after_the_options) {
  Frame f = ethernet(0x0800);
  append(f, {0x46, 0, 1, 0x48, 0, 0, 0, 0, 64, 17, 0, 0, 0, 0, 0, 0, 255, 255, 255, 255, 0, 68, 0, 67});
  EXPECT_FALSE(parse(f).link_local);
  append(f, {0, 68, 0, 67});
  EXPECT_TRUE(parse(f).link_local);
}

bool is_plain(const Frame &frame) {
  const auto copy = std::make_unique<std::uint8_t[]>(frame.size());
  std::copy(frame.begin(), frame.end(), copy.get());
  return is_plain_ipv4(copy.get(), frame.size());
}

void expect_same(const ParsedPacket &p, const ParsedPacket &q) {
  EXPECT_EQ(p.kind, q.kind);
  EXPECT_EQ(p.link_local, q.link_local);
  EXPECT_EQ(p.tags, q.tags);
  EXPECT_EQ(p.header_offset, q.header_offset);
  EXPECT_EQ(p.ethertype, q.ethertype);
  EXPECT_EQ(p.source_offset, q.source_offset);
  EXPECT_EQ(p.destination_offset, q.destination_offset);
}

// The short way must never say something else than the parser: every byte that either looks at takes
// every value, in a packet from somewhere and in one that might be a DHCP client's, cut everywhere.
TEST(PlainIpv4, what_is_called_plain_is_what_the_parser_calls_it) {
  unsigned plain = 0;
  for (const Frame &whole : {ipv4(), dhcp_request()})
    for (std::size_t at = 12; at < 38; ++at)
      for (unsigned value = 0; value < 256; ++value) {
        Frame f = whole;
        f[at] = static_cast<std::uint8_t>(value);
        if (!is_plain(f)) continue;
        ++plain;
        expect_same(parse(f), plain_ipv4);
        if (testing::Test::HasFailure()) FAIL() << "byte " << at << " = " << value;
      }
  EXPECT_GT(plain, 3000u);
}

TEST(PlainIpv4, a_packet_without_its_whole_header_is_not_plain) {
  const Frame whole = ipv4();
  for (std::size_t captured = 0; captured < whole.size(); ++captured) {
    const Frame cut(whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(captured));
    EXPECT_EQ(is_plain(cut), captured >= 34) << captured;
  }
}

TEST(PlainIpv4, tags_options_other_protocols_and_dhcp_clients_are_not_plain) {
  EXPECT_FALSE(is_plain(dhcp_request()));
  EXPECT_FALSE(is_plain(neighbour_solicitation()));
  Frame options = ipv4();
  options[14] = 0x46;
  EXPECT_FALSE(is_plain(options));
  Frame tagged = ipv4(ethernet(0x8100));
  EXPECT_FALSE(is_plain(tagged));
  Frame too_short = ipv4();
  too_short[17] = 19;
  EXPECT_FALSE(is_plain(too_short));
}

} // namespace
} // namespace weir
