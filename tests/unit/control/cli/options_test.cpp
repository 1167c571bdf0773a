#include "control/cli/options.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace weir::cli::options_test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

Options good(const std::vector<std::string> &arguments) {
  auto parsed = parse(arguments);
  if (const auto *end = std::get_if<Exit>(&parsed)) {
    ADD_FAILURE() << end->out << end->err;
    return {};
  }
  return std::get<Options>(parsed);
}

Exit refused(const std::vector<std::string> &arguments) {
  auto parsed = parse(arguments);
  if (const auto *end = std::get_if<Exit>(&parsed)) return *end;
  ADD_FAILURE() << "accepted";
  return {};
}

TEST(CliOptions, global_options_may_stand_before_or_after_the_verb) {
  for (const auto &line :
       {std::vector<std::string>{"-j", "-s", "/x.sock", "status"}, {"status", "-j", "-s", "/x.sock"}}) {
    const Options options = good(line);
    EXPECT_EQ(options.verb, Verb::status);
    EXPECT_TRUE(options.json);
    EXPECT_EQ(options.socket, "/x.sock");
  }
}

TEST(CliOptions, list_add_takes_entries_a_time_to_live_and_a_comment) {
  const Options options =
      good({"list", "add", "bans", "203.0.113.9", "2001:db8::/32", "--ttl", "1h30m", "--comment", "ssh"});
  EXPECT_EQ(options.verb, Verb::list_add);
  EXPECT_EQ(options.list, "bans");
  EXPECT_THAT(options.entries, ElementsAre("203.0.113.9", "2001:db8::/32"));
  EXPECT_EQ(options.ttl, std::chrono::seconds(5400));
  EXPECT_EQ(options.comment, "ssh");
}

TEST(CliOptions, replay_takes_several_applies_with_and_without_a_packet_number) {
  const Options options =
      good({"replay", "in.pcap", "--config", "a.yaml", "--apply", "b.yaml@50", "--apply", "c.yaml", "--loop",
            "3", "--rate", "1000", "--out", "p.pcap", "--denied", "d.pcap", "--verdicts", "v.csv", "-j"});
  EXPECT_EQ(options.verb, Verb::replay);
  EXPECT_EQ(options.replay.input, "in.pcap");
  EXPECT_EQ(options.replay.loop, 3u);
  EXPECT_EQ(options.replay.rate_pps, 1000u);
  ASSERT_EQ(options.replay.applies.size(), 2u);
  EXPECT_EQ(options.replay.applies[0].config, "b.yaml");
  EXPECT_EQ(options.replay.applies[0].at, 50u);
  EXPECT_EQ(options.replay.applies[1].config, "c.yaml");
  EXPECT_FALSE(options.replay.applies[1].at);
}

TEST(CliOptions, apply_takes_its_configuration_as_a_word_or_an_option) {
  EXPECT_EQ(good({"apply", "next.yaml", "--confirm", "60s"}).config, "next.yaml");
  EXPECT_EQ(good({"apply", "-c", "next.yaml"}).config, "next.yaml");
  EXPECT_EQ(good({"apply", "next.yaml", "--confirm", "60s"}).confirm, std::chrono::seconds(60));
  EXPECT_TRUE(good({"apply"}).config.empty());
}

TEST(CliOptions, diff_takes_a_configuration_or_generations) {
  EXPECT_EQ(good({"diff", "next.yaml"}).config, "next.yaml");
  EXPECT_EQ(good({"diff", "-c", "next.yaml"}).config, "next.yaml");
  EXPECT_EQ(good({"diff", "./41"}).config, "./41");
  const Options since = good({"diff", "41"});
  EXPECT_EQ(since.from, 41u);
  EXPECT_FALSE(since.to);
  const Options between = good({"diff", "41", "43"});
  EXPECT_EQ(between.from, 41u);
  EXPECT_EQ(between.to, 43u);
  EXPECT_TRUE(between.config.empty());
  EXPECT_FALSE(good({"diff"}).from);
}

TEST(CliOptions, explain_asks_rules_in_force_or_others) {
  EXPECT_EQ(good({"explain", "10.0.0.1", "--config", "next.yaml"}).config, "next.yaml");
  EXPECT_EQ(good({"explain", "10.0.0.1", "-g", "41"}).generation, 41u);
  EXPECT_EQ(refused({"explain", "10.0.0.1", "-g", "41", "-c", "next.yaml"}).code, exit_usage);
  const Options packet = good({"explain", "--packet", "in.pcap:3", "--port", "wan"});
  EXPECT_EQ(packet.packet, "in.pcap:3");
  EXPECT_EQ(packet.port, "wan");
  EXPECT_EQ(refused({"explain", "10.0.0.1", "--packet", "00"}).code, exit_usage);
  EXPECT_EQ(refused({"explain", "10.0.0.1", "--port", "wan"}).code, exit_usage);
  EXPECT_EQ(good({"explain", "--packet", "00", "--vlan", "4094"}).vlan, 4094u);
  for (const char *none : {"0", "4095", "x"})
    EXPECT_EQ(refused({"explain", "--packet", "00", "--vlan", none}).code, exit_usage) << none;
  EXPECT_EQ(refused({"explain", "10.0.0.1", "--vlan", "12"}).code, exit_usage);
}

TEST(CliOptions, an_unknown_verb_suggests_the_nearest) {
  const Exit end = refused({"sttus"});
  EXPECT_EQ(end.code, exit_usage);
  EXPECT_THAT(end.err, HasSubstr("did you mean \"status\"?"));
  EXPECT_THAT(refused({"list", "ad", "bans", "10.0.0.1"}).err, HasSubstr("did you mean \"add\"?"));
}

TEST(CliOptions, an_unknown_option_suggests_the_nearest) {
  const Exit end = refused({"apply", "x.yaml", "--confrim", "60s"});
  EXPECT_EQ(end.code, exit_usage);
  EXPECT_THAT(end.err, HasSubstr("--confirm"));
  EXPECT_THAT(end.err, HasSubstr("weirctl apply --help"));
}

TEST(CliOptions, what_makes_no_sense_is_a_usage_error_that_names_the_value) {
  const std::vector<std::pair<std::vector<std::string>, const char *>> cases{
      {{}, "a verb is missing"},
      {{"list"}, "a verb is missing"},
      {{"status", "now"}, "\"now\""},
      {{"list", "add", "bans", "10.0.0.300"}, "10.0.0.300"},
      {{"list", "add", "bans", "10.0.0.5/8"}, "10.0.0.5/8"},
      {{"list", "add", "bans", "10.0.0.5", "--ttl", "soon"}, "soon"},
      {{"explain", "example.org"}, "example.org"},
      {{"explain"}, "ADDRESS or a --packet"},
      {{"replay", "in.pcap"}, "config"},
      {{"replay", "in.pcap", "--config", "a", "--apply", "b@x"}, "b@x"},
      {{"replay", "in.pcap", "--config", "a", "--loop", "0"}, "loop"},
      {{"replay", "in.pcap", "--config", "a", "--apply", "b@9", "--apply", "c@9"}, "rise"},
      {{"rollback", "last"}, "last"},
      {{"diff", "41", "next.yaml"}, "next.yaml"},
      {{"diff", "next.yaml", "41"}, "next.yaml"},
      {{"diff", "41", "43", "44"}, "44"},
      {{"diff", "41", "-c", "next.yaml"}, "not with both"},
      {{"log", "--since", "yesterday"}, "yesterday"},
      {{"log", "-n", "0"}, "0"},
      {{"completion", "fish"}, "fish"},
  };
  for (const auto &[line, named] : cases) {
    const Exit end = refused(line);
    EXPECT_EQ(end.code, exit_usage) << end.err;
    EXPECT_THAT(end.err, HasSubstr(named));
    EXPECT_TRUE(end.out.empty());
  }
}

TEST(CliOptions, top_takes_frames_an_interval_and_a_filter) {
  const Options plain = good({"top"});
  EXPECT_FALSE(plain.top.once || plain.top.frames || plain.top.interval || plain.count);
  const Options all = good({"top", "-n", "3", "-i", "0.5", "--filter", "203.0.113.0/24", "--sources", "7"});
  EXPECT_EQ(all.top.frames, 3u);
  EXPECT_EQ(all.top.interval, std::chrono::milliseconds(500));
  EXPECT_EQ(all.top.filter, "203.0.113.0/24");
  EXPECT_EQ(all.count, 7u);
  EXPECT_TRUE(good({"top", "--once"}).top.once);
  for (const std::vector<std::string> &line : {std::vector<std::string>{"top", "--once", "-n", "2"},
                                               {"top", "-i", "0.01"},
                                               {"top", "-i", "soon"},
                                               {"top", "-n", "0"}}) {
    const auto parsed = parse(line);
    ASSERT_TRUE(std::holds_alternative<Exit>(parsed)) << line.back();
    EXPECT_EQ(std::get<Exit>(parsed).code, exit_usage) << line.back();
  }
}

TEST(CliOptions, every_verb_has_help_with_an_example) {
  const Exit all = refused({"--help"});
  EXPECT_EQ(all.code, exit_done);
  for (const VerbWords &words : verb_words()) {
    std::vector<std::string> line;
    const std::size_t space = words.verb.find(' ');
    line.push_back(words.verb.substr(0, space));
    EXPECT_THAT(all.out, HasSubstr("  " + line.front()));
    if (space != std::string::npos) line.push_back(words.verb.substr(space + 1));
    line.emplace_back("--help");
    const Exit help = refused(line);
    EXPECT_EQ(help.code, exit_done) << words.verb;
    EXPECT_THAT(help.out, HasSubstr("Example:\n")) << words.verb;
    EXPECT_THAT(help.out, HasSubstr("weirctl " + words.verb)) << words.verb;
  }
}

} // namespace
} // namespace weir::cli::options_test
