// The P4 target as its users meet it: weir-control --target p4, weir-dataplane --target p4, weirctl.
#include "p4/export/text_sink.hpp"
#include "tests/support/replay_run.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

namespace weir::test::p4_replay_test {
namespace {

constexpr const char *configuration = "version: 1\npolicy: {match: source}\nlists:\n"
                                      "- {name: bans, action: deny, dynamic: true}\n"
                                      "- {name: bad, action: deny, entries: [198.51.100.0/24]}\n";

TEST(P4Replay, an_entry_that_is_added_while_packets_flow_is_in_force_when_the_answer_comes) {
  ReplayRun run;
  run.images_for_p4 = true;
  write_text(run / "weir.yaml", configuration);
  write_capture(run / "in.pcap",
                {.frames = {FrameBuilder().ethernet().ipv4({.source = "203.0.113.9"}).udp(1, 2).frame()}});
  run.start({"--target", "p4", "--loop", "3000", "--rate", "4000"});
  ASSERT_TRUE(run.wait_for_judged(200)) << run.logs();
  const ControlAnswer answer =
      run.ask(R"({"verb":"list_add","list":"bans","entries":[{"prefix":"203.0.113.9"}]})");
  ASSERT_TRUE(answer.ok) << answer.text << run.logs();
  const std::uint64_t in_force_at = run.packets_judged();
  ASSERT_EQ(run.finish(), 0) << run.logs();

  const std::vector<VerdictRow> rows = run.verdicts();
  ASSERT_EQ(rows.size(), 3000u);
  EXPECT_EQ(rows.front().reason, "default");
  EXPECT_EQ(rows.back().reason, "deny");
  EXPECT_EQ(rows.back().list, "bans");
  for (std::size_t i = 1; i < rows.size(); ++i) {
    EXPECT_FALSE(rows[i - 1].reason == "deny" && rows[i].reason != "deny") << "packet " << i;
    EXPECT_TRUE(i <= in_force_at || rows[i].reason == "deny") << "packet " << i << " came after the answer";
  }
}

class Weirctl {
public:
  Weirctl() { write_text(dir_ / "weir.yaml", configuration); }

  int run(const std::vector<std::string> &arguments) {
    std::vector<std::string> command{program("weirctl")};
    command.insert(command.end(), arguments.begin(), arguments.end());
    Child child({command, dir_ / "out.log", dir_ / "err.log", dir_.path()});
    const auto code = child.wait(std::chrono::seconds(30));
    said = read_text(dir_ / "out.log") + read_text(dir_ / "err.log");
    return code.value_or(-1);
  }
  [[nodiscard]] std::filesystem::path operator/(const std::string &name) const { return dir_ / name; }
  std::string said;

private:
  TempDir dir_;
};

TEST(P4Registers, are_written_as_text_that_is_read_again) {
  Weirctl weirctl;
  ASSERT_EQ(weirctl.run({"registers", "weir.yaml", "--out", "registers.txt"}), 0) << weirctl.said;
  EXPECT_THAT(weirctl.said, testing::HasSubstr("for 1 entries"));
  const auto text = p4::read_text(read_text(weirctl / "registers.txt"));
  ASSERT_TRUE(text) << text.error().message;
  EXPECT_EQ(text->generation, 1u);
  EXPECT_EQ(text->registers.of(p4::Array::bank)[0], 1u);
}

TEST(P4Registers, are_refused_for_what_the_program_cannot_do) {
  Weirctl weirctl;
  write_text(weirctl / "weir.yaml", "version: 1\npolicy: {match: either}\nlists:\n"
                                    "- {name: bad, action: deny, entries: [198.51.100.0/24]}\n");
  EXPECT_EQ(weirctl.run({"registers", "weir.yaml", "--out", "registers.txt"}), 1) << weirctl.said;
  EXPECT_THAT(weirctl.said, testing::HasSubstr("match: either"));
  EXPECT_FALSE(std::filesystem::exists(weirctl / "registers.txt"));
}

TEST(P4Registers, name_the_missing_file) {
  Weirctl weirctl;
  EXPECT_EQ(weirctl.run({"registers", "weir.yaml"}), 2) << weirctl.said;
  EXPECT_THAT(weirctl.said, testing::HasSubstr("--out"));
}

} // namespace
} // namespace weir::test::p4_replay_test
