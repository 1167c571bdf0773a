// Errors as an operator meets them: what is said, which exit code, and that nothing was applied.
#include "tests/system/gate.hpp"
#include "weir/base/owned_fd.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace weir::test::error_test {

namespace {

using Json = nlohmann::json;
using ::testing::AssertionResult;

constexpr const char *bans = "- {name: bans, action: deny, dynamic: true}\n";

AssertionResult says(const Reply &reply, const std::vector<std::string> &words) {
  const std::string text = reply.out + reply.err;
  for (const std::string &word : words)
    if (text.find(word) == std::string::npos)
      return ::testing::AssertionFailure()
             << "\"" << word << "\" is missing in exit " << reply.status << ":\n"
             << text;
  return ::testing::AssertionSuccess();
}

class Errors : public ::testing::Test {
protected:
  // A pair whose list "feed" comes from feed.txt.
  void start(const std::string &feed, const std::string &more = {}) {
    write_text(feed_file(), feed);
    pair_ = idle_pair(lists(), more);
    ASSERT_NO_FATAL_FAILURE(pair_->start());
  }
  [[nodiscard]] std::string lists() const {
    return fmt::format("- {{name: feed, action: deny, file: {}}}\n", feed_file().string()) + bans;
  }
  [[nodiscard]] std::filesystem::path feed_file() const { return files_.path() / "feed.txt"; }
  [[nodiscard]] std::filesystem::path file(const std::string &name) const { return files_.path() / name; }
  [[nodiscard]] WeirPair &pair() { return *pair_; }
  [[nodiscard]] std::string verdict(const std::string &address) { return pair_->verdict(address); }
  [[nodiscard]] std::uint64_t generation() {
    return pair_->must({"status"}).value("generation", std::uint64_t{0});
  }

private:
  TempDir files_;
  std::unique_ptr<WeirPair> pair_;
};

} // namespace

TEST_F(Errors, every_bad_rule_line_is_named_and_nothing_is_applied) {
  ASSERT_NO_FATAL_FAILURE(start("192.0.2.1\n"));
  const std::uint64_t before = generation();
  write_text(feed_file(), "192.0.2.2\n300.1.2.3\n10.0.0.0/33\n192.0.2.3\nhello world\n2001:db8::g\n");
  for (const char *verb : {"apply", "check"}) {
    const Reply reply = pair().ctl({verb, pair().config()});
    EXPECT_EQ(reply.status, 1) << verb;
    EXPECT_TRUE(says(reply, {"feed.txt:2", "300.1.2.3", "feed.txt:3", "10.0.0.0/33", "feed.txt:5",
                             "hello world", "feed.txt:6", "2001:db8::g"}))
        << verb;
  }
  EXPECT_EQ(pair().ctl({"list", "replace", "feed", feed_file()}).status, 1);
  EXPECT_EQ(generation(), before);
  EXPECT_EQ(verdict("192.0.2.1"), "drop");
  EXPECT_EQ(verdict("192.0.2.2"), "pass") << "a good line among bad ones was applied";
}

// The log is on a disk that is full, or goes to a reader that leaves.
TEST_F(Errors, messages_that_nobody_takes_end_neither_process) {
  for (const bool pipe : {false, true}) {
    const auto gate = idle_pair(bans);
    std::vector<OwnedFd> readers;
    for (const auto &log : {gate->dataplane_log(), gate->control_log()}) {
      if (pipe) {
        ASSERT_EQ(mkfifo(log.c_str(), 0600), 0);
        readers.emplace_back(open(log.c_str(), O_RDWR | O_CLOEXEC));
      } else {
        std::filesystem::create_symlink("/dev/full", log);
      }
    }
    ASSERT_NO_FATAL_FAILURE(gate->start());
    readers.clear();
    gate->must({"list", "add", "bans", "192.0.2.1"});
    gate->must({"apply", gate->config()});
    EXPECT_EQ(gate->verdict("192.0.2.1"), "drop");
    EXPECT_EQ(gate->control().stop(SIGTERM, 30s), 0);
    EXPECT_EQ(gate->dataplane().stop(SIGTERM, 30s), 1) << "the totals that were asked for are not printed";
  }
}

// `weirctl ... | head`: who has read enough has what he wanted, and a disk that is full has not.
TEST_F(Errors, a_reader_that_leaves_is_no_failure_and_a_full_disk_is) {
  const std::string weirctl = program("weirctl");
  const auto code_of = [&](const std::string &to) {
    return run({"bash", "-c", "{ sleep 0.2; " + weirctl + " --help; echo $? >&2; } " + to}).err;
  };
  EXPECT_EQ(code_of("| true"), "0\n");
  const std::string full = code_of("> /dev/full");
  EXPECT_TRUE(full.ends_with("\n1\n") && full.find("standard output did not take all") != std::string::npos)
      << full;
}

TEST_F(Errors, an_empty_rule_set_is_refused_unless_forced) {
  ASSERT_NO_FATAL_FAILURE(start("192.0.2.1\n"));
  write_text(feed_file(), "# nothing today\n");
  const Reply refused = pair().ctl({"apply", pair().config()});
  EXPECT_EQ(refused.status, 1);
  EXPECT_TRUE(says(refused, {"--force"}));
  EXPECT_EQ(verdict("192.0.2.1"), "drop");
  pair().must({"apply", "--force", pair().config()});
  EXPECT_EQ(verdict("192.0.2.1"), "pass");
}

TEST_F(Errors, a_reload_beyond_max_change_is_refused_unless_forced) {
  write_addresses(file("a.txt"), 0, 2000);
  ASSERT_NO_FATAL_FAILURE(start(read_text(file("a.txt")), "guard: {max_change: 30%}\n"));
  write_addresses(file("b.txt"), 1000, 2000); // half of it is new
  const Reply refused = pair().ctl({"list", "replace", "feed", file("b.txt")});
  EXPECT_EQ(refused.status, 1);
  EXPECT_TRUE(says(refused, {"feed", "max_change", "--force"}));
  EXPECT_EQ(verdict(numbered_address(2500)), "pass");
  write_addresses(file("c.txt"), 100, 2000); // a tenth
  pair().must({"list", "replace", "feed", file("c.txt")});
  EXPECT_EQ(verdict(numbered_address(2050)), "drop");
  pair().must({"list", "replace", "--force", "feed", file("b.txt")});
  EXPECT_EQ(verdict(numbered_address(2500)), "drop");
}

TEST_F(Errors, an_unknown_key_is_named_with_the_nearest_known_one) {
  ASSERT_NO_FATAL_FAILURE(start("192.0.2.1\n"));
  write_text(file("bad.yaml"), "version: 1\nlsits:\n- {name: a, action: deny, entries: [10.0.0.1]}\n");
  for (const char *verb : {"check", "apply", "plan"}) {
    const Reply reply = pair().ctl({verb, file("bad.yaml")});
    EXPECT_EQ(reply.status, 1) << verb;
    EXPECT_TRUE(says(reply, {"bad.yaml:2", "lsits", "lists"})) << verb;
  }
  for (const char *name : {"weir-dataplane", "weir-control"}) {
    const Outcome outcome = run({program(name), "-c", file("bad.yaml")}, {}, 10s);
    EXPECT_GT(outcome.code.value_or(-1), 0) << name;
    EXPECT_LT(outcome.code.value_or(-1), 128) << name << " crashed";
    EXPECT_NE((outcome.out + outcome.err).find("lsits"), std::string::npos)
        << name << ": " << outcome.out << outcome.err;
  }
}

TEST_F(Errors, deleting_an_absent_entry_says_so_and_deletes_nothing) {
  ASSERT_NO_FATAL_FAILURE(start("192.0.2.1\n"));
  pair().must({"list", "add", "bans", "203.0.113.9"});
  const Reply reply = pair().ctl({"list", "del", "bans", "203.0.113.9", "203.0.113.10"});
  EXPECT_EQ(reply.status, 1);
  EXPECT_TRUE(says(reply, {"203.0.113.10"}));
  EXPECT_EQ(verdict("203.0.113.9"), "drop") << "the present one of the two was deleted";
  EXPECT_EQ(pair().ctl({"list", "del", "nolist", "203.0.113.9"}).status, 1);
  EXPECT_EQ(pair().ctl({"list", "add", "bans", "203.0.113.9.9"}).status, 2) << "no address at all: usage";
}

TEST_F(Errors, an_entry_in_two_lists_survives_removal_from_one) {
  ASSERT_NO_FATAL_FAILURE(start("192.0.2.1\n"));
  pair().must({"list", "add", "bans", "192.0.2.1"});
  pair().must({"list", "del", "bans", "192.0.2.1"});
  EXPECT_EQ(verdict("192.0.2.1"), "drop");
}

TEST_F(Errors, an_unreachable_control_is_exit_3) {
  const TempDir folder;
  const Outcome outcome = run({program("weirctl"), "-s", folder / "control.sock", "status"});
  EXPECT_EQ(outcome.code.value_or(-1), 3);
  EXPECT_NE(outcome.err.find("control.sock"), std::string::npos) << outcome.err;
}

// The kernel's figures are replaced for control alone, in a mount namespace of its own: little memory,
// and no hugepages, which an image would take without asking for any of it.
TEST_F(Errors, without_memory_for_a_new_image_the_old_generation_stays) {
  if (geteuid() != 0) GTEST_SKIP() << "needs root: a mount namespace";
  const auto meminfo = file("meminfo");
  const auto available_is = [&](unsigned mib) {
    write_text(meminfo,
               fmt::format("MemTotal: 16777216 kB\nMemFree: {0} kB\nMemAvailable: {0} kB\n", mib * 1024));
  };
  available_is(4096);
  write_text(feed_file(), "192.0.2.1\n");
  PairSetup setup = PairSetup::idle();
  setup.lists = lists();
  write_text(file("none"), "0\n");
  setup.control_runner = {"unshare",
                          "-m",
                          "sh",
                          "-c",
                          "mount --bind \"$0\" /proc/meminfo && "
                          "for f in /sys/kernel/mm/hugepages/*/free_hugepages; do "
                          "mount --bind \"$(dirname \"$0\")/none\" \"$f\" || exit; done && exec \"$@\"",
                          meminfo};
  WeirPair pair(std::move(setup));
  ASSERT_NO_FATAL_FAILURE(pair.start());
  const auto before = pair.must({"status"}).value("generation", std::uint64_t{0});

  available_is(4);
  write_addresses(file("big.txt"), 0, 1'000'000); // about ten MiB of image
  const Reply reply = pair.ctl({"list", "replace", "--force", "feed", file("big.txt")});
  EXPECT_EQ(reply.status, 1) << reply.out;
  EXPECT_TRUE(says(reply, {"memory", "MiB"}));
  EXPECT_EQ(pair.must({"status"}).value("generation", std::uint64_t{0}), before);
  EXPECT_EQ(pair.verdict("192.0.2.1"), "drop");
  EXPECT_EQ(pair.verdict(numbered_address(7)), "pass");

  available_is(4096);
  EXPECT_TRUE(pair.ctl({"list", "replace", "--force", "feed", file("big.txt")}).ok());
  EXPECT_EQ(pair.verdict(numbered_address(7)), "drop");
}

TEST_F(Errors, a_second_control_on_the_same_state_is_refused) {
  ASSERT_NO_FATAL_FAILURE(start("192.0.2.1\n"));
  const Outcome second = run({program("weir-control"), "-c", pair().config()}, {}, 10s);
  EXPECT_GT(second.code.value_or(-1), 0);
  EXPECT_FALSE(second.err.empty() && second.out.empty());
  EXPECT_EQ(verdict("192.0.2.1"), "drop") << "the first one no longer answers";
}

} // namespace weir::test::error_test
