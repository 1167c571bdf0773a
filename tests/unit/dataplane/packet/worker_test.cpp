// Packets through a real worker on ring ports: the verdict order, which address is judged, tags.
#include "tests/support/dataplane_client.hpp"
#include "tests/support/eal.hpp"
#include "tests/support/judged.hpp"
#include "tests/support/packets.hpp"
#include "tests/support/ring_gate.hpp"
#include "tests/support/seed.hpp"
#include "tests/support/test_image.hpp"
#include "weir/base/hex.hpp"
#include "weir/key/text.hpp"

#include <fmt/core.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>
#include <rte_ethdev.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <map>
#include <random>
#include <thread>
#include <tuple>

namespace weir::test::worker_test {
namespace {

using dataplane::CounterId;

constexpr unsigned wan = 0, lan = 1;

RuleSet rules_of(const Policy &policy) {
  RuleSet rules;
  rules.policy = policy;
  const auto prefix = [](const char *text) { return parse_prefix(text).value(); };
  rules.lists = {
      {"ops", Side::allow, {prefix("10.0.0.7"), prefix("2001:db8::7")}},
      {"bad",
       Side::deny,
       {prefix("10.0.0.0/8"), prefix("2001:db8::/32"), prefix("fe80::/10"), prefix("0.0.0.0/32")}}};
  return rules;
}

using Json = nlohmann::json;

class WorkerTest : public testing::Test {
protected:
  void SetUp() override {
    ASSERT_TRUE(start_eal());
    gate_ = std::make_unique<RingGate>();
  }

  void enforce(const Policy &policy) {
    const TestImage image(rules_of(policy), {.generation = ++generation_});
    DataplaneClient control(gate_->socket());
    ASSERT_TRUE(control.connected());
    const WireMessage staged = control.stage(image.bytes());
    ASSERT_TRUE(staged.is(wire::Type::staged)) << staged.refusal();
    const WireMessage committed = control.commit(generation_, 0);
    ASSERT_TRUE(committed.is(wire::Type::committed)) << committed.refusal();
  }

  void expect(unsigned port, const FrameBuilder &frame, Verdict verdict, Reason reason) {
    expect_judged(*gate_, port, frame, verdict, reason);
  }

  static FrameBuilder from_to(const char *source, const char *destination) {
    return FrameBuilder().ethernet().ipv4({.source = source, .destination = destination}).udp(1, 2);
  }

  std::unique_ptr<RingGate> gate_;
  std::uint64_t generation_ = 0;
};

TEST_F(WorkerTest, without_an_image_the_configuration_decides) {
  expect(wan, from_to("10.0.0.1", "192.0.2.1"), Verdict::pass, Reason::no_image);
  gate_.reset();
  gate_ = std::make_unique<RingGate>(RingGateOptions{.no_image = config::NoImage::closed});
  expect(wan, from_to("10.0.0.1", "192.0.2.1"), Verdict::drop, Reason::no_image);
  enforce({});
  expect(wan, from_to("192.0.2.9", "192.0.2.1"), Verdict::pass, Reason::fallthrough);
}

TEST_F(WorkerTest, verdicts_come_in_their_order) {
  enforce({.match = Match::source});
  expect(wan, from_to("10.0.0.1", "192.0.2.1"), Verdict::drop, Reason::deny);
  expect(wan, from_to("10.0.0.7", "192.0.2.1"), Verdict::pass, Reason::allow);
  expect(wan, from_to("192.0.2.1", "10.0.0.1"), Verdict::pass, Reason::fallthrough);
  expect(wan, FrameBuilder().ethernet().ipv6({.source = "2001:db8::1"}).udp(1, 2), Verdict::drop,
         Reason::deny);
  expect(wan, FrameBuilder().ethernet().ipv6({.source = "2001:db8::7"}).udp(1, 2), Verdict::pass,
         Reason::allow);
  expect(wan, FrameBuilder().ethernet().ipv6({.source = "2001:db9::7"}).udp(1, 2), Verdict::pass,
         Reason::fallthrough);
  expect(wan, FrameBuilder().ethernet().arp("10.0.0.1", "10.0.0.2"), Verdict::pass, Reason::non_ip);
  expect(wan, FrameBuilder().ethernet().ipv4({.source = "10.0.0.7", .version = 5u}), Verdict::drop,
         Reason::malformed);
  // Listed, but the link would be cut without it.
  expect(wan, FrameBuilder().ethernet().ipv6({.source = "fe80::1", .hop_limit = 255}).icmp6(135),
         Verdict::pass, Reason::link_local);
  expect(wan, FrameBuilder().ethernet().ipv6({.source = "fe80::1"}).icmp6(135), Verdict::drop, Reason::deny);
  expect(wan, from_to("0.0.0.0", "255.255.255.255"), Verdict::drop, Reason::deny);
  expect(wan,
         FrameBuilder().ethernet().ipv4({.source = "0.0.0.0", .destination = "255.255.255.255"}).udp(68, 67),
         Verdict::pass, Reason::link_local);
}

TEST_F(WorkerTest, the_policy_of_the_image_decides_what_no_list_does) {
  enforce({.match = Match::source,
           .fallthrough = Verdict::drop,
           .non_ip = Verdict::drop,
           .link_local = Verdict::drop,
           .malformed = Verdict::pass,
           .too_many_tags = Verdict::pass});
  expect(wan, from_to("192.0.2.1", "192.0.2.2"), Verdict::drop, Reason::fallthrough);
  expect(wan, FrameBuilder().ethernet().arp("10.0.0.1", "10.0.0.2"), Verdict::drop, Reason::non_ip);
  expect(wan, FrameBuilder().ethernet().vlan(1).vlan(2).vlan(3).ipv4(), Verdict::pass, Reason::too_many_tags);
  expect(wan, FrameBuilder().ethernet().ipv4({.ihl = 3u}), Verdict::pass, Reason::malformed);
  expect(wan, FrameBuilder().ethernet().ipv6({.source = "fe80::1", .hop_limit = 255}).icmp6(133),
         Verdict::drop, Reason::link_local);
}

TEST_F(WorkerTest, remote_judges_the_party_outside_in_both_directions) {
  enforce({.match = Match::remote});
  expect(wan, from_to("10.0.0.1", "192.0.2.1"), Verdict::drop, Reason::deny);
  expect(wan, from_to("192.0.2.1", "10.0.0.1"), Verdict::pass, Reason::fallthrough);
  expect(lan, from_to("192.0.2.1", "10.0.0.1"), Verdict::drop, Reason::deny);
  expect(lan, from_to("10.0.0.1", "192.0.2.1"), Verdict::pass, Reason::fallthrough);
}

TEST_F(WorkerTest, remote_without_sides_judges_the_source) {
  gate_.reset();
  gate_ = std::make_unique<RingGate>(RingGateOptions{.sides = {PortSide::none, PortSide::none}});
  enforce({.match = Match::remote});
  expect(lan, from_to("10.0.0.1", "192.0.2.1"), Verdict::drop, Reason::deny);
  expect(lan, from_to("192.0.2.1", "10.0.0.1"), Verdict::pass, Reason::fallthrough);
}

TEST_F(WorkerTest, destination_judges_the_destination_on_every_side) {
  enforce({.match = Match::destination});
  for (const unsigned port : {wan, lan}) {
    expect(port, from_to("10.0.0.1", "192.0.2.1"), Verdict::pass, Reason::fallthrough);
    expect(port, from_to("192.0.2.1", "10.0.0.1"), Verdict::drop, Reason::deny);
  }
}

TEST_F(WorkerTest, either_denies_if_one_address_is_denied_and_an_allow_saves_only_its_own) {
  enforce({.match = Match::either});
  expect(wan, from_to("10.0.0.1", "192.0.2.1"), Verdict::drop, Reason::deny);
  expect(wan, from_to("192.0.2.1", "10.0.0.1"), Verdict::drop, Reason::deny);
  expect(wan, from_to("10.0.0.7", "10.0.0.1"), Verdict::drop, Reason::deny);
  expect(wan, from_to("10.0.0.1", "10.0.0.7"), Verdict::drop, Reason::deny);
  expect(wan, from_to("10.0.0.7", "192.0.2.1"), Verdict::pass, Reason::allow);
  expect(wan, from_to("192.0.2.1", "10.0.0.7"), Verdict::pass, Reason::allow);
  expect(wan, from_to("192.0.2.1", "192.0.2.2"), Verdict::pass, Reason::fallthrough);
}

TEST_F(WorkerTest, tags_do_not_hide_an_address) {
  enforce({.match = Match::source});
  const Ipv4Fields listed{.source = "10.0.0.1"};
  expect(wan, FrameBuilder().ethernet().vlan(100).ipv4(listed), Verdict::drop, Reason::deny);
  expect(wan, FrameBuilder().ethernet().vlan(100, 0x88a8).vlan(7).ipv4(listed), Verdict::drop, Reason::deny);
  expect(wan, FrameBuilder().ethernet().vlan(100, 0x9100).vlan(7).ipv4(), Verdict::pass, Reason::fallthrough);
  FrameBuilder eight;
  eight.ethernet().vlan(0x2000);
  for (unsigned tag = 1; tag < 8; ++tag) eight.vlan(0);
  expect(wan, FrameBuilder(eight).ipv4(listed), Verdict::drop, Reason::deny);
  expect(wan, FrameBuilder(eight).vlan(0).ipv4(listed), Verdict::drop, Reason::too_many_tags);
  expect(wan, FrameBuilder().ethernet().vlan(1).vlan(2).vlan(3).ipv4(listed), Verdict::drop,
         Reason::too_many_tags);
}

TEST_F(WorkerTest, a_snap_header_does_not_hide_an_address) {
  enforce({.match = Match::source, .fallthrough = Verdict::drop});
  const Ipv4Fields allowed{.source = "10.0.0.7"}, denied{.source = "10.0.0.1"};
  expect(wan, FrameBuilder().ethernet().snap().ipv4(allowed), Verdict::pass, Reason::allow);
  expect(wan, FrameBuilder().ethernet().snap().ipv4(denied), Verdict::drop, Reason::deny);
  expect(wan, FrameBuilder().ethernet().vlan(0).snap(0xF8).ipv4(denied), Verdict::drop, Reason::deny);
  expect(wan, FrameBuilder().ethernet().snap().ipv6({.source = "2001:db8::1"}), Verdict::drop, Reason::deny);
  expect(wan, FrameBuilder().ethernet().snap().vlan(0).ipv4(denied), Verdict::drop, Reason::too_many_tags);
  expect(wan, FrameBuilder().ethernet().snap(0x0C).ipv4(denied), Verdict::drop, Reason::deny);
  expect(wan, FrameBuilder().ethernet().snap(0x0C, 0x010Bu).payload(40), Verdict::pass, Reason::non_ip);
}

TEST_F(WorkerTest, what_can_leave_the_link_is_judged_by_the_lists) {
  enforce({.match = Match::source});
  expect(wan, FrameBuilder().ethernet().ipv4({.source = "0.0.0.0", .destination = "192.0.2.1"}).udp(68, 67),
         Verdict::drop, Reason::deny);
  expect(wan, FrameBuilder().ethernet().ipv6({.source = "2001:db8::1", .hop_limit = 255}).icmp6(135),
         Verdict::drop, Reason::deny);
  expect(wan,
         FrameBuilder()
             .ethernet()
             .ipv6({.source = "2001:db8::1", .destination = "ff02::1:ff00:1", .hop_limit = 255})
             .icmp6(135),
         Verdict::pass, Reason::link_local);
}

TEST_F(WorkerTest, tunnels_are_judged_by_the_header_that_the_policy_names) {
  const auto carrying = [](const char *outer, const char *inner) {
    return FrameBuilder().ethernet().ipv4({.source = outer}).ipv4({.source = inner}).udp(1, 2);
  };
  const FrameBuilder in_vxlan = FrameBuilder().ethernet().ipv4().udp(1, 4789).vxlan().ethernet().vlan(5).ipv6(
      {.source = "2001:db8::1"});
  const FrameBuilder broken = FrameBuilder().ethernet().ipv4().ipv4({.ihl = 3u});
  const char *denied = "10.0.0.1", *allowed = "10.0.0.7", *other = "192.0.2.9";
  enforce({.match = Match::source});
  expect(wan, carrying(other, denied), Verdict::pass, Reason::fallthrough);
  expect(wan, carrying(denied, other), Verdict::drop, Reason::deny);
  expect(wan, in_vxlan, Verdict::pass, Reason::fallthrough);
  expect(wan, broken, Verdict::pass, Reason::fallthrough);
  enforce({.match = Match::source, .tunnels = Tunnels::inner});
  expect(wan, carrying(other, denied), Verdict::drop, Reason::deny);
  expect(wan, carrying(denied, other), Verdict::pass, Reason::fallthrough);
  expect(wan, carrying(denied, allowed), Verdict::pass, Reason::allow);
  expect(wan, in_vxlan, Verdict::drop, Reason::deny);
  expect(wan, broken, Verdict::drop, Reason::malformed);
  expect(wan, from_to(denied, other), Verdict::drop, Reason::deny);
  enforce({.match = Match::source, .malformed = Verdict::pass, .tunnels = Tunnels::both});
  expect(wan, carrying(other, denied), Verdict::drop, Reason::deny);
  expect(wan, carrying(denied, allowed), Verdict::drop, Reason::deny);
  expect(wan, carrying(other, allowed), Verdict::pass, Reason::allow);
  expect(wan, in_vxlan, Verdict::drop, Reason::deny);
  expect(wan, broken, Verdict::pass, Reason::fallthrough);
  enforce({.match = Match::either, .tunnels = Tunnels::both});
  expect(wan, FrameBuilder().ethernet().ipv4().ipv4({.source = other, .destination = denied}), Verdict::drop,
         Reason::deny);
  expect(wan, carrying(other, allowed), Verdict::pass, Reason::allow);
  expect(wan, carrying(other, other), Verdict::pass, Reason::fallthrough);
}

TEST_F(WorkerTest, a_header_that_a_driver_cut_is_judged_as_in_one_piece) {
  const Ipv4Fields denied{.source = "10.0.0.1"}, allowed{.source = "10.0.0.7"};
  const std::vector<FrameBuilder> frames{
      from_to("10.0.0.1", "192.0.2.1"),
      FrameBuilder().ethernet().vlan(1).vlan(2).ipv4({.source = "10.0.0.7", .options_words = 3}).udp(1, 2),
      FrameBuilder().ethernet().ipv6({.source = "2001:db8::1"}).udp(1, 2),
      FrameBuilder().ethernet().ipv6({.source = "fe80::1", .hop_limit = 255}).icmp6(135),
      FrameBuilder().ethernet().ipv4().ipv4(denied).udp(1, 2),
      FrameBuilder().ethernet().ipv4().udp(1, 4789).vxlan().ethernet().ipv4(allowed),
      FrameBuilder().ethernet().vlan(1).vlan(2).vlan(3).ipv4(denied),
      FrameBuilder().ethernet().arp("10.0.0.1", "10.0.0.2")};
  for (const Tunnels tunnels : {Tunnels::outer, Tunnels::inner, Tunnels::both}) {
    enforce({.match = Match::source, .fallthrough = Verdict::drop, .tunnels = tunnels});
    for (const FrameBuilder &builder : frames) {
      const Frame frame = builder.frame();
      const auto whole = gate_->judge(wan, frame.bytes);
      for (std::size_t cut = 1; cut < std::min<std::size_t>(frame.bytes.size(), 100); ++cut) {
        const auto got = gate_->judge(wan, frame.bytes, std::array{cut});
        EXPECT_EQ(name_of(got.reason), name_of(whole.reason)) << "cut at " << cut;
        EXPECT_EQ(name_of(got.verdict), name_of(whole.verdict)) << "cut at " << cut;
        EXPECT_EQ(got.came_out, whole.came_out) << "cut at " << cut;
      }
    }
  }
}

TEST_F(WorkerTest, frames_leave_as_they_came) {
  enforce({.match = Match::source, .malformed = Verdict::pass, .too_many_tags = Verdict::pass});
  std::vector<std::uint8_t> wrong_sums = from_to("192.0.2.1", "192.0.2.2").frame().bytes;
  wrong_sums[24] = 0xBA, wrong_sums[25] = 0xD1, wrong_sums[40] = 0xBA, wrong_sums[41] = 0xD2;
  const std::vector<std::vector<std::uint8_t>> frames{
      wrong_sums,
      FrameBuilder().ethernet().vlan(0x6005, 0x88a8).vlan(7).ipv4().udp(1, 2).payload(30).frame().bytes,
      FrameBuilder().ethernet().vlan(1, 0x9100).vlan(2).vlan(3).ipv4().payload(9).frame().bytes,
      FrameBuilder().ethernet().vlan(0).ipv6({.source = "2001:db9::1"}).icmp6(128).frame().bytes,
      FrameBuilder().ethernet().ipv4({.ihl = 3u}).payload(61).frame().bytes,
      FrameBuilder().ethernet().arp("10.0.0.1", "10.0.0.2").frame().bytes};
  for (const auto &frame : frames) {
    const std::uint64_t before = gate_->judged();
    ASSERT_TRUE(gate_->offer(wan, frame));
    while (gate_->judged() == before) std::this_thread::yield();
    std::vector<std::vector<std::uint8_t>> out;
    gate_->take(lan, [&](std::span<const std::uint8_t> seen) { out.emplace_back(seen.begin(), seen.end()); });
    ASSERT_EQ(out.size(), 1u);
    EXPECT_EQ(out.front(), frame);
  }
}

TEST_F(WorkerTest, counts_survive_a_new_generation_and_packets_are_told_apart_by_it) {
  enforce({.match = Match::source});
  expect(wan, from_to("10.0.0.1", "192.0.2.1"), Verdict::drop, Reason::deny);
  enforce({.match = Match::source});
  expect(wan, from_to("10.0.0.2", "192.0.2.1"), Verdict::drop, Reason::deny);
  DataplaneClient control(gate_->socket());
  const std::string stats = control.query(R"({"what":"stats"})");
  EXPECT_NE(stats.find(R"("lists":{"ops":0,"bad":2})"), std::string::npos) << stats;
  EXPECT_NE(stats.find(R"("generations":{"1":1,"2":1})"), std::string::npos) << stats;
  EXPECT_NE(stats.find(R"("lost":0)"), std::string::npos) << stats;
}

// Packets of many kinds in one burst, with a transmit queue that takes some of those that pass.
TEST_F(WorkerTest, counts_each_packet_once_also_where_a_queue_refuses_it) {
  gate_.reset();
  gate_ = std::make_unique<RingGate>(RingGateOptions{.tx_slots = 64});
  enforce({.match = Match::source});
  constexpr unsigned rounds = 100;
  const std::vector<FrameBuilder> frames{from_to("10.0.0.1", "192.0.2.1"), from_to("10.0.0.7", "192.0.2.1"),
                                         from_to("192.0.2.9", "192.0.2.1"),
                                         FrameBuilder().ethernet().ipv6({.source = "2001:db8::1"}).udp(1, 2)};
  for (const bool plain : {true, false}) {
    const std::uint64_t judged_before = gate_->judged();
    const unsigned kinds = plain ? 3 : 4;
    for (unsigned i = 0; i < rounds * kinds; ++i)
      ASSERT_TRUE(gate_->offer(wan, frames[i % kinds].frame().bytes));
    for (int i = 0; i < 20'000 && gate_->judged() < judged_before + rounds * kinds; ++i)
      std::this_thread::sleep_for(std::chrono::microseconds(500));
    ASSERT_EQ(gate_->judged(), judged_before + rounds * kinds);
  }
  const dataplane::WorkerCounters &counters = gate_->dataplane().counters.worker(0);
  const auto counted = [&](Reason reason, Verdict verdict) {
    std::uint64_t sum = 0;
    for (const auto &family :
         counters.verdicts[static_cast<std::size_t>(reason)][static_cast<std::size_t>(verdict)])
      sum += family.get();
    return sum;
  };
  const std::uint64_t refused = counted(Reason::tx_refused, Verdict::drop);
  EXPECT_EQ(counters.ports[lan][wire::PortCounterId::tx_refused].get(), refused);
  EXPECT_EQ(refused, 4 * rounds - 63) << "all that pass but what the queue took";
  EXPECT_EQ(counted(Reason::deny, Verdict::drop), 3 * rounds);
  EXPECT_EQ(counted(Reason::allow, Verdict::pass) + counted(Reason::fallthrough, Verdict::pass) + refused,
            4 * rounds);
  DataplaneClient control(gate_->socket());
  const std::string stats = control.query(R"({"what":"stats"})");
  EXPECT_NE(stats.find(R"("lists":{"ops":200,"bad":300})"), std::string::npos) << stats;
}

// Each packet's verdict, list and family, and the order of those that pass, in bursts whose families follow no pattern.
TEST_F(WorkerTest, packets_of_both_families_are_judged_in_one_burst) {
  const std::uint64_t seed = seed_or(20'261'131);
  WEIR_TRACE_SEED(seed);
  std::mt19937_64 random(seed);
  struct Kind {
    std::vector<std::uint8_t> frame;
    Reason reason;
    dataplane::FamilySlot family;
  };
  std::vector<Kind> kinds;
  for (const auto &[source, reason] :
       {std::pair{"10.0.0.1", Reason::deny}, {"10.0.0.7", Reason::allow}, {"192.0.2.9", Reason::fallthrough}})
    kinds.push_back(
        {from_to(source, "192.0.2.1").payload(18).frame().bytes, reason, dataplane::FamilySlot::ipv4});
  for (const auto &[source, reason] : {std::pair{"2001:db8::1", Reason::deny},
                                       {"2001:db8::7", Reason::allow},
                                       {"2001:db9::1", Reason::fallthrough}})
    kinds.push_back({FrameBuilder().ethernet().ipv6({.source = source}).udp(1, 2).frame().bytes, reason,
                     dataplane::FamilySlot::ipv6});
  const dataplane::WorkerCounters &counters = gate_->dataplane().counters.worker(0);
  std::map<std::tuple<Reason, Verdict, dataplane::FamilySlot>, std::uint64_t> expected;
  for (const Verdict fallthrough : {Verdict::pass, Verdict::drop}) {
    enforce({.match = Match::source, .fallthrough = fallthrough});
    for (unsigned round = 0; round < 30; ++round) {
      const std::uint64_t judged_before = gate_->judged();
      const auto count = static_cast<unsigned>(2 + random() % 200);
      std::vector<std::vector<std::uint8_t>> passed, came;
      for (unsigned i = 0; i < count; ++i) {
        const Kind &kind = kinds[random() % kinds.size()];
        const Verdict verdict = kind.reason == Reason::deny    ? Verdict::drop
                                : kind.reason == Reason::allow ? Verdict::pass
                                                               : fallthrough;
        ++expected[{kind.reason, verdict, kind.family}];
        std::vector<std::uint8_t> frame = kind.frame;
        frame.back() = static_cast<std::uint8_t>(i); // told from the others
        ASSERT_TRUE(gate_->offer(wan, frame));
        if (verdict == Verdict::pass) passed.push_back(std::move(frame));
      }
      for (int i = 0; i < 20'000 && gate_->judged() < judged_before + count; ++i)
        std::this_thread::sleep_for(std::chrono::microseconds(500));
      ASSERT_EQ(gate_->judged(), judged_before + count);
      (void)gate_->take(lan, [&](std::span<const std::uint8_t> f) { came.emplace_back(f.begin(), f.end()); });
      ASSERT_EQ(came, passed) << "round " << round;
    }
  }
  for (const auto &[what, packets] : expected) {
    const auto &[reason, verdict, family] = what;
    EXPECT_EQ(counters
                  .verdicts[static_cast<std::size_t>(reason)][static_cast<std::size_t>(verdict)]
                           [static_cast<std::size_t>(family)]
                  .get(),
              packets);
  }
  std::uint64_t ops = 0, bad = 0;
  for (const auto &[what, packets] : expected) {
    ops += std::get<0>(what) == Reason::allow ? packets : 0;
    bad += std::get<0>(what) == Reason::deny ? packets : 0;
  }
  DataplaneClient control(gate_->socket());
  EXPECT_NE(
      control.query(R"({"what":"stats"})").find(fmt::format(R"("lists":{{"ops":{},"bad":{}}})", ops, bad)),
      std::string::npos);
}

// A queue that takes nothing more at every third try, and all but one packet at the others.
std::uint16_t take_some(std::uint16_t, std::uint16_t, rte_mbuf **, std::uint16_t count, void *tries) {
  const unsigned now = static_cast<std::atomic<unsigned> *>(tries)->fetch_add(1);
  if (now % 3 == 2) return 0;
  return count > 1 ? static_cast<std::uint16_t>(count - 1) : count;
}

TEST_F(WorkerTest, asks_a_queue_again_that_refused_some_and_counts_what_it_took_then) {
  enforce({.match = Match::source});
  const std::uint16_t port = gate_->dataplane().ports.all()[lan].port_id;
  std::atomic<unsigned> tries{0};
  const rte_eth_rxtx_callback *const callback = rte_eth_add_tx_callback(port, 0, take_some, &tries);
  ASSERT_NE(callback, nullptr);
  constexpr unsigned packets = 2000;
  const std::uint64_t judged_before = gate_->judged();
  const std::vector<std::uint8_t> frame = from_to("192.0.2.9", "192.0.2.1").frame().bytes;
  for (unsigned i = 0; i < packets; ++i) ASSERT_TRUE(gate_->offer(wan, frame));
  for (int i = 0; i < 20'000 && gate_->judged() < judged_before + packets; ++i)
    std::this_thread::sleep_for(std::chrono::microseconds(500));
  ASSERT_EQ(rte_eth_remove_tx_callback(port, 0, callback), 0);
  const dataplane::PortCounters &counted = gate_->dataplane().counters.worker(0).ports[lan];
  const std::uint64_t refused = counted[wire::PortCounterId::tx_refused].get(),
                      retried = counted[wire::PortCounterId::tx_retried].get();
  EXPECT_EQ(counted[wire::PortCounterId::tx_packets].get() + refused, packets);
  EXPECT_EQ(gate_->take(lan), packets - refused);
  EXPECT_GT(retried, 0u) << "of " << tries << " tries"; // how many depends on when the worker loses its CPU
}

TEST_F(WorkerTest, times_the_stages_of_one_poll_in_64) {
  const auto count = [&](CounterId id) { return gate_->dataplane().counters.worker(0)[id].get(); };
  for (unsigned i = 0; i < 2 * 64 + 10; ++i) // without an image a burst leaves in the poll that it came in
    expect(wan, from_to("10.0.0.1", "192.0.2.1"), Verdict::pass, Reason::no_image);
  EXPECT_EQ(count(CounterId::timed_packets), 2u);
  std::uint64_t all = 0;
  for (const CounterId id : wire::stage_counters) {
    EXPECT_GT(count(id), 0u) << wire::stage_name(id);
    all += count(id);
  }
  EXPECT_LT(all, count(CounterId::busy_cycles));
}

TEST_F(WorkerTest, explains_an_address_as_it_judges_it) {
  DataplaneClient control(gate_->socket());
  EXPECT_NE(control.query(R"({"what":"explain","address":"10.0.0.1"})").find("no_image"), std::string::npos);
  enforce({});
  const std::string denied = control.query(R"({"what":"explain","address":"10.0.0.1"})");
  EXPECT_NE(denied.find(R"("verdict":"drop","reason":"deny","list":"bad","entry":"10.0.0.0/8")"),
            std::string::npos)
      << denied;
  const std::string allowed = control.query(R"({"what":"explain","address":"10.0.0.7"})");
  EXPECT_NE(allowed.find(R"("verdict":"pass","reason":"allow","list":"ops")"), std::string::npos) << allowed;
  EXPECT_EQ(control.query(R"({"what":"explain","address":"10.0.0"})"), "");
  EXPECT_EQ(control.query("[]"), "");
}

TEST_F(WorkerTest, shows_dropped_packets_to_who_asks) {
  enforce({});
  DataplaneClient control(gate_->socket());
  const auto ask = [&](std::uint64_t from) {
    return Json::parse(control.query(R"({"what":"drops","from":)" + std::to_string(from) + "}"));
  };
  const FrameBuilder from_denied = from_to("10.0.0.1", "192.0.2.1");
  const Frame denied = from_denied.frame();
  expect(wan, from_denied, Verdict::drop, Reason::deny); // nobody has asked yet
  std::uint64_t from = ask(0).at("next");
  expect(wan, from_denied, Verdict::drop, Reason::deny);
  expect(wan, from_to("198.51.100.1", "192.0.2.1"), Verdict::pass, Reason::fallthrough);
  expect(wan, FrameBuilder().ethernet(0x0800).payload(6), Verdict::drop, Reason::malformed);
  Json packets = Json::array();
  for (unsigned i = 0; packets.size() < 2 && i < 500; ++i) {
    const Json answer = ask(from);
    from = answer.at("next");
    EXPECT_EQ(answer.at("overwritten"), 0);
    for (const Json &packet : answer.at("packets")) packets.push_back(packet);
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  ASSERT_EQ(packets.size(), 2u) << packets;
  EXPECT_EQ(packets[0].at("reason"), "deny");
  EXPECT_EQ(packets[0].at("list"), "bad");
  EXPECT_EQ(packets[0].at("address"), "10.0.0.1");
  EXPECT_EQ(packets[0].at("port"), "wan");
  EXPECT_EQ(packets[0].at("length"), denied.bytes.size());
  EXPECT_EQ(packets[0].at("bytes"),
            hex_of(denied.bytes.data(), std::min<std::size_t>(denied.bytes.size(), 184)));
  EXPECT_EQ(packets[1].at("reason"), "malformed");
  EXPECT_FALSE(packets[1].contains("address"));
  const auto now = std::chrono::duration_cast<std::chrono::nanoseconds>(
      std::chrono::system_clock::now().time_since_epoch());
  EXPECT_NEAR(packets[0].at("at_ns").get<double>(), static_cast<double>(now.count()), 60e9);
}

TEST_F(WorkerTest, copies_of_dropped_packets_keep_to_their_cap_and_tell_of_the_others) {
  enforce({});
  DataplaneClient control(gate_->socket());
  std::uint64_t from = 0, copies = 0, left_out = 0;
  const auto ask = [&] {
    const Json answer = Json::parse(control.query(R"({"what":"drops","from":)" + std::to_string(from) + "}"));
    from = answer.at("next");
    EXPECT_EQ(answer.at("overwritten"), 0);
    for (const Json &packet : answer.at("packets")) left_out += packet.at("left_out").get<std::uint64_t>();
    copies += answer.at("packets").size();
    return answer.at("packets").size();
  };
  ask();
  const std::vector<std::uint8_t> denied = from_to("10.0.0.1", "192.0.2.1").frame().bytes;
  constexpr std::uint64_t flood = 60'000, at_once = 256, a_second = 20'000;
  const std::uint64_t before = gate_->judged();
  const auto begin = std::chrono::steady_clock::now();
  for (std::uint64_t i = 0; i < flood; ++i) {
    while (!gate_->offer(wan, denied)) std::this_thread::yield();
    if (i % 8192 == 0) ask();
  }
  for (int i = 0; i < 20'000 && gate_->judged() < before + flood; ++i)
    std::this_thread::sleep_for(std::chrono::microseconds(500));
  ASSERT_EQ(gate_->judged(), before + flood);
  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  std::this_thread::sleep_for(
      std::chrono::milliseconds(50)); // one that is due again tells of those before it
  expect(wan, from_to("10.0.0.1", "192.0.2.1"), Verdict::drop, Reason::deny);
  for (unsigned i = 0; i < 500 && copies + left_out < flood + 1; ++i)
    if (ask() == 0) std::this_thread::sleep_for(std::chrono::milliseconds(5));
  EXPECT_EQ(copies + left_out, flood + 1) << "each is copied, or told of by the next copy";
  EXPECT_GE(copies, at_once);
  EXPECT_LE(static_cast<double>(copies), at_once + 2 + seconds * a_second);
  EXPECT_GT(left_out, 0u) << flood << " in " << seconds << " s";
}

TEST_F(WorkerTest, explains_a_packet_as_it_judges_it) {
  DataplaneClient control(gate_->socket());
  const auto query = [&](const Frame &frame, const std::string &port) {
    return R"({"what":"explain","packet":")" + hex_of(frame.bytes.data(), frame.bytes.size()) +
           R"(","port":")" + port + R"("})";
  };
  const Frame frame = from_to("192.0.2.1", "10.0.0.1").frame();
  EXPECT_NE(control.query(query(frame, "wan")).find("no_image"), std::string::npos);
  enforce({});
  const std::string in = control.query(query(frame, "wan")), out = control.query(query(frame, "lan"));
  EXPECT_NE(in.find(R"("verdict":"pass","reason":"default")"), std::string::npos) << in;
  EXPECT_NE(in.find(R"("address":"192.0.2.1")"), std::string::npos) << in;
  EXPECT_NE(out.find(R"("verdict":"drop","reason":"deny","list":"bad","entry":"10.0.0.0/8")"),
            std::string::npos)
      << "its destination is the remote party: " << out;
  EXPECT_EQ(control.query(query(frame, "dmz")), "") << "no such port";
  EXPECT_EQ(control.query(query(frame, "")), "") << "the side is not known";
  EXPECT_EQ(control.query(R"({"what":"explain","packet":"0g","port":"wan"})"), "");
  EXPECT_EQ(control.query(R"({"what":"explain"})"), "");
}

} // namespace
} // namespace weir::test::worker_test
