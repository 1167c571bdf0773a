#include "control/cli/replay.hpp"

#include <gtest/gtest.h>

namespace weir::cli::replay_steps_test {
namespace {

TEST(CliReplaySteps, packets_are_divided_evenly_and_the_next_is_applied_half_way) {
  const auto steps = replay_steps({{"b.yaml", {}}, {"c.yaml", {}}}, 300);
  ASSERT_TRUE(steps);
  ASSERT_EQ(steps->size(), 2u);
  EXPECT_EQ((*steps)[0].generation, 2u);
  EXPECT_EQ((*steps)[0].after, 50u);
  EXPECT_EQ((*steps)[0].first_packet, 100u);
  EXPECT_EQ((*steps)[1].generation, 3u);
  EXPECT_EQ((*steps)[1].after, 150u);
  EXPECT_EQ((*steps)[1].first_packet, 200u);
}

TEST(CliReplaySteps, a_packet_number_is_met_exactly) {
  const auto steps = replay_steps({{"b.yaml", 7}}, 10);
  ASSERT_TRUE(steps);
  EXPECT_EQ(steps->front().after, 7u);
  EXPECT_EQ(steps->front().first_packet, 7u);
}

TEST(CliReplaySteps, each_generation_judges_some_whatever_the_number_of_packets) {
  for (std::uint64_t generations = 2; generations <= 9; ++generations)
    for (std::uint64_t packets = generations; packets < 40; ++packets) {
      const auto steps = replay_steps(std::vector<ReplayApply>(generations - 1, {"x.yaml", {}}), packets);
      ASSERT_TRUE(steps);
      std::uint64_t previous = 0;
      for (const ReplayStep &step : *steps) {
        EXPECT_GT(step.after, previous) << packets << " packets, generation " << step.generation;
        EXPECT_LE(step.after, step.first_packet);
        EXPECT_LT(step.first_packet, packets);
        previous = step.first_packet;
      }
    }
}

TEST(CliReplaySteps, a_generation_that_would_judge_nothing_is_refused) {
  EXPECT_FALSE(replay_steps({{"b.yaml", {}}}, 1));
  EXPECT_FALSE(replay_steps({{"b.yaml", {}}}, 0));
  EXPECT_FALSE(replay_steps({{"b.yaml", 10}}, 10));
  EXPECT_FALSE(replay_steps({{"b.yaml", 9}, {"c.yaml", {}}}, 10));
}

} // namespace
} // namespace weir::cli::replay_steps_test
