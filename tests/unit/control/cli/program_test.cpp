#include "control/cli/options.hpp"
#include "control/cli/program.hpp"
#include "tests/support/process.hpp"
#include "tests/support/stand_in_control.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <fstream>
#include <iostream>
#include <sstream>

namespace weir::cli::program_test {
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

TEST(CliProgram, health_is_an_exit_code_with_its_reasons) {
  const auto asked = [](const json &differs, std::vector<std::string> words) {
    json dataplane{{"connected", true}, {"generation", 7}};
    dataplane.update(differs);
    StandInControl control(
        {json{{"ok", true}, {"generation", 7}, {"dataplane", std::move(dataplane)}}.dump()});
    words.insert(words.begin(), "health");
    const Outcome end = weirctl(control, words);
    EXPECT_EQ(json::parse(control.requests().at(0)), json::parse(R"({"verb":"status"})"));
    return end;
  };
  const Outcome well = asked(json::object(), {"--strict"});
  EXPECT_EQ(well.code, exit_done);
  EXPECT_EQ(well.out, "healthy: generation 7 is in force\n");

  const json slow{{"warnings", {"worker 1 stands"}}};
  const Outcome warned = asked(slow, {});
  EXPECT_EQ(warned.code, exit_done);
  EXPECT_EQ(warned.out, "healthy: generation 7 is in force\nwarning: worker 1 stands\n");
  EXPECT_EQ(asked(slow, {"--strict"}).code, exit_refused);

  const json taken{{"displaced", "another weir-control has put its generation 9 in force"}};
  const Outcome ill = asked(taken, {});
  EXPECT_EQ(ill.code, exit_refused);
  EXPECT_EQ(ill.out, "WRONG: not in force: another weir-control has put its generation 9 in force\n");
  EXPECT_EQ(asked({{"generation", 0}}, {}).code, exit_refused);
  const Outcome behind = asked({{"generation", 6}, {"in_sync", false}}, {});
  EXPECT_EQ(behind.code, exit_refused);
  EXPECT_EQ(behind.out,
            "WRONG: not in force: the dataplane has not been brought up to date yet and judges by "
            "generation 6\n");
  EXPECT_EQ(asked({{"in_sync", true}}, {}).code, exit_done);

  const Outcome object = asked(taken, {"-j"});
  EXPECT_EQ(object.code, exit_refused);
  EXPECT_EQ(json::parse(object.out), json::parse(R"({"ok":true,"healthy":false,"generation":7,"warnings":[],
      "faults":["not in force: another weir-control has put its generation 9 in force"]})"));
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

TEST(CliProgram, a_packet_is_asked_about_with_the_tag_that_its_capture_lost) {
  const std::string macs = "020000000001020000000002", ip = "08004500001400000000401100000102030405060708";
  StandInControl control({R"({"ok":true,"verdict":"pass","reason":"default"})"});
  weirctl(control, {"explain", "--packet", macs + ip, "--vlan", "12", "--port", "wan"});
  ASSERT_EQ(control.requests().size(), 1u);
  EXPECT_EQ(json::parse(control.requests()[0]).at("packet"), macs + "8100000c" + ip);
  const Outcome twice = weirctl(control, {"explain", "--packet", macs + "8100000c" + ip, "--vlan", "7"});
  EXPECT_EQ(twice.code, exit_usage);
  EXPECT_THAT(twice.err, HasSubstr("has a tag of VLAN 12 already"));
  EXPECT_EQ(control.requests().size(), 1u) << "nothing is asked";
}

TEST(CliProgram, paths_are_sent_absolute_and_their_content_goes_along) {
  StandInControl control({R"({"ok":true,"generation":3,"live_ms":18,"swap_ns":2100,"lost":0,"lists":[]})"});
  const test::TempDir folder;
  test::write_text(folder / "next.yaml", "version: 1\n");
  const std::string file = std::filesystem::relative(folder / "next.yaml");
  const Outcome end = weirctl(control, {"apply", file, "--confirm", "60s", "--force"});
  EXPECT_EQ(end.code, exit_done) << end.err;
  EXPECT_EQ(end.out, "generation 3 live after 18 ms, swap 2.1 us, lost 0\n");
  const json request = json::parse(control.requests().at(0));
  EXPECT_TRUE(request.at("config").get<std::string>().starts_with("/"));
  EXPECT_EQ(request.at("confirm_s"), 60);
  EXPECT_EQ(request.at("force"), true);
}

TEST(CliProgram, what_cannot_be_read_is_told_and_nothing_is_sent) {
  StandInControl control({});
  for (const std::vector<std::string> &line : {std::vector<std::string>{"apply", "/no/such.yaml"},
                                               {"plan", "/no/such.yaml"},
                                               {"diff", "/no/such.yaml"},
                                               {"list", "replace", "drop", "/no/such.txt"}}) {
    const Outcome end = weirctl(control, line);
    EXPECT_EQ(end.code, exit_refused);
    EXPECT_THAT(end.err, HasSubstr("No such file"));
  }
  EXPECT_THAT(control.requests(), IsEmpty());
}

TEST(CliProgram, an_export_appears_whole_or_not_at_all) {
  const test::TempDir folder;
  const std::string file = folder / "out.txt";
  test::write_text(file, "as it was\n");
  StandInControl control({R"({"ok":false,"code":"not_found","message":"no list is named x"})",
                          R"({"ok":true,"entries":0})", R"({"ok":true,"entries":0})",
                          R"({"ok":true,"entries":0})"});
  EXPECT_EQ(weirctl(control, {"list", "export", "x", file}).code, exit_refused);
  EXPECT_EQ(test::read_text(file), "as it was\n");
  EXPECT_EQ(weirctl(control, {"list", "export", "x", file}).code, exit_done);
  EXPECT_EQ(test::read_text(file), "");
  EXPECT_FALSE(std::filesystem::exists(file + ".part"));
  const Outcome nowhere = weirctl(control, {"list", "export", "x", "/proc/no/where"});
  EXPECT_EQ(nowhere.code, exit_refused);
  EXPECT_THAT(nowhere.err, HasSubstr("/proc/no/where: cannot be written"));
  EXPECT_EQ(weirctl(control, {"list", "export", "x", "/dev/null"}).code, exit_done) << "a device stays one";
  EXPECT_TRUE(std::filesystem::is_character_file("/dev/null"));
}

TEST(CliProgram, an_answer_that_standard_output_does_not_take_is_a_failure_but_for_health) {
  StandInControl control({R"({"ok":true,"added":1,"refreshed":0,"sequence":7,"in_force_ms":0.4})",
                          R"({"ok":false,"code":"not_found","message":"no list is named bans"})",
                          R"({"ok":true,"generation":7,"dataplane":{"connected":true,"generation":7}})"});
  std::ofstream full("/dev/full");
  const std::vector<std::string> add{"list", "add", "bans", "203.0.113.9", "-s", control.socket()};
  std::ostringstream err;
  EXPECT_EQ(run(add, {std::cin, full, err}), exit_refused);
  EXPECT_THAT(err.str(), HasSubstr("what was asked for is done, but standard output did not take all"));
  err.str("");
  EXPECT_EQ(run(add, {std::cin, full, err}), exit_refused);
  EXPECT_THAT(err.str(), AllOf(HasSubstr("no list is named bans"), Not(HasSubstr("is done"))));
  EXPECT_EQ(run({"health", "-s", control.socket()}, {std::cin, full, err}), exit_done);
  for (const char *const word : {"--help", "--version"}) {
    std::ofstream also_full("/dev/full");
    EXPECT_EQ(run({word}, {std::cin, also_full, err}), exit_refused) << word;
  }
}

TEST(CliProgram, a_comment_that_is_not_utf8_is_kept_escaped_and_said) {
  StandInControl control({R"({"ok":true,"added":1,"refreshed":0,"sequence":7,"in_force_ms":0.4})"});
  const Outcome end =
      weirctl(control, {"list", "add", "bans", "203.0.113.9", "--comment", "caf\xe9 caf\xc3\xa9"});
  EXPECT_EQ(end.code, exit_done);
  EXPECT_EQ(json::parse(control.requests().at(0)).at("entries").at(0).at("comment"), "caf\\xe9 caf\xc3\xa9");
  EXPECT_THAT(end.err, HasSubstr("--comment is not UTF-8: kept as \"caf\\xe9"));
}

TEST(CliProgram, no_argument_ends_it_whatever_its_bytes) {
  const std::string bad = "\xe9\xff\x1b[2J\xc2";
  const std::vector<std::vector<std::string>> lines{{"list", "show", bad},
                                                    {"list", "add", bad, "10.0.0.1"},
                                                    {"list", "add", "bans", bad},
                                                    {"list", "del", "bans", bad},
                                                    {"list", "replace", bad, bad},
                                                    {"list", "export", bad, bad},
                                                    {"list", "add", bad, "10.0.0.1", "--ttl", bad, "-j"},
                                                    {"explain", bad},
                                                    {"apply", bad},
                                                    {"plan", bad, "-j"},
                                                    {"diff", bad},
                                                    {"diff", "1", bad},
                                                    {"log", bad, "--since", bad},
                                                    {"explain", "10.0.0.1", "-c", bad},
                                                    {"check", bad, "-j"},
                                                    {"check", bad},
                                                    {bad},
                                                    {"status", "--" + bad},
                                                    {"status", "-s", bad},
                                                    {"status", "-s", bad, "-j"},
                                                    {"replay", bad, "-c", bad},
                                                    {"rollback", bad},
                                                    {"doctor", "-c", bad, "-j"}};
  for (const std::vector<std::string> &line : lines) {
    StandInControl control({R"({"ok":false,"code":"not_found","message":"no list"})"});
    Outcome end;
    const bool named = std::ranges::find(line, "-s") != line.end();
    EXPECT_NO_THROW(end = named ? weirctl(line) : weirctl(control, line)) << testing::PrintToString(line);
    EXPECT_NE(end.code, exit_done) << testing::PrintToString(line);
    EXPECT_EQ(end.err.find('\x1b'), std::string::npos) << end.err;
    EXPECT_EQ(end.out.find('\x1b'), std::string::npos) << end.out;
    EXPECT_NO_THROW((void)json(end.err).dump()) << "what is printed is UTF-8";
  }
}

// "\u009b" is the C1 form of "ESC [".
TEST(CliProgram, what_an_answer_says_never_steers_the_terminal) {
  const std::string comment = R"(a\u001b[31mred\u009b2J\u007f\nEND\u202eright)";
  const std::string entry =
      R"({"prefix":"10.0.0.1","comment":")" + comment + R"(","added_at":0,"expires_at":null})";
  StandInControl control(
      {R"({"ok":true,"lists":[],"entries":[)" + entry + "]}",
       R"({"ok":true,"lists":[],"entries":[)" + entry + "]}",
       R"({"ok":true,"verdict":"drop","reason":"deny","list":"drop","entry":"10.0.0.1","comment":")" +
           comment + R"(","path":[{"step":"x","text":")" + comment + R"("}]})",
       R"({"ok":false,"code":"refused","message":"a:1: \u001b[2J\nb:2: \u009b"})",
       R"({"ok":true,"generation":1,"error":"apply: )" + comment + R"("})"});
  const auto calm = [](const std::string &text) {
    return text.find('\x1b') == std::string::npos && text.find('\x7f') == std::string::npos &&
           text.find("\xc2\x9b") == std::string::npos && text.find("\xe2\x80\xae") == std::string::npos;
  };
  const Outcome shown = weirctl(control, {"list", "show", "drop"});
  EXPECT_TRUE(calm(shown.out)) << shown.out;
  EXPECT_EQ(std::ranges::count(shown.out, '\n'), 2) << "a comment stays in its row:\n" << shown.out;
  const Outcome as_json = weirctl(control, {"list", "show", "drop", "-j"});
  EXPECT_TRUE(calm(as_json.out)) << as_json.out;
  EXPECT_EQ(json::parse(as_json.out).at("entries").at(0), json::parse(entry)) << "and says the same";
  const Outcome explained = weirctl(control, {"explain", "10.0.0.1"});
  EXPECT_TRUE(calm(explained.out)) << explained.out;
  EXPECT_EQ(std::ranges::count(explained.out, '\n'), 2) << explained.out;
  const Outcome refused = weirctl(control, {"apply"});
  EXPECT_EQ(refused.err, "weirctl: a:1: \\x1b[2J\nb:2: \\xc2\\x9b\n");
  EXPECT_TRUE(calm(weirctl(control, {"status"}).out));
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
  const Outcome zsh = weirctl({"completion", "zsh"});
  EXPECT_EQ(zsh.code, exit_done);
  for (const char *word :
       {"replay", "list", "doctor", "\"list add\"", "\"offender mark\"", "--ttl", "--verdicts"}) {
    EXPECT_THAT(end.out, HasSubstr(word));
    EXPECT_THAT(zsh.out, HasSubstr(word));
  }
  EXPECT_THAT(zsh.out, testing::StartsWith("#compdef weirctl\n"));
}

} // namespace
} // namespace weir::cli::program_test
