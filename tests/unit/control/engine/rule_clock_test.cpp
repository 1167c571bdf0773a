// The clock of time to live, while the system clock is set and machines start again.
#include "control/engine/rule_clock.hpp"

#include <gtest/gtest.h>

namespace weir::control::rule_clock_test {
namespace {

struct Clocks {
  std::uint64_t wall_s = 1'000'000, boot_s = 50;
  std::string boot_id = "boot-1";
  RuleClock make() {
    return RuleClock(
        {.wall_s = [this] { return wall_s; }, .boot_s = [this] { return boot_s; }, .boot_id = boot_id});
  }
  void pass(std::uint64_t seconds) { wall_s += seconds, boot_s += seconds; }
};

TEST(RuleClock, goes_on_when_somebody_sets_the_system_clock) {
  Clocks clocks;
  RuleClock clock = clocks.make();
  EXPECT_EQ(clock.now_s(), 1'000'000u) << "it begins at the time of day";
  clocks.pass(10);
  clocks.wall_s += 86'400;
  EXPECT_EQ(clock.now_s(), 1'000'010u);
  EXPECT_TRUE(clock.has_moved());
  EXPECT_EQ(clock.to_wall(1'000'020), 1'086'420u) << "people read the system clock";
  EXPECT_EQ(clock.to_wall(0), 0u) << "never";
  clocks.wall_s -= 2 * 86'400;
  EXPECT_EQ(clock.now_s(), 1'000'010u);
  EXPECT_EQ(clock.to_wall(1'000'020), 1'000'020u - 86'400u);
}

TEST(RuleClock, goes_on_after_a_restart_of_the_process) {
  Clocks clocks;
  RuleClock first = clocks.make();
  const std::string note = first.note();
  EXPECT_FALSE(first.has_moved());
  clocks.wall_s += 5000; // set, and nobody lives to see it
  clocks.pass(30);
  RuleClock second = clocks.make();
  second.resume(note);
  EXPECT_EQ(second.now_s(), 1'000'030u) << "only what the boot clock says has passed";
  EXPECT_TRUE(second.has_moved());
}

TEST(RuleClock, takes_the_system_clock_less_its_offset_after_a_restart_of_the_machine) {
  Clocks clocks;
  RuleClock first = clocks.make();
  clocks.wall_s += 5000;
  const std::string note = first.note();
  clocks.pass(600); // the machine is off
  clocks.boot_s = 3;
  clocks.boot_id = "boot-2";
  RuleClock second = clocks.make();
  second.resume(note);
  EXPECT_EQ(second.now_s(), 1'000'600u);
  clocks.wall_s = 0; // a clock without a battery
  RuleClock third = clocks.make();
  third.resume(note);
  EXPECT_EQ(third.now_s(), 1'000'000u) << "time never runs backwards";
  clocks.pass(5);
  clocks.wall_s = 2'000'000; // and is set right
  EXPECT_EQ(third.now_s(), 1'000'005u);
}

TEST(RuleClock, ignores_a_note_that_cannot_be_read) {
  Clocks clocks;
  for (const char *note : {"", "x", "2 boot-1 1 2 3", "1 boot-1 1", "1"}) {
    RuleClock clock = clocks.make();
    clock.resume(note);
    EXPECT_EQ(clock.now_s(), clocks.wall_s) << note;
  }
}

} // namespace
} // namespace weir::control::rule_clock_test
