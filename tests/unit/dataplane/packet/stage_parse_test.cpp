// Bursts through the parser's stage, against the parser packet by packet: the short ways of bursts that are all alike say
// what it says, and read nothing beyond a frame's end.
#include "dataplane/packet/packets.hpp"
#include "tests/support/packets.hpp"
#include "tests/support/seed.hpp"
#include "weir/key/tunnel.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <functional>
#include <memory>
#include <random>
#include <span>
#include <string>
#include <vector>

namespace weir::test::stage_parse_test {
namespace {

using dataplane::Packets;

// Packets whose frames end where their memory ends, so that the address sanitizer sees a byte read too far.
class StageParse : public testing::Test {
protected:
  void add(const Frame &frame) {
    ASSERT_LT(burst_->count, dataplane::burst_packets_max);
    const unsigned i = burst_->count++;
    frames_[i] = std::make_unique<std::uint8_t[]>(frame.bytes.size());
    std::ranges::copy(frame.bytes, frames_[i].get());
    mbufs_[i] = {};
    mbufs_[i].buf_addr = frames_[i].get();
    mbufs_[i].data_len = static_cast<std::uint16_t>(frame.bytes.size());
    mbufs_[i].pkt_len = mbufs_[i].data_len;
    mbufs_[i].nb_segs = 1;
    burst_->packets[i] = &mbufs_[i];
  }
  void clear() { burst_->count = 0; }

  // What is parsed of each packet alone, and which address of each is judged.
  void parse_and_compare() {
    EXPECT_TRUE(measure_burst(*burst_));
    parse_burst(*burst_);
    std::uint64_t bytes = 0;
    bool judged = true, plain[] = {true, true}; // by the number of tags
    std::vector<std::uint32_t> v4;
    std::vector<std::array<std::uint8_t, 16>> v6;
    for (unsigned i = 0; i < burst_->count; ++i) {
      const std::uint8_t *frame = frames_[i].get();
      const ParsedPacket parsed = parse_packet(frame, length(i));
      ASSERT_EQ(burst_->parsed_as(i), parsed) << "packet " << i << " of " << burst_->count;
      ASSERT_EQ(burst_->lengths[i], length(i)) << "packet " << i;
      bytes += length(i);
      judged &= parsed.is_judged();
      plain[0] &= is_plain_ipv4<0>(frame, length(i)) || is_plain_ipv6<0>(frame, length(i));
      plain[1] &= is_plain_ipv4<1>(frame, length(i)) || is_plain_ipv6<1>(frame, length(i));
      const std::uint8_t *address =
          frame + (burst_->judges_destination ? parsed.destination_offset : parsed.source_offset);
      if (judged && parsed.kind == PacketKind::ipv4) v4.push_back(load_unaligned<std::uint32_t>(address));
      if (judged && parsed.kind == PacketKind::ipv6) std::copy_n(address, 16, v6.emplace_back().begin());
      if (judged) {
        ASSERT_EQ(burst_->v6 >> i & 1, parsed.kind == PacketKind::ipv6 ? 1u : 0u) << "packet " << i;
      }
    }
    EXPECT_EQ(burst_->bytes, bytes);
    ASSERT_EQ(burst_->plain, judged);
    ASSERT_EQ(burst_->all_plain, plain[0] || plain[1]);
    if (!judged) return;
    ASSERT_EQ(burst_->count_v6(), v6.size());
    ASSERT_TRUE(std::ranges::equal(std::span(burst_->judged, v4.size()), v4));
    ASSERT_TRUE(std::ranges::equal(std::span(burst_->judged_v6, v6.size()), v6));
  }
  [[nodiscard]] std::size_t length(unsigned i) const { return mbufs_[i].data_len; }

  std::unique_ptr<Packets> burst_ = std::make_unique<Packets>();

private:
  std::unique_ptr<std::uint8_t[]> frames_[dataplane::burst_packets_max];
  std::unique_ptr<rte_mbuf[]> mbufs_ = std::make_unique<rte_mbuf[]>(dataplane::burst_packets_max);
};

FrameBuilder ethernet(unsigned tags) {
  FrameBuilder builder = FrameBuilder().ethernet();
  for (unsigned i = 0; i < tags; ++i) builder.vlan(7);
  return builder;
}
template <unsigned tags> Frame v4(unsigned number) {
  return ethernet(tags).ipv4({.source = "10.0.0." + std::to_string(number)}).udp(1, 2).payload(18).frame();
}
template <unsigned tags> Frame v6(unsigned number) {
  return ethernet(tags).ipv6({.source = "2001:db8::" + std::to_string(number)}).udp(1, 2).frame();
}
// Not plain among packets with as many tags.
std::vector<Frame> others(unsigned tags) {
  const unsigned more = 1 - tags;
  return {ethernet(more).ipv4().udp(1, 2).payload(64).frame(),
          ethernet(more).ipv6().udp(1, 2).frame(),
          ethernet(2).ipv4().udp(1, 2).payload(64).frame(),
          FrameBuilder().ethernet().vlan(7, ethertype::qinq).ipv4().udp(1, 2).payload(64).frame(),
          ethernet(tags).ipv4({.options_words = 10}).udp(1, 53).payload(64).frame(),
          ethernet(tags).ipv4({.source = "0.0.0.0", .destination = "255.255.255.255"}).udp(68, 67).frame(),
          ethernet(tags).ipv6({.source = "fe80::1", .hop_limit = 255}).icmp6(135).frame(),
          ethernet(tags).arp("10.0.0.1", "10.0.0.2").payload(64).frame(),
          ethernet(tags).ipv4({.ihl = 3u}).payload(20).frame(),
          ethernet(tags).ipv4().frame(33 + 4 * tags),
          ethernet(tags).ipv6().frame(53 + 4 * tags),
          ethernet(tags).frame(),
          ethernet(tags).frame(0)};
}

using Plain = std::function<Frame(unsigned)>;
template <unsigned tags> std::vector<Plain> mixtures() {
  return {v4<tags>, v6<tags>, [](unsigned i) { return i % 3 == 1 ? v6<tags>(i) : v4<tags>(i); },
          [](unsigned i) { return i % 5 != 4 ? v6<tags>(i) : v4<tags>(i); }};
}

TEST_F(StageParse, bursts_of_plain_packets_take_a_short_way) {
  for (const auto &mixture : {mixtures<0>(), mixtures<1>()})
    for (const bool destination : {false, true})
      for (const unsigned count : {1u, 15u, 16u, 17u, 64u})
        for (const Plain &plain : mixture) {
          burst_->judges_destination = destination;
          clear();
          for (unsigned i = 0; i < count; ++i) add(plain(i));
          parse_and_compare();
          EXPECT_TRUE(burst_->all_plain);
        }
}

TEST_F(StageParse, one_packet_of_another_kind_is_seen_wherever_it_stands) {
  for (const unsigned tags : {0u, 1u})
    for (const Plain &plain : tags == 0 ? mixtures<0>() : mixtures<1>())
      for (const Frame &other : others(tags))
        for (const unsigned at : {0u, 1u, 15u, 16u, 17u, 40u}) {
          clear();
          for (unsigned i = 0; i < 41; ++i) add(i == at ? other : plain(i));
          parse_and_compare();
          EXPECT_FALSE(burst_->all_plain);
        }
}

// Of IPv4 alone 34 bytes are enough; where IPv6 is looked for, 54.
TEST_F(StageParse, short_frames_are_read_no_further_than_they_go) {
  const Frame cut = FrameBuilder().ethernet().ipv4().payload(30).frame(40);
  for (unsigned i = 0; i < 20; ++i) add(cut);
  parse_and_compare();
  EXPECT_TRUE(burst_->all_plain);
  add(v6<0>(1));
  EXPECT_TRUE(measure_burst(*burst_));
  parse_burst(*burst_);
  EXPECT_FALSE(burst_->all_plain);
  EXPECT_TRUE(burst_->plain) << "by the parser, packet by packet";
  EXPECT_EQ(burst_->v6, 1u << 20);
}

TEST_F(StageParse, random_bursts_are_parsed_as_packets_are) {
  const std::uint64_t seed = seed_or(20'261'130);
  WEIR_TRACE_SEED(seed);
  std::mt19937_64 random(seed);
  for (unsigned round = 0; round < 3'000; ++round) {
    clear();
    burst_->judges_destination = random() % 2 == 0;
    const unsigned count = 1 + static_cast<unsigned>(random() % dataplane::burst_packets_max);
    const unsigned kinds = 1 + static_cast<unsigned>(random() % 3), one_odd_in = 8u << random() % 5;
    const bool tagged = random() % 2 == 0;
    const std::vector<Frame> odd = others(tagged ? 1 : 0);
    for (unsigned i = 0; i < count; ++i) {
      const bool is_v4 = kinds == 1 || (kinds == 3 && random() % 2 == 0);
      const auto &plain = is_v4 ? (tagged ? v4<1> : v4<0>) : (tagged ? v6<1> : v6<0>);
      add(random() % one_odd_in == 0 ? odd[random() % odd.size()] : plain(i));
    }
    parse_and_compare();
    if (HasFailure()) FAIL() << "round " << round;
  }
}

// Under `inner` what a packet carries is judged: no burst with a tunnel takes the short way.
TEST_F(StageParse, what_is_inside_is_found_on_every_way) {
  Policy policy;
  burst_->policy = &policy;
  burst_->tunnels = Tunnels::inner;
  const auto parse = [&] {
    EXPECT_TRUE(measure_burst(*burst_));
    parse_burst(*burst_);
  };
  const Ipv4Fields inside{.source = "10.9.9.9"};
  const Frame tunnel_v4 = FrameBuilder().ethernet().ipv4().ipv4(inside).udp(1, 2).frame(),
              tunnel_v6 = FrameBuilder().ethernet().ipv6().ipv4(inside).udp(1, 2).frame();
  for (const auto &plain : {v4<0>, v6<0>, v4<1>, v6<1>})
    for (const Frame &carrier : {tunnel_v4, tunnel_v6})
      for (const unsigned at : {0u, 20u, 63u}) {
        clear();
        for (unsigned i = 0; i < 64; ++i) add(i == at ? carrier : plain(i));
        parse();
        EXPECT_FALSE(burst_->all_plain);
        EXPECT_TRUE(burst_->plain);
        EXPECT_EQ(burst_->v6 >> at & 1, 0u);
        const ParsedPacket &parsed = burst_->parsed_as(at);
        EXPECT_EQ(
            load_unaligned<std::uint32_t>(dataplane::frame_of(burst_->packets[at]) + parsed.source_offset),
            load_unaligned<std::uint32_t>("\x0a\x09\x09\x09"));
      }
  clear();
  for (unsigned i = 0; i < 64; ++i) add(v4<0>(i));
  parse();
  EXPECT_TRUE(burst_->all_plain);
}

TEST_F(StageParse, a_packet_of_several_segments_is_told) {
  for (unsigned i = 0; i < 3; ++i) add(v4<0>(i));
  EXPECT_TRUE(measure_burst(*burst_));
  for (unsigned i = 0; i < 3; ++i) {
    burst_->packets[i]->nb_segs = 2;
    EXPECT_FALSE(measure_burst(*burst_)) << "packet " << i;
    burst_->packets[i]->nb_segs = 1;
  }
}

} // namespace
} // namespace weir::test::stage_parse_test
