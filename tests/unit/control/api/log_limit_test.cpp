// How many lines may come into the log.
#include "control/api/log_limit.hpp"

#include <gtest/gtest.h>

namespace weir::control::log_limit_test {
namespace {

TEST(LogLimit, takes_ten_lines_and_then_one_a_second_that_counts_those_left_out) {
  LogLimit limit;
  const auto start = LogLimit::Clock::now();
  for (unsigned i = 0; i < LogLimit::lines_at_once; ++i) EXPECT_EQ(limit.line(start), 0u);
  for (unsigned i = 0; i < 1000; ++i) EXPECT_EQ(limit.line(start), std::nullopt);
  EXPECT_EQ(limit.line(start + std::chrono::milliseconds(999)), std::nullopt);
  EXPECT_EQ(limit.line(start + std::chrono::seconds(1)), 1001u);
  EXPECT_EQ(limit.line(start + std::chrono::seconds(1)), std::nullopt);
  const auto later = start + std::chrono::hours(1);
  EXPECT_EQ(limit.line(later), 1u);
  for (unsigned i = 1; i < LogLimit::lines_at_once; ++i) EXPECT_EQ(limit.line(later), 0u);
  EXPECT_EQ(limit.line(later), std::nullopt) << "silence saves no more than ten";
}

} // namespace
} // namespace weir::control::log_limit_test
