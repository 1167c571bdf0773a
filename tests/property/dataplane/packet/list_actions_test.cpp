// Random lists of which some only count, limit or reject, in a real worker and as `explain` tells them, against the oracle.
#include "tests/support/dataplane_client.hpp"
#include "tests/support/eal.hpp"
#include "tests/support/random_rules.hpp"
#include "tests/support/ring_gate.hpp"
#include "tests/support/test_image.hpp"
#include "weir/lookup/explain_packet.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <map>
#include <thread>

namespace weir::test::list_actions_test {
namespace {

constexpr std::array<const char *, 2> port_names{"wan", "lan"};
constexpr std::array<PortSide, 2> sides{PortSide::outside, PortSide::inside};

std::string words(Verdict verdict, Reason reason) {
  return std::string(name_of(verdict)) + ' ' + std::string(name_of(reason));
}

class ListActionsOfAWorker : public testing::Test {
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

  [[nodiscard]] std::map<std::string, std::uint64_t> counted() const {
    std::map<std::string, std::uint64_t> counted;
    const auto &verdicts = gate_->dataplane().counters.worker(0).verdicts;
    for (std::size_t r = 0; r < reason_count; ++r)
      for (std::size_t v = 0; v < 2; ++v)
        for (const auto &family : verdicts[r][v])
          if (const auto n = family.get(); n > 0)
            counted[words(static_cast<Verdict>(v), static_cast<Reason>(r))] += n;
    return counted;
  }

  std::unique_ptr<RingGate> gate_;
  std::uint64_t generation_ = 0;
};

// One at a time, and then all of them in full bursts of mixed families.
TEST_F(ListActionsOfAWorker, are_those_of_the_oracle) {
  std::map<std::string, std::uint64_t> wanted;
  std::uint64_t differ = 0;
  for (unsigned round = 0; round < 16; ++round) {
    Random random(test_seed() + round);
    RuleSet lists = random_rules(random, {.lists = 6, .prefixes_per_list = 60});
    lists.policy.tunnels = static_cast<Tunnels>(random.below(3));
    for (TestList &list : lists.lists)
      if (list.side == Side::deny) {
        constexpr std::array actions{RuleAction::drop, RuleAction::count, RuleAction::rate_limit,
                                     RuleAction::reject};
        list.on_match = actions[random.below(actions.size())];
      }
    RuleSet dropping = lists;
    for (TestList &list : dropping.lists) list.on_match = RuleAction::drop;
    const TestImage image(lists, {.seed = random.bits(), .generation = ++generation_});
    ASSERT_NO_FATAL_FAILURE(enforce(image));
    const Oracle oracle = lists.oracle(), strict = dropping.oracle();
    std::vector<Frame> frames;
    for (unsigned i = 0; i < 250; ++i) frames.push_back(random_frame(random, lists));
    for (std::size_t i = 0; i < frames.size(); ++i) {
      const unsigned port = random.below(2);
      const Judgement judged = oracle.judge(frames[i].bytes, sides[port], port_names[port]);
      const auto outcome = gate_->judge(port, frames[i].bytes);
      gate_->take(port); // an answer to what was rejected
      const std::string now = words(judged.verdict, judged.reason);
      ASSERT_EQ(words(outcome.verdict, outcome.reason), now)
          << "round " << round << ", frame " << i << ", list " << judged.list
          << ", WEIR_SEED=" << test_seed();
      const lookup::PacketExplanation why =
          lookup::explain_packet(lists.policy, frames[i].bytes, sides[port], [&](const Address &address) {
            return lookup::explain(image.view(), address);
          });
      ASSERT_EQ(words(why.verdict, why.reason), now)
          << "explained, round " << round << ", frame " << i << ", WEIR_SEED=" << test_seed();
      ++wanted[now];
      if (strict.judge(frames[i].bytes, sides[port], port_names[port]) != judged) ++differ;
    }
    ASSERT_EQ(counted(), wanted) << "round " << round << ", WEIR_SEED=" << test_seed();

    const std::uint64_t judged_before = gate_->judged();
    for (const Frame &frame : frames) {
      ASSERT_TRUE(gate_->offer(0, frame.bytes));
      const Judgement judged = oracle.judge(frame.bytes, sides[0], port_names[0]);
      ++wanted[words(judged.verdict, judged.reason)];
    }
    for (int i = 0; i < 40'000 && gate_->judged() < judged_before + frames.size(); ++i)
      std::this_thread::sleep_for(std::chrono::microseconds(500));
    ASSERT_EQ(gate_->judged(), judged_before + frames.size());
    ASSERT_EQ(counted(), wanted) << "in bursts, round " << round << ", WEIR_SEED=" << test_seed();
    gate_->take(0);
    gate_->take(1);
  }
  EXPECT_GT(differ, 200u) << "packets that pass only because a list does not drop";
}

} // namespace
} // namespace weir::test::list_actions_test
