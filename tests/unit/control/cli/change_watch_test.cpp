#include "control/cli/change_watch.hpp"

#include "tests/support/stand_in_control.hpp"

#include <gtest/gtest.h>

namespace weir::cli::change_watch_test {
namespace {

using test::StandInControl;

constexpr const char *reading =
    R"({"ok":true,"doing":"apply","phase":"reading lists","unit":"bytes","done":10,"total":40,"phase_ms":100})";

Options options_of(Verb verb, const std::string &socket) {
  Options options;
  options.verb = verb;
  options.socket = socket;
  return options;
}

TEST(CliChangeWatch, asks_how_far_a_change_is_over_one_connection) {
  StandInControl control({reading, R"({"ok":true,"doing":""})"});
  ChangeWatch watch(options_of(Verb::apply, control.socket()));
  EXPECT_EQ(watch.text(), "reading lists  25 %  10 B of 40 B");
  EXPECT_EQ(watch.text(), "waiting for weir-control");
  EXPECT_EQ(control.requests().size(), 2u);
  EXPECT_EQ(control.requests().at(0), R"({"verb":"progress"})");
}

TEST(CliChangeWatch, a_control_that_is_away_or_knows_no_such_verb_leaves_the_verbs_own_words) {
  ChangeWatch nobody(options_of(Verb::rollback, "/nonexistent/control.sock"));
  EXPECT_EQ(nobody.text(), "waiting for weir-control");
  StandInControl old({R"({"ok":false,"code":"usage","message":"no verb progress"})", "", reading});
  ChangeWatch watch(options_of(Verb::apply, old.socket()));
  EXPECT_EQ(watch.text(), "waiting for weir-control");
  EXPECT_EQ(watch.text(), "waiting for weir-control") << "the connection ended";
  EXPECT_EQ(watch.text(), "reading lists  25 %  10 B of 40 B") << "and was made anew";
}

TEST(CliChangeWatch, what_makes_no_change_is_not_asked_about) {
  StandInControl control({reading});
  ChangeWatch plan(options_of(Verb::plan, control.socket()));
  EXPECT_EQ(plan.text(), "planning");
  ChangeWatch status(options_of(Verb::status, control.socket()));
  EXPECT_EQ(status.text(), "") << "it is answered at once";
  EXPECT_TRUE(control.requests().empty());
}

} // namespace
} // namespace weir::cli::change_watch_test
