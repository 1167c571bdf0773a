#include "control/cli/options.hpp"
#include "control/cli/program.hpp"
#include "tests/support/stand_in_control.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <sstream>

namespace weir::cli {
namespace {

using nlohmann::json;
using test::StandInControl;
using testing::HasSubstr;
using testing::IsEmpty;

struct Outcome {
  int code = -1;
  std::string out;
  std::string err;
};

Outcome weirctl(std::vector<std::string> arguments, const std::string &input = "") {
  std::istringstream in(input);
  std::ostringstream out;
  std::ostringstream err;
  const int code = run(arguments, {in, out, err});
  return {code, out.str(), err.str()};
}

Outcome weirctl(const StandInControl &control, std::vector<std::string> arguments,
                const std::string &input = "") {
  arguments.insert(arguments.end(), {"-s", control.socket()});
  return weirctl(std::move(arguments), input);
}

TEST(CliProgram, an_accepted_request_exits_0_with_text) {
  StandInControl control({R"({"ok":true,"added":1,"refreshed":0,"sequence":7,"in_force_ms":0.4})"});
  const Outcome end =
      weirctl(control, {"list", "add", "bans", "203.0.113.9", "--ttl", "10m", "--comment", "ssh"});
  EXPECT_EQ(end.code, exit_done);
  EXPECT_EQ(end.out, "bans: 1 added, 0 refreshed, in force after 0.4 ms\n");
  EXPECT_THAT(end.err, IsEmpty());
  ASSERT_EQ(control.requests().size(), 1u);
  EXPECT_EQ(
      json::parse(control.requests()[0]),
      json::parse(
          R"({"verb":"list_add","list":"bans","entries":[{"prefix":"203.0.113.9","ttl":600,"comment":"ssh"}]})"));
}

TEST(CliProgram, j_prints_the_answer_as_one_json_object) {
  const std::string answer = R"({"generation":42,"ok":true})";
  StandInControl control({answer});
  const Outcome end = weirctl(control, {"-j", "status"});
  EXPECT_EQ(end.code, exit_done);
  EXPECT_EQ(json::parse(end.out), json::parse(answer));
}

TEST(CliProgram, a_refusal_exits_1_with_the_reason) {
  const std::string answer = R"({"ok":false,"code":"not_found","message":"10.0.0.1 is not on bans."})";
  StandInControl control({answer, answer});
  const Outcome text = weirctl(control, {"list", "del", "bans", "10.0.0.1"});
  EXPECT_EQ(text.code, exit_refused);
  EXPECT_THAT(text.out, IsEmpty());
  EXPECT_EQ(text.err, "weirctl: 10.0.0.1 is not on bans.\n");
  const Outcome object = weirctl(control, {"-j", "list", "del", "bans", "10.0.0.1"});
  EXPECT_EQ(object.code, exit_refused);
  EXPECT_EQ(json::parse(object.out), json::parse(answer));
}

TEST(CliProgram, nobody_at_the_socket_exits_3_with_a_remedy) {
  const Outcome end = weirctl({"status", "-s", "/nonexistent/control.sock"});
  EXPECT_EQ(end.code, exit_unreachable);
  EXPECT_THAT(end.err, HasSubstr("Is weir-control running?"));
}

TEST(CliProgram, a_control_that_dies_before_it_answers_exits_3) {
  StandInControl control({""});
  const Outcome end = weirctl(control, {"status"});
  EXPECT_EQ(end.code, exit_unreachable);
  EXPECT_THAT(end.err, HasSubstr("closed the connection"));
}

TEST(CliProgram, an_answer_that_is_no_json_exits_1) {
  StandInControl control({"hello"});
  EXPECT_EQ(weirctl(control, {"status"}).code, exit_refused);
}

TEST(CliProgram, entries_come_from_standard_input_too) {
  StandInControl control({R"({"ok":true,"deleted":2,"in_force_ms":1})"});
  const Outcome end = weirctl(control, {"list", "del", "bans", "-"}, "10.0.0.1 # one\r\n\n  2001:db8::/32\n");
  EXPECT_EQ(end.code, exit_done) << end.err;
  EXPECT_EQ(json::parse(control.requests().at(0)).at("entries"),
            json::parse(R"(["10.0.0.1","2001:db8::/32"])"));
}

TEST(CliProgram, a_bad_line_of_standard_input_is_named_and_nothing_is_sent) {
  StandInControl control({});
  const Outcome end = weirctl(control, {"list", "add", "bans", "-"}, "10.0.0.1\n10.0.0.300\n");
  EXPECT_EQ(end.code, exit_usage);
  EXPECT_THAT(end.err, HasSubstr("line 2: \"10.0.0.300\""));
  EXPECT_THAT(control.requests(), IsEmpty());
}

TEST(CliProgram, paths_are_sent_absolute) {
  StandInControl control({R"({"ok":true,"generation":3,"live_ms":18,"swap_ns":2100,"lost":0,"lists":[]})"});
  const Outcome end = weirctl(control, {"apply", "next.yaml", "--confirm", "60s", "--force"});
  EXPECT_EQ(end.code, exit_done);
  EXPECT_EQ(end.out, "generation 3 live after 18 ms, swap 2.1 us, lost 0\n");
  const json request = json::parse(control.requests().at(0));
  EXPECT_TRUE(request.at("config").get<std::string>().starts_with("/"));
  EXPECT_EQ(request.at("confirm_s"), 60);
  EXPECT_EQ(request.at("force"), true);
}

TEST(CliProgram, an_explained_address_without_a_list_is_no_match) {
  StandInControl control({R"({"ok":true,"verdict":"pass","reason":"default","path":[]})",
                          R"({"ok":true,"verdict":"drop","reason":"deny","list":"drop","path":[]})"});
  EXPECT_EQ(weirctl(control, {"explain", "203.0.113.9"}).code, exit_refused);
  EXPECT_EQ(weirctl(control, {"explain", "203.0.113.9"}).code, exit_done);
}

TEST(CliProgram, a_replay_of_what_is_missing_starts_nothing_and_exits_1) {
  const Outcome end = weirctl({"replay", "/nonexistent/in.pcap", "--config", "/nonexistent/weir.yaml"});
  EXPECT_EQ(end.code, exit_refused);
  EXPECT_THAT(end.err, HasSubstr("/nonexistent/weir.yaml"));
}

TEST(CliProgram, the_completion_script_knows_every_verb) {
  const Outcome end = weirctl({"completion"});
  EXPECT_EQ(end.code, exit_done);
  for (const char *word : {"replay", "list", "doctor", "\"list add\"", "--ttl", "--verdicts"})
    EXPECT_THAT(end.out, HasSubstr(word));
}

} // namespace
} // namespace weir::cli
