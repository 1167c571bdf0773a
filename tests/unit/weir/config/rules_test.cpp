// Key `rules` of weir.yaml: what is read, and what is said of mistakes.
#include "weir/config/config.hpp"

#include "weir/key/text.hpp"

#include <gtest/gtest.h>

#include <string>

namespace weir::config::rules_test {
namespace {

const std::string head = "version: 1\n"
                         "ports:\n"
                         "- {name: wan, device: net_null0, side: outside, peer: lan}\n"
                         "- {name: lan, device: net_null1, side: inside, peer: wan}\n"
                         "rules:\n";

std::vector<PacketRule> good(const std::string &rules) {
  const auto config = parse(head + rules, "/etc/weir/weir.yaml");
  EXPECT_TRUE(config) << config.error().message;
  return config ? config->rules : std::vector<PacketRule>{};
}

TEST(ConfigRules, are_read_in_their_order_with_every_key) {
  const auto rules = good("- {name: telnet, action: drop, protocol: tcp, to_port: 23}\n"
                          "- {name: dns, action: rate_limit, packets: 1000, burst: 2000, per: source, "
                          "protocol: udp, to_port: 53, port: wan}\n"
                          "- {name: smb, action: reject, from: 203.0.113.0/24, protocol: [tcp, udp], "
                          "to_port: [\"137-139\", 445]}\n"
                          "- {name: watch, action: count, vlan: [12, \"100-199\", none]}\n"
                          "- {name: v6, action: pass, from: [\"2001:db8::/32\", 192.0.2.1], to: "
                          "\"2001:db8:1::1\", from_port: 0, protocol: 132}\n"
                          "- {name: flows, action: drop, file: flows.txt}\n"
                          "- {name: slow, action: rate_limit, packets: 5, protocol: icmp}\n");
  ASSERT_EQ(rules.size(), 7u);
  EXPECT_EQ(rules[0].name, "telnet");
  EXPECT_EQ(rules[0].action, RuleAction::drop);
  EXPECT_EQ(rules[0].protocols, std::vector<std::uint8_t>{6});
  EXPECT_EQ(rules[0].to_ports, (std::vector<NumberRange>{{23, 23}}));
  EXPECT_EQ(rules[1].packets, 1000u);
  EXPECT_EQ(rules[1].burst, 2000u);
  EXPECT_EQ(rules[1].per, RulePer::source);
  EXPECT_EQ(rules[1].port, "wan");
  EXPECT_EQ(rules[2].to_ports, (std::vector<NumberRange>{{137, 139}, {445, 445}}));
  EXPECT_EQ(patterns_of(rules[2]), 4u);
  EXPECT_EQ(rules[3].vlans, (std::vector<NumberRange>{{12, 12}, {100, 199}, {0, 0}}));
  EXPECT_EQ(patterns_of(rules[4]), 1u) << "of both families only one goes with the destination";
  EXPECT_EQ(rules[5].file, "/etc/weir/flows.txt");
  EXPECT_EQ(rules[6].burst, 5u) << "as much at once as in a second";
}

struct Mistake {
  const char *rule, *key, *said;
};

TEST(ConfigRules, mistakes_are_named_with_line_key_value_and_remedy) {
  for (const Mistake &m : {
           Mistake{"{action: drop}", "rules[0].name", "missing"},
           Mistake{"{name: a}", "rules[0].action", "missing"},
           Mistake{"{name: a, action: dorp}", "rules[0].action", "did you mean \"drop\"?"},
           Mistake{"{name: a, action: drop, toport: 53}", "rules[0].toport", "to_port"},
           Mistake{"{name: \"a b\", action: drop}", "rules[0].name", "a b"},
           Mistake{"{name: a, action: drop, to_port: 70000, protocol: tcp}", "rules[0].to_port",
                   "\"70000\" is not a port"},
           Mistake{"{name: a, action: drop, to_port: \"139-137\", protocol: tcp}", "rules[0].to_port",
                   "\"139-137\""},
           Mistake{"{name: a, action: drop, to_port: [23, x], protocol: tcp}", "rules[0].to_port[1]",
                   "\"x\""},
           Mistake{"{name: a, action: drop, to_port: 23, protocol: icmp}", "rules[0].to_port",
                   "has no ports"},
           Mistake{"{name: a, action: drop, protocol: tpc}", "rules[0].protocol", "did you mean \"tcp\"?"},
           Mistake{"{name: a, action: drop, protocol: 256}", "rules[0].protocol", "from 0 to 255"},
           Mistake{"{name: a, action: drop, vlan: 4095}", "rules[0].vlan", "\"4095\" is not a VLAN"},
           Mistake{"{name: a, action: drop, from: 10.0.0.1/8}", "rules[0].from", "10.0.0.1/8"},
           Mistake{"{name: a, action: drop, from: 10.0.0.1, to: \"::1\"}", "rules[0].to",
                   "no family in common"},
           Mistake{"{name: a, action: drop, port: wna}", "rules[0].port", "did you mean \"wan\"?"},
           Mistake{"{name: a, action: rate_limit}", "rules[0].packets", "how many packets a second"},
           Mistake{"{name: a, action: rate_limit, packets: 0}", "rules[0].packets", "\"0\""},
           Mistake{"{name: a, action: drop, packets: 10}", "rules[0].packets",
                   "only action: rate_limit knows it"},
           Mistake{"{name: a, action: drop, per: source}", "rules[0].per", "take it out"},
           Mistake{"{name: a, action: rate_limit, packets: 1, per: host}", "rules[0].per", "\"host\""},
           Mistake{"{name: a, action: drop, file: f, to_port: 5}", "rules[0].to_port",
                   "the flows of a file are whole"},
           Mistake{"{name: a, action: drop, file: \"\"}", "rules[0].file", "name"},
       }) {
    const auto config = parse(head + "- " + m.rule + "\n", "weir.yaml");
    ASSERT_FALSE(config) << m.rule;
    EXPECT_NE(config.error().message.find("weir.yaml:6: " + std::string(m.key)), std::string::npos)
        << m.rule << "\n"
        << config.error().message;
    EXPECT_NE(config.error().message.find(m.said), std::string::npos) << m.rule << "\n"
                                                                      << config.error().message;
  }
}

TEST(ConfigRules, of_one_name_are_refused_and_so_are_too_many) {
  const auto twice = parse(head + "- {name: a, action: drop}\n- {name: a, action: pass}\n", "weir.yaml");
  ASSERT_FALSE(twice);
  EXPECT_NE(twice.error().message.find("weir.yaml:7: rules[1].name: \"a\" is already the rule of line 6"),
            std::string::npos)
      << twice.error().message;
  std::string many;
  for (unsigned i = 0; i <= rules_max; ++i)
    many += "- {name: r" + std::to_string(i) +
            ", action: drop, protocol: tcp, to_port: " + std::to_string(i) + "}\n";
  const auto refused = parse(head + many, "weir.yaml");
  ASSERT_FALSE(refused);
  EXPECT_NE(refused.error().message.find("4097 rules; at most 4096"), std::string::npos)
      << refused.error().message;
  std::string ports = "1";
  for (int i = 3; i < 400; i += 2) ports += ", " + std::to_string(i);
  const auto product = parse(head + "- {name: a, action: drop, protocol: tcp, from_port: [" + ports +
                                 "], to_port: [" + ports + "]}\n",
                             "weir.yaml");
  ASSERT_FALSE(product);
  EXPECT_NE(product.error().message.find("16384"), std::string::npos) << product.error().message;
}

} // namespace
} // namespace weir::config::rules_test
