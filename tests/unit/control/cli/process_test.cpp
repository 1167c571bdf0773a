#include "control/cli/process.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <csignal>
#include <fstream>

#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

namespace weir::cli::process_test {
namespace {

using testing::HasSubstr;

class CliProcess : public testing::Test {
protected:
  Child shell(const std::string &script) {
    auto child =
        Child::start("the child", {"/bin/sh", "-c", script}, folder_.path() / "log", {{"WEIR_TEST", "yes"}});
    EXPECT_TRUE(child);
    return std::move(*child);
  }
  static void wait_for(Child &child) {
    pollfd waiting{child.fd(), POLLIN, 0};
    ASSERT_EQ(poll(&waiting, 1, 10000), 1) << "the child does not end";
    ASSERT_TRUE(child.ended());
  }
  PrivateFolder folder_ = std::move(*PrivateFolder::make());
};

TEST_F(CliProcess, a_private_folder_is_private_and_goes_with_its_content) {
  std::filesystem::path path;
  {
    auto folder = PrivateFolder::make();
    ASSERT_TRUE(folder);
    path = folder->path();
    struct stat status{};
    ASSERT_EQ(stat(path.c_str(), &status), 0);
    EXPECT_EQ(status.st_mode & 0777, 0700u);
    std::filesystem::create_directory(path / "inner");
    std::ofstream(path / "inner" / "file") << "x";
  }
  EXPECT_FALSE(std::filesystem::exists(path));
}

TEST_F(CliProcess, a_child_that_fails_is_told_with_its_last_words) {
  Child child = shell("echo first; echo \"$WEIR_TEST, broken\" >&2; exit 7");
  wait_for(child);
  EXPECT_THAT(child.obituary(), HasSubstr("the child ended with exit code 7"));
  EXPECT_THAT(child.obituary(), HasSubstr("  first\n  yes, broken"));
}

TEST_F(CliProcess, a_child_that_is_killed_is_told_with_the_signal) {
  Child child = shell("kill -9 $$");
  wait_for(child);
  EXPECT_THAT(child.obituary(), HasSubstr("killed by signal 9"));
}

TEST_F(CliProcess, a_child_that_does_not_heed_sigterm_is_killed) {
  Child child = shell("trap '' TERM; echo ready; while :; do sleep 0.01; done");
  for (int i = 0; i < 1000 && last_lines(folder_.path() / "log", 1).empty(); ++i) usleep(10000);
  child.end(std::chrono::milliseconds(50));
  EXPECT_THAT(child.obituary(), HasSubstr("killed by signal 9"));
}

TEST_F(CliProcess, a_program_that_is_not_there_is_a_failed_child) {
  auto child = Child::start("weir-nothing", {"/nonexistent/weir-nothing"}, folder_.path() / "log", {});
  ASSERT_TRUE(child);
  wait_for(*child);
  EXPECT_THAT(child->obituary(), HasSubstr("/nonexistent/weir-nothing: No such file"));
}

TEST_F(CliProcess, the_last_lines_of_a_log_leave_the_older_ones_out) {
  std::ofstream(folder_.path() / "long") << "1\n2\n\n3\n4\n";
  EXPECT_EQ(last_lines(folder_.path() / "long", 2), "  3\n  4");
  EXPECT_EQ(last_lines(folder_.path() / "missing", 2), "");
}

TEST_F(CliProcess, a_signal_is_held_back_while_it_is_listened_for) {
  const EndSignals signals;
  EXPECT_FALSE(signals.take());
  raise(SIGTERM);
  EXPECT_EQ(signals.take(), SIGTERM);
}

} // namespace
} // namespace weir::cli::process_test
