// Packet rules through the real programs: from weir.yaml and a file of flows to verdicts, over swaps.
#include "tests/support/random_packet_rules.hpp"
#include "tests/support/replay_run.hpp"
#include "tests/support/with_weirctl.hpp"
#include "weir/key/text.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <map>

namespace weir::test::packet_rules_test {
namespace {

using namespace std::chrono_literals;
using config::NumberRange, config::PacketRule;
using testing::HasSubstr;

template <class T, class Write>
std::string sequence(const char *key, const std::vector<T> &values, Write write) {
  if (values.empty()) return {};
  std::string text = std::string(", ") + key + ": [";
  for (std::size_t i = 0; i < values.size(); ++i) text += (i == 0 ? "\"" : ", \"") + write(values[i]) + '"';
  return text + "]";
}

std::string range(NumberRange range) {
  return range.first == range.last ? std::to_string(range.first)
                                   : std::to_string(range.first) + '-' + std::to_string(range.last);
}

std::string yaml(const PacketRule &rule) {
  std::string text = "- {name: " + rule.name + ", action: " + std::string(name_of(rule.action));
  const auto net = [](const Prefix &prefix) { return to_string(prefix); };
  text += sequence("from", rule.from, net) + sequence("to", rule.to, net);
  text += sequence("from_port", rule.from_ports, range) + sequence("to_port", rule.to_ports, range);
  text += sequence("protocol", rule.protocols, [](std::uint8_t p) { return std::to_string(p); });
  text += sequence("vlan", rule.vlans,
                   [](NumberRange v) { return v.last == 0 ? std::string("none") : range(v); });
  if (!rule.port.empty()) text += ", port: " + rule.port;
  if (!rule.file.empty()) text += ", file: " + rule.file.string();
  if (rule.action == RuleAction::rate_limit)
    text +=
        ", packets: " + std::to_string(rule.packets) + (rule.per == RulePer::source ? ", per: source" : "");
  return text + "}\n";
}

std::string yaml(const RuleSet &lists, const PacketRuleSet &rules) {
  std::string text = "version: 1\n"
                     "ports:\n"
                     "- {name: wan, device: net_null0, side: outside, peer: lan}\n"
                     "- {name: lan, device: net_null1, side: inside, peer: wan}\n"
                     "policy: {match: " +
                     std::string(name_of(lists.policy.match)) +
                     ", default: " + std::string(name_of(lists.policy.fallthrough)) +
                     ", malformed: " + std::string(name_of(lists.policy.malformed)) +
                     ", tunnels: " + std::string(name_of(lists.policy.tunnels)) + "}\nlists:\n";
  for (const TestList &list : lists.lists) {
    text += "- name: " + list.name + "\n  action: " + std::string(name_of(list.side)) + "\n  entries:\n";
    for (const Prefix &prefix : list.prefixes) text += "  - \"" + to_string(prefix) + "\"\n";
  }
  text += "rules:\n";
  for (const PacketRule &rule : rules.config.rules) text += yaml(rule);
  return text;
}

class PacketRules : public WithWeirctl {};

TEST_F(PacketRules, judge_a_capture_as_the_oracle_does_under_one_configuration_after_the_other) {
  constexpr std::uint64_t generations = 4, loops = 20;
  Random random(test_seed());
  std::vector<Frame> frames(800);
  std::vector<Oracle> oracles{Oracle()};
  std::vector<std::string> options{"-j",       "replay",     "in.pcap",
                                   "--config", "weir1.yaml", "--verdicts",
                                   "rows",     "--loop",     std::to_string(loops),
                                   "--rate",   "150000"};
  for (std::uint64_t g = 1; g <= generations; ++g) {
    RuleSet lists = random_rules(random, {.lists = 4, .prefixes_per_list = 40});
    lists.policy.non_ip = lists.policy.link_local = Verdict::pass;
    lists.policy.too_many_tags = Verdict::drop;
    lists.policy.tunnels = static_cast<Tunnels>(g % 3);
    std::int64_t time = 1'700'000'000'000'000'001;
    if (g == 1)
      for (Frame &frame : frames) {
        frame = random_frame(random, lists);
        frame.timestamp_ns = time += 1'000'001;
      }
    PacketRuleSet rules = random_packet_rules(random, lists, {.rules = 40, .flows = 100}, frames);
    const std::string name = "weir" + std::to_string(g) + ".yaml",
                      flows = "flows" + std::to_string(g) + ".txt";
    std::string text;
    for (const auto &[flow, rule] : rules.oracle_flows) text += line_of_flow(flow);
    write_text(dir_ / flows, text);
    rules.config.rules.back().file = flows;
    write_text(dir_ / name, yaml(lists, rules));
    oracles.push_back(lists.oracle());
    rules.tell(oracles.back());
    if (g > 1) options.insert(options.end(), {"--apply", name});
  }
  write_capture(dir_ / "in.pcap", {.frames = frames});
  ASSERT_EQ(run(options), 0) << said;

  const auto rows = read_verdicts(dir_ / "rows");
  ASSERT_EQ(rows.size(), frames.size() * loops);
  std::map<std::uint64_t, std::uint64_t> judged;
  std::uint64_t by_rules = 0;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const VerdictRow &row = rows[i];
    const Judgement wanted = oracles.at(row.generation).judge(frames[i % frames.size()].bytes);
    ASSERT_EQ(row.verdict + ' ' + row.reason + (row.list.empty() ? "" : " (" + row.list + ')'),
              to_string(wanted))
        << "packet " << i << " under generation " << row.generation << ", WEIR_SEED=" << test_seed();
    ++judged[row.generation];
    by_rules += row.reason == "rule";
  }
  EXPECT_EQ(judged.size(), generations) << "each generation judged some packets";
  EXPECT_GT(by_rules, rows.size() / 50);
  const auto report = nlohmann::json::parse(read_text(dir_ / "out"));
  std::uint64_t counted = 0;
  for (const auto &[name, of] : report.at("rules").items())
    counted += of.at("passed").get<std::uint64_t>() + of.at("dropped").get<std::uint64_t>();
  EXPECT_EQ(counted, by_rules);
}

TEST_F(PacketRules, are_shown_by_name_in_the_table_of_a_replay) {
  write_text(dir_ / "weir.yaml", "version: 1\nrules:\n"
                                 "- {name: telnet, action: drop, protocol: tcp, to_port: 23}\n"
                                 "- {name: web, action: pass, protocol: tcp, to_port: [80, 443]}\n"
                                 "- {name: ping, action: rate_limit, packets: 10, burst: 2, protocol: icmp}\n"
                                 "- {name: smb, action: reject, protocol: tcp, to_port: 445}\n");
  std::vector<Frame> frames;
  const auto add = [&](const FrameBuilder &builder, int count) {
    for (int i = 0; i < count; ++i) {
      frames.push_back(builder.frame());
      frames.back().timestamp_ns = 1'700'000'000'000'000'000 + static_cast<std::int64_t>(frames.size());
    }
  };
  add(FrameBuilder().ethernet().ipv4().tcp(4000, 23), 3);
  add(FrameBuilder().ethernet().ipv6().tcp(4000, 443), 4);
  add(FrameBuilder().ethernet().ipv4().icmp(8), 7);
  add(FrameBuilder().ethernet().ipv4().tcp(4000, 445), 1);
  write_capture(dir_ / "in.pcap", {.frames = frames});
  ASSERT_EQ(run({"replay", "in.pcap", "--config", "weir.yaml"}), 0) << said;
  for (const char *row : {"pass     rule     web ", "drop     rule     telnet ", "drop     rule     ping ",
                          "drop     rule     smb ", "pass     default  -  "})
    EXPECT_THAT(said, HasSubstr(row));
}

TEST_F(PacketRules, with_a_bad_line_of_flows_are_refused_with_file_and_line) {
  write_text(dir_ / "weir.yaml", "version: 1\nrules:\n- {name: flows, action: drop, file: flows.txt}\n");
  write_text(dir_ / "flows.txt", "tcp 192.0.2.1:1 192.0.2.2:2\ntcp 192.0.2.1 192.0.2.2:2\n");
  EXPECT_NE(run({"check", "weir.yaml"}), 0) << said;
  EXPECT_THAT(said, HasSubstr("flows.txt:2: \"192.0.2.1\""));
  write_text(dir_ / "flows.txt", "tcp 192.0.2.1:1 192.0.2.2:2\ntcp 192.0.2.1:1 192.0.2.2:2\n");
  EXPECT_EQ(run({"check", "weir.yaml"}), 0) << said;
  EXPECT_THAT(said, HasSubstr("flows  drop           -      1"));
  std::filesystem::remove(dir_ / "flows.txt");
  EXPECT_NE(run({"check", "weir.yaml"}), 0) << said;
  EXPECT_THAT(said, HasSubstr("flows.txt"));
}

TEST_F(PacketRules, are_beyond_the_p4_program_which_says_so) {
  write_text(dir_ / "weir.yaml", "version: 1\nlists:\n- {name: bad, action: deny, entries: [192.0.2.1]}\n"
                                 "rules:\n- {name: telnet, action: drop, protocol: tcp, to_port: 23}\n");
  EXPECT_NE(run({"registers", "weir.yaml", "--out", "registers.txt"}), 0) << said;
  EXPECT_THAT(said, HasSubstr("take the 1 packet rules out"));
}

} // namespace
} // namespace weir::test::packet_rules_test
