#include "control/cli/progress_text.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace weir::cli::progress_text_test {
namespace {

using testing::HasSubstr;

TEST(CliProgressText, says_share_rate_and_what_is_left) {
  EXPECT_EQ(progress_text({.what = "reading lists",
                           .unit = "bytes",
                           .done = 3u << 20,
                           .total = 8u << 20,
                           .entries = 250'000,
                           .seconds = 1.5}),
            "reading lists  37 %  3 MiB of 8 MiB  250k entries  2 MiB/s  about 3s left");
  EXPECT_EQ(progress_text(
                {.what = "replaying", .unit = "packets", .done = 500'000, .total = 2'000'000, .seconds = 5}),
            "replaying  25 %  500k of 2.00M packets  100k/s  about 15s left");
}

TEST(CliProgressText, guesses_nothing_that_it_does_not_know) {
  EXPECT_EQ(progress_text({.what = "checking", .unit = ""}), "checking");
  EXPECT_EQ(progress_text({.what = "replaying", .unit = "packets", .done = 12'345, .seconds = 3}),
            "replaying  12.3k packets  4.12k/s");
  EXPECT_EQ(progress_text({.what = "replaying", .unit = "packets", .done = 5, .total = 10, .seconds = 0.1}),
            "replaying  50 %  5.0 of 10 packets")
      << "a tenth of a second is chance";
  EXPECT_EQ(progress_text({.what = "reading lists", .unit = "bytes", .done = 20, .total = 10, .seconds = 2}),
            "reading lists  100 %  10 B of 10 B  5 B/s")
      << "a file that grew meanwhile";
}

TEST(CliProgressText, a_build_has_a_time_that_it_should_take) {
  const WorkPart build{
      .what = "building the image", .unit = "entries", .total = 1'826'004, .seconds = 1, .expected_s = 3.5};
  EXPECT_EQ(progress_text(build), "building the image  1.83M entries  about 3s left");
  WorkPart late = build;
  late.seconds = 4;
  EXPECT_EQ(progress_text(late), "building the image  1.83M entries");
}

TEST(CliProgressText, another_change_at_hand_is_named) {
  const Json replace{
      {"doing", "replace drop"}, {"phase", "reading lists"}, {"unit", "bytes"}, {"done", 10}, {"total", 40},
      {"phase_ms", 100}};
  EXPECT_EQ(progress_text(replace, "replace drop"), "reading lists  25 %  10 B of 40 B");
  EXPECT_EQ(progress_text(replace, "apply"), "replace drop: reading lists  25 %  10 B of 40 B");
  EXPECT_EQ(progress_text(Json{{"doing", "rollback to 4"}}, "rollback"), "rollback to 4");
  EXPECT_EQ(progress_text(Json{{"doing", ""}, {"phase", "reading lists"}}, "apply"), "");
  EXPECT_EQ(progress_text(Json::object(), "apply"), "");
}

TEST(CliProgressText, a_replay_estimates_how_many_packets_there_are) {
  ReplayProgress progress;
  EXPECT_EQ(progress_text(work_part(progress)), "starting a pair");
  Json stats;
  stats["ports"].push_back({{"name", "in"}, {"rx_packets", 100}, {"rx_bytes", 8'400}});
  note_progress(stats, 0, 40'000, progress);
  EXPECT_EQ(progress.packets, 100u);
  EXPECT_EQ(progress.total, 400u) << "84 bytes of a packet, and 16 before it in the file";
  note_progress(stats, 350, 40'000, progress);
  EXPECT_EQ(progress.total, 350u) << "counted";
  progress.began_ns = 1;
  EXPECT_THAT(progress_text(work_part(progress)), HasSubstr("replaying  28 %  100 of 350 packets"));
}

} // namespace
} // namespace weir::cli::progress_text_test
