// The program that is told of health: which may be, how it runs, and when it is told what.
#include "control/daemon/health_hook.hpp"

#include "control/daemon/ask.hpp"
#include "tests/support/process.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <sys/stat.h>
#include <unistd.h>

#include <csignal>

namespace weir::test::health_hook_test {
namespace {

using namespace std::chrono_literals;
using control::check_program, control::HealthTeller, control::HookProgram;
using testing::HasSubstr, testing::StartsWith;

std::filesystem::path script(const TempDir &folder, const std::string &name, const std::string &lines) {
  write_text(folder / name, "#!/bin/sh\n" + lines);
  chmod((folder / name).c_str(), 0755);
  return folder / name;
}

TEST(HealthProgram, is_of_root_or_the_own_user_and_nobody_elses_to_write) {
  const TempDir folder;
  const auto good = script(folder, "card", "exit 0\n");
  EXPECT_TRUE(check_program(good)) << check_program(good).error().message;
  EXPECT_TRUE(check_program("/bin/true"));
  EXPECT_THAT(check_program("bin/true").error().message, HasSubstr("absolute"));
  EXPECT_THAT(check_program(folder / "missing").error().message, HasSubstr("No such file"));
  EXPECT_THAT(check_program(folder.path()).error().message, HasSubstr("no file"));
  chmod(good.c_str(), 0775);
  EXPECT_THAT(check_program(good).error().message, HasSubstr("chmod go-w"));
  chmod(good.c_str(), 0644);
  EXPECT_THAT(check_program(good).error().message, HasSubstr("chmod +x"));
  chmod(good.c_str(), 0755);
  chmod(folder.path().c_str(), 0777);
  EXPECT_THAT(check_program(good).error().message, HasSubstr("chmod go-w"));
  chmod(folder.path().c_str(), 0700);
  if (geteuid() != 0) return;
  ASSERT_EQ(chown(good.c_str(), 12345, 0), 0);
  EXPECT_THAT(check_program(good).error().message, HasSubstr("belongs to uid 12345"));
}

class HealthProgramRun : public testing::Test {
protected:
  HookProgram::End run(const std::string &lines, std::chrono::milliseconds timeout = 20s) {
    HookProgram::End got;
    bool ended = false;
    const auto program = script(folder_, "card", lines);
    const Status started = program_.start(program, "down", {{"WEIR_REASON", "no link"}}, timeout,
                                          [&](const HookProgram::End &end) { got = end, ended = true; });
    EXPECT_TRUE(started) << started.error().message;
    EXPECT_TRUE(program_.runs());
    EXPECT_TRUE(wait_until(
        [&] {
          loop_.turn(1ms);
          return ended;
        },
        30s));
    EXPECT_FALSE(program_.runs());
    return got;
  }
  TempDir folder_;
  push::EventLoop loop_;
  HookProgram program_{loop_};
};

TEST_F(HealthProgramRun, is_given_the_word_the_reason_and_nothing_else) {
  ::setenv("WEIR_SECRET", "1", 1);
  const auto end = run("echo first\necho \"$1 $# $WEIR_REASON ${WEIR_SECRET-none} $(cat)\"\n");
  ::unsetenv("WEIR_SECRET");
  EXPECT_TRUE(end.is_good);
  EXPECT_THAT(end.sentence, StartsWith("exit code 0 after"));
  EXPECT_THAT(end.sentence, testing::EndsWith(": down 1 no link none"));
}

TEST_F(HealthProgramRun, that_fails_is_told_with_its_last_line) {
  const auto end = run("echo 'no card there' >&2\nexit 3\n");
  EXPECT_FALSE(end.is_good);
  EXPECT_THAT(end.sentence, StartsWith("exit code 3 after"));
  EXPECT_THAT(end.sentence, testing::EndsWith(": no card there"));
  EXPECT_THAT(run("kill -9 $$\n").sentence, StartsWith("ended by signal 9"));
}

TEST_F(HealthProgramRun, out_of_time_is_killed_with_what_it_started) {
  const auto end = run("sleep 300 &\necho $! > " + (folder_ / "child").string() + "\nwait\n", 300ms);
  EXPECT_FALSE(end.is_good);
  EXPECT_THAT(end.sentence, StartsWith("killed, since it was not done after"));
  const pid_t child = std::stoi(read_text(folder_ / "child"));
  EXPECT_TRUE(
      wait_until([&] { return read_text("/proc/" + std::to_string(child) + "/cmdline").empty(); }, 10s));
}

TEST_F(HealthProgramRun, that_writes_much_is_not_held_up) {
  const auto end =
      run("i=0; while [ $i -lt 20000 ]; do echo 0123456789abcdef; i=$((i+1)); done; echo done\n");
  EXPECT_TRUE(end.is_good) << end.sentence;
  EXPECT_THAT(end.sentence, testing::EndsWith(": done"));
}

TEST_F(HealthProgramRun, has_signals_as_they_are_usual) {
  sigset_t mask;
  sigemptyset(&mask);
  sigaddset(&mask, SIGTERM);
  pthread_sigmask(SIG_BLOCK, &mask, nullptr);
  std::signal(SIGPIPE, SIG_IGN);
  const auto end = run("kill -TERM $$\nexit 0\n");
  pthread_sigmask(SIG_UNBLOCK, &mask, nullptr);
  std::signal(SIGPIPE, SIG_DFL);
  EXPECT_THAT(end.sentence, StartsWith("ended by signal 15"));
}

TEST_F(HealthProgramRun, ends_with_weir_control) {
  const auto program =
      script(folder_, "card", "echo $$ > " + (folder_ / "pid").string() + "\nexec sleep 300\n");
  pid_t pid = 0;
  {
    HookProgram other(loop_);
    ASSERT_TRUE(
        other.start(program, "up", {}, 300s, [](const HookProgram::End &) { FAIL() << "it was stopped"; }));
    ASSERT_TRUE(wait_until([&] { return !read_text(folder_ / "pid").empty(); }, 20s));
    pid = std::stoi(read_text(folder_ / "pid"));
  }
  EXPECT_EQ(kill(pid, 0), -1);
}

class Telling : public testing::Test {
protected:
  std::optional<bool> look(bool is_well) { return teller_.look(is_well, now_ += 1s); }
  HealthTeller::Clock::time_point now_{100s};
  HealthTeller teller_{3s};
};

TEST_F(Telling, waits_until_a_change_has_lasted) {
  EXPECT_EQ(look(true), std::nullopt);
  EXPECT_EQ(look(true), std::nullopt);
  EXPECT_EQ(look(true), std::nullopt);
  EXPECT_EQ(look(true), true) << "the first state is told too: nobody knows what was told before";
  teller_.told(true, now_);
  for (int i = 0; i < 10; ++i) EXPECT_EQ(look(true), std::nullopt);
  for (int i = 0; i < 3; ++i) EXPECT_EQ(look(false), std::nullopt);
  EXPECT_EQ(look(true), std::nullopt) << "it did not last";
  for (int i = 0; i < 3; ++i) EXPECT_EQ(look(false), std::nullopt);
  EXPECT_EQ(look(false), false);
}

TEST_F(Telling, never_happens_twice_at_once_and_catches_up) {
  for (int i = 0; i < 3; ++i) (void)look(true);
  ASSERT_EQ(look(true), true);
  for (int i = 0; i < 10; ++i) EXPECT_EQ(look(false), std::nullopt) << "the first run is not done";
  teller_.told(true, now_);
  EXPECT_EQ(look(false), false);
  teller_.told(true, now_);
  EXPECT_EQ(look(false), std::nullopt);
}

TEST_F(Telling, is_repeated_after_a_failure) {
  for (int i = 0; i < 3; ++i) (void)look(false);
  ASSERT_EQ(look(false), false);
  teller_.told(false, now_);
  for (int i = 0; i < 9; ++i) EXPECT_EQ(look(false), std::nullopt);
  EXPECT_EQ(look(false), false);
  teller_.told(false, now_);
  for (int i = 0; i < 9; ++i) EXPECT_EQ(look(true), std::nullopt);
  EXPECT_EQ(look(true), true) << "what is so by then";
}

TEST(Health, in_one_line_is_what_is_in_force_or_the_first_fault) {
  auto status = nlohmann::json::parse(R"({"generation": 3, "dataplane": {"connected": true, "in_sync": true,
    "generation": 3, "ports": [{"name": "wan", "link": "up"}, {"name": "lan", "link": "held"}]}})");
  EXPECT_TRUE(control::told_of(status).is_well);
  EXPECT_EQ(control::told_of(status).sentence, "healthy: generation 3 is in force");
  status["dataplane"]["ports"][0]["link"] = "down";
  EXPECT_FALSE(control::told_of(status).is_well);
  EXPECT_THAT(control::told_of(status).sentence, StartsWith("WRONG: port wan has no link"));
  EXPECT_FALSE(control::told_of(nlohmann::json::object()).is_well);
  EXPECT_THAT(control::told_of(nlohmann::json::object()).sentence, testing::Not(HasSubstr("\n")));
}

} // namespace
} // namespace weir::test::health_hook_test
