// p4/generated/acl.spec on DPDK's engine against the model that sees nothing but registers, where the
// registers hold what no image would. The text of acl.p4 is held to the same model elsewhere: what differs
// here the compiler has done, or the engine.
#include "p4/swx/gate.hpp"
#include "tests/p4/chance.hpp"
#include "tests/p4/model.hpp"
#include "tests/p4/pair.hpp"
#include "tests/p4/swx_burst.hpp"
#include "tests/support/eal.hpp"
#include "tests/support/rounds.hpp"
#include "tests/support/seed.hpp"

#include <gtest/gtest.h>

#include <array>
#include <memory>
#include <string>
#include <vector>

namespace weir::generated_test {
namespace {

using test::P4Model;
using test::P4Pair;
using test::Random;

constexpr const char *generated = "p4/generated/acl.spec";
constexpr std::array disturbed{p4::Array::cfg, p4::Array::chain, p4::Array::filter, p4::Array::stack};

struct Burst {
  test::SwxBurst packets;
  std::vector<P4Model::Answer> wanted;

  Burst(Random &random, const test::RuleSet &rules, const P4Model &model) {
    for (unsigned n = 0; n < 100; ++n) {
      const test::Frame frame = test::random_frame(random, rules);
      const auto port = static_cast<std::uint16_t>(random.below(p4::limits::ports));
      packets.add(frame.bytes, port);
      wanted.push_back(model.judge(frame.bytes, port));
    }
  }
};

class P4Generated : public testing::Test {
protected:
  void SetUp() override { ASSERT_TRUE(test::start_eal()); }

  // A gate with the bank in use as `pair` has it.
  void load(const P4Pair &pair) {
    auto gate = p4::Gate::load(generated);
    ASSERT_TRUE(gate) << gate.error().message;
    gate_ = std::move(*gate);
    const auto done = p4::Exporter(gate_->registers()).write(pair.view(), {.ports = P4Pair::port_sides});
    ASSERT_TRUE(done) << done.error().message;
  }
  void write(const p4::Registers &registers, p4::Array array) {
    const Status done = gate_->registers().write(p4::info_of(array).name, 0, registers.of(array));
    ASSERT_TRUE(done) << done.error().message;
  }
  void expect_answers(const Burst &burst) {
    std::vector<p4::Judgement> answers(burst.wanted.size());
    const Status judged = gate_->judge(burst.packets.packets(), answers);
    ASSERT_TRUE(judged) << judged.error().message;
    for (std::size_t i = 0; i < answers.size(); ++i) {
      const P4Model::Answer &wanted = burst.wanted[i];
      ++seen_[static_cast<std::size_t>(wanted.reason)];
      EXPECT_EQ(answers[i], (p4::Judgement{wanted.verdict, wanted.reason}))
          << name_of(answers[i].reason) << " in place of " << name_of(wanted.reason);
      if (wanted.list_hit != 0) ++list_hits_[wanted.list_hit];
    }
  }
  void expect_list_hits() {
    for (std::size_t list = 0; list < list_hits_.size(); ++list)
      EXPECT_EQ(gate_->read_register("list_hits", list).value(), list_hits_[list]) << "list + 1 = " << list;
    list_hits_ = {};
  }

  std::unique_ptr<p4::Gate> gate_;
  std::array<unsigned, reason_count> seen_{};
  std::array<std::uint64_t, 16> list_hits_{};
};

TEST_F(P4Generated, goes_the_way_of_the_model_whatever_the_registers_hold) {
  const std::uint64_t seed = test::seed_or(1924);
  WEIR_TRACE_SEED(seed);
  Random random(seed);
  for (unsigned round = 0; round < test::rounds(12) && !HasFailure(); ++round) {
    SCOPED_TRACE("round " + std::to_string(round));
    P4Pair pair(random, {});
    pair.change(20);
    ASSERT_TRUE(pair.export_image());
    p4::Registers registers = pair.registers();
    const P4Model model(registers);
    ASSERT_NO_FATAL_FAILURE(load(pair));
    for (unsigned step = 0; step < 4; ++step) {
      test::P4Chance(random, registers).disturb();
      for (const p4::Array array : disturbed) ASSERT_NO_FATAL_FAILURE(write(registers, array));
      ASSERT_NO_FATAL_FAILURE(expect_answers(Burst(random, pair.rules(), model)));
    }
    expect_list_hits();
  }
  EXPECT_GT(seen_[static_cast<std::size_t>(Reason::allow)], 100u);
  EXPECT_GT(seen_[static_cast<std::size_t>(Reason::deny)], 100u);
}

} // namespace
} // namespace weir::generated_test
