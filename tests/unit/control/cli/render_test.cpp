#include "control/cli/render.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <sstream>

namespace weir::cli::render_test {
namespace {

using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

constexpr std::int64_t now = 1'700'000'000;

TEST(CliRender, status_reads_as_a_few_lines) {
  const Json answer = Json::parse(R"json({
    "ok": true, "generation": 42, "previous": 41, "applied_at": 1699999820, "digest": "9f2c0011223344",
    "policy": {"match": "source", "default": "pass", "no_image": "open", "too_many_tags": "drop"}, "mode": "exact",
    "counts": {"ipv4_hosts": 1826004, "ipv4_prefixes": 56211, "ipv6": 41220, "allow": 312},
    "memory": {"image_bytes": 32505856, "kind": "hugepages (2 MiB)"},
    "plan": {"predictor": "chained", "front_filter": "none", "measured_hit_ratio": 0.123,
             "trained": {"train_ms": 12, "bits_per_key": 0.53, "layers": 1, "exact": true}},
    "last_swap": {"ns": 2100, "lost": 0}, "uptime_s": 259200, "store": {"bytes": 63963136},
    "dataplane": {"connected": true, "pid": 77, "generation": 42, "sequence": 1200}
})json");
  EXPECT_EQ(
      render_status(answer, now),
      "generation 42 (applied 3m ago, previous 41, rules digest 9f2c0011…)\n"
      "policy match=source default=pass no_image=open too_many_tags=drop   mode exact\n"
      "ipv4 1,826,004 hosts 56,211 prefixes   ipv6 41,220   allow 312   memory 31 MiB hugepages (2 MiB)\n"
      "plan: predictor chained, front filter none, 12.3 % hits, 0.53 bits/key trained in 12 ms\n"
      "last swap 2.1 us, lost 0   control up 3d, store 61 MiB\n"
      "dataplane connected, pid 77, generation 42, sequence 1,200\n");
}

TEST(CliRender, status_shows_warnings_of_the_dataplane_and_that_another_control_took_it) {
  const auto answer = nlohmann::json::parse(R"json({
    "generation": 2, "dataplane": {"connected": true, "pid": 77, "generation": 9, "sequence": 0,
      "displaced": "another weir-control has put its generation 9 in force",
      "warnings": ["generation 2 is not kept for a restart: No space left on device"]}})json");
  EXPECT_THAT(render_status(answer, 0),
              StartsWith("WRONG: not in force: another weir-control has put its generation 9 in force\n"
                         "warning: generation 2 is not kept for a restart: No space left on device\n"
                         "generation 2 (applied "));
}

// Faults before warnings, and both before what is well, so that a screen of 24 lines begins with them.
TEST(CliRender, status_leads_with_what_is_wrong) {
  const Json answer = Json::parse(R"json({
    "generation": 2, "error": "list drop: no such file", "taking_back": "taken back for want of a confirmation",
    "store": {"full": true}, "doing": "an apply",
    "dataplane": {"connected": true, "generation": 2, "silence": "the dataplane has not answered for 4 s"}})json");
  EXPECT_THAT(
      render_status(answer, now),
      StartsWith("WRONG: the dataplane has not answered for 4 s; what it counts is not known, changes are "
                 "stored and sent when it is back\n"
                 "warning: state folder full: changes are refused, forwarding goes on\n"
                 "warning: last failure: list drop: no such file\n"
                 "warning: taken back for want of a confirmation\n"
                 "generation 2 (applied "));
}

TEST(CliRender, status_sets_the_measured_rates_of_the_allow_filter_beside_the_predicted_ones) {
  const Json answer = Json::parse(R"json({"generation": 1, "dataplane": {"connected": false},
    "plan": {"predictor": "inline_bits", "allow_filter": {"chosen": "seesaw", "confirm": "on_conflict",
      "keys": 312, "planned_keys": 454, "bytes": 4096, "vulnerable": 9,
      "predicted": {"weighted_churned": 0.0075, "plain_churned": 0.031},
      "measured": {"rate": 0.029, "denied_rate": 0.0071, "table_asked": 1234, "table_asked_per_packet": 0.001}}}})json");
  EXPECT_THAT(
      render_status(answer, now),
      HasSubstr("allow filter: seesaw, 312 keys, room for 454, 4 KiB, confirm on_conflict\n"
                "  accepts in error: predicted 0.75 % of denied, 3.1 % of others; measured 0.71 % of denied, "
                "2.9 % of all not allowed; allow tables asked 1,234 times, for 0.1 % of the packets\n"));
  Json none = answer;
  none["plan"]["allow_filter"] = Json{{"chosen", "none"}, {"why", "small"}};
  EXPECT_THAT(render_status(none, now), Not(HasSubstr("allow filter")));
}

TEST(CliRender, plan_says_what_stands_in_front_of_the_allow_tables_and_why) {
  const Json none = Json::parse(R"json({"allow_filter": {"chosen": "none", "why": "they fit"}})json");
  EXPECT_THAT(render_plan(none), HasSubstr("allow filter none: they fit\n"));
  const Json seesaw =
      Json::parse(R"json({"allow_filter": {"chosen": "seesaw", "why": "forced", "confirm": "exact",
    "keys": 10, "planned_keys": 76, "bytes": 4096, "bits_per_key": 431.2, "hashes": 5, "guarded": 7, "vulnerable": 9,
    "left_out": 0, "predicted": {"weighted": 4e-11, "plain": 0.002, "weighted_churned": 0.003, "plain_churned": 0.004}}})json");
  EXPECT_THAT(
      render_plan(seesaw),
      HasSubstr(
          "7 of 9 vulnerable keys guarded; confirm exact\n  accepts in error: by cost under 0.001 % new, "
          "0.3 % after churn; a key that nobody guards 0.2 % and 0.4 %\n"));
}

TEST(CliRender, a_stack_knows_keys_and_has_three_layers) {
  const Json filter =
      Json::parse(R"json({"allow_filter": {"chosen": "stacked", "why": "better", "confirm": "exact",
    "keys": 10, "planned_keys": 76, "bytes": 4096, "bits_per_key": 6, "hashes": 2, "guarded": 7, "vulnerable": 9,
    "left_out": 0, "layer_bytes": [64, 64, 64], "predicted": {"weighted": 0.01, "plain": 0.02, "weighted_churned": 0.03, "plain_churned": 0.04}}})json");
  EXPECT_THAT(render_plan(filter),
              HasSubstr("2 functions in the first of three layers; 7 of 9 vulnerable "
                        "keys known; confirm exact\n  accepts in error: by cost 1 % new"));
  const Json status{{"generation", 1}, {"plan", filter}};
  EXPECT_THAT(render_status(status, now), HasSubstr("predicted 3 % of denied, 4 % of others\n"));
}

TEST(CliRender, a_cuckoo_filter_has_one_rate_for_all) {
  const Json filter =
      Json::parse(R"json({"allow_filter": {"chosen": "cuckoo", "why": "better", "confirm": "exact",
    "keys": 10, "planned_keys": 76, "bytes": 4096, "bits_per_key": 20, "fingerprint_bits": 18,
    "predicted": {"weighted": 0.002, "plain": 0.002, "weighted_churned": 0.004, "plain_churned": 0.004}}})json");
  EXPECT_THAT(
      render_plan(filter),
      HasSubstr("20.0 bits a key, fingerprints of 18 bits; confirm exact\n  accepts in error: 0.2 % new, "
                "0.4 % with all the keys there is room for; any address alike\n"));
  const Json status{{"generation", 1}, {"plan", filter}};
  EXPECT_THAT(render_status(status, now),
              HasSubstr("  accepts in error: predicted 0.2 % of all, 0.4 % when full\n"));
}

TEST(CliRender, generations_say_why_an_image_was_built_once_more) {
  const Json answer = Json::parse(R"json({"generations": [
    {"generation": 3, "applied_at": 1699992800, "cause": "apply", "counts": {}, "live": true,
     "plan": {"predictor": "inline_bits", "built_for": "push: the filter errs"}}]})json");
  EXPECT_THAT(render_generations(answer, now), HasSubstr("apply; then push: the filter errs"));
}

TEST(CliRender, status_and_plan_show_a_judge_with_its_budgets_beside_what_is_measured) {
  const Json plan = Json::parse(
      R"json({"predictor": "inline_bits", "planned_at": 70, "built_for": "push: the traffic has shifted",
    "deny_filter": {"chosen": "stacked", "why": "3 layers", "mode": "compact", "samples": 600, "base": "bloom", "keys": 20000,
      "planned_keys": 22564, "bytes": 15000, "bits_per_key": 5.3, "known_negatives": 812, "hot": 790, "layers": [{}, {}, {}],
      "predicted": {"psi": 0.9, "efpr": 0.01, "efpb": 0.1, "known": 0.0001, "single": 0.05},
      "built": {"bytes": 15360, "efpr": 0.009, "efpb": 0.098, "rates": [0.1, 0.1, 0.1]},
      "false_positive_budget": 0.001, "unknown_budget": 0.2, "keeps_budget": false, "needed_bytes": 18432,
      "measured": {"efpr": 0.007, "psi": 0.906, "psi_samples": 4096, "checked": 402, "errors": 31, "relieved": 31}}})json");
  const std::string status = render_status({{"generation", 3}, {"mode", "compact"}, {"plan", plan}}, 82);
  EXPECT_THAT(
      status,
      HasSubstr(
          "judge of denied hosts: bloom of 3 layers, 20,000 hosts, room for 22,564, 15 KiB, 5.3 bits a "
          "host; 812 known negatives, 790 of them hot\n"
          "  in error: predicted 0.9 % of questions that no list answers, 9.8 % of unknown sources; "
          "measured 0.7 %, 31 of 402 denials that were checked; 31 sources relieved\n"
          "  psi: predicted 90 %, measured 90.6 % over 4,096 samples; planned 12s ago, push: the traffic "
          "has shifted\n"
          "  budgets: 0.1 % of questions that no list answers, 20 % of unknown sources; the first is not "
          "kept: 18 KiB would do\n"));
  const std::string text = render_plan(plan);
  EXPECT_THAT(text, HasSubstr("judge of denied hosts stacked: 3 layers\n"));
  EXPECT_THAT(text,
              HasSubstr("should it stack? not known yet: 600 samples of what no list answers are too few\n"));
  Json advised = plan;
  advised["deny_filter"]["advice"] = {{"words", "stack at 0.1 % errors"}};
  EXPECT_THAT(render_plan(advised), HasSubstr("should it stack? stack at 0.1 % errors\n"));
  EXPECT_EQ(render_plan(Json{{"predictor", "inline_bits"}}).find("stack"), std::string::npos);
}

TEST(CliRender, status_says_when_nothing_is_enforced_and_when_the_dataplane_is_away) {
  const std::string text =
      render_status(Json::parse(R"json({"generation": 0, "dataplane": {"connected": false}})json"), now);
  EXPECT_THAT(text,
              StartsWith("WRONG: no generation yet: nothing is enforced; policy.no_image decides\n"
                         "WRONG: dataplane not connected: it keeps its last generation; changes are stored "
                         "and sent when it is back\n"));
}

TEST(CliRender, status_fits_a_terminal_and_counts_the_warnings_that_do_not) {
  Json warnings = Json::array();
  for (int port = 0; port < 16; ++port)
    warnings.push_back("port p" + std::to_string(port) +
                       ": 1,234 packets were lost by the card before a worker came for them; give it more "
                       "rx_queues, and more CPUs in eal.lcores");
  const Json answer{{"generation", 3},
                    {"digest", "0123456789abcdef"},
                    {"policy",
                     {{"match", "remote"},
                      {"default", "pass"},
                      {"no_image", "open"},
                      {"non_ip", "pass"},
                      {"too_many_tags", "drop"},
                      {"link_local", "pass"},
                      {"malformed", "drop"},
                      {"tunnels", "outer"}}},
                    {"dataplane",
                     {{"connected", true},
                      {"generation", 3},
                      {"displaced", "another weir-control applied to it"},
                      {"warnings", warnings}}}};
  for (const Size size : {Size{80, 24}, {60, 30}, {200, 24}, {80, 50}}) {
    const std::string text = render_status(answer, now, size);
    EXPECT_TRUE(
        text.starts_with("WRONG: not in force: another weir-control applied to it\nwarning: port p0: "))
        << text;
    EXPECT_LT(std::ranges::count(text, '\n'), static_cast<std::ptrdiff_t>(size.rows)) << text;
    std::istringstream lines(text);
    for (std::string line; std::getline(lines, line);) EXPECT_LE(line.size(), size.columns) << line;
  }
  EXPECT_THAT(render_status(answer, now, {80, 24}), HasSubstr(" more, see weirctl health\n"));
  EXPECT_THAT(render_status(answer, now, {80, 24}), HasSubstr("tunnels=outer"));
  EXPECT_THAT(render_status(answer, now), Not(HasSubstr("see weirctl health"))) << "a file takes all";
  EXPECT_THAT(render_status(answer, now), HasSubstr("port p15"));
}

TEST(CliRender, lists_are_an_aligned_table) {
  const Json answer = Json::parse(R"json({"lists": [
    {"name": "ops", "action": "allow", "format": "plain", "v4_hosts": 12, "v4_prefixes": 3, "v6": 1, "hits": 88120, "updated_at": 1699992800, "ttl": null},
    {"name": "bans", "action": "deny", "format": "dynamic", "v4_hosts": 41003, "v4_prefixes": 0, "v6": 9, "hits": 17220, "updated_at": 1699999997, "ttl": 3600}]})json");
  EXPECT_EQ(render_list_show(answer, now),
            "NAME  ACTION  FORMAT   V4 HOSTS  V4 NETS  V6    HITS  UPDATED  TTL\n"
            "ops   allow   plain          12        3   1  88,120  2h ago   -\n"
            "bans  deny    dynamic    41,003        0   9  17,220  3s ago   1h\n");
}

TEST(CliRender, explain_shows_the_entry_and_the_path) {
  const Json answer =
      Json::parse(R"json({"verdict": "drop", "reason": "deny", "list": "drop", "entry": "203.0.113.0/24",
    "comment": "SBL256894", "added_at": 1699992800,
    "path": [{"step": "parse", "text": "ipv4 source 203.0.113.9"}, {"step": "/24", "text": "table 1: match"}]})json");
  EXPECT_EQ(render_explain(answer, now),
            "DROP  reason deny  list drop  entry 203.0.113.0/24 \"SBL256894\"  added 2h ago\n"
            "  parse  ipv4 source 203.0.113.9\n"
            "  /24    table 1: match\n");
}

TEST(CliRender, explain_names_every_entry_around_an_address_and_the_rules_that_were_asked) {
  const Json answer =
      Json::parse(R"json({"by": "next.yaml", "verdict": "pass", "reason": "allow", "list": "ops",
    "entry": "203.0.113.9", "held_by_total": 3, "held_by": [
      {"list": "ops", "action": "allow", "entry": "203.0.113.9", "dynamic": false, "added_at": 1699992800},
      {"list": "drop", "action": "deny", "entry": "203.0.113.0/24", "dynamic": false, "comment": "SBL1"}]})json");
  EXPECT_EQ(render_explain(answer, now), "by the rules of next.yaml, which packets are not judged by now:\n"
                                         "PASS  reason allow  list ops  entry 203.0.113.9\n"
                                         "held by\n"
                                         "ENTRY           LIST  ACTION  ADDED   EXPIRES  COMMENT\n"
                                         "203.0.113.9     ops   allow   2h ago  -\n"
                                         "203.0.113.0/24  drop  deny    -       -        SBL1\n"
                                         "(the first 2 of 3)\n");
}

TEST(CliRender, a_log_says_when_who_and_what) {
  setenv("TZ", "UTC", 1);
  tzset();
  const Json answer = Json::parse(R"json({"changes": [
    {"at": 1699992800, "by": "uid 0", "what": "apply", "detail": "weir.yaml, drop +14 -3", "generation": 43},
    {"at": 1699992801, "by": "uid 4294967294", "what": "list add bans", "list": "bans", "detail": "+1: 10.0.0.1"},
    {"at": 1699992802, "by": "weir-control", "what": "rollback to 42", "detail": "", "generation": 44}]})json");
  const std::string text = render_log(answer);
  EXPECT_NE(text.find("2023-11-14 20:13:20  root (uid 0)"), std::string::npos) << text;
  EXPECT_NE(text.find("43  apply           weir.yaml, drop +14 -3\n"), std::string::npos) << text;
  EXPECT_NE(text.find("uid 4294967294"), std::string::npos) << "nobody's name: " << text;
  EXPECT_NE(text.find("-  list add bans   +1: 10.0.0.1\n"), std::string::npos) << text;
  EXPECT_NE(text.find("weir-control"), std::string::npos) << text;
  EXPECT_EQ(render_log({{"changes", Json::array()}}), "no change is recorded\n");
}

TEST(CliRender, a_diff_shows_entries_and_lines_of_the_configuration) {
  const Json answer =
      Json::parse(R"json({"from": 41, "to": 43, "warnings": [], "settings": ["-  default: pass",
    "+  default: drop"], "lists": [{"name": "drop", "added": 1, "removed": 0, "examples": ["+10.0.0.1"]},
    {"name": "same", "added": 0, "removed": 0, "examples": []}]})json");
  EXPECT_EQ(render_diff(answer), "LIST  ADDED  REMOVED  EXAMPLES\n"
                                 "drop      1        0  +10.0.0.1\n"
                                 "configuration\n"
                                 "  -  default: pass\n"
                                 "  +  default: drop\n");
  EXPECT_EQ(render_diff(Json::parse(R"json({"lists": [], "rules": [{"name": "flows", "added": 1, "removed": 2,
    "examples": ["+tcp 192.0.2.1:1 192.0.2.2:2"]}]})json")),
            "FLOWS OF RULE  ADDED  REMOVED  EXAMPLES\n"
            "flows              1        2  +tcp 192.0.2.1:1 192.0.2.2:2\n");
  EXPECT_EQ(render_diff({{"from", 1}, {"to", 2}, {"lists", Json::array()}, {"settings", Json::array()}}),
            "nothing differs\n");
  EXPECT_EQ(render_diff({{"lists", Json::array()}}), "nothing would change\n");
}

TEST(CliRender, a_replay_shows_verdicts_generations_and_the_sum) {
  const Json report = Json::parse(R"json({
    "packets": 10000, "pass": 9412, "drop": 588, "lost": 0, "mpps": 1.9, "memory": "ordinary pages (no hugepages free)",
    "reasons_by_verdict": {"default": {"pass": 9000, "drop": 0}, "allow": {"pass": 412, "drop": 0}, "deny": {"pass": 0, "drop": 588}},
    "lists": {"ops": 412, "drop": 571, "bans": 17}, "actions": {"ops": "allow", "drop": "deny", "bans": "deny"},
    "generations": {"1": 6000, "2": 4000}, "swaps": [{"generation": 1, "swap_ns": 900}, {"generation": 2, "swap_ns": 2100}],
    "configurations": [{"generation": 1, "config": "a.yaml"}, {"generation": 2, "config": "b.yaml", "live_ms": 18}],
    "truncated": true, "input": "in.pcap"})json");
  EXPECT_EQ(render_replay(report),
            "VERDICT  REASON   LIST  PACKETS\n"
            "pass     allow    ops       412\n"
            "pass     default  -       9,000\n"
            "drop     deny     bans       17\n"
            "drop     deny     drop      571\n"
            "\n"
            "GENERATION  PACKETS JUDGED  LIVE AFTER    SWAP  CONFIGURATION\n"
            "         1           6,000           -  900 ns  a.yaml\n"
            "         2           4,000       18 ms  2.1 us  b.yaml\n"
            "\n"
            "packets 10,000   pass 9,412   drop 588   lost 0   1.9 Mpps   memory: ordinary pages (no "
            "hugepages free)\n"
            "in.pcap ends in the middle of a packet: everything before that was replayed\n");
}

TEST(CliRender, generations_show_what_each_was_built_as_and_how_long_that_took) {
  const Json answer = Json::parse(R"json({"generations": [
    {"generation": 1, "applied_at": 1699999820, "digest": "aabbccdd11", "cause": "first load", "image_bytes": 1048576,
     "build_ms": 20, "counts": {}, "plan": {"predictor": "inline_bits", "front_filter": "split_block_bloom"}},
    {"generation": 2, "applied_at": 1699999999, "digest": "aabbccdd11", "cause": "apply", "image_bytes": 2097152,
     "build_ms": 21, "live": true, "counts": {},
     "plan": {"predictor": "chained", "front_filter": "none", "trained": {"train_ms": 3}}}]})json");
  const std::string text = render_generations(answer, now);
  EXPECT_THAT(text, HasSubstr("1 MiB  inline_bits, bloom  20 ms      -"));
  EXPECT_THAT(text, HasSubstr("2 MiB  chained             21 ms   3 ms"));
}

TEST(CliRender, a_plan_shows_tables_candidates_and_memory) {
  const Json answer = Json::parse(R"json({
    "tables": [{"name": "deny ipv4", "keys": 1000, "hosts": 990, "prefixes": 10, "prefix_lengths": 3, "bytes": 536576},
               {"name": "allow ipv4", "keys": 0, "hosts": 2, "prefixes": 20, "prefix_lengths": 2, "bytes": 4096,
                "hosts_in": "points", "hosts_why": "that takes 3 ns, a table 4"},
               {"name": "deny ipv6", "keys": 0, "hosts": 0, "prefixes": 0, "prefix_lengths": 0, "bytes": 4544}],
    "candidates": [{"predictor": "inline_bits", "front_filter": "none", "bytes": 1067712, "lines_hit": 1.09, "lines_absent": 1.07, "ns_per_lookup": 11.64, "chosen": true, "why_not": ""},
                   {"predictor": "inline_bits", "front_filter": "split_block_bloom", "bytes": 2135424, "lines_hit": 2.09, "lines_absent": 1.0, "ns_per_lookup": 20, "chosen": false, "why_not": "72 % slower"}],
    "why": "no hit ratio is measured yet", "calibration": "built-in figures", "build_ms": 12, "build_from": "from built-in figures",
    "memory": {"before_bytes": 0, "after_bytes": 1067712, "needed_bytes": 2097152, "free_bytes": 1048576, "kind": "ordinary pages", "fits": false}})json");
  EXPECT_EQ(render_plan(answer),
            "TABLE       HOSTS  PREFIXES  LENGTHS     SIZE\n"
            "deny ipv4     990        10        3  524 KiB\n"
            "allow ipv4      2        20        2    4 KiB\n"
            "allow ipv4: hosts stand in the range map, as points: that takes 3 ns, a table 4\n"
            "\n"
            "    PREDICTOR    FRONT FILTER        SIZE  LINES, HIT  LINES, ABSENT    NS\n"
            "->  inline_bits  none               1 MiB        1.09           1.07  11.6\n"
            "    inline_bits  split_block_bloom  2 MiB        2.09           1.00  20.0  72 % slower\n"
            "why: no hit ratio is measured yet\n"
            "figures: built-in figures\n"
            "memory: image 0 B now, 1 MiB after; 2 MiB needed during the change, 1 MiB "
            "free in ordinary pages: too little\n"
            "build: about 12 ms, from built-in figures\n");
}

TEST(CliRender, a_plan_for_several_nodes_says_that_each_has_an_image) {
  const Json answer = Json::parse(R"json({"memory": {"control_peak_bytes": 4194304, "control_bytes": 1048576,
    "dataplane_peak_bytes": 8388608, "dataplane_bytes": 2097152, "image_copies": 2}})json");
  EXPECT_THAT(render_plan(answer), HasSubstr("2 MiB afterwards (an image on each of 2 NUMA nodes)\n"));
}

TEST(CliRender, a_change_that_is_stored_alone_says_so) {
  Options options;
  options.verb = Verb::list_add;
  options.list = "bans";
  const Json answer =
      Json::parse(R"({"added": 1, "refreshed": 0, "in_force": false, "note": "no dataplane"})");
  EXPECT_EQ(render_list_change(options, answer, now),
            "bans: 1 added, 0 refreshed, stored\nnote: no dataplane\n");
  const Json applied =
      Json::parse(R"({"generation": 2, "live_ms": 17, "lost": 0, "in_force": false, "warnings": ["odd"]})");
  EXPECT_EQ(render_apply(applied, now), "generation 2 stored after 17 ms\n"
                                        "note: the dataplane is not connected and takes it when it is back\n"
                                        "warning: odd\n");
}

TEST(CliRender, fields_that_are_missing_or_of_another_type_do_no_harm) {
  for (const char *text :
       {"{}", R"json({"lists": 5, "counts": "x", "generation": "y", "reasons": [1], "path": null})json"}) {
    const Json answer = Json::parse(text);
    for (int verb = 0; verb <= static_cast<int>(Verb::completion); ++verb) {
      Options options;
      options.verb = static_cast<Verb>(verb);
      EXPECT_NO_THROW((void)render(options, answer, now)) << text << " verb " << verb;
    }
  }
}

} // namespace
} // namespace weir::cli::render_test
