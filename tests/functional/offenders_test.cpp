// Offenders in a replay: who was denied is met when no list says so any more, and a replay repeats itself.
#include "tests/support/capture_file.hpp"
#include "tests/support/packets.hpp"
#include "tests/support/replay_run.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <string>

namespace weir::test::offenders_test {
namespace {

constexpr const char *offenders = "offenders: {action: drop, filter: slbf, remember: 1000, seed: 7}\n";

class OffendersReplay : public testing::Test {
protected:
  OffendersReplay() {
    write_text(dir_ / "today.yaml", std::string("version: 1\npolicy: {match: source}\n") + offenders +
                                        "lists: [{name: bad, action: deny, entries: [10.0.0.0/8]}]\n");
    write_text(dir_ / "tomorrow.yaml", std::string("version: 1\npolicy: {match: source}\n") + offenders +
                                           "lists: [{name: bad, action: deny, entries: [11.0.0.0/8]}]\n");
    Capture capture;
    for (unsigned i = 0; i < 400; ++i) { // each second from 10.0.0.0/8
      const std::string source =
          i % 2 == 0 ? "10.0.0." + std::to_string(i / 2) : "198.51.100." + std::to_string(i / 2);
      capture.frames.push_back(FrameBuilder().ethernet().ipv4({.source = source.c_str()}).udp(1, 2).frame());
    }
    write_capture(dir_ / "in.pcap", capture);
  }

  std::string replay(const std::string &verdicts) {
    Child child({{program("weirctl"), "-j", "replay", "in.pcap", "--config", "today.yaml", "--apply",
                  "tomorrow.yaml@400", "--loop", "2", "--verdicts", verdicts},
                 dir_ / "out.log",
                 dir_ / "err.log",
                 dir_.path()});
    EXPECT_EQ(child.wait(std::chrono::seconds(60)).value_or(-1), 0) << read_text(dir_ / "err.log");
    return read_text(dir_ / verdicts);
  }

  TempDir dir_;
};

TEST_F(OffendersReplay, who_was_denied_is_met_later_and_the_replay_repeats_itself) {
  const std::string once = replay("once.csv");
  unsigned denied = 0, met = 0, passed = 0, wrong = 0;
  std::istringstream lines(once);
  for (std::string line; std::getline(lines, line);) {
    if (line.find(",deny,") != std::string::npos) ++denied;
    if (line.find(",default,") != std::string::npos) ++passed;
    if (line.find(",offender,") == std::string::npos) continue;
    (std::stoul(line) >= 400 && std::stoul(line) % 2 == 0 ? met : wrong) += 1;
    EXPECT_THAT(line, testing::HasSubstr("drop"));
  }
  EXPECT_EQ(denied, 200u);
  EXPECT_GE(met, 190u) << "few are missed so shortly after they were told";
  EXPECT_LE(wrong, 20u);
  EXPECT_EQ(denied + met + wrong + passed, 800u);
  EXPECT_EQ(replay("again.csv"), once);
}

// What `make run` shows of offenders: g-SLBF from the first packet on, with the model that comes with the demo.
TEST(OffendersOfTheDemo, are_remembered_behind_scores_and_met_when_their_list_is_gone) {
  const TempDir dir;
  const std::filesystem::path pcaps = source_tree() / "pcaps";
  const auto replay = [&](bool json) {
    std::vector<std::string> command{program("weirctl")};
    if (json) command.emplace_back("-j");
    for (const std::filesystem::path &part :
         {std::filesystem::path("replay"), pcaps / "recorded/office.pcap", std::filesystem::path("--config"),
          pcaps / "demo/today.yaml", std::filesystem::path("--apply"), pcaps / "demo/tomorrow.yaml",
          std::filesystem::path("--loop"), std::filesystem::path("20")})
      command.push_back(part);
    Child child({command, dir / "out.log", dir / "err.log", dir.path()});
    EXPECT_EQ(child.wait(std::chrono::seconds(60)).value_or(-1), 0) << read_text(dir / "err.log");
    return read_text(dir / "out.log");
  };
  const nlohmann::json report = nlohmann::json::parse(replay(true));
  const auto &memory = report.at("offender_memory");
  EXPECT_EQ(memory.at("filter"), "stable");
  EXPECT_EQ(memory.at("groups").size(), 6u);
  EXPECT_LE(memory.at("predicted").at("missed"), 0.11);
  EXPECT_GT(report.at("offenders").at("met"), 500) << "the guest, whose list is gone";
  EXPECT_EQ(report.at("reasons_by_verdict").at("offender").at("pass"), report.at("offenders").at("met"));
  EXPECT_THAT(replay(false),
              testing::ContainsRegex("offenders: g-SLBF, 6 groups of scores in [0-9.]+ KiB   told "
                                     "[0-9,]+   asked [0-9,]+   met [0-9,]+   action count"));
}

} // namespace
} // namespace weir::test::offenders_test
