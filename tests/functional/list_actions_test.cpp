// Deny lists that do not just drop, through the real programs: from weir.yaml to verdicts, over a swap.
#include "tests/support/capture_file.hpp"
#include "tests/support/packets.hpp"
#include "tests/support/replay_run.hpp"
#include "tests/support/with_weirctl.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace weir::test::list_actions_test {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;

class ListActions : public WithWeirctl {};

std::string lists(const std::string &on_match) {
  return "version: 1\nlists:\n"
         "- {name: trial, action: deny, entries: [192.0.2.0/24, 198.51.100.1]" +
         on_match + "}\n- {name: bad, action: deny, entries: [192.0.2.66, 198.51.100.1]}\n";
}

TEST_F(ListActions, decide_in_a_replay_and_change_with_a_generation) {
  write_text(dir_ / "one.yaml", lists(", on_match: count"));
  write_text(dir_ / "two.yaml", lists(""));
  std::vector<Frame> frames;
  for (const char *source : {"192.0.2.1", "192.0.2.66", "198.51.100.1", "203.0.113.1"}) {
    frames.push_back(FrameBuilder().ethernet().ipv4({.source = source}).udp(1, 2).frame());
    frames.back().timestamp_ns = 1'700'000'000'000'000'000 + static_cast<std::int64_t>(frames.size());
  }
  write_capture(dir_ / "in.pcap", {.frames = frames});
  ASSERT_EQ(run({"-j", "replay", "in.pcap", "--config", "one.yaml", "--apply", "two.yaml@40", "--loop", "20",
                 "--verdicts", "rows"}),
            0)
      << said;
  const auto report = nlohmann::json::parse(read_text(dir_ / "out"));
  const auto rows = read_verdicts(dir_ / "rows");
  ASSERT_EQ(rows.size(), 80u);
  for (const VerdictRow &row : rows) {
    const std::uint64_t frame = row.index % 4;
    const bool first = row.index < 40;
    const std::string wanted = frame == 3            ? "pass default "
                               : frame == 1          ? "drop deny bad"
                               : frame == 2 && first ? "drop deny bad"
                               : frame == 0 && first ? "pass default "
                                                     : "drop deny trial";
    EXPECT_EQ(row.verdict + ' ' + row.reason + ' ' + row.list, wanted) << row.index;
  }
  EXPECT_EQ(report.at("lists").at("trial"), 30) << "10 counted, and 20 dropped by the second generation";
  EXPECT_EQ(report.at("lists").at("bad"), 30);
}

TEST_F(ListActions, that_make_exceptions_to_other_lists_are_told) {
  write_text(
      dir_ / "weir.yaml",
      "version: 1\nlists:\n"
      "- {name: bad, action: deny, entries: [192.0.2.0/24]}\n"
      "- {name: trial, action: deny, entries: [192.0.2.1, 192.0.2.0/24, 10.0.0.1], on_match: count}\n");
  ASSERT_EQ(run({"check", "weir.yaml"}), 0) << said;
  EXPECT_THAT(said, HasSubstr("deny, count"));
  EXPECT_THAT(said, HasSubstr("1 entry of deny list trial lies inside prefixes of deny list bad"));
  EXPECT_THAT(said, HasSubstr("192.0.2.1 inside 192.0.2.0/24"));
}

TEST_F(ListActions, are_beyond_the_p4_program_which_says_so) {
  write_text(dir_ / "weir.yaml", lists(", on_match: reject"));
  EXPECT_NE(run({"registers", "weir.yaml", "--out", "registers.txt"}), 0) << said;
  EXPECT_THAT(said, HasSubstr("take it out of the 1 lists that have it"));
}

} // namespace
} // namespace weir::test::list_actions_test
