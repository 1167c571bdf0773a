#include "control/cli/text.hpp"

#include <gtest/gtest.h>

#include <cstdlib>
#include <ctime>

namespace weir::cli::text_test {
namespace {

TEST(CliText, thousands_are_separated_from_the_right) {
  EXPECT_EQ(thousands(0), "0");
  EXPECT_EQ(thousands(999), "999");
  EXPECT_EQ(thousands(1000), "1,000");
  EXPECT_EQ(thousands(1826004), "1,826,004");
  EXPECT_EQ(thousands(18446744073709551615ull), "18,446,744,073,709,551,615");
}

TEST(CliText, bytes_show_one_decimal_below_ten_of_a_unit) {
  EXPECT_EQ(bytes_text(0), "0 B");
  EXPECT_EQ(bytes_text(1023), "1023 B");
  EXPECT_EQ(bytes_text(1536), "1.5 KiB");
  EXPECT_EQ(bytes_text(31u << 20), "31 MiB");
  EXPECT_EQ(bytes_text(10u << 20), "10 MiB");
}

TEST(CliText, times_choose_a_unit_that_reads_well) {
  EXPECT_EQ(nanoseconds_text(870), "870 ns");
  EXPECT_EQ(nanoseconds_text(2100), "2.1 us");
  EXPECT_EQ(nanoseconds_text(18e6), "18 ms");
  EXPECT_EQ(milliseconds_text(0.4), "0.4 ms");
  EXPECT_EQ(milliseconds_text(2500), "2.5 s");
  EXPECT_EQ(rate_text(1.9e6), "1.9 Mpps");
  EXPECT_EQ(rate_text(200000), "200 kpps");
}

TEST(CliText, a_duration_shows_its_two_largest_units) {
  EXPECT_EQ(duration_text(0), "0s");
  EXPECT_EQ(duration_text(45), "45s");
  EXPECT_EQ(duration_text(3600), "1h");
  EXPECT_EQ(duration_text(93784), "1d 2h");
}

TEST(CliText, a_moment_is_told_by_its_distance_and_direction) {
  EXPECT_EQ(when_text(0, 1000), "-");
  EXPECT_EQ(when_text(1000, 1000), "now");
  EXPECT_EQ(when_text(820, 1000), "3m ago");
  EXPECT_EQ(when_text(1180, 1000), "in 3m");
  EXPECT_EQ(when_text(997, 1000), "3s ago");
}

TEST(CliText, a_duration_is_read_only_when_it_leaves_no_doubt) {
  using std::chrono::seconds;
  EXPECT_EQ(parse_duration("90"), seconds(90));
  EXPECT_EQ(parse_duration("10m"), seconds(600));
  EXPECT_EQ(parse_duration("1h30m"), seconds(5400));
  EXPECT_EQ(parse_duration("1w2d"), seconds(9 * 86400));
  for (const char *bad :
       {"", "m", "10x", "1h30", "30m1h", "0", "0s", "-5m", "1.5h", "99999999999999999999s", "5m5m", " 5m"})
    EXPECT_FALSE(parse_duration(bad)) << bad;
}

TEST(CliText, the_nearest_candidate_is_named_only_when_it_is_near) {
  const std::vector<std::string> verbs{"status", "stats", "list", "generations", "rollback"};
  EXPECT_EQ(nearest("sttus", verbs), "status");
  EXPECT_EQ(nearest("lsit", verbs), "list");
  EXPECT_EQ(nearest("gen", verbs), "generations");
  EXPECT_EQ(nearest("xyzzyplugh", verbs), "");
}

TEST(CliText, a_table_aligns_numbers_right_and_leaves_no_blanks_at_the_end) {
  Table table({{"NAME"}, {"HITS", Table::Align::right}, {"NOTE"}});
  table.add({"ops", "88,120", ""});
  table.add({"drop…", "7", "x"});
  EXPECT_EQ(table.text(), "NAME     HITS  NOTE\n"
                          "ops    88,120\n"
                          "drop…       7  x\n");
}

} // namespace
} // namespace weir::cli::text_test
