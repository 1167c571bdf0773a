// Swaps and changes under full traffic on ring ports: nothing lost, nothing judged by two
// generations, nothing acknowledged and then missed.
#include "tests/support/dataplane_client.hpp"
#include "tests/support/eal.hpp"
#include "tests/support/packets.hpp"
#include "tests/support/ring_gate.hpp"
#include "tests/support/test_image.hpp"
#include "weir/key/text.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <functional>
#include <map>
#include <string>
#include <thread>
#include <vector>

namespace weir::test::swap_test {
namespace {

RuleSet rules_with(std::vector<Prefix> denied) {
  RuleSet rules;
  rules.policy.match = Match::source;
  rules.lists = {{"bad", Side::deny, std::move(denied)}};
  return rules;
}

std::vector<std::uint8_t> frame_from(const std::string &source) {
  return FrameBuilder().ethernet().ipv4({.source = source}).udp(1, 2).payload(16).frame().bytes;
}

// Sends as fast as the gate takes, and collects what comes out.
class Traffic {
public:
  Traffic(RingGate &gate, std::function<std::vector<std::uint8_t>()> next)
      : gate_(gate), next_(std::move(next)), thread_([this] { run(); }) {}
  ~Traffic() {
    if (thread_.joinable()) stop();
  }
  // Ends the input and waits until every packet was judged.
  void stop() {
    stop_ = true;
    thread_.join();
    for (int i = 0; i < 10'000 && gate_.judged() < offered; ++i)
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    came_out += gate_.take(1);
  }
  std::atomic<std::uint64_t> offered{0}, came_out{0};

private:
  void run() {
    while (!stop_) {
      for (int i = 0; i < 256 && !stop_; ++i) {
        const auto frame = next_();
        if (frame.empty() || !gate_.offer(0, frame)) break;
        ++offered;
      }
      came_out += gate_.take(1);
      std::this_thread::yield(); // CPUs may be fewer than threads
    }
  }

  RingGate &gate_;
  std::function<std::vector<std::uint8_t>()> next_;
  std::atomic<bool> stop_{false};
  std::thread thread_;
};

// Odd generations let the one frame of this test pass, even ones drop it.
void swap_under_full_traffic(std::uint64_t swaps, const RingGateOptions &options) {
  RingGate gate(options);
  DataplaneClient control(gate.socket());
  const TestImage denying(rules_with({parse_prefix("10.0.0.0/8").value()}));
  const TestImage passing(rules_with({parse_prefix("172.16.0.0/12").value()}));
  const auto frame = frame_from("10.1.2.3");

  const auto swap_to = [&](std::uint64_t generation) {
    const TestImage &image = generation % 2 == 0 ? denying : passing;
    const WireMessage staged = control.stage(relabelled(image.bytes(), generation, 0));
    ASSERT_TRUE(staged.is(wire::Type::staged)) << staged.refusal();
    const WireMessage committed = control.commit(generation, 0);
    ASSERT_TRUE(committed.is(wire::Type::committed)) << committed.refusal();
  };
  swap_to(1);
  Traffic traffic(gate, [&] { return frame; });
  std::map<std::uint64_t, std::uint64_t> packets_under;
  const auto look = [&] {
    for (const auto &[generation, packets] : gate.dataplane().generations.packets_by_generation())
      packets_under[generation.value()] = packets;
  };
  constexpr std::uint64_t swaps_between_looks = 40; // of the newest hundred each has a counter of its own
  for (std::uint64_t g = 2; g <= swaps && !testing::Test::HasFatalFailure(); ++g) {
    swap_to(g);
    if (g % swaps_between_looks == 0) look();
  }
  traffic.stop();
  look();

  std::uint64_t under_even = 0, under_odd = 0;
  for (const auto &[generation, packets] : packets_under)
    (generation % 2 == 0 ? under_even : under_odd) += packets;
  EXPECT_EQ(gate.judged(), traffic.offered) << "packets were lost";
  EXPECT_EQ(under_odd, traffic.came_out) << "judged by a generation that lets them pass";
  EXPECT_EQ(under_even + under_odd, traffic.offered);
  EXPECT_GT(under_even, 0u);
  EXPECT_GT(under_odd, 0u);
  EXPECT_EQ(gate.dataplane().generations.swap_count(), swaps);
}

TEST(Swaps, a_thousand_under_full_traffic_lose_nothing_and_mix_nothing) {
  ASSERT_TRUE(start_eal());
  swap_under_full_traffic(1000, {});
}

TEST(Swaps, with_two_workers_on_two_queues_lose_nothing_and_mix_nothing) {
  ASSERT_TRUE(start_eal());
  swap_under_full_traffic(100, {.workers = 2});
}

TEST(Swaps, with_two_workers_of_two_nodes_lose_nothing_and_mix_nothing) {
  ASSERT_TRUE(start_eal());
  swap_under_full_traffic(100, {.workers = 2, .node_of_worker = {0, 1}});
}

// Traffic consists only of addresses whose addition was acknowledged: not one may come out, while
// a hundred additions go by between each of ten staged swaps, live and staged.
void add_between_swaps(const RingGateOptions &options) {
  RingGate gate(options);
  DataplaneClient control(gate.socket());
  constexpr unsigned adds = 1000, swaps = 10;
  const auto address = [](unsigned i) {
    return "10.9." + std::to_string(i / 250) + "." + std::to_string(1 + i % 250);
  };
  std::vector<std::vector<std::uint8_t>> frames;
  for (unsigned i = 0; i < adds; ++i) frames.push_back(frame_from(address(i)));

  std::vector<Prefix> in_force;
  const auto stage = [&](std::uint64_t generation) {
    std::vector<Prefix> denied = in_force;
    denied.push_back(parse_prefix("192.0.2.0/24").value());
    // Room for what will be added; the tables are sized by what they hold.
    for (unsigned i = 0; i < 4000; ++i) denied.push_back({Address::from_host(0xAC100000u + i), 32});
    const TestImage image(rules_with(std::move(denied)));
    const WireMessage staged = control.stage(relabelled(image.bytes(), generation, in_force.size()));
    ASSERT_TRUE(staged.is(wire::Type::staged)) << staged.refusal();
  };
  const auto commit = [&](std::uint64_t generation) {
    const WireMessage committed = control.commit(generation, in_force.size());
    ASSERT_TRUE(committed.is(wire::Type::committed)) << committed.refusal();
  };
  stage(1);
  commit(1);

  std::atomic<unsigned> acknowledged{0};
  unsigned next = 0;
  Traffic traffic(gate, [&]() -> std::vector<std::uint8_t> {
    const unsigned known = acknowledged.load(std::memory_order_acquire);
    if (known == 0) return {};
    // The newest most of all, and all others in turn.
    next = (next + 1) % (2 * known);
    return frames[next < known ? next : known - 1];
  });
  bool staged = false;
  for (unsigned i = 0; i < adds && !testing::Test::HasFatalFailure(); ++i) {
    const unsigned in_hundred = i % (adds / swaps);
    if (in_hundred == 40) {
      stage(2 + i / (adds / swaps));
      staged = true;
    }
    const std::vector<image::Delta> delta{make_delta(image::DeltaOp::set, address(i), 0)};
    if (staged) {
      const WireMessage answer = control.deltas(wire::Target::staged, i + 1, delta);
      ASSERT_TRUE(answer.is(wire::Type::applied)) << answer.refusal();
    }
    const WireMessage answer = control.deltas(wire::Target::live, i + 1, delta);
    ASSERT_TRUE(answer.is(wire::Type::applied)) << i << ": " << answer.refusal();
    in_force.push_back(parse_prefix(address(i)).value());
    acknowledged.store(i + 1, std::memory_order_release);
    if (in_hundred == 80) {
      commit(2 + i / (adds / swaps));
      staged = false;
    }
  }
  traffic.stop();
  EXPECT_EQ(traffic.came_out, 0u) << "acknowledged entries were missed";
  EXPECT_EQ(gate.judged(), traffic.offered);
  EXPECT_GT(traffic.offered, adds);
  EXPECT_EQ(gate.dataplane().generations.swap_count(), 1u + swaps);
}

TEST(Swaps, an_acknowledged_addition_is_never_missed) {
  ASSERT_TRUE(start_eal());
  add_between_swaps({});
}

TEST(Swaps, an_acknowledged_addition_is_missed_by_no_worker_of_another_node) {
  ASSERT_TRUE(start_eal());
  add_between_swaps({.workers = 2, .node_of_worker = {0, 1}});
}

} // namespace
} // namespace weir::test::swap_test
