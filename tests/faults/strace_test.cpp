// strace as a second opinion: it sees what the preloaded library may overlook, and injects without it.
#include "tests/faults/life.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <sstream>

namespace weir::fault::strace_test {

namespace {

class UnderStrace : public ::testing::Test {
protected:
  static void SetUpTestSuite() {
    if (std::filesystem::exists("/dev/shm") && std::getenv("TMPDIR") == nullptr)
      setenv("TMPDIR", "/dev/shm", 1);
    life_ = std::make_unique<Life>();
    wrong_ = life_->live_quietly({.steps_max = step_named("apply") + 1});
  }
  static void TearDownTestSuite() { life_.reset(); }
  void SetUp() override {
    const test::Outcome tried = test::run({"strace", "-o", "/dev/null", "true"});
    if (!tried.ok()) GTEST_SKIP() << "strace cannot trace here: " << tried.err;
    ASSERT_EQ(wrong_, "");
  }
  [[nodiscard]] static std::size_t step_named(const std::string &name) {
    const auto at =
        std::find_if(script().begin(), script().end(), [&](const Step &step) { return step.name == name; });
    return static_cast<std::size_t>(at - script().begin());
  }
  [[nodiscard]] std::string under(const std::string &step, const std::string &inject) {
    return life_->run_traced(step_named(step),
                             {"strace", "-f", "-qq", "-o", "/dev/null", "-e", "inject=" + inject});
  }
  static inline std::unique_ptr<Life> life_;
  static inline std::string wrong_;
};

} // namespace

TEST_F(UnderStrace, the_library_sees_every_call_that_strace_sees) {
  const auto trace = life_->folder() / "strace.txt";
  ASSERT_EQ(life_->run_traced(
                step_named("apply"),
                {"strace", "-f", "-qq", "-y", "-o", trace, "-e",
                 "trace=fsync,fdatasync,rename,renameat,renameat2,unlink,unlinkat,link,linkat,ftruncate,"
                 "pwrite64,io_uring_enter,copy_file_range,sendfile,mknod"}),
            "");
  std::map<std::string, std::uint64_t> seen;
  std::istringstream lines(test::read_text(trace));
  for (std::string line; std::getline(lines, line);) {
    if (line.find(life_->folder().native()) == std::string::npos ||
        line.find("AT_REMOVEDIR") != std::string::npos)
      continue;
    const std::size_t end = line.find('('), begin = line.find_last_of(' ', end) + 1;
    if (end != std::string::npos && line.find("resumed>") == std::string::npos)
      ++seen[line.substr(begin, end - begin)];
  }
  EXPECT_GT(seen["fdatasync"] + seen["fsync"], 5u);
  EXPECT_EQ(life_->calls_since_start(Kind::fsync), seen["fdatasync"] + seen["fsync"]);
  EXPECT_EQ(life_->calls_since_start(Kind::rename), seen["rename"] + seen["renameat"] + seen["renameat2"]);
  EXPECT_EQ(life_->calls_since_start(Kind::link), seen["link"] + seen["linkat"]);
  EXPECT_EQ(life_->calls_since_start(Kind::unlink), seen["unlink"] + seen["unlinkat"]);
  for (const char *never : {"io_uring_enter", "copy_file_range", "sendfile", "mknod"})
    EXPECT_EQ(seen[never], 0u) << never;
}

TEST_F(UnderStrace, what_it_injects_costs_no_rule_either) {
  EXPECT_EQ(under("apply", "fdatasync:error=EIO:when=4+"), "");
  EXPECT_EQ(under("replace", "link,linkat,rename,renameat:error=ENOSPC"), "");
  EXPECT_EQ(under("add", "fdatasync:signal=KILL:when=3"), "");
}

} // namespace weir::fault::strace_test
