// The header parser, promise by promise.
#include "weir/key/parse.hpp"

#include "weir/key/text.hpp"

#include <gtest/gtest.h>

#include <initializer_list>
#include <memory>
#include <string>
#include <vector>

namespace weir::parse_test {
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

// Under tags with these TCIs, all of one type.
Frame ipv4_under(std::initializer_list<unsigned> tcis, unsigned type = 0x8100) {
  Frame f(12, 0x02);
  for (const unsigned tci : tcis) append(f, {type >> 8, type & 0xFF, tci >> 8, tci & 0xFF});
  append(f, {0x08, 0x00});
  return ipv4(f);
}

// Behind a length and a SNAP header.
Frame behind_snap(unsigned type, std::initializer_list<unsigned> organisation = {0, 0, 0},
                  unsigned length = 36) {
  Frame f = ethernet(static_cast<std::uint16_t>(length));
  append(f, {0xAA, 0xAA, 0x03});
  append(f, organisation);
  append(f, {type >> 8, type & 0xFF});
  return f;
}

Frame solicitation_between(const char *source, const char *destination) {
  Frame f = neighbour_solicitation();
  const auto from = parse_address(source), to = parse_address(destination);
  std::copy_n(from->bytes.begin(), 16, f.begin() + 14 + 8);
  std::copy_n(to->bytes.begin(), 16, f.begin() + 14 + 24);
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

TEST(Parser, a_third_tag_that_names_a_vlan_is_one_too_many) {
  const Frame f = ipv4_under({1, 2, 3});
  EXPECT_EQ(parse(f).kind, PacketKind::too_many_tags);
  EXPECT_EQ(parse(ipv4_under({1, 0, 2, 0, 0, 3})).kind, PacketKind::too_many_tags);
  EXPECT_EQ(parse(ipv4_under({0xE001, 0xE000, 2})).kind, PacketKind::ipv4) << "priority bits name no VLAN";
  Frame cut = f;
  cut.resize(26);
  EXPECT_EQ(parse(cut).kind, PacketKind::too_many_tags);
  cut.resize(25); // whether it names a VLAN is not known
  EXPECT_EQ(parse(cut).kind, PacketKind::malformed);
}

TEST(Parser, tags_without_a_vlan_are_stepped_over_up_to_eight_in_all) {
  for (const unsigned type : {0x8100u, 0x88A8u, 0x9100u, 0x9200u, 0x9300u}) {
    SCOPED_TRACE(type);
    EXPECT_EQ(parse(ipv4_under({0, 0, 0}, type)).kind, PacketKind::ipv4);
    EXPECT_EQ(parse(ipv4_under({0, 0, 0}, type)).source_offset, 14 + 12 + 12);
    EXPECT_EQ(parse(ipv4_under({0, 0, 0xE000, 0, 0}, type)).kind, PacketKind::ipv4);
    const ParsedPacket eight = parse(ipv4_under({0, 7, 0, 0, 0, 0, 7, 0}, type));
    EXPECT_EQ(eight.kind, PacketKind::ipv4);
    EXPECT_EQ(eight.tags, 8);
    EXPECT_EQ(eight.destination_offset, 14 + 32 + 16);
    Frame nine = ipv4_under({0, 0, 0, 0, 0, 0, 0, 0, 0}, type);
    EXPECT_EQ(parse(nine).kind, PacketKind::too_many_tags);
    nine.resize(14 + 32); // the ninth announced, its bytes not captured
    EXPECT_EQ(parse(nine).kind, PacketKind::too_many_tags);
  }
}

TEST(Parser, ip_behind_a_snap_header_is_ip) {
  for (const auto organisation : {std::initializer_list<unsigned>{0, 0, 0}, {0, 0, 0xF8}, {0xAC, 0xDE, 0x48}})
    for (const unsigned length : {36u, 0u, 0x05FFu}) { // whatever it says
      const Frame f = ipv4(behind_snap(0x0800, organisation, length));
      const ParsedPacket p = parse(f);
      ASSERT_EQ(p.kind, PacketKind::ipv4);
      EXPECT_EQ(p.ethertype, 0x0800);
      EXPECT_EQ(p.header_offset, 22);
      EXPECT_EQ(to_string(address_at(p, f.data(), p.source_offset)), "10.0.0.7");
    }
  Frame six = behind_snap(0x86DD);
  const Frame plain = neighbour_solicitation();
  six.insert(six.end(), plain.begin() + 14, plain.end());
  EXPECT_EQ(parse(six).kind, PacketKind::ipv6);
  EXPECT_TRUE(parse(six).link_local);
  Frame tagged = ethernet(0x8100);
  const Frame snap = ipv4(behind_snap(0x0800));
  append(tagged, {0, 5});
  tagged.insert(tagged.end(), snap.begin() + 12, snap.end());
  EXPECT_EQ(parse(tagged).kind, PacketKind::ipv4);
  EXPECT_EQ(parse(tagged).source_offset, 14 + 4 + 8 + 12);
}

TEST(Parser, an_ip_header_that_does_not_fit_behind_snap_is_malformed) {
  const Frame whole = ipv4(behind_snap(0x0800));
  for (std::size_t n = 22; n < 22 + 20; ++n)
    EXPECT_EQ(parse(Frame(whole.begin(), whole.begin() + static_cast<long>(n))).kind, PacketKind::malformed)
        << n;
  for (std::size_t n = 14; n < 22; ++n)
    EXPECT_EQ(parse(Frame(whole.begin(), whole.begin() + static_cast<long>(n))).kind, PacketKind::non_ip)
        << n;
}

TEST(Parser, snap_that_leads_to_a_tag_or_a_length_is_one_header_too_many) {
  for (const unsigned type : {0x8100u, 0x88A8u, 0x9100u, 0x9200u, 0x9300u, 0u, 0x0024u, 0x05FFu})
    EXPECT_EQ(parse(ipv4(behind_snap(type))).kind, PacketKind::too_many_tags) << type;
  EXPECT_EQ(parse(ipv4(behind_snap(0x24, {0, 0, 0xF8}))).kind, PacketKind::too_many_tags);
  EXPECT_EQ(parse(ipv4(behind_snap(0x8100, {0, 0, 0x0C}))).kind, PacketKind::too_many_tags);
}

TEST(Parser, other_llc_frames_are_not_ip) {
  for (const auto organisation :
       {std::initializer_list<unsigned>{0, 0, 0x0C}, {1, 0, 0}, {0, 1, 0}, {0, 0, 0xF9}})
    EXPECT_EQ(parse(behind_snap(0x010B, organisation)).kind, PacketKind::non_ip) << "a number of its own";
  EXPECT_EQ(parse(behind_snap(0x809B)).kind, PacketKind::non_ip) << "AppleTalk";
  EXPECT_EQ(parse(behind_snap(0x809B)).ethertype, 36) << "counted as a length";
  for (const std::size_t at : {14u, 15u, 16u}) {
    Frame f = ipv4(behind_snap(0x0800));
    f[at] = 0x06;
    EXPECT_EQ(parse(f).kind, PacketKind::non_ip) << "byte " << at;
  }
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

TEST(Parser, discovery_between_addresses_that_routers_forward_is_not_link_local) {
  constexpr const char *far = "2001:db8::1", *farther = "2a00::2";
  EXPECT_FALSE(parse(solicitation_between(far, farther)).link_local);
  EXPECT_EQ(parse(solicitation_between(far, farther)).kind, PacketKind::ipv6);
  for (const char *near : {"fe80::", "fe80::1", "febf:ffff:ffff:ffff:ffff:ffff:ffff:ffff",
                           "ff00::", "ff02::1", "ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff", "::"}) {
    EXPECT_TRUE(parse(solicitation_between(near, far)).link_local) << near;
    EXPECT_TRUE(parse(solicitation_between(far, near)).link_local) << near;
  }
  for (const char *other :
       {"fe7f:ffff::", "fec0::", "feff::1", "::1", "1::", "0:0:0:1::", "fdff::1", "::ff02:1"}) {
    EXPECT_FALSE(parse(solicitation_between(other, far)).link_local) << other;
    EXPECT_FALSE(parse(solicitation_between(far, other)).link_local) << other;
  }
}

TEST(Parser, a_dhcp_request_to_one_host_is_judged) {
  for (std::size_t at = 30; at < 34; ++at)
    for (unsigned bit = 0; bit < 8; ++bit) {
      Frame f = dhcp_request();
      f[at] ^= static_cast<std::uint8_t>(1u << bit);
      EXPECT_EQ(parse(f).kind, PacketKind::ipv4);
      EXPECT_FALSE(parse(f).link_local) << "byte " << at << " bit " << bit;
    }
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

Frame behind_tag(Frame f) {
  f.insert(f.begin() + 12, {0x81, 0x00, 0x00, 0x05});
  return f;
}

template <class AllPlain> bool is_plain(const Frame &frame) {
  const auto copy = std::make_unique<std::uint8_t[]>(frame.size());
  std::copy(frame.begin(), frame.end(), copy.get());
  return weir::is_plain<AllPlain>(copy.get(), frame.size());
}

// The short way must never say something else than the parser: every byte that either looks at takes
// every value, in each of these frames.
template <class AllPlain>
void expect_that_plain_is_what_the_parser_says(const std::vector<Frame> &frames, unsigned plain_at_least) {
  unsigned plain = 0;
  for (const Frame &whole : frames)
    for (std::size_t at = 12; at < std::min(whole.size(), AllPlain::captured_min + 4); ++at)
      for (unsigned value = 0; value < 256; ++value) {
        Frame f = whole;
        f[at] = static_cast<std::uint8_t>(value);
        if (!is_plain<AllPlain>(f)) continue;
        ++plain;
        ASSERT_EQ(parse(f), AllPlain::parsed) << "byte " << at << " = " << value;
      }
  EXPECT_GT(plain, plain_at_least);
}

TEST(Plain, what_is_called_plain_is_what_the_parser_calls_it) {
  expect_that_plain_is_what_the_parser_says<AllPlainIpv4<0>>({ipv4(), dhcp_request()}, 3000);
  // From a neighbour, and from further away.
  const Frame near = neighbour_solicitation(), far = neighbour_solicitation(135, 64);
  expect_that_plain_is_what_the_parser_says<AllPlainIpv6<0>>({near, far}, 5000);
  expect_that_plain_is_what_the_parser_says<AllPlainIpv4<1>>({behind_tag(ipv4()), behind_tag(dhcp_request())},
                                                             3000);
  expect_that_plain_is_what_the_parser_says<AllPlainIpv6<1>>({behind_tag(near), behind_tag(far)}, 5000);
}

TEST(Plain, a_packet_without_its_whole_header_is_not_plain) {
  for (const Frame &whole : {ipv4(), neighbour_solicitation(135, 64)})
    for (std::size_t captured = 0; captured < whole.size(); ++captured) {
      const Frame cut(whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(captured));
      const bool v4 = whole[12] == 0x08;
      EXPECT_EQ(is_plain<AllPlainIpv4<0>>(cut), v4 && captured >= 34) << captured;
      EXPECT_EQ(is_plain<AllPlainIpv6<0>>(cut), !v4 && captured >= 54) << captured;
      if (captured < 12) continue;
      const Frame tagged = behind_tag(cut);
      EXPECT_EQ(is_plain<AllPlainIpv4<1>>(tagged), v4 && captured >= 34) << captured;
      EXPECT_EQ(is_plain<AllPlainIpv6<1>>(tagged), !v4 && captured >= 54) << captured;
    }
}

Frame ipv4_of_length(unsigned length) {
  Frame f = ipv4();
  f[16] = static_cast<std::uint8_t>(length >> 8);
  f[17] = static_cast<std::uint8_t>(length);
  return f;
}

TEST(PlainIpv4, tags_options_other_protocols_and_dhcp_clients_are_not_plain) {
  const auto is_plain = [](const Frame &f) { return parse_test::is_plain<AllPlainIpv4<0>>(f); };
  EXPECT_FALSE(is_plain(dhcp_request()));
  EXPECT_FALSE(is_plain(neighbour_solicitation(135, 64)));
  Frame options = ipv4();
  options[14] = 0x46;
  EXPECT_FALSE(is_plain(options));
  Frame tagged = ipv4(ethernet(0x8100));
  EXPECT_FALSE(is_plain(tagged));
  for (unsigned length = 0; length < 0x10000; ++length)
    ASSERT_EQ(is_plain(ipv4_of_length(length)), length >= 20) << length;
}

TEST(PlainIpv6, tags_other_protocols_and_neighbours_are_not_plain) {
  const auto is_plain = [](const Frame &f) { return parse_test::is_plain<AllPlainIpv6<0>>(f); };
  EXPECT_TRUE(is_plain(neighbour_solicitation(135, 64)));
  EXPECT_TRUE(is_plain(neighbour_solicitation(135, 255, 17)));
  EXPECT_FALSE(is_plain(neighbour_solicitation()));
  Frame ipv4_inside = neighbour_solicitation(135, 64);
  ipv4_inside[14] = 0x45;
  EXPECT_FALSE(is_plain(ipv4_inside));
  Frame padded = ipv4();
  padded.resize(60);
  EXPECT_FALSE(is_plain(padded));
}

TEST(Plain, one_tag_is_one_of_8021q_and_no_more) {
  EXPECT_TRUE(is_plain<AllPlainIpv4<1>>(ipv4_under({0}))) << "a priority tag";
  EXPECT_TRUE(is_plain<AllPlainIpv4<1>>(ipv4_under({0xE005})));
  EXPECT_FALSE(is_plain<AllPlainIpv4<1>>(ipv4_under({5}, 0x88A8)));
  EXPECT_FALSE(is_plain<AllPlainIpv4<1>>(ipv4_under({5, 6})));
  EXPECT_FALSE(is_plain<AllPlainIpv4<1>>(ipv4()));
}

// One frame that is not plain is seen wherever it stands among others.
template <class AllPlain> void expect_one_is_seen(const Frame &plain, const std::vector<Frame> &odd) {
  for (const Frame &other : odd)
    for (unsigned count : {1u, 2u, 16u, 64u})
      for (unsigned at = 0; at <= count; ++at) {
        AllPlain frames;
        for (unsigned i = 0; i < count; ++i) frames.add((i == at ? other : plain).data());
        ASSERT_EQ(frames.are_plain(), at == count) << at << " of " << count;
      }
}

TEST(Plain, one_other_frame_among_many_is_seen) {
  Frame options = ipv4(), v4_padded = ipv4();
  options[14] = 0x46;
  v4_padded.resize(60);
  const Frame far = neighbour_solicitation(135, 64);
  expect_one_is_seen<AllPlainIpv4<0>>(ipv4(), {options, dhcp_request(), neighbour_solicitation(),
                                               ipv4_of_length(0), ipv4_of_length(19), ipv4_under({5})});
  expect_one_is_seen<AllPlainIpv6<0>>(far, {neighbour_solicitation(), v4_padded, behind_tag(far)});
  expect_one_is_seen<AllPlainIpv4<1>>(ipv4_under({5}),
                                      {behind_tag(options), behind_tag(dhcp_request()), v4_padded,
                                       behind_tag(ipv4_of_length(19)), ipv4_under({5, 6}),
                                       ipv4_under({5}, 0x88A8), behind_tag(far)});
  expect_one_is_seen<AllPlainIpv6<1>>(behind_tag(far),
                                      {behind_tag(neighbour_solicitation()), behind_tag(v4_padded), far});
}

} // namespace
} // namespace weir::parse_test
