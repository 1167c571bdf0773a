// Packet rules and their flows: kept over restarts, and back with a rollback.
#include "tests/support/engine_bench.hpp"
#include "tests/support/fake_dataplane.hpp"

namespace weir::control::engine_rules_test {
namespace {

using test::EngineBench;
using test::FakeDataplane;

constexpr const char *with_flows = "version: 1\n"
                                   "rules:\n"
                                   "- {name: telnet, action: drop, protocol: tcp, to_port: 23}\n"
                                   "- {name: flows, action: drop, file: flows.txt}\n"
                                   "- {name: more, action: pass, file: more.txt}\n"
                                   "lists:\n"
                                   "- {name: bans, action: deny, dynamic: true}\n";

class EngineRules : public testing::Test {
protected:
  EngineRules() : bench("version: 1\nlists: []\n"), dataplane(bench.socket()) {
    bench.write_list("flows.txt", "tcp 192.0.2.1:1 192.0.2.2:2\nudp [2001:db8::1]:53 [2001:db8::2]:4000\n");
    bench.write_list("more.txt", "udp 192.0.2.1:1 192.0.2.2:2\n");
    bench.configure(with_flows);
    const auto applied = bench.apply();
    EXPECT_TRUE(applied) << applied.error().message;
    EXPECT_TRUE(bench.run_until_live());
  }
  [[nodiscard]] std::uint64_t flows_of(const char *rule) {
    const rules::RuleFlows *flows = bench.engine().rules()->flows_of(rule);
    return flows == nullptr ? 0 : flows->body->size();
  }

  EngineBench bench;
  FakeDataplane dataplane;
};

TEST_F(EngineRules, are_there_after_a_restart_though_their_files_are_gone) {
  std::filesystem::remove(bench.path("flows.txt"));
  std::filesystem::remove(bench.path("more.txt"));
  bench.restart();
  ASSERT_TRUE(bench.run_until_live());
  EXPECT_EQ(bench.engine().rules()->config.rules.size(), 3u);
  EXPECT_EQ(flows_of("flows"), 2u);
  EXPECT_EQ(flows_of("more"), 1u);
}

TEST_F(EngineRules, come_back_with_a_rollback_also_after_a_restart) {
  bench.write_list("flows.txt", "tcp 192.0.2.1:1 192.0.2.2:2\n");
  ASSERT_TRUE(bench.apply());
  EXPECT_EQ(flows_of("flows"), 1u);
  EXPECT_EQ(flows_of("more"), 1u);
  bench.restart();
  ASSERT_TRUE(bench.run_until_live());
  EXPECT_EQ(flows_of("flows"), 1u);
  const auto back = bench.rollback();
  ASSERT_TRUE(back) << back.error().message;
  EXPECT_EQ(flows_of("flows"), 2u);
  bench.restart();
  ASSERT_TRUE(bench.run_until_live());
  EXPECT_EQ(flows_of("flows"), 2u);
}

TEST_F(EngineRules, with_a_bad_flow_change_nothing) {
  const Generation before = bench.engine().live_record().id;
  bench.write_list("flows.txt", "tcp 192.0.2.1 192.0.2.2:2\n");
  const auto applied = bench.apply();
  ASSERT_FALSE(applied);
  EXPECT_NE(applied.error().message.find("flows.txt:1: "), std::string::npos) << applied.error().message;
  EXPECT_EQ(bench.engine().live_record().id, before);
  EXPECT_EQ(flows_of("flows"), 2u);
}

TEST_F(EngineRules, stay_when_the_content_of_a_list_is_replaced) {
  bench.configure(std::string(with_flows) + "- {name: drop, action: deny, file: drop.txt}\n");
  bench.write_list("drop.txt", "172.16.0.1\n");
  ASSERT_TRUE(bench.apply());
  bench.write_list("next.txt", "172.16.0.2\n");
  ASSERT_TRUE(bench.replace("drop", "next.txt"));
  EXPECT_EQ(flows_of("flows"), 2u);
  bench.restart();
  ASSERT_TRUE(bench.run_until_live());
  EXPECT_EQ(flows_of("flows"), 2u);
}

TEST_F(EngineRules, change_the_digest_of_the_generation) {
  const auto digest = bench.engine().live_record().digest;
  bench.write_list("flows.txt", "tcp 192.0.2.1:1 192.0.2.2:3\n");
  ASSERT_TRUE(bench.apply());
  EXPECT_NE(bench.engine().live_record().digest, digest);
}

} // namespace
} // namespace weir::control::engine_rules_test
