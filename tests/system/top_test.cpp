// weirctl top as somebody at a terminal has it, with a real pair under load.
#include "tests/support/pseudo_terminal.hpp"
#include "tests/support/weir_pair.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <csignal>
#include <cstring>

namespace weir::test::top_test {
namespace {

using testing::HasSubstr;

class Top : public testing::Test {
protected:
  Top()
      : pair_([] {
          PairSetup setup;
          setup.vdevs = {"net_null0", "net_null1"}; // packets without an end, none of them IP
          setup.lists = "- {name: bans, action: deny, dynamic: true}\n- {name: ops, action: allow, entries: "
                        "[192.0.2.1]}\n";
          return setup;
        }()) {}

  void SetUp() override { ASSERT_NO_FATAL_FAILURE(pair_.start()); }

  [[nodiscard]] PseudoTerminal::Setup terminal(std::vector<std::string> more = {}) const {
    std::vector<std::string> words{
        program("weirctl"), "-s", pair_.folder() / "run/control.sock", "top", "-i", "0.2"};
    words.insert(words.end(), more.begin(), more.end());
    return {.arguments = std::move(words)};
  }

  static void expect_same(const termios &a, const termios &b) {
    EXPECT_EQ(a.c_lflag, b.c_lflag);
    EXPECT_EQ(a.c_iflag, b.c_iflag);
    EXPECT_EQ(a.c_oflag, b.c_oflag);
    EXPECT_EQ(std::memcmp(a.c_cc, b.c_cc, sizeof a.c_cc), 0);
  }

  WeirPair pair_;
};

TEST_F(Top, keys_choose_sort_filter_pause_and_quit_and_the_terminal_is_as_it_was) {
  PseudoTerminal screen(terminal());
  const termios before = screen.settings();
  ASSERT_TRUE(screen.shows("generation 1")) << screen.text();
  ASSERT_TRUE(screen.shows("non_ip")) << screen.text();
  EXPECT_NE(screen.settings().c_lflag, before.c_lflag) << "keys come without Enter";
  EXPECT_TRUE(screen.shows("bans")) << screen.text();
  EXPECT_TRUE(screen.shows("Mpps") || screen.shows("kpps")) << screen.text();

  screen.type("3"); // lists alone
  EXPECT_TRUE(screen.loses("non_ip")) << screen.text();
  EXPECT_TRUE(screen.shows("bans")) << screen.text();
  screen.type("/ops\n");
  EXPECT_TRUE(screen.loses("bans")) << screen.text();
  EXPECT_TRUE(screen.shows("filter ops")) << screen.text();
  screen.type("\x1b"); // all again
  EXPECT_TRUE(screen.shows("non_ip")) << screen.text();

  screen.type("3ssss"); // from the hits a second round to the name
  ASSERT_TRUE(screen.loses("non_ip"));
  const auto first_of_lists = [&] {
    const auto lines = screen.lines();
    const auto title = std::ranges::find_if(lines, [](const auto &line) { return line.starts_with("LIST"); });
    return title == lines.end() || title + 1 == lines.end() ? std::string() : (title + 1)->substr(0, 4);
  };
  EXPECT_TRUE(wait_until([&] { return first_of_lists() == "bans"; }, 20s)) << screen.text();
  screen.type("r");
  EXPECT_TRUE(wait_until([&] { return first_of_lists() == "ops "; }, 20s)) << screen.text();

  screen.type("p");
  EXPECT_TRUE(screen.shows("PAUSED")) << screen.text();
  screen.type("?");
  EXPECT_TRUE(screen.shows("weirctl top: keys")) << screen.text();
  screen.type("xq");
  EXPECT_EQ(screen.wait(), 0);
  expect_same(screen.settings(), before);
  EXPECT_FALSE(screen.wrapped());
}

TEST_F(Top, another_size_is_another_screen_and_no_line_is_longer_than_it_is_wide) {
  PseudoTerminal screen(terminal());
  ASSERT_TRUE(screen.shows("TX BIT/S")) << screen.text();
  for (const auto &[rows, columns] : {std::pair{12u, 40u}, {3u, 20u}, {1u, 10u}, {50u, 200u}, {24u, 80u}}) {
    screen.resize(rows, columns);
    ASSERT_TRUE(screen.shows(columns < 10 ? "q" : "q quit")) << rows << " " << columns << '\n'
                                                             << screen.text();
    if (rows > 1) {
      EXPECT_TRUE(screen.shows("weirctl top")) << rows << " " << columns << '\n' << screen.text();
    }
    const auto lines = screen.lines();
    EXPECT_TRUE(lines.back().starts_with("q quit")) << screen.text();
    EXPECT_TRUE(screen.cleared()) << "else nothing would be held against it for being too wide";
  }
  EXPECT_FALSE(screen.wrapped());
}

TEST_F(Top, every_end_gives_the_terminal_back) {
  for (const int number : {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGABRT}) {
    PseudoTerminal::Setup setup = terminal();
    setup.environment = {{"TERM", "xterm"}};
    PseudoTerminal screen(setup);
    const termios before = screen.settings();
    ASSERT_TRUE(wait_until([&] { return screen.written().find("weirctl top") != std::string::npos; }, 20s));
    screen.signal(number);
    const bool kills = number == SIGQUIT || number == SIGABRT;
    EXPECT_EQ(screen.wait(), kills ? 128 + number : 0) << number;
    expect_same(screen.settings(), before);
    EXPECT_THAT(screen.written(), HasSubstr("\x1b[?1049h")) << number;
    EXPECT_GT(screen.written().rfind("\x1b[?1049l"), screen.written().rfind("\x1b[?1049h")) << number;
  }
}

TEST_F(Top, a_control_that_ends_and_comes_back_is_said_and_found_again) {
  PseudoTerminal screen(terminal());
  ASSERT_TRUE(screen.shows("non_ip")) << screen.text();
  pair_.control().stop(SIGKILL, 5s);
  EXPECT_TRUE(screen.shows("no answer since ")) << screen.text();
  EXPECT_TRUE(screen.shows("weir-control")) << screen.text();
  EXPECT_TRUE(screen.shows("non_ip")) << "what was known stays: " << screen.text();
  pair_.start_control();
  ASSERT_TRUE(pair_.ready());
  EXPECT_TRUE(screen.loses("no answer since ")) << screen.text();
  screen.type("q");
  EXPECT_EQ(screen.wait(), 0);
}

TEST_F(Top, colours_stay_off_where_nobody_wants_them) {
  for (const auto &[no_color, colours] : {std::pair{"", true}, {"1", false}}) {
    PseudoTerminal::Setup setup = terminal();
    setup.environment = {{"TERM", "xterm-256color"}, {"NO_COLOR", no_color}};
    PseudoTerminal screen(setup);
    ASSERT_TRUE(wait_until([&] { return screen.written().find("VERDICT") != std::string::npos; }, 20s));
    screen.type("q");
    EXPECT_EQ(screen.wait(), 0);
    EXPECT_EQ(screen.written().find("\x1b[36m") != std::string::npos ||
                  screen.written().find(";36m") != std::string::npos,
              colours)
        << screen.written();
  }
}

TEST_F(Top, text_comes_where_there_is_no_screen) {
  const std::string socket = pair_.folder() / "run/control.sock";
  const Outcome once = run({program("weirctl"), "-s", socket, "top", "--once", "-i", "0.2"});
  ASSERT_TRUE(once.ok()) << once.err;
  EXPECT_THAT(once.out, HasSubstr("weirctl top "));
  EXPECT_THAT(once.out, HasSubstr("\nLIST"));
  EXPECT_EQ(once.out.find('\x1b'), std::string::npos) << "no colours in a file";
  const Outcome two = run({program("weirctl"), "-s", socket, "top", "-n", "2", "-i", "0.2"});
  ASSERT_TRUE(two.ok()) << two.err;
  EXPECT_NE(two.out.find("weirctl top "), two.out.rfind("weirctl top "));
  PseudoTerminal::Setup dumb = terminal();
  dumb.environment = {{"TERM", "dumb"}};
  PseudoTerminal screen(dumb);
  EXPECT_EQ(screen.wait(), 2);
  EXPECT_THAT(screen.written(), HasSubstr("TERM=dumb names no terminal with a screen; --once prints text."));
}

} // namespace
} // namespace weir::test::top_test
