#include "weir/config/values.hpp"

#include <gtest/gtest.h>

#include <chrono>

namespace weir::config::values_test {
namespace {

using namespace std::chrono_literals;

TEST(ConfigValues, sizes_are_powers_of_1024_and_never_more_than_there_is) {
  EXPECT_EQ(parse_bytes("4096").value(), 4096u);
  EXPECT_EQ(parse_bytes("512KiB").value(), 512u << 10);
  EXPECT_EQ(parse_bytes("3 GiB").value(), std::uint64_t{3} << 30);
  for (const char *bad : {"", "0", "MiB", "1MB", "1.5MiB", "-1", "1 MiB ", "99999999999TiB"})
    EXPECT_FALSE(parse_bytes(bad)) << bad;
}

TEST(ConfigValues, durations_need_units_in_falling_order) {
  EXPECT_EQ(parse_duration("60s"), 60s);
  EXPECT_EQ(parse_duration("10m"), 10min);
  EXPECT_EQ(parse_duration("1h30m"), 90min);
  EXPECT_EQ(parse_duration("1w"), std::chrono::hours(7 * 24));
  for (const char *bad :
       {"", "10", "m", "1x", "1m1h", "1m1m", "-1s", "1.5h", "0s", "99999999999999999999s", "5000w 1s"})
    EXPECT_FALSE(parse_duration(bad)) << bad;
  for (const auto seconds : {1s, 59s, 60s, 3'661s, 90'000s})
    EXPECT_EQ(parse_duration(to_string(seconds)), seconds);
}

TEST(ConfigValues, shares_lie_between_nothing_and_all) {
  EXPECT_DOUBLE_EQ(parse_share("30%").value(), 0.3);
  EXPECT_DOUBLE_EQ(parse_share("0.25").value(), 0.25);
  EXPECT_DOUBLE_EQ(parse_share("100%").value(), 1.0);
  for (const char *bad : {"", "%", "1.5", "101%", "-1%", "nan", "inf", "30 %", "3x"})
    EXPECT_FALSE(parse_share(bad)) << bad;
}

} // namespace
} // namespace weir::config::values_test
