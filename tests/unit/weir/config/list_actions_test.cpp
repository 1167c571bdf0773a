// Key on_match of a list: what is read, and what is said of mistakes.
#include "weir/config/config.hpp"

#include <gtest/gtest.h>

#include <string>

namespace weir::config::list_actions_test {
namespace {

const std::string head = "version: 1\nlists:\n";

TEST(ConfigListActions, are_read_with_their_rates) {
  const auto config =
      parse(head + "- {name: a, action: deny, dynamic: true}\n"
                   "- {name: b, action: deny, dynamic: true, on_match: count}\n"
                   "- {name: c, action: deny, dynamic: true, on_match: reject}\n"
                   "- {name: d, action: deny, dynamic: true, on_match: rate_limit, packets: 5}\n"
                   "- {name: e, action: deny, dynamic: true, on_match: rate_limit, packets: 5, burst: 9, "
                   "per: address}\n",
            "weir.yaml");
  ASSERT_TRUE(config) << config.error().message;
  const std::vector<List> &lists = config->lists;
  EXPECT_EQ(lists[0].on_match, RuleAction::drop);
  EXPECT_EQ(lists[1].on_match, RuleAction::count);
  EXPECT_EQ(lists[2].on_match, RuleAction::reject);
  EXPECT_EQ(lists[3].on_match, RuleAction::rate_limit);
  EXPECT_EQ(lists[3].limit_packets, 5u);
  EXPECT_EQ(lists[3].limit_burst, 5u);
  EXPECT_EQ(lists[3].limit_per, RulePer::rule);
  EXPECT_EQ(lists[4].limit_burst, 9u);
  EXPECT_EQ(lists[4].limit_per, RulePer::source);
}

struct Mistake {
  const char *keys, *key, *said;
};

TEST(ConfigListActions, mistakes_are_named_with_line_key_and_remedy) {
  for (const Mistake &m : {
           Mistake{"action: deny, on_match: cuont", "lists[0].on_match", "did you mean \"count\"?"},
           Mistake{"action: deny, on_match: pass", "lists[0].on_match", "\"pass\""},
           Mistake{"action: allow, on_match: count", "lists[0].on_match", "or write action: deny"},
           Mistake{"action: deny, on_match: rate_limit", "lists[0].packets", "how many packets a second"},
           Mistake{"action: deny, on_match: rate_limit, packets: 0", "lists[0].packets", "\"0\""},
           Mistake{"action: deny, on_match: rate_limit, packets: 1, per: source", "lists[0].per",
                   "\"source\""},
           Mistake{"action: deny, on_match: count, packets: 1", "lists[0].packets",
                   "only on_match: rate_limit"},
           Mistake{"action: deny, per: address", "lists[0].per", "only on_match: rate_limit"},
       }) {
    const auto config = parse(head + "- {name: a, dynamic: true, " + m.keys + "}\n", "weir.yaml");
    ASSERT_FALSE(config) << m.keys;
    EXPECT_NE(config.error().message.find("weir.yaml:3: " + std::string(m.key)), std::string::npos)
        << m.keys << "\n"
        << config.error().message;
    EXPECT_NE(config.error().message.find(m.said), std::string::npos) << m.keys << "\n"
                                                                      << config.error().message;
  }
}

TEST(ConfigListActions, only_so_many_lists_remember_addresses) {
  const auto lists = [](std::size_t count) {
    std::string text = head;
    for (std::size_t i = 0; i < count; ++i)
      text += "- {name: l" + std::to_string(i) +
              ", action: deny, dynamic: true, on_match: rate_limit, packets: 1, per: address}\n";
    return parse(text, "weir.yaml");
  };
  EXPECT_TRUE(lists(rules_per_source_max));
  const auto more = lists(rules_per_source_max + 1);
  ASSERT_FALSE(more);
  EXPECT_NE(more.error().message.find("65 lists with per: address; at most 64"), std::string::npos)
      << more.error().message;
}

TEST(ConfigListActions, are_refused_in_compact_mode) {
  const auto config =
      parse(head + "- {name: a, action: deny, dynamic: true, on_match: count}\nmode: compact\n", "weir.yaml");
  ASSERT_FALSE(config);
  EXPECT_NE(config.error().message.find("weir.yaml:3: lists[0].on_match"), std::string::npos)
      << config.error().message;
  EXPECT_NE(config.error().message.find("write mode: exact"), std::string::npos) << config.error().message;
}

} // namespace
} // namespace weir::config::list_actions_test
