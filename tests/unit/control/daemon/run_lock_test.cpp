// One weir-control a run folder.
#include "control/daemon/run_lock.hpp"
#include "tests/support/process.hpp"

#include <gtest/gtest.h>

#include <sys/wait.h>
#include <unistd.h>

namespace weir::control::run_lock_test {
namespace {

TEST(RunLock, is_had_by_one_and_says_who_has_it) {
  const test::TempDir run;
  const auto first = RunLock::take(run.path(), "/var/lib/first");
  ASSERT_TRUE(first) << first.error().message;
  const auto second = RunLock::take(run.path(), "/var/lib/second");
  ASSERT_FALSE(second);
  for (const std::string &part :
       {std::to_string(getpid()), std::string("/var/lib/first"), std::string("--run-dir")})
    EXPECT_NE(second.error().message.find(part), std::string::npos) << second.error().message;
}

TEST(RunLock, ends_with_its_process_however_that_ends) {
  const test::TempDir run;
  const pid_t child = fork();
  if (child == 0) {
    const auto held = RunLock::take(run.path(), "/nowhere");
    _exit(held ? 0 : 1); // as if killed: nothing is let go of by hand
  }
  int how = 0;
  ASSERT_EQ(waitpid(child, &how, 0), child);
  EXPECT_EQ(how, 0);
  EXPECT_TRUE(RunLock::take(run.path(), "/var/lib/next"));
}

} // namespace
} // namespace weir::control::run_lock_test
