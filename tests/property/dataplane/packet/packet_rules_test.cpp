// Random packet rules in a real worker, against the oracle: verdict and reason of each packet, and what each rule counted.
#include "tests/support/dataplane_client.hpp"
#include "tests/support/eal.hpp"
#include "tests/support/random_packet_rules.hpp"
#include "tests/support/ring_gate.hpp"
#include "tests/support/test_image.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <map>
#include <thread>

namespace weir::test::packet_rules_test {
namespace {

constexpr std::array<const char *, 2> port_names{"wan", "lan"};
constexpr std::array<PortSide, 2> sides{PortSide::outside, PortSide::inside};

class PacketRulesOfAWorker : public testing::Test {
protected:
  void SetUp() override {
    ASSERT_TRUE(start_eal());
    gate_ = std::make_unique<RingGate>();
  }

  void enforce(const TestImage &image) {
    DataplaneClient control(gate_->socket());
    const WireMessage staged = control.stage(image.bytes());
    ASSERT_TRUE(staged.is(wire::Type::staged)) << staged.refusal();
    const WireMessage committed = control.commit(generation_, 0);
    ASSERT_TRUE(committed.is(wire::Type::committed)) << committed.refusal();
  }

  [[nodiscard]] std::map<std::string, std::uint64_t> counted() {
    std::map<std::string, std::uint64_t> counted;
    const auto names = gate_->dataplane().rules.slots.names();
    for (std::size_t slot = 0; slot < names.size(); ++slot)
      if (const auto n = gate_->dataplane().counters.worker(0).rules[slot].packets.get(); n > 0)
        counted[names[slot].name] = n;
    return counted;
  }

  std::unique_ptr<RingGate> gate_;
  std::uint64_t generation_ = 0;
};

// One at a time, and then all of them in full bursts of mixed families: the same counts once more.
TEST_F(PacketRulesOfAWorker, are_those_of_the_oracle) {
  std::map<std::string, std::uint64_t> wanted;
  std::array<unsigned, reason_count> seen{};
  for (unsigned round = 0; round < 12; ++round) {
    Random random(test_seed() + round);
    RuleSet lists = random_rules(random, {.lists = 4, .prefixes_per_list = 60});
    lists.policy.tunnels = static_cast<Tunnels>(random.below(3));
    std::vector<Frame> frames;
    for (unsigned i = 0; i < 250; ++i) frames.push_back(random_frame(random, lists));
    const PacketRuleSet rules =
        random_packet_rules(random, lists, {.rules = 10 + random.below(60), .flows = 40}, frames);
    const auto sections = rules.sections(random.bits());
    ASSERT_NO_FATAL_FAILURE(enforce(TestImage(lists, {.seed = random.bits(),
                                                      .generation = ++generation_,
                                                      .packet_rules = sections.rules,
                                                      .flows = sections.flows})));
    Oracle oracle = lists.oracle();
    rules.tell(oracle);
    for (std::size_t i = 0; i < frames.size(); ++i) {
      const unsigned port = random.below(2);
      const Judgement judged = oracle.judge(frames[i].bytes, sides[port], port_names[port]);
      const auto outcome = gate_->judge(port, frames[i].bytes);
      ASSERT_EQ(std::string(name_of(outcome.verdict)) + ' ' + std::string(name_of(outcome.reason)),
                std::string(name_of(judged.verdict)) + ' ' + std::string(name_of(judged.reason)))
          << "round " << round << ", frame " << i << ", rule " << judged.list
          << ", WEIR_SEED=" << test_seed();
      ++seen[static_cast<std::size_t>(judged.reason)];
      if (const auto rule = oracle.matched_rule(frames[i].bytes, port_names[port])) ++wanted[*rule];
    }
    ASSERT_EQ(counted(), wanted) << "round " << round << ", WEIR_SEED=" << test_seed();

    const std::uint64_t judged_before = gate_->judged();
    for (const Frame &frame : frames) {
      ASSERT_TRUE(gate_->offer(0, frame.bytes));
      if (const auto rule = oracle.matched_rule(frame.bytes, "wan")) ++wanted[*rule];
    }
    for (int i = 0; i < 40'000 && gate_->judged() < judged_before + frames.size(); ++i)
      std::this_thread::sleep_for(std::chrono::microseconds(500));
    ASSERT_EQ(gate_->judged(), judged_before + frames.size());
    ASSERT_EQ(counted(), wanted) << "in bursts, round " << round << ", WEIR_SEED=" << test_seed();
    gate_->take(0);
    gate_->take(1);
  }
  EXPECT_GT(seen[static_cast<std::size_t>(Reason::rule)], 300u);
  EXPECT_GT(seen[static_cast<std::size_t>(Reason::deny)], 50u);
}

} // namespace
} // namespace weir::test::packet_rules_test
