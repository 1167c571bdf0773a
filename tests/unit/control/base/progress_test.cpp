#include "control/base/progress.hpp"

#include <gtest/gtest.h>

#include <thread>

namespace weir::control::progress_test {
namespace {

using Phase = Progress::Phase;

TEST(Progress, phases_begin_from_nothing_and_sum_up_what_threads_tell) {
  Progress progress;
  EXPECT_EQ(progress.now().phase, Phase::none);
  EXPECT_EQ(progress.now().phase_ms, 0u);
  progress.begin(Phase::reading, 4000);
  {
    std::jthread one([&] {
      for (int i = 0; i < 1000; ++i) progress.add(2, 1);
    });
    std::jthread two([&] {
      for (int i = 0; i < 1000; ++i) progress.add(2, 1);
    });
  }
  const Progress::Now now = progress.now();
  EXPECT_EQ(now.phase, Phase::reading);
  EXPECT_EQ(now.done, 4000u);
  EXPECT_EQ(now.total, 4000u);
  EXPECT_EQ(now.entries, 2000u);
  progress.begin(Phase::building, 7);
  progress.expect(std::chrono::milliseconds(1500));
  EXPECT_EQ(progress.now().done, 0u);
  EXPECT_EQ(progress.now().entries, 0u);
  EXPECT_EQ(progress.now().expected_ms, 1500u);
  progress.begin(Phase::pushing);
  EXPECT_EQ(progress.now().expected_ms, 0u) << "that was of another phase";
}

} // namespace
} // namespace weir::control::progress_test
