// `weirctl replay` as a whole: one command, two files, one summary - or an error and nothing else.
#include "tests/support/capture_file.hpp"
#include "tests/support/process.hpp"
#include "tests/support/random_rules.hpp"
#include "tests/support/replay_run.hpp"
#include "weir/key/text.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <csignal>
#include <map>
#include <thread>

namespace weir::test::weirctl_replay_test {
namespace {

using namespace std::chrono_literals;

// Every list with its entries inline.
std::string weir_yaml(const RuleSet &rules) {
  std::string text = "version: 1\npolicy: {match: " + std::string(name_of(rules.policy.match));
  const std::pair<const char *, Verdict> verdicts[] = {{"default", rules.policy.fallthrough},
                                                       {"non_ip", rules.policy.non_ip},
                                                       {"too_many_tags", rules.policy.too_many_tags},
                                                       {"link_local", rules.policy.link_local},
                                                       {"malformed", rules.policy.malformed}};
  for (const auto &[key, verdict] : verdicts)
    text += std::string(", ") + key + ": " + std::string(name_of(verdict));
  text += ", tunnels: " + std::string(name_of(rules.policy.tunnels)) + "}\nlists:\n";
  for (const TestList &list : rules.lists) {
    text += "- name: " + list.name + "\n  action: " + std::string(name_of(list.side)) + "\n  entries:\n";
    for (const Prefix &prefix : list.prefixes) text += "  - \"" + to_string(prefix) + "\"\n";
  }
  return text;
}

class WeirctlReplay : public testing::Test {
protected:
  void SetUp() override {
    std::filesystem::create_directories(dir_ / "tmp");
    Random random(test_seed());
    rules_ = random_rules(random, {.lists = 5, .prefixes_per_list = 80});
    frames_.resize(2000);
    std::int64_t time = 1'700'000'000'000'000'001;
    for (Frame &frame : frames_) {
      frame = random_frame(random, rules_);
      frame.timestamp_ns = time += 1'000'001;
    }
    write_capture(dir_ / "in.pcap", {.frames = frames_});
    write_text(dir_ / "weir.yaml", weir_yaml(rules_));
  }

  Child start(const std::vector<std::string> &options = {}) {
    std::vector<std::string> arguments{program("weirctl"), "-j",          "replay",     "in.pcap",
                                       "--config",         "weir.yaml",   "--out",      "pass.pcap",
                                       "--denied",         "denied.pcap", "--verdicts", "verdicts.csv"};
    arguments.insert(arguments.end(), options.begin(), options.end());
    Child::Setup setup{
        .arguments = arguments, .output = dir_ / "out", .errors = dir_ / "err", .directory = dir_.path()};
    setup.environment.emplace_back("TMPDIR", dir_ / "tmp");
    return Child(setup);
  }
  [[nodiscard]] std::string said() const { return read_text(dir_ / "out") + read_text(dir_ / "err"); }

  // Is the first generation in force in the private pair of a replay that runs?
  [[nodiscard]] bool is_judging() const {
    for (const auto &entry : std::filesystem::recursive_directory_iterator(dir_ / "tmp"))
      if (entry.path().filename() == "control.sock")
        return run({program("weirctl"), "-s", entry.path(), "health"}).ok();
    return false;
  }

  // Names of all files below the folder, the inputs apart.
  [[nodiscard]] std::vector<std::string> files_left() const {
    std::vector<std::string> names;
    for (const auto &entry : std::filesystem::recursive_directory_iterator(dir_.path())) {
      const std::string name = std::filesystem::relative(entry.path(), dir_.path());
      const bool ours =
          name == "in.pcap" || name == "out" || name == "err" || name == "tmp" || name.ends_with(".yaml");
      if (!ours) names.push_back(name);
    }
    std::ranges::sort(names);
    return names;
  }

  TempDir dir_;
  RuleSet rules_;
  std::vector<Frame> frames_;
};

TEST_F(WeirctlReplay, writes_every_packet_to_one_of_two_files_and_leaves_nothing_else) {
  Child weirctl = start();
  ASSERT_EQ(weirctl.wait(60s), 0) << said();
  EXPECT_EQ(files_left(), (std::vector<std::string>{"denied.pcap", "pass.pcap", "verdicts.csv"}));

  const Oracle oracle = rules_.oracle();
  std::vector<Frame> should_pass, should_not;
  std::map<std::string, std::uint64_t> hits, reasons;
  for (const Frame &frame : frames_) {
    const Judgement judged = oracle.judge(frame.bytes);
    ++reasons[std::string(name_of(judged.reason))];
    (judged.verdict == Verdict::pass ? should_pass : should_not).push_back(frame);
    if (!judged.list.empty()) ++hits[judged.list];
  }
  EXPECT_TRUE(read_capture(dir_ / "pass.pcap").frames == should_pass) << "WEIR_SEED=" << test_seed();
  EXPECT_TRUE(read_capture(dir_ / "denied.pcap").frames == should_not) << "WEIR_SEED=" << test_seed();

  const ReplayReport report = parse_report(read_text(dir_ / "out"));
  EXPECT_EQ(report.packets, frames_.size());
  EXPECT_EQ(report.pass, should_pass.size());
  EXPECT_EQ(report.drop, should_not.size());
  EXPECT_EQ(report.lost, 0u);
  for (const auto &[list, count] : hits) EXPECT_EQ(report.lists.at(list), count) << list;
  for (const auto &[reason, count] : report.reasons) EXPECT_EQ(reasons[reason], count) << reason;
  EXPECT_EQ(report.reasons.size(), reason_count);
}

TEST_F(WeirctlReplay, judges_by_one_configuration_after_the_other) {
  constexpr std::uint64_t generations = 6, loops = 30;
  Random random(test_seed() + 7);
  std::vector<Oracle> oracles{Oracle(), rules_.oracle()};
  std::vector<std::string> options{"--loop", std::to_string(loops), "--rate", "200000"};
  for (std::uint64_t g = 2; g <= generations; ++g) {
    RuleSet rules = random_rules(random, {.lists = 5, .prefixes_per_list = 60});
    rules.policy.tunnels = static_cast<Tunnels>(g % 3);
    const std::string file = "weir" + std::to_string(g) + ".yaml";
    write_text(dir_ / file, weir_yaml(rules));
    oracles.push_back(rules.oracle());
    options.insert(options.end(), {"--apply", file});
  }
  Child weirctl = start(options);
  ASSERT_EQ(weirctl.wait(60s), 0) << said();

  const auto rows = read_verdicts(dir_ / "verdicts.csv");
  ASSERT_EQ(rows.size(), frames_.size() * loops);
  std::map<std::uint64_t, std::uint64_t> judged;
  std::uint64_t last = 1;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const VerdictRow &row = rows[i];
    ASSERT_GE(row.generation, last) << "packet " << i;
    ASSERT_LE(row.generation, generations) << "packet " << i;
    last = row.generation;
    ++judged[last];
    const Judgement wanted = oracles[last].judge(frames_[i % frames_.size()].bytes);
    ASSERT_EQ(row.verdict + ' ' + row.reason + (row.list.empty() ? "" : " (" + row.list + ')'),
              to_string(wanted))
        << "packet " << i << " under generation " << last << ", WEIR_SEED=" << test_seed();
  }
  EXPECT_EQ(judged.size(), generations) << "each generation judged some packets";
  EXPECT_EQ(parse_report(read_text(dir_ / "out")).lost, 0u);
}

// weirctl sleeps most of the time, so that the last packet is judged and the dataplane gone before it looks.
TEST_F(WeirctlReplay, knows_of_an_apply_whose_packets_are_over_before_its_answer_is_read) {
  Child weirctl = start({"--apply", "weir.yaml@" + std::to_string(frames_.size() - 1)});
  std::optional<int> code;
  const auto end = std::chrono::steady_clock::now() + 120s;
  while (!(code = weirctl.wait(5ms)) && std::chrono::steady_clock::now() < end) {
    ::kill(weirctl.pid(), SIGSTOP);
    std::this_thread::sleep_for(150ms);
    ::kill(weirctl.pid(), SIGCONT);
  }
  ASSERT_EQ(code, 0) << said();
  EXPECT_NE(read_text(dir_ / "out").find("swap_ns"), std::string::npos) << said();
  EXPECT_EQ(read_verdicts(dir_ / "verdicts.csv").back().generation, 2u);
}

TEST_F(WeirctlReplay, ends_with_an_error_and_no_summary_when_a_process_is_killed) {
  for (const char *victim : {"weir-dataplane", "weir-control"}) {
    std::filesystem::remove(dir_ / "out");
    // Slow enough to be killed long before the end; a generation to come keeps control needed.
    Child weirctl = start({"--rate", "500", "--apply", "weir.yaml"});
    std::optional<pid_t> pid;
    ASSERT_TRUE(wait_until([&] { return (pid = weirctl.child(victim)).has_value(); }, 10s)) << said();
    ASSERT_TRUE(wait_until([&] { return is_judging(); }, 20s)) << said();
    ::kill(*pid, SIGKILL);
    const auto code = weirctl.wait(20s);
    ASSERT_TRUE(code) << "weirctl waits for the dead";
    EXPECT_NE(*code, 0) << said();
    EXPECT_EQ(read_text(dir_ / "out").find("\"packets\""), std::string::npos) << victim << said();
    EXPECT_NE(said().find(victim), std::string::npos) << said();
    EXPECT_EQ(files_left(), std::vector<std::string>{}) << victim;
  }
}

TEST_F(WeirctlReplay, refuses_a_capture_that_is_not_ethernet) {
  write_capture(dir_ / "in.pcap", {.link_type = 101, .frames = frames_}); // raw IP
  Child weirctl = start();
  EXPECT_EQ(weirctl.wait(60s), 1) << said();
  EXPECT_NE(said().find("Ethernet"), std::string::npos) << said();
  EXPECT_NE(said().find("in.pcap"), std::string::npos) << said();
  EXPECT_EQ(files_left(), std::vector<std::string>{});
}

TEST_F(WeirctlReplay, says_that_a_capture_was_cut) {
  std::filesystem::resize_file(dir_ / "in.pcap", std::filesystem::file_size(dir_ / "in.pcap") - 1);
  Child weirctl = start();
  ASSERT_EQ(weirctl.wait(60s), 0) << said();
  const ReplayReport report = parse_report(read_text(dir_ / "out"));
  EXPECT_TRUE(report.truncated);
  EXPECT_EQ(report.packets, frames_.size() - 1);
}

} // namespace
} // namespace weir::test::weirctl_replay_test
