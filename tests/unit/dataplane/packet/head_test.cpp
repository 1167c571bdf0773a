// Headers that a driver cut are judged as those in one piece, and no byte of the packet changes.
#include "dataplane/packet/head.hpp"

#include "dataplane/packet/packets.hpp"
#include "tests/support/eal.hpp"
#include "tests/support/packets.hpp"
#include "tests/support/segments.hpp"
#include "weir/key/traits.hpp"
#include "weir/key/tunnel.hpp"

#include <gtest/gtest.h>

#include <array>
#include <cstddef>
#include <cstring>
#include <vector>

namespace weir::test::head_test {
namespace {

using Bytes = std::vector<std::uint8_t>;

struct Kind {
  const char *name;
  FrameBuilder frame;
};

std::vector<Kind> kinds() {
  FrameBuilder tags;
  tags.ethernet().vlan(0x2000);
  for (unsigned tag = 1; tag < 8; ++tag) tags.vlan(0);
  return {
      {"plain", FrameBuilder().ethernet().ipv4({.source = "10.0.0.1"}).tcp(1, 443).payload(64)},
      {"options", FrameBuilder().ethernet().vlan(7).ipv4({.options_words = 10}).udp(1, 53).payload(64)},
      {"eight tags", FrameBuilder(tags).ipv4({.source = "10.0.0.1"}).udp(1, 2).payload(8)},
      {"snap", FrameBuilder().ethernet().snap().ipv4({.source = "10.0.0.1"}).udp(1, 2).payload(8)},
      {"dhcp", FrameBuilder()
                   .ethernet()
                   .ipv4({.source = "0.0.0.0", .destination = "255.255.255.255"})
                   .udp(68, 67)
                   .payload(300)},
      {"ipv6", FrameBuilder().ethernet().ipv6({.source = "2001:db8::1"}).udp(1, 2).payload(64)},
      {"neighbour", FrameBuilder().ethernet().ipv6({.source = "fe80::1", .hop_limit = 255}).icmp6(135)},
      {"ip in ip", FrameBuilder().ethernet().ipv4().ipv4({.source = "10.0.0.1"}).udp(1, 2)},
      {"vxlan", FrameBuilder().ethernet().ipv4().udp(1, 4789).vxlan().ethernet().vlan(5).ipv6(
                    {.source = "2001:db8::1"})},
      {"extensions",
       FrameBuilder().ethernet().ipv6({.extensions = {0, 43, 60}}).ipv4({.source = "10.0.0.1"})},
      {"arp", FrameBuilder().ethernet().arp("10.0.0.1", "10.0.0.2")},
      {"broken", FrameBuilder().ethernet().ipv4({.ihl = 3u}).payload(20)},
  };
}

class Head : public testing::Test {
protected:
  void SetUp() override {
    ASSERT_TRUE(start_eal());
    pool_ = rte_pktmbuf_pool_create("heads", 511, 0, 0, RTE_MBUF_DEFAULT_BUF_SIZE, SOCKET_ID_ANY);
    ASSERT_NE(pool_, nullptr);
  }
  void TearDown() override {
    EXPECT_EQ(rte_mempool_avail_count(pool_), 511u) << "segments were lost, or freed twice";
    rte_mempool_free(pool_);
  }
  rte_mempool *pool_ = nullptr;
};

// What parser, tunnels and traits say of a frame.
struct Said {
  ParsedPacket outer, inside;
  Traits traits;
};
Said said_of(const std::uint8_t *frame, std::size_t captured) {
  Said said{parse_packet(frame, captured), {}, {}};
  said.inside = look_inside(frame, captured, said.outer);
  said.traits = traits_of(frame, captured, said.outer);
  return said;
}
bool alike(const ParsedPacket &a, const ParsedPacket &b) { return std::memcmp(&a, &b, sizeof a) == 0; }

TEST_F(Head, that_is_cut_anywhere_is_parsed_as_one_in_one_piece) {
  for (const Kind &kind : kinds()) {
    const Bytes frame = kind.frame.frame().bytes;
    const Said whole = said_of(frame.data(), frame.size());
    for (std::size_t first = 0; first < frame.size(); ++first)
      for (const std::size_t second : {frame.size(), first + 1, (first + frame.size()) / 2}) {
        if (second < first || (second == first && second != frame.size())) continue;
        std::vector<std::size_t> cuts{first};
        if (second < frame.size()) cuts.push_back(second);
        rte_mbuf *packet = in_segments(pool_, frame, cuts);
        ASSERT_TRUE(dataplane::gather_head(packet)) << kind.name << " cut at " << first;
        const Said said = said_of(dataplane::frame_of(packet), rte_pktmbuf_data_len(packet));
        EXPECT_TRUE(alike(said.outer, whole.outer)) << kind.name << " cut at " << first << " and " << second;
        EXPECT_TRUE(alike(said.inside, whole.inside)) << kind.name << " cut at " << first;
        EXPECT_EQ(said.traits.bytes(), whole.traits.bytes()) << kind.name << " cut at " << first;
        EXPECT_EQ(bytes_of(packet), frame) << kind.name << " cut at " << first;
        EXPECT_EQ(rte_pktmbuf_pkt_len(packet), frame.size());
        const char *why = nullptr;
        EXPECT_EQ(rte_mbuf_check(packet, 1, &why), 0) << why;
        rte_pktmbuf_free(packet);
      }
  }
}

TEST_F(Head, of_a_long_packet_is_gathered_as_far_as_headers_are_looked_for) {
  Bytes frame(4000);
  for (std::size_t i = 0; i < frame.size(); ++i) frame[i] = static_cast<std::uint8_t>(i * 7);
  const std::array<std::size_t, 3> cuts{3, 20, 1900};
  rte_mbuf *packet = in_segments(pool_, frame, cuts);
  ASSERT_TRUE(dataplane::gather_head(packet));
  EXPECT_EQ(packet->data_len, dataplane::head_bytes);
  EXPECT_EQ(packet->nb_segs, 3) << "the segment of 17 bytes is empty and gone";
  EXPECT_EQ(bytes_of(packet), frame);
  rte_pktmbuf_free(packet);
}

TEST_F(Head, that_is_long_enough_is_left_where_it_is) {
  const Bytes frame(1500, 1);
  const std::array<std::size_t, 1> cuts{dataplane::head_bytes};
  rte_mbuf *packet = in_segments(pool_, frame, cuts), *before = packet;
  ASSERT_TRUE(dataplane::gather_head(packet));
  EXPECT_EQ(packet, before);
  EXPECT_EQ(packet->data_len, dataplane::head_bytes);
  rte_pktmbuf_free(packet);
}

TEST_F(Head, finds_a_new_first_segment_where_the_old_one_has_no_room_of_its_own) {
  const Bytes frame = kinds().front().frame.frame().bytes;
  const std::array<std::size_t, 1> cuts{16};
  rte_mbuf *packet = in_segments(pool_, frame, cuts);
  // Its bytes stand at the very end of its buffer.
  const auto at_end = static_cast<std::uint16_t>(packet->buf_len - 16);
  std::memmove(static_cast<char *>(packet->buf_addr) + at_end, rte_pktmbuf_mtod(packet, char *), 16);
  packet->data_off = at_end;
  packet->port = 5;
  packet->hash.rss = 77;
  rte_mbuf *before = packet;
  ASSERT_TRUE(dataplane::gather_head(packet));
  EXPECT_NE(packet, before);
  EXPECT_EQ(bytes_of(packet), frame);
  EXPECT_EQ(packet->nb_segs, 1) << "both old ones are empty";
  EXPECT_EQ(packet->port, 5);
  EXPECT_EQ(packet->hash.rss, 77u);
  rte_pktmbuf_free(packet);
}

TEST_F(Head, of_segments_that_somebody_else_has_too_stays_as_it_is) {
  const Bytes frame = kinds().front().frame.frame().bytes;
  const std::array<std::size_t, 1> cuts{16};
  rte_mbuf *packet = in_segments(pool_, frame, cuts);
  rte_mbuf_refcnt_update(packet->next, 1);
  EXPECT_FALSE(dataplane::gather_head(packet));
  EXPECT_EQ(packet->data_len, 16);
  EXPECT_EQ(bytes_of(packet), frame);
  rte_mbuf_refcnt_update(packet->next, -1);
  rte_pktmbuf_free(packet);
}

} // namespace
} // namespace weir::test::head_test
