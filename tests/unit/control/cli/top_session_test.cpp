#include "control/cli/top_session.hpp"

#include "control/cli/top.hpp"
#include "tests/support/process.hpp"
#include "tests/support/stand_in_control.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <sstream>

namespace weir::cli::top_session_test {
namespace {

using test::StandInControl;
using testing::HasSubstr;
using namespace std::chrono_literals;
using Clock = TopSession::Clock;

constexpr const char *status = R"({"ok":true,"generation":3,"dataplane":{"connected":true,"pid":7}})";

std::string top_answer(unsigned second) {
  return Json{{"ok", true}, {"at_ns", second * 1'000'000'000ull}, {"pass", 100 * second}, {"drop", 0}}.dump();
}

// A reading, or why none comes, however long that takes.
Result<Reading> wait_for(TopSession &session) {
  std::optional<Result<std::optional<Reading>>> got;
  EXPECT_TRUE(test::wait_until(
      [&] {
        got = session.go_on(Clock::now());
        return !*got || **got;
      },
      20s));
  if (!*got) return std::unexpected(got->error());
  return std::move(***got);
}

TEST(TopSession, asks_for_status_and_top_by_one_connection_and_rests_between) {
  StandInControl control({status, top_answer(1), status, top_answer(2)});
  TopSession session(control.socket(), 17);
  EXPECT_FALSE(session.asking());
  EXPECT_FALSE(session.go_on(Clock::now())->has_value());
  for (const unsigned second : {1u, 2u}) {
    session.ask(Clock::now());
    EXPECT_TRUE(session.asking());
    const auto reading = wait_for(session);
    ASSERT_TRUE(reading) << reading.error().message;
    EXPECT_EQ((*reading->status)["generation"], 3);
    EXPECT_EQ((*reading->top)["at_ns"], second * 1'000'000'000ull);
    EXPECT_FALSE(session.asking());
    EXPECT_FALSE(session.wake_at());
  }
  ASSERT_EQ(control.requests().size(), 4u);
  EXPECT_EQ(Json::parse(control.requests()[0]), Json::parse(R"({"verb":"status"})"));
  EXPECT_EQ(Json::parse(control.requests()[1]), Json::parse(R"({"verb":"top","n":17})"));
}

TEST(TopSession, who_is_not_there_is_asked_again_without_a_word) {
  TopSession session("/nonexistent/control.sock", 1, {.answer_max = 1s, .retry = 20ms});
  session.ask(Clock::now());
  for (int i = 0; i < 3; ++i) {
    const auto none = wait_for(session);
    ASSERT_FALSE(none);
    EXPECT_EQ(none.error().code, Errc::unreachable);
    EXPECT_THAT(none.error().message, HasSubstr("Is weir-control running?"));
    EXPECT_TRUE(session.asking()) << "it is tried again";
    ASSERT_TRUE(session.wake_at());
  }
}

TEST(TopSession, one_that_hangs_is_told_of_and_one_that_comes_back_is_found) {
  StandInControl control({"", status, top_answer(1)}); // the first connection ends without a word
  TopSession session(control.socket(), 1, {.answer_max = 20s, .retry = 5ms});
  session.ask(Clock::now());
  const auto gone = wait_for(session);
  ASSERT_FALSE(gone);
  EXPECT_THAT(gone.error().message, HasSubstr("closed the connection"));
  EXPECT_TRUE(wait_for(session));

  test::TempDir folder;
  StandInControl silent({});
  TopSession waiting(silent.socket(), 1, {.answer_max = 0s, .retry = 5ms});
  waiting.ask(Clock::now());
  const auto none = waiting.go_on(Clock::now());
  ASSERT_FALSE(none);
  EXPECT_THAT(none.error().message, HasSubstr("takes requests and does not answer"));
}

TEST(TopSession, a_refusal_is_handed_on) {
  StandInControl control({R"({"ok":false,"code":"refused","message":"the user may not look here"})"});
  TopSession session(control.socket(), 1);
  session.ask(Clock::now());
  const auto refused = wait_for(session);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Errc::refused);
  EXPECT_EQ(refused.error().message, "the user may not look here");
}

struct Printed {
  int code = -1;
  std::string out, err;
};

Printed printed(const StandInControl &control, const TopOptions &options, bool json = false) {
  Options all;
  all.verb = Verb::top;
  all.socket = control.socket();
  all.top = options;
  all.json = json;
  std::ostringstream out, err;
  const int code = top(all, out, err);
  return {code, out.str(), err.str()};
}

TEST(TopText, a_frame_has_the_rates_between_two_answers) {
  StandInControl control({status, top_answer(1), status, top_answer(2)});
  const Printed once = printed(control, {.once = true, .interval = 1ms});
  EXPECT_EQ(once.code, exit_done) << once.err;
  EXPECT_THAT(once.out, HasSubstr("pass 100pps"));
  EXPECT_THAT(once.out, HasSubstr("generation 3"));
}

TEST(TopText, frames_go_on_while_nobody_answers_and_say_so) {
  StandInControl control(
      {status, top_answer(1), status, top_answer(2), status, top_answer(3), "", status, top_answer(4)});
  const Printed some = printed(control, {.frames = 3, .interval = 1ms});
  EXPECT_EQ(some.code, exit_done) << some.err;
  EXPECT_THAT(some.out, HasSubstr("no answer since "));
  std::size_t frames = 0;
  for (std::size_t at = 0; (at = some.out.find("weirctl top ", at)) != std::string::npos; ++at) ++frames;
  EXPECT_EQ(frames, 3u) << some.out;
}

TEST(TopText, json_is_the_answer_itself) {
  StandInControl control({status, top_answer(1), status, top_answer(2)});
  const Printed two = printed(control, {.frames = 2, .interval = 1ms}, true);
  EXPECT_EQ(two.code, exit_done);
  std::istringstream lines(two.out);
  std::string line;
  for (const unsigned second : {1u, 2u}) {
    ASSERT_TRUE(std::getline(lines, line));
    EXPECT_EQ(Json::parse(line), Json::parse(top_answer(second)));
  }
}

TEST(TopText, without_a_first_answer_there_is_a_reason_and_a_code) {
  StandInControl control({""});
  const Printed none = printed(control, {.once = true});
  EXPECT_EQ(none.code, exit_unreachable);
  EXPECT_EQ(none.err, "weirctl: weir-control closed the connection before it answered; see its log.\n");
}

} // namespace
} // namespace weir::cli::top_session_test
