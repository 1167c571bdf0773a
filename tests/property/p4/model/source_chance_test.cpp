// The text of p4/acl.p4, interpreted, against the model that sees nothing but registers, where the registers
// hold what no image would: every branch of the program is taken, and seen to be taken.
#include "tests/p4/chance.hpp"
#include "tests/p4/model.hpp"
#include "tests/p4/pair.hpp"
#include "tests/support/rounds.hpp"
#include "tests/support/seed.hpp"

#include <gtest/gtest.h>

#include <array>
#include <string>

namespace weir::source_chance_test {
namespace {

using test::P4Chance;
using test::P4Pair;
using test::Random;
using Answer = test::P4Acl::Answer;

TEST(P4SourceByChance, goes_the_way_of_the_model_whatever_the_registers_hold) {
  const std::uint64_t seed = test::seed_or(923);
  WEIR_TRACE_SEED(seed);
  Random random(seed);
  std::array<unsigned, reason_count> seen{};
  for (unsigned round = 0; round < test::rounds(60); ++round) {
    SCOPED_TRACE("round " + std::to_string(round));
    P4Pair pair(random, {});
    pair.change(20);
    ASSERT_TRUE(pair.export_image());
    p4::Registers registers = pair.registers();
    const test::P4Model model(registers);
    if (random.one_in(2)) P4Chance(random, registers).add_overlays();
    for (const p4::Array array : {p4::Array::slots4, p4::Array::slots6})
      ASSERT_TRUE(pair.program().write(p4::info_of(array).name, 0, registers.of(array)));
    for (unsigned step = 0; step < 4; ++step) {
      P4Chance(random, registers).disturb();
      for (const p4::Array array : {p4::Array::cfg, p4::Array::chain, p4::Array::filter, p4::Array::stack})
        ASSERT_TRUE(pair.program().write(p4::info_of(array).name, 0, registers.of(array)));
      for (unsigned n = 0; n < 100; ++n) {
        const test::Frame frame = test::random_frame(random, pair.rules());
        const auto port = static_cast<std::uint16_t>(random.below(p4::limits::ports));
        const test::P4Model::Answer wanted = model.judge(frame.bytes, port);
        const auto is = pair.program().judge(frame.bytes, port);
        ASSERT_TRUE(is) << is.error().message;
        ASSERT_EQ(*is, (Answer{wanted.verdict, wanted.reason, wanted.list_hit})) << name_of(wanted.reason);
        ++seen[static_cast<std::size_t>(is->reason)];
      }
    }
  }
  EXPECT_GT(seen[static_cast<std::size_t>(Reason::allow)], 500u);
  EXPECT_GT(seen[static_cast<std::size_t>(Reason::deny)], 500u);
}

} // namespace
} // namespace weir::source_chance_test
