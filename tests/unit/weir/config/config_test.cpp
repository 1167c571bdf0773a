#include "weir/config/config.hpp"
#include "weir/config/groups.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <string>

namespace weir::config::config_test {
namespace {

using namespace std::chrono_literals;

Config good(const std::string &text) {
  auto config = parse(text, "/etc/weir/weir.yaml");
  EXPECT_TRUE(config) << config.error().message;
  return config ? *config : Config{};
}

std::string refused(const std::string &text) {
  const auto config = parse(text, "weir.yaml");
  EXPECT_FALSE(config) << "accepted:\n" << text;
  return config ? std::string() : config.error().message;
}

bool has(const std::string &text, std::string_view part) { return text.find(part) != std::string::npos; }

#define EXPECT_HAS(text, part) EXPECT_PRED2(has, text, part)

TEST(Config, reads_every_key) {
  const Config c = good(R"(
version: 1
eal: {lcores: "2-5", allow: ["0000:3b:00.0"], file_prefix: gate, vdevs: [net_null0], extra: [--log-level=8], hugepages: no, memory_mib: 512}
ports:
- {name: wan, device: "0000:3b:00.0", rx_queues: 4, side: outside, peer: lan}
- {name: lan, device: net_null0, side: inside, peer: wan}
policy: {match: either, default: drop, non_ip: drop, too_many_tags: pass, link_local: drop, malformed: pass, tunnels: both,
  no_image: closed}
mode: exact
lists:
- {name: ops, action: allow, file: ops.txt, comment: "the desk"}
- {name: drop, action: deny, file: /srv/drop_v4.json, format: spamhaus_json, on_error: skip}
- {name: bans, action: deny, dynamic: true, ttl: 1h30m}
- {name: few, action: deny, entries: [10.0.0.0/8, "2001:db8::/32"]}
allow: {confirm: exact}
guard: {never_deny: [192.0.2.0/24, "::1"], max_change: 30%}
front_filter: split_block_bloom
predictor: inline_bits
paths: {run: run, state: /srv/state}
metrics: {listen: "127.0.0.1:9273"}
generations_kept: 7
)");
  EXPECT_EQ(c.source, "/etc/weir/weir.yaml");
  EXPECT_EQ(c.eal.lcores, "2-5");
  EXPECT_EQ(c.eal.allow, std::vector<std::string>{"0000:3b:00.0"});
  EXPECT_EQ(c.eal.file_prefix, "gate");
  EXPECT_EQ(c.eal.vdevs, std::vector<std::string>{"net_null0"});
  EXPECT_EQ(c.eal.extra, std::vector<std::string>{"--log-level=8"});
  EXPECT_EQ(c.eal.hugepages, Eal::Hugepages::no);
  EXPECT_EQ(c.eal.memory_mib, 512u);
  ASSERT_EQ(c.ports.size(), 2u);
  EXPECT_EQ(c.ports[0].rx_queues, 4u);
  EXPECT_EQ(c.ports[0].side, PortSide::outside);
  EXPECT_EQ(c.ports[1].peer, "wan");
  EXPECT_EQ(c.policy.match, Match::either);
  EXPECT_EQ(c.policy.fallthrough, Verdict::drop);
  EXPECT_EQ(c.policy.non_ip, Verdict::drop);
  EXPECT_EQ(c.policy.too_many_tags, Verdict::pass);
  EXPECT_EQ(good("version: 1\npolicy: {non_ip: pass}\n").policy.too_many_tags, Verdict::drop) << "unless set";
  EXPECT_EQ(c.policy.link_local, Verdict::drop);
  EXPECT_EQ(c.policy.tunnels, Tunnels::both);
  EXPECT_EQ(good("version: 1\npolicy: {}\n").policy.tunnels, Tunnels::outer) << "unless set";
  EXPECT_EQ(c.policy.malformed, Verdict::pass);
  EXPECT_EQ(c.no_image, NoImage::closed);
  ASSERT_EQ(c.lists.size(), 4u);
  EXPECT_EQ(c.lists[0].action, Side::allow);
  EXPECT_EQ(c.lists[0].file, "/etc/weir/ops.txt") << "relative to the configuration";
  EXPECT_EQ(c.lists[0].comment, "the desk");
  EXPECT_EQ(c.lists[1].file, "/srv/drop_v4.json");
  EXPECT_EQ(c.lists[1].format, Format::spamhaus_json);
  EXPECT_EQ(c.lists[1].on_error, OnError::skip);
  EXPECT_TRUE(c.lists[2].dynamic);
  EXPECT_EQ(c.lists[2].ttl, 90min);
  EXPECT_EQ(c.lists[3].entries, (std::vector<std::string>{"10.0.0.0/8", "2001:db8::/32"}));
  EXPECT_EQ(c.policy.confirm, Confirm::exact);
  EXPECT_EQ(c.guard.never_deny.size(), 2u);
  EXPECT_DOUBLE_EQ(c.guard.max_change, 0.3);
  EXPECT_EQ(c.front_filter, FrontFilter::split_block_bloom);
  EXPECT_EQ(c.predictor, Predictor::inline_bits);
  EXPECT_EQ(c.paths.run, "/etc/weir/run");
  EXPECT_EQ(c.paths.state, "/srv/state");
  EXPECT_EQ(c.metrics_listen, "127.0.0.1:9273");
  EXPECT_EQ(c.generations_kept, 7u);
}

TEST(Config, guards_are_those_of_the_action_unless_a_list_has_its_own) {
  const Config c =
      good("version: 1\n"
           "guard:\n"
           "  max_change: 30%\n"
           "  shortest_prefix: {deny: {ipv4: /10}, allow: {ipv6: 40}}\n"
           "  max_covered: {deny: {ipv4: 10%}, allow: {ipv6: /20}}\n"
           "  max_nested: {ipv4: 5}\n"
           "  max_lengths: {ipv6: 40}\n"
           "lists:\n"
           "- {name: a, action: deny, entries: [10.0.0.1]}\n"
           "- {name: b, action: allow, entries: [10.0.0.2], shortest_prefix: {ipv4: /8}, max_change: "
           "0.5, max_covered: {ipv6: /16}, max_nested: {ipv6: 20}, max_lengths: {ipv4: 9}, mapped: both}\n");
  const ShortestPrefix a = shortest_prefix(c.guard, c.lists[0]), b = shortest_prefix(c.guard, c.lists[1]);
  EXPECT_EQ(a.v4, 10u);
  EXPECT_EQ(a.v6, 16u) << "the default";
  EXPECT_EQ(b.v4, 8u);
  EXPECT_EQ(b.v6, 40u);
  EXPECT_EQ(c.guard.covered_deny.v4, 0.1);
  EXPECT_EQ(max_covered(c.guard, c.lists[0]).v4, 1) << "a deny list without its own";
  EXPECT_EQ(max_covered(c.guard, c.lists[1]).v4, 0x1p-4) << "the default";
  EXPECT_EQ(max_covered(c.guard, c.lists[1]).v6, 0x1p-16);
  EXPECT_EQ(max_change(c.guard, c.lists[0]), 0.3);
  EXPECT_EQ(max_change(c.guard, c.lists[1]), 0.5);
  const PerFamily nested = max_nested(c.guard, c.lists[1]), lengths = max_lengths(c.guard, c.lists[1]);
  EXPECT_EQ(nested.v4, 5u);
  EXPECT_EQ(nested.v6, 20u);
  EXPECT_EQ(lengths.v4, 9u);
  EXPECT_EQ(lengths.v6, 40u);
  EXPECT_EQ(max_nested(c.guard, c.lists[0]).v6, 12u) << "the default";
  EXPECT_EQ(max_lengths(c.guard, c.lists[0]).v4, 16u) << "the default";
  EXPECT_FALSE(c.lists[0].mapped_both);
  EXPECT_TRUE(c.lists[1].mapped_both);
}

TEST(Config, guards_that_make_no_sense_are_refused_by_line_and_value) {
  const std::string words = refused("version: 1\n"
                                    "guard:\n"
                                    "  shortest_prefix: {deny: {ipv4: /33}, alow: {}}\n"
                                    "  max_covered: {deny: {ipv4: much}}\n"
                                    "  max_nested: {ipv6: 0}\n"
                                    "  max_lengths: {ipv4: /8}\n"
                                    "lists:\n"
                                    "- {name: a, action: deny, entries: [10.0.0.1], shortest_prefix: 8}\n");
  EXPECT_HAS(words,
             "weir.yaml:3: guard.shortest_prefix.deny.ipv4: \"/33\" is not the length of a prefix; write "
             "/0 to /32");
  EXPECT_HAS(words, "weir.yaml:3: guard.shortest_prefix.alow: unknown key; did you mean \"allow\"?");
  EXPECT_HAS(words,
             "weir.yaml:4: guard.max_covered.deny.ipv4: \"much\" is neither a share nor the length of a "
             "prefix");
  EXPECT_HAS(words, "weir.yaml:5: guard.max_nested.ipv6: \"0\" is not a number of prefixes; write 1 to 128");
  EXPECT_HAS(words, "weir.yaml:6: guard.max_lengths.ipv4: \"/8\" is not a number of prefixes; write 1 to 32");
  EXPECT_HAS(words, "weir.yaml:8: lists[0].shortest_prefix: ");
}

TEST(Config, the_version_alone_is_a_configuration) {
  const Config c = good("version: 1\n");
  EXPECT_TRUE(c.lists.empty());
  EXPECT_EQ(c.paths.run, "/run/weir");
}

TEST(Config, an_allow_filter_is_confirmed_on_conflict_unless_unlisted_packets_are_dropped) {
  EXPECT_EQ(good("version: 1\n").policy.confirm, Confirm::on_conflict);
  EXPECT_EQ(good("version: 1\npolicy: {default: drop}\n").policy.confirm, Confirm::exact);
  EXPECT_EQ(good("version: 1\npolicy: {default: drop}\nallow: {confirm: exact}\n").policy.confirm,
            Confirm::exact);
  EXPECT_EQ(good("version: 1\nallow: {confirm: exact}\n").policy.confirm, Confirm::exact);
}

TEST(Config, on_conflict_under_default_drop_is_refused_with_the_remedy) {
  const std::string words = refused("version: 1\nallow: {confirm: on_conflict}\npolicy: {default: drop}\n");
  EXPECT_HAS(words, "weir.yaml:2: allow.confirm: \"on_conflict\"");
  EXPECT_HAS(words, "policy.default: drop");
  EXPECT_HAS(words, "write exact");
}

TEST(Config, an_allow_filter_is_chosen_by_name_with_its_bits) {
  const Config c = good("version: 1\nallow: {filter: seesaw, bits_per_key: 24}\n");
  EXPECT_EQ(c.allow.filter, "seesaw");
  EXPECT_EQ(c.allow.bits_per_key, 24u);
  EXPECT_EQ(good("version: 1\n").allow.filter, "auto");
  EXPECT_EQ(good("version: 1\n").allow.bits_per_key, std::nullopt);
  EXPECT_HAS(refused("version: 1\nallow: {filter: sesaw}\n"),
             "weir.yaml:2: allow.filter: \"sesaw\" is not one of auto, none, seesaw, cuckoo, stacked; did "
             "you mean \"seesaw\"?");
  EXPECT_HAS(refused("version: 1\nallow: {confirm: always}\n"),
             "weir.yaml:2: allow.confirm: \"always\" is not one of on_conflict, exact");
  EXPECT_EQ(good("version: 1\nallow: {filter: cuckoo}\n").allow.filter, "cuckoo");
  EXPECT_EQ(good("version: 1\nallow: {filter: stacked}\n").allow.filter, "stacked");
  EXPECT_HAS(refused("version: 1\nallow: {filter: stacked, adaptive: true}\n"),
             "only a Seesaw filter can learn");
  EXPECT_HAS(refused("version: 1\nallow: {filter: cukoo}\n"), "weir.yaml:2: allow.filter: \"cukoo\"");
  EXPECT_TRUE(good("version: 1\nallow: {filter: seesaw, adaptive: true}\n").allow.adaptive);
  EXPECT_HAS(refused("version: 1\nallow:\n  adaptive: true\n"),
             "weir.yaml:3: allow.adaptive: only a Seesaw filter can learn addresses late");
  EXPECT_HAS(refused("version: 1\nallow: {bits_per_key: 5}\n"),
             "weir.yaml:2: allow.bits_per_key: \"5\" is not a whole number from 6 to 64");
  EXPECT_HAS(refused("version: 1\nallow:\n  filter: none\n  bits_per_key: 20\n"),
             "weir.yaml:4: allow.bits_per_key: there is no filter to give bits to");
  EXPECT_HAS(refused("version: 1\nallow: {bits_a_key: 5}\n"), "unknown key; did you mean \"bits_per_key\"?");
}

TEST(Config, without_a_version_it_is_refused) {
  EXPECT_HAS(refused("lists: []\n"), "weir.yaml:1: version: missing");
  EXPECT_HAS(refused(""), "weir.yaml:1: version: the file is empty");
  EXPECT_HAS(refused("version: 2\n"), "weir.yaml:1: version: \"2\" is not known");
}

TEST(Config, an_unknown_key_names_the_nearest_known_one) {
  EXPECT_HAS(refused("version: 1\nlsits: []\n"), "weir.yaml:2: lsits: unknown key; did you mean \"lists\"?");
  EXPECT_HAS(refused("version: 1\npolicy: {defualt: drop}\n"),
             "policy.defualt: unknown key; did you mean \"default\"?");
  EXPECT_HAS(refused("version: 1\nlists:\n- {name: a, action: deny, fiel: x}\n"),
             "weir.yaml:3: lists[0].fiel: unknown key; did you mean \"file\"?");
}

TEST(Config, all_faults_are_reported_at_once_in_the_order_of_the_file) {
  const std::string message = refused(R"(version: 1
ports:
- {name: wan, device: a, rx_queues: 0, side: outsid, peer: lan}
policy: {match: remte}
lists:
- {name: x, action: block, entries: [10.0.0.1/8]}
guard: {max_change: 130%}
)");
  EXPECT_EQ(std::count(message.begin(), message.end(), '\n'), 6) << message;
  EXPECT_HAS(message, "weir.yaml:3: ports[0].rx_queues: \"0\" is not a whole number from 1 to 64");
  EXPECT_HAS(message, "weir.yaml:3: ports[0].side: \"outsid\" is not one of outside, inside, none; did you "
                      "mean \"outside\"?");
  EXPECT_HAS(message, "weir.yaml:3: ports[0].peer: no port is named \"lan\"");
  EXPECT_HAS(message, "weir.yaml:4: policy.match: \"remte\"");
  EXPECT_HAS(message, "weir.yaml:6: lists[0].action: \"block\" is not one of deny, allow");
  EXPECT_HAS(
      message,
      "weir.yaml:6: lists[0].entries[0]: \"10.0.0.1/8\": address bits are set beyond the prefix length");
  EXPECT_HAS(message, "weir.yaml:7: guard.max_change: \"130%\" is not a share");
  EXPECT_LT(message.find("policy.match"), message.find("guard.max_change"));
}

TEST(Config, keys_of_later_versions_say_so) {
  EXPECT_HAS(refused("version: 1\ncapture: {denied: {rate: 1/1000}}\n"),
             "capture: not available in this version");
}

TEST(Config, offenders_take_their_defaults_or_what_is_written) {
  EXPECT_FALSE(good("version: 1\n").offenders);
  for (const char *text : {"offenders: {}", "offenders:"}) {
    const auto offenders = good(std::string("version: 1\n") + text + "\n").offenders;
    ASSERT_TRUE(offenders) << text;
    EXPECT_EQ(offenders->element, OffenderElement::source);
    EXPECT_EQ(offenders->action, OffenderAction::count);
    EXPECT_EQ(offenders->gap, 200'000u);
    EXPECT_EQ(offenders->train_every, std::chrono::hours(1));
  }
  const auto o =
      good("version: 1\nlists: [{name: bans, action: deny, dynamic: true}]\n"
           "offenders: {element: header, action: ban, filter: slbf, remember: 5000,\n"
           "  false_positive_rate: 5%, miss_rate: 0.2, groups: auto, tell: {denied: false, above: 1000},\n"
           "  rate_limit: {packets: 7, burst: 9}, ban: {list: bans, ttl: 1h, a_minute: 5},\n"
           "  train: {every: never, samples: 600}}\n")
          .offenders.value();
  EXPECT_EQ(o.element, OffenderElement::header);
  EXPECT_EQ(o.action, OffenderAction::ban);
  EXPECT_EQ(o.filter, config::Offenders::Filter::slbf);
  EXPECT_EQ(o.gap, 5000u);
  EXPECT_EQ(o.accepted, 0.05);
  EXPECT_EQ(o.missed, 0.2);
  EXPECT_EQ(o.groups, 0u);
  EXPECT_FALSE(o.tells_denied);
  EXPECT_EQ(o.tells_above, 1000u);
  EXPECT_EQ(o.limit, 7u);
  EXPECT_EQ(o.burst, 9u);
  EXPECT_EQ(o.ban_list, "bans");
  EXPECT_EQ(o.ban_ttl, std::chrono::hours(1));
  EXPECT_EQ(o.bans_a_minute, 5u);
  EXPECT_FALSE(o.train_every);
  EXPECT_EQ(o.train_samples, 600u);
}

TEST(Config, offenders_that_cannot_be_are_refused_with_what_would_be_right) {
  const auto with = [](const std::string &keys) {
    return refused(
        "version: 1\nlists: [{name: drop, action: deny, file: x}, {name: ok, action: allow, dynamic: true}]\n"
        "offenders: {" +
        keys + "}\n");
  };
  EXPECT_HAS(with("element: port"), "weir.yaml:3: offenders.element: \"port\" is not one of source, header");
  EXPECT_HAS(with("remember: 10"), "is not a whole number from 1000 to 10000000");
  EXPECT_HAS(with("false_positive_rate: 0"), "is not a share");
  EXPECT_HAS(with("groups: 1"), "is not a whole number from 2 to 64");
  EXPECT_HAS(with("tell: {denied: false}"), "nobody would ever be told");
  EXPECT_HAS(with("action: ban"), "offenders.ban.list: missing");
  EXPECT_HAS(with("action: ban, ban: {list: nix}"), "no list is named \"nix\"");
  EXPECT_HAS(with("action: ban, ban: {list: drop}"), "needs action: deny, dynamic: true");
  EXPECT_HAS(with("action: ban, ban: {list: ok}"), "needs action: deny, dynamic: true");
  EXPECT_HAS(with("train: {every: soon}"), "offenders.train.every");
  EXPECT_HAS(with("rememeber: 5000"), "remember");
}

TEST(Config, metrics_listen_on_loopback_or_a_socket) {
  EXPECT_EQ(good("version: 1\nmetrics: {listen: \"127.0.0.1:9273\"}\n").metrics_listen, "127.0.0.1:9273");
  EXPECT_EQ(good("version: 1\nmetrics: {listen: /run/weir/metrics.sock}\n").metrics_listen,
            "/run/weir/metrics.sock");
  EXPECT_HAS(refused("version: 1\nmetrics: {listen: \"0.0.0.0:9273\"}\n"),
             "weir.yaml:2: metrics.listen: \"0.0.0.0:9273\" is not of loopback");
}

TEST(Config, compact_mode_has_budgets_and_memory_or_leaves_them_as_they_are) {
  EXPECT_FALSE(good("version: 1\n").compact);
  EXPECT_FALSE(good("version: 1\nmode: exact\n").compact);
  for (const char *text : {"mode: compact", "mode: {compact: }", "mode: {compact: {}}"}) {
    const auto plain = good(std::string("version: 1\n") + text + "\n").compact;
    ASSERT_TRUE(plain) << text;
    EXPECT_EQ(plain->false_positive_budget, 1e-4);
    EXPECT_EQ(plain->unknown_budget, 1e-2);
    EXPECT_FALSE(plain->memory_bytes);
    EXPECT_EQ(plain->judge, Judge::automatic);
  }
  const auto judge_of = [](const std::string &word) {
    return good("version: 1\nmode: {compact: {judge: " + word + "}}\n").compact->judge;
  };
  EXPECT_EQ(judge_of("auto"), Judge::automatic);
  EXPECT_EQ(judge_of("stacked"), Judge::stacked);
  EXPECT_EQ(judge_of("chained_and"), Judge::chained_and);
  EXPECT_EQ(judge_of("fuse"), Judge::fuse);
  const Config c =
      good("version: 1\nmode:\n  compact:\n    false_positive_budget: 0.1%\n    unknown_budget: 2e-2\n"
           "    memory: 64MiB\nsamples: {rate: 1/64}\nreplan: {interval: 5m}\n");
  ASSERT_TRUE(c.compact);
  EXPECT_DOUBLE_EQ(c.compact->false_positive_budget, 1e-3);
  EXPECT_DOUBLE_EQ(c.compact->unknown_budget, 2e-2);
  EXPECT_EQ(c.compact->memory_bytes, std::uint64_t{64} << 20);
  EXPECT_EQ(c.compact->line, 6);
  EXPECT_EQ(c.sample_one_in, 64u);
  EXPECT_EQ(c.replan_interval, 5min);
  EXPECT_EQ(good("version: 1\n").sample_one_in, 1024u);
  EXPECT_EQ(good("version: 1\n").replan_interval, 1min);
}

TEST(Config, what_compact_mode_cannot_keep_is_refused_with_line_value_and_remedy) {
  EXPECT_HAS(refused("version: 1\nmode: compacted\n"),
             "weir.yaml:2: mode: \"compacted\" is not a mode; write exact, compact or {compact: {...}}");
  EXPECT_HAS(refused("version: 1\nmode: {compact: {budget: 1}}\n"), "mode.compact.budget: unknown key");
  const auto compact = [](const std::string &more) {
    return refused("version: 1\nmode: {compact: {" + more + "}}\n");
  };
  for (const char *bad : {"0", "0.6", "-1", "many", "60%"})
    EXPECT_HAS(compact(std::string("false_positive_budget: ") + bad),
               std::string("weir.yaml:2: mode.compact.false_positive_budget: \"") + bad +
                   "\" is not a share of questions; write more than 0 and at most 0.5");
  EXPECT_HAS(compact("false_positive_budget: 0.1, unknown_budget: 0.01"),
             "weir.yaml:2: mode.compact.unknown_budget: 0.01 is less than false_positive_budget: 0.1");
  EXPECT_HAS(compact("memory: 64MB"),
             "mode.compact.memory: \"64MB\" is not a size; write 512KiB, 64MiB or 1GiB");
  EXPECT_HAS(compact("memory: 100"), "mode.compact.memory: \"100\" is less than a page; write 4KiB or more");
  EXPECT_HAS(compact("judge: chained"),
             "weir.yaml:2: mode.compact.judge: \"chained\" is not one of auto, stacked, chained_and, fuse");
  EXPECT_HAS(refused("version: 1\nmode: compact\nfront_filter: stacked\n"),
             "weir.yaml:3: front_filter: mode: compact has no tables of hosts that a filter could stand in "
             "front of");
  EXPECT_HAS(refused("version: 1\nmode: compact\nlists: [{name: compact, action: deny, dynamic: true}]\n"),
             "lists[0].name: \"compact\" names what a filter without tables denies");
  EXPECT_HAS(refused("version: 1\nsamples: {rate: 0.1}\n"),
             "samples.rate: \"0.1\" is not a rate; write 1/1024");
  EXPECT_HAS(refused("version: 1\nsamples: {rate: 1/0}\n"), "samples.rate: \"1/0\" is not a rate");
  EXPECT_HAS(refused("version: 1\nreplan: {interval: soon}\n"),
             "replan.interval: \"soon\" is not a duration");
}

TEST(Config, every_predictor_can_be_asked_for_and_no_other) {
  EXPECT_EQ(parse("version: 1\npredictor: chained\n", "weir.yaml").value().predictor, Predictor::chained);
  EXPECT_EQ(parse("version: 1\npredictor: auto\n", "weir.yaml").value().predictor, Predictor::automatic);
  EXPECT_HAS(refused("version: 1\npredictor: chaned\n"),
             "weir.yaml:2: predictor: \"chaned\" is not one of auto, inline_bits, chained");
}

TEST(Config, a_key_that_stands_twice_is_refused) {
  EXPECT_HAS(refused("version: 1\nlists: []\nlists: []\n"), "weir.yaml:3: lists: stands here twice");
}

TEST(Config, text_that_is_not_yaml_is_refused_with_its_line) {
  EXPECT_HAS(refused("version: 1\nlists: [\n"), "weir.yaml:3: not YAML");
  EXPECT_HAS(refused("- 1\n- 2\n"), "weir.yaml:1: the file: needs keys and values");
  refused(std::string(100'000, '['));
  refused("&a [*a]");
}

TEST(ConfigLists, a_name_is_given_once_and_is_short_and_plain) {
  const auto list = [](const std::string &name) {
    return "- {name: \"" + name + "\", action: deny, dynamic: true}\n";
  };
  const std::string head = "version: 1\nlists:\n";
  EXPECT_EQ(good(head + list(std::string(55, 'a'))).lists.size(), 1u);
  EXPECT_HAS(refused(head + list(std::string(56, 'a'))), "at most 55 bytes");
  EXPECT_HAS(refused(head + list("a") + list("b") + list("a")),
             "weir.yaml:5: lists[2].name: \"a\" is already the list of line 3");
  EXPECT_HAS(refused(head + list("a b")), "letters, digits");
  EXPECT_HAS(refused(head + list("")), "missing; every list needs a name");
  EXPECT_HAS(refused(head + list("-a")), "starts with a letter or digit");
  EXPECT_HAS(refused(head + list("never_deny")), "guard.never_deny");
}

TEST(ConfigLists, a_list_has_one_kind_of_content) {
  const auto list = [](const std::string &keys) {
    return "version: 1\nlists:\n- {name: a, action: deny" + keys + "}\n";
  };
  EXPECT_HAS(refused(list("")), "lists[0]: has no content");
  EXPECT_HAS(refused(list(", dynamic: false")), "lists[0]: has no content");
  EXPECT_HAS(refused(list(", dynamic: true, file: x")), "make two lists of it");
  EXPECT_HAS(refused(list(", file: x, ttl: 1h")),
             "lists[0].ttl: only entries of a list with dynamic: true expire");
  EXPECT_HAS(refused(list(", file: \"\"")), "lists[0].file: needs the name of a file");
  EXPECT_HAS(refused(list(", dynamic: true, ttl: 10")), "lists[0].ttl: \"10\" is not a duration");
  EXPECT_HAS(refused("version: 1\nlists:\n- {name: a, file: x}\n"),
             "lists[0].action: missing; write deny or allow");
  EXPECT_HAS(refused("version: 1\nlists: {a: {}}\n"), "lists: needs a list");
  EXPECT_TRUE(good(list(", entries: []")).lists[0].entries.empty());
}

TEST(ConfigPorts, names_devices_and_peers_must_fit_together) {
  const auto ports = [](const std::string &a, const std::string &b) {
    return "version: 1\nports:\n- {" + a + "}\n- {" + b + "}\n";
  };
  EXPECT_HAS(refused(ports("name: a, device: d0, peer: b", "name: a, device: d1, peer: a")),
             "\"a\" names two ports");
  EXPECT_HAS(refused(ports("name: a, device: d, peer: b", "name: b, device: d, peer: a")),
             "\"d\" is already port \"a\"");
  EXPECT_HAS(refused(ports("name: a, device: d0, peer: bb", "name: b, device: d1, peer: a")),
             "weir.yaml:3: ports[0].peer: no port is named \"bb\"; did you mean \"b\"?");
  EXPECT_HAS(refused(ports("name: a, device: d0, peer: a", "name: b, device: d1, peer: a")),
             "is this port itself");
  EXPECT_HAS(refused(ports("name: a, device: d0, peer: b", "name: b, device: d1")), "ports[1].peer: missing");
  EXPECT_HAS(refused(ports("device: d0, peer: b", "name: b, peer: b")), "ports[1].device: missing");
}

TEST(ConfigPorts, peers_have_the_same_mtu) {
  const auto with = [](const std::string &wan, const std::string &lan) {
    return "version: 1\nports:\n- {name: wan, device: a, peer: lan" + wan +
           "}\n- {name: lan, device: b, peer: wan" + lan + "}\n";
  };
  EXPECT_EQ(good(with(", mtu: 9000", ", mtu: 9000")).ports[1].mtu, 9000u);
  EXPECT_FALSE(good(with("", "")).ports[0].mtu);
  EXPECT_TRUE(good(with(", mtu: 1500", "")).ports[0].mtu);
  EXPECT_HAS(
      refused(with(", mtu: 9000", "")),
      "weir.yaml:4: ports[1].mtu: 1500, and 9000 of its peer \"wan\": longer frames that come there would "
      "not fit here; write the same for both");
  EXPECT_HAS(refused(with(", mtu: 67", ", mtu: 67")),
             "weir.yaml:3: ports[0].mtu: \"67\" is not a whole number from 68 to 64000");
  EXPECT_HAS(refused(with(", mtu: jumbo", "")), "is not a whole number");
}

TEST(ConfigPorts, rings_flow_control_and_links_are_as_written) {
  const auto with = [](const std::string &keys) {
    return "version: 1\nports:\n- {name: wan, device: a, peer: lan, " + keys +
           "}\n- {name: lan, device: b, peer: wan}\n";
  };
  const Port port =
      good(with("rx_descriptors: 512, tx_descriptors: 2048, flow_control: obey, promiscuous: no, "
                "link: follow"))
          .ports[0];
  EXPECT_EQ(port.rx_descriptors, 512u);
  EXPECT_EQ(port.tx_descriptors, 2048u);
  EXPECT_EQ(port.flow_control, FlowControl::obey);
  EXPECT_EQ(port.promiscuous, false);
  EXPECT_EQ(port.link, LinkLoss::follow);
  EXPECT_FALSE(good(with("rx_queues: 1")).ports[0].promiscuous);
  EXPECT_HAS(refused(with("rx_descriptors: 7")), "is not a whole number from 8 to 32768");
  EXPECT_HAS(refused(with("flow_control: on")), "is not one of off, obey, send, both");
}

TEST(ConfigPorts, the_kernel_carries_between_its_own_interfaces_alone) {
  const auto with = [](const std::string &wan, const std::string &lan, const char *device) {
    return std::string(
               "version: 1\neal: {vdevs: [\"net_af_packet0,iface=a\", \"net_af_xdp1,iface=b\"]}\nports:\n") +
           "- {name: wan, device: " + device + ", peer: lan" + wan +
           "}\n- {name: lan, device: net_af_xdp1, peer: wan" + lan + "}\n";
  };
  const std::string bypass = ", on_exit: bypass";
  EXPECT_EQ(good(with(bypass, bypass, "net_af_packet0")).ports[0].on_exit, OnExit::bypass);
  EXPECT_HAS(refused(with(bypass, "", "net_af_packet0")),
             "ports[0].on_exit: bypass, and close at its peer \"lan\"");
  EXPECT_HAS(refused(with(bypass, bypass, "\"0000:3b:00.0\"")), "is no interface of the kernel");
}

TEST(Config, health_is_told_to_a_program_with_an_absolute_path) {
  const HealthHook hook =
      good("version: 1\nhealth: {exec: /usr/local/sbin/card, timeout: 1m, hold: 5s}\n").health;
  EXPECT_EQ(hook.exec, "/usr/local/sbin/card");
  EXPECT_EQ(hook.timeout, 60s);
  EXPECT_EQ(hook.hold, 5s);
  EXPECT_TRUE(good("version: 1\n").health.exec.empty());
  EXPECT_HAS(refused("version: 1\nhealth: {exec: bin/card}\n"),
             "weir.yaml:2: health.exec: \"bin/card\" is no absolute path");
}

TEST(ConfigPolicy, match_defaults_to_remote_only_when_a_port_has_a_side) {
  const auto ports = [](const std::string &side) {
    return "ports:\n- {name: a, device: d0, peer: b" + side + "}\n- {name: b, device: d1, peer: a}\n";
  };
  EXPECT_EQ(good("version: 1\n").policy.match, Match::source);
  EXPECT_EQ(good("version: 1\n" + ports("")).policy.match, Match::source);
  EXPECT_EQ(good("version: 1\n" + ports(", side: outside")).policy.match, Match::remote);
  EXPECT_EQ(good("version: 1\npolicy: {match: remote}\n").policy.match, Match::remote);
  EXPECT_HAS(refused("version: 1\npolicy: {match: remote}\n" + ports("")),
             "weir.yaml:2: policy.match: \"remote\" needs ports with side");
}

TEST(ConfigPaths, groups_of_the_control_socket_are_named) {
  const auto named = groups("version: 1\npaths: {read_group: watch, write_group: weir}\n", "weir.yaml");
  ASSERT_TRUE(named);
  EXPECT_EQ(named->read, "watch");
  EXPECT_EQ(named->write, "weir");
  EXPECT_HAS(refused("version: 1\npaths: {write_group: \"\"}\n"),
             "paths.write_group: needs the name of a group");
}

TEST(ConfigFile, a_file_that_is_not_there_is_an_error_that_names_it) {
  const auto config = load("/nonexistent/weir.yaml");
  ASSERT_FALSE(config);
  EXPECT_EQ(config.error().code, Errc::io);
  EXPECT_HAS(config.error().message, "/nonexistent/weir.yaml: cannot read the configuration: No such file");
}

TEST(ConfigFile, an_empty_one_and_a_folder_are_told_as_what_they_are) {
  EXPECT_HAS(load("/dev/null").error().message, "the file is empty");
  EXPECT_HAS(load("/").error().message, "/: cannot read the configuration: Is a directory");
}

} // namespace
} // namespace weir::config::config_test
