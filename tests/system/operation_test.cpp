// An operator's day: entries that expire, generations taken back, changes confirmed.
#include "tests/system/gate.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <csignal>
#include <thread>

namespace weir::test::operation_test {

namespace {

using Json = nlohmann::json;

constexpr const char *bans = "- {name: bans, action: deny, dynamic: true}\n";

std::string nets(const std::string &entry) {
  return fmt::format("- {{name: nets, action: deny, entries: [{}]}}\n", entry) + bans;
}

} // namespace

TEST(Operation, an_entry_with_a_time_to_live_goes_by_itself_even_if_control_was_away) {
  const auto pair = idle_pair(bans);
  ASSERT_NO_FATAL_FAILURE(pair->start());
  pair->must({"list", "add", "bans", "203.0.113.1", "--ttl", "2s"});
  pair->must({"list", "add", "bans", "203.0.113.2", "--ttl", "2s"});
  pair->must({"list", "add", "bans", "203.0.113.3", "--ttl", "1h"});
  EXPECT_EQ(pair->verdict("203.0.113.1"), "drop");
  EXPECT_TRUE(wait_until([&] { return pair->verdict("203.0.113.1") == "pass"; }, 6s));

  pair->must({"list", "add", "bans", "203.0.113.4", "--ttl", "1s"});
  pair->control().stop(SIGKILL, 5s);
  std::this_thread::sleep_for(2s);
  pair->start_control();
  ASSERT_TRUE(pair->ready());
  EXPECT_TRUE(wait_until([&] { return pair->verdict("203.0.113.4") == "pass"; }, 6s));
  EXPECT_EQ(pair->exported("bans"), std::set<std::string>{"203.0.113.3"});
  EXPECT_EQ(pair->verdict("203.0.113.3"), "drop");
}

TEST(Operation, a_rollback_brings_the_rules_back_and_leaves_dynamic_entries) {
  const auto pair = idle_pair(nets("198.51.100.1"));
  ASSERT_NO_FATAL_FAILURE(pair->start());
  pair->write_config(nets("198.51.100.2"));
  pair->must({"apply", pair->config()});
  pair->must({"list", "add", "bans", "203.0.113.1"});
  EXPECT_EQ(pair->verdict("198.51.100.1"), "pass");
  EXPECT_EQ(pair->verdict("198.51.100.2"), "drop");
  const auto before = pair->must({"status"}).value("generation", std::uint64_t{0});

  pair->must({"rollback"});
  EXPECT_EQ(pair->verdict("198.51.100.1"), "drop");
  EXPECT_EQ(pair->verdict("198.51.100.2"), "pass");
  EXPECT_EQ(pair->verdict("203.0.113.1"), "drop");
  EXPECT_GT(pair->must({"status"}).value("generation", std::uint64_t{0}), before)
      << "generations never step back";
}

TEST(Operation, an_apply_that_nobody_confirms_is_taken_back) {
  const auto pair = idle_pair(nets("198.51.100.1"));
  ASSERT_NO_FATAL_FAILURE(pair->start());
  pair->write_config(nets("198.51.100.2"));
  pair->must({"apply", "--confirm", "2s", pair->config()});
  EXPECT_EQ(pair->verdict("198.51.100.2"), "drop");
  EXPECT_TRUE(wait_until([&] { return pair->verdict("198.51.100.2") == "pass"; }, 10s));
  EXPECT_EQ(pair->verdict("198.51.100.1"), "drop");

  pair->must({"apply", "--confirm", "2s", pair->config()});
  pair->must({"confirm"});
  std::this_thread::sleep_for(3s);
  EXPECT_EQ(pair->verdict("198.51.100.2"), "drop");
}

TEST(Operation, status_names_the_memory_and_every_verb_gives_json) {
  const auto pair = idle_pair(nets("198.51.100.1"));
  ASSERT_NO_FATAL_FAILURE(pair->start());
  const Json status = pair->must({"status"});
  const std::string kind = status.value("memory", Json::object()).value("kind", "");
  EXPECT_NE(kind.find("pages"), std::string::npos) << status.dump();
  EXPECT_EQ(status.value("counts", Json::object()).value("ipv4_hosts", 0), 1) << status.dump();
  for (const char *verb : {"stats", "generations", "plan", "doctor", "drops"}) {
    const Reply reply = pair->ctl({verb});
    EXPECT_FALSE(reply.json().empty()) << verb << " -j gives no JSON object: " << reply.out << reply.err;
  }
}

} // namespace weir::test::operation_test
