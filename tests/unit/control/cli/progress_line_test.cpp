#include "control/cli/progress_line.hpp"

#include "tests/support/process.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <sstream>

#include <fcntl.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <unistd.h>

namespace weir::cli::progress_line_test {
namespace {

using namespace std::chrono_literals;

class ProgressLineTest : public testing::Test {
protected:
  ProgressLineTest() {
    master_ = posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC);
    EXPECT_EQ(grantpt(master_), 0);
    EXPECT_EQ(unlockpt(master_), 0);
    terminal_ = open(ptsname(master_), O_RDWR | O_NOCTTY | O_CLOEXEC);
    winsize size{};
    size.ws_col = 20;
    size.ws_row = 5;
    ioctl(terminal_, TIOCSWINSZ, &size);
  }
  ~ProgressLineTest() override {
    close(terminal_);
    close(master_);
  }

  const std::string &written() {
    for (pollfd waiting{master_, POLLIN, 0}; poll(&waiting, 1, 0) > 0;) {
      char buffer[512];
      const ssize_t got = read(master_, buffer, sizeof buffer);
      if (got <= 0) break;
      written_.append(buffer, static_cast<std::size_t>(got));
    }
    return written_;
  }

  int master_ = -1, terminal_ = -1;
  std::string written_;
};

TEST_F(ProgressLineTest, is_written_over_itself_cut_to_the_screen_and_erased) {
  std::atomic<int> asked = 0;
  {
    const ProgressLine line({.fd = terminal_, .first_after = 1ms, .every = 1ms}, [&] {
      return ++asked == 1 ? std::string("as long as no screen is wide") : std::string("short");
    });
    EXPECT_TRUE(line.shows());
    EXPECT_TRUE(test::wait_until([&] { return asked > 3 && !written().empty(); }, 20s));
  }
  const std::string all = written();
  EXPECT_EQ(all.substr(0, 20), "\ras long as no scree") << "one column less than the screen has";
  EXPECT_NE(all.find("\rshort  0s          "), std::string::npos) << "what was longer is gone: " << all;
  EXPECT_TRUE(all.ends_with("\r         \r")) << all;
  EXPECT_EQ(all.find('\n'), std::string::npos);
}

TEST_F(ProgressLineTest, short_work_has_no_line) {
  {
    const ProgressLine line({.fd = terminal_, .first_after = 1h}, [] { return std::string("never"); });
  }
  EXPECT_EQ(written(), "");
}

TEST_F(ProgressLineTest, nothing_is_said_while_there_is_nothing_to_say) {
  std::atomic<int> asked = 0;
  {
    const ProgressLine line({.fd = terminal_, .first_after = 1ms, .every = 1ms}, [&] {
      ++asked;
      return std::string();
    });
    EXPECT_TRUE(test::wait_until([&] { return asked > 2; }, 20s));
  }
  EXPECT_EQ(written(), "");
}

TEST_F(ProgressLineTest, a_pipe_and_another_stream_have_none) {
  int ends[2] = {-1, -1};
  ASSERT_EQ(pipe2(ends, O_CLOEXEC), 0);
  std::atomic<bool> asked = false;
  const auto text = [&] {
    asked = true;
    return std::string("never");
  };
  {
    const ProgressLine piped({.fd = ends[1], .first_after = 0ms, .every = 1ms}, text);
    EXPECT_FALSE(piped.shows());
    std::ostringstream stream;
    const ProgressLine other(stream, text);
    EXPECT_FALSE(other.shows());
  }
  close(ends[1]);
  char byte = 0;
  EXPECT_EQ(read(ends[0], &byte, 1), 0);
  close(ends[0]);
  EXPECT_FALSE(asked);
}

} // namespace
} // namespace weir::cli::progress_line_test
