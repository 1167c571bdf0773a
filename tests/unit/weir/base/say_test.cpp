#include "weir/base/say.hpp"

#include "tests/support/process.hpp"

#include <gtest/gtest.h>

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <string>

namespace weir::say_test {
namespace {

// Standard error is a file for as long as this lives.
class Errors {
public:
  explicit Errors(const std::string &file)
      : to_(::open(file.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600)),
        before_(::dup(STDERR_FILENO)) {
    ::dup2(to_, STDERR_FILENO);
  }
  ~Errors() {
    ::dup2(before_, STDERR_FILENO);
    ::close(before_);
    ::close(to_);
  }
  Errors(const Errors &) = delete;
  Errors &operator=(const Errors &) = delete;

private:
  int to_, before_;
};

TEST(Say, a_sentence_is_a_line_that_begins_with_the_program) {
  const test::TempDir folder;
  const std::string file = folder / "log", large(100'000, 'x');
  {
    const Errors errors(file);
    say_sentence("weir-test", "no {} here");
    say("weir-test", "{} of {}", 3, "four");
    say_sentence("weir-test", large);
  }
  EXPECT_EQ(test::read_text(file), "weir-test: no {} here\nweir-test: 3 of four\nweir-test: " + large + "\n");
}

TEST(Say, what_a_full_disk_takes_no_more_is_lost_and_nothing_else) {
  errno = ENOENT;
  const Errors errors("/dev/full");
  say("weir-test", "{}", "nobody reads this");
  EXPECT_EQ(errno, ENOENT) << "whoever looks at an error after saying something finds it";
}

} // namespace
} // namespace weir::say_test
