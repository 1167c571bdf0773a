// What control promises about rules: guards, rollback, confirmation, time to live, restarts.
#include "tests/support/engine_bench.hpp"
#include "tests/support/fake_dataplane.hpp"

#include <atomic>
#include <thread>

namespace weir::control::engine_test {
namespace {

using test::EngineBench;
using test::FakeDataplane;

constexpr const char *guarded = "version: 1\n"
                                "lists:\n"
                                "- {name: ops, action: allow, entries: [10.0.0.7]}\n"
                                "- {name: drop, action: deny, file: drop.txt}\n"
                                "- {name: bans, action: deny, dynamic: true, ttl: 1h}\n"
                                "guard: {never_deny: [192.0.2.0/24], max_change: 30%}\n";

std::string hosts(unsigned from, unsigned to) {
  std::string text;
  for (unsigned i = from; i < to; ++i) text += to_string(Address::from_host(0x0B000000 + i)) + "\n";
  return text;
}

class EngineTest : public testing::Test {
protected:
  EngineTest() : bench("version: 1\nlists: []\n"), dataplane(bench.socket()) {}

  // A store of its own for each test, begun with these rules.
  void begin(const std::string &drop) {
    bench.write_list("drop.txt", drop);
    bench.configure(guarded);
    const auto applied = bench.apply(0, true);
    ASSERT_TRUE(applied) << applied.error().message;
    ASSERT_TRUE(bench.run_until_live());
    first = bench.engine().live_record().id;
  }

  EngineBench bench;
  FakeDataplane dataplane;
  Generation first;
};

TEST_F(EngineTest, a_list_of_the_configuration_is_enforced_with_allow_above_deny) {
  begin("10.0.0.0/8\n");
  EXPECT_EQ(dataplane.denies("10.1.2.3"), "drop");
  EXPECT_EQ(dataplane.list_of(Side::allow, "10.0.0.7"), "ops");
  EXPECT_EQ(dataplane.list_of(Side::allow, "192.0.2.200"), "never_deny");
}

// A feed that comes after the daemon, at boot.
TEST(EngineFirstLoad, is_tried_again_until_the_file_is_there) {
  EngineBench bench("version: 1\nlists: []\n");
  FakeDataplane dataplane(bench.socket());
  bench.stop();
  std::filesystem::remove_all(bench.path("store"));
  bench.configure("version: 1\nlists:\n- {name: drop, action: deny, file: late.txt}\n");
  bench.adjust = [](EngineOptions &options) { options.first_load_wait = std::chrono::milliseconds(20); };
  bench.restart();
  const auto waits = [&] {
    return bench.engine().last_error().text.find("late.txt") != std::string::npos &&
           bench.engine().last_error().brief.find("tried again in 1 s") != std::string::npos;
  };
  ASSERT_TRUE(bench.run_until(waits)) << bench.engine().last_error().text;
  bench.write_list("late.txt", "10.0.0.0/8\n");
  ASSERT_TRUE(bench.run_until_live());
  EXPECT_EQ(dataplane.denies("10.1.2.3"), "drop");
  EXPECT_EQ(bench.engine().last_error().text, "");
}

// What somebody has put in force by hand is not overrun by what the daemon was started with.
TEST(EngineFirstLoad, is_not_tried_again_behind_an_apply) {
  EngineBench bench("version: 1\nlists: []\n");
  FakeDataplane dataplane(bench.socket());
  bench.stop();
  std::filesystem::remove_all(bench.path("store"));
  bench.configure("version: 1\nlists:\n- {name: drop, action: deny, file: late.txt}\n");
  bench.adjust = [](EngineOptions &options) { options.first_load_wait = std::chrono::milliseconds(100); };
  bench.restart();
  ASSERT_TRUE(bench.run_until([&] { return !bench.engine().last_error().text.empty(); }));
  bench.configure("version: 1\nlists:\n- {name: other, action: deny, entries: [10.0.0.1]}\n");
  ASSERT_TRUE(bench.apply());
  const auto later = push::Clock::now() + std::chrono::milliseconds(300);
  ASSERT_TRUE(bench.run_until([&] { return push::Clock::now() > later; }));
  EXPECT_EQ(bench.engine().live_record().id, 1u);
  EXPECT_EQ(bench.engine().live_record().cause, "apply");
}

TEST_F(EngineTest, keeps_off_the_processors_that_the_configuration_gives_to_workers) {
  const auto all = cpus_allowed();
  if (all.size() < 2) GTEST_SKIP() << "needs two processors";
  bench.write_list("drop.txt", "10.0.0.0/8\n");
  bench.configure(std::string(guarded) + "eal: {lcores: \"" + std::to_string(all.front()) + "\"}\n");
  ASSERT_TRUE(bench.apply(0, true));
  EXPECT_EQ(cpus_allowed(), std::vector<unsigned>(all.begin() + 1, all.end()));
  bench.configure(guarded);
  ASSERT_TRUE(bench.apply(0, true));
  EXPECT_EQ(cpus_allowed(), all);
}

TEST_F(EngineTest, a_malformed_file_changes_nothing_and_all_bad_lines_are_named) {
  begin("10.0.0.0/8\n");
  bench.write_list("drop.txt", "10.0.0.0/8\n10.0.0.5/8\nnonsense\n");
  const auto applied = bench.apply();
  ASSERT_FALSE(applied);
  EXPECT_NE(applied.error().message.find("drop.txt:2"), std::string::npos) << applied.error().message;
  EXPECT_NE(applied.error().message.find("drop.txt:3"), std::string::npos);
  EXPECT_EQ(bench.engine().live_record().id, first);
  EXPECT_EQ(dataplane.denies("10.1.2.3"), "drop");
}

TEST_F(EngineTest, a_change_beyond_max_change_needs_force) {
  begin(hosts(0, 2000));
  bench.write_list("drop.txt", hosts(0, 1000));
  const auto refused = bench.apply();
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Errc::refused);
  EXPECT_EQ(dataplane.denies("11.0.5.220"), "drop"); // the 1500th
  ASSERT_TRUE(bench.apply(0, true));
  EXPECT_EQ(dataplane.denies("11.0.5.220"), "");
}

TEST_F(EngineTest, replace_is_guarded_too_and_says_what_it_changed) {
  begin(hosts(0, 2000));
  bench.write_list("next.txt", hosts(0, 10));
  EXPECT_FALSE(bench.replace("drop", "next.txt"));
  bench.write_list("next.txt", hosts(100, 2050));
  const auto replaced = bench.replace("drop", "next.txt");
  ASSERT_TRUE(replaced) << replaced.error().message;
  ASSERT_EQ(replaced->lists.size(), 1u);
  EXPECT_EQ(replaced->lists[0].change.added, 50u);
  EXPECT_EQ(replaced->lists[0].change.removed, 100u);
  EXPECT_EQ(dataplane.denies("11.0.0.1"), "");
  EXPECT_EQ(dataplane.denies("11.0.8.1"), "drop");
}

TEST_F(EngineTest, an_empty_rule_set_is_refused_unless_forced) {
  begin("10.0.0.0/8\n");
  bench.configure("version: 1\nlists:\n- {name: drop, action: deny, file: drop.txt}\n");
  bench.write_list("drop.txt", "# nothing\n");
  EXPECT_FALSE(bench.apply());
  EXPECT_EQ(dataplane.denies("10.1.2.3"), "drop");
  ASSERT_TRUE(bench.apply(0, true));
  EXPECT_EQ(dataplane.denies("10.1.2.3"), "");
}

TEST_F(EngineTest, an_address_inside_never_deny_cannot_be_added_to_a_deny_list) {
  begin("10.0.0.0/8\n");
  const auto refused = bench.add("bans", "192.0.2.9");
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Errc::refused);
  EXPECT_TRUE(bench.add("ops", "192.0.2.9")) << "an allow list takes it";
  EXPECT_TRUE(bench.add("bans", "192.0.0.0/16")) << "a wider prefix leaves the guarded part exempt";
  EXPECT_EQ(dataplane.list_of(Side::allow, "192.0.2.77"), "never_deny");
}

TEST_F(EngineTest, deleting_an_absent_entry_deletes_nothing) {
  begin("10.0.0.0/8\n");
  ASSERT_TRUE(bench.add("bans", "203.0.113.1"));
  std::optional<Result<EntriesDone>> result;
  bench.engine().remove("bans", {parse_prefix("203.0.113.1").value(), parse_prefix("203.0.113.2").value()},
                        [&](Result<EntriesDone> done) { result = std::move(done); });
  ASSERT_TRUE(bench.run_until([&] { return result.has_value(); }));
  ASSERT_FALSE(*result);
  EXPECT_EQ(result->error().code, Errc::not_found);
  EXPECT_EQ(dataplane.denies("203.0.113.1"), "bans");
  const auto in_file = bench.remove("drop", "10.0.0.0/8");
  ASSERT_FALSE(in_file);
  EXPECT_NE(in_file.error().message.find("file"), std::string::npos);
}

TEST_F(EngineTest, an_entry_added_again_is_refreshed_and_not_sent_again) {
  begin("10.0.0.0/8\n");
  const auto added = bench.add("bans", "203.0.113.1", 60);
  const auto again = bench.add("bans", "203.0.113.1", 600);
  ASSERT_TRUE(added && again);
  EXPECT_EQ(again->refreshed, 1u);
  EXPECT_EQ(again->sequence, added->sequence);
  EXPECT_GE(again->expires_at, added->expires_at + 500);
}

TEST_F(EngineTest, an_entry_leaves_when_its_time_is_over) {
  begin("10.0.0.0/8\n");
  ASSERT_TRUE(bench.add("bans", "203.0.113.1", 1));
  EXPECT_EQ(dataplane.denies("203.0.113.1"), "bans");
  EXPECT_TRUE(
      bench.run_until([&] { return dataplane.denies("203.0.113.1").empty(); }, std::chrono::seconds(5)));
}

TEST_F(EngineTest, an_entry_that_expired_while_control_was_down_leaves_at_the_start) {
  begin("10.0.0.0/8\n");
  ASSERT_TRUE(bench.add("bans", "203.0.113.1", 1));
  ASSERT_TRUE(bench.add("bans", "203.0.113.2", 600));
  bench.stop();
  std::this_thread::sleep_for(std::chrono::milliseconds(2100));
  EXPECT_EQ(dataplane.denies("203.0.113.1"), "bans") << "nobody took it away";
  bench.restart();
  EXPECT_TRUE(bench.run_until([&] { return dataplane.denies("203.0.113.1").empty(); }));
  EXPECT_EQ(dataplane.denies("203.0.113.2"), "bans");
}

TEST_F(EngineTest, the_planner_learns_the_hit_ratio_though_nobody_asks_for_counters) {
  begin("10.0.0.0/8\n");
  dataplane.judged(20'000, 5'000);
  ASSERT_TRUE(bench.run_until([&] { return bench.engine().traffic().workload().measured(); }));
  EXPECT_DOUBLE_EQ(bench.engine().traffic().workload().hit_ratio, 0.25);
}

// The system clock of the engine is a number of the test's; the boot clock is the real one.
TEST_F(EngineTest, setting_the_system_clock_ends_no_entry_before_its_time) {
  std::atomic<std::uint64_t> wall_s = now_s();
  bench.adjust = [&wall_s](EngineOptions &options) {
    options.clock.wall_s = [&wall_s] { return wall_s.load(); };
  };
  bench.restart();
  begin("10.0.0.0/8\n");
  const auto added = bench.add("bans", "203.0.113.1", 3600);
  ASSERT_TRUE(added && bench.add("bans", "203.0.113.2", 1));
  constexpr double slow_s = 60; // this wall clock stands, the boot clock does not
  EXPECT_NEAR(static_cast<double>(added->expires_at), static_cast<double>(wall_s + 3600), slow_s);
  wall_s += 86'400;
  EXPECT_TRUE(bench.run_until([&] { return dataplane.denies("203.0.113.2").empty(); })) << "its time is over";
  EXPECT_EQ(dataplane.denies("203.0.113.1"), "bans");
  const auto again = bench.add("bans", "203.0.113.3", 3600);
  ASSERT_TRUE(again);
  EXPECT_NEAR(static_cast<double>(again->expires_at), static_cast<double>(wall_s + 3600), slow_s)
      << "people are told the system clock";
  bench.restart();
  ASSERT_TRUE(bench.run_until_live());
  ASSERT_TRUE(bench.add("bans", "203.0.113.4")) << "the requests of the start are done by now";
  EXPECT_EQ(dataplane.denies("203.0.113.1"), "bans");
  EXPECT_EQ(dataplane.denies("203.0.113.3"), "bans");
  wall_s -= 40'000;
  ASSERT_TRUE(bench.add("bans", "203.0.113.5", 1));
  EXPECT_TRUE(bench.run_until([&] { return dataplane.denies("203.0.113.5").empty(); }))
      << "nor is one prolonged";
}

TEST_F(EngineTest, a_restart_comes_back_to_the_store_and_not_to_the_files) {
  begin("10.0.0.0/8\n");
  ASSERT_TRUE(bench.add("bans", "203.0.113.1"));
  bench.write_list("drop.txt", "172.16.0.0/12\n");
  bench.restart();
  dataplane.forget();
  dataplane.hang_up();
  ASSERT_TRUE(bench.run_until([&] { return dataplane.generation() != 0; }));
  ASSERT_TRUE(bench.run_until_live());
  EXPECT_EQ(dataplane.denies("10.1.2.3"), "drop");
  EXPECT_EQ(dataplane.denies("172.16.0.1"), "");
  EXPECT_EQ(dataplane.denies("203.0.113.1"), "bans");
}

TEST_F(EngineTest, rollback_restores_files_and_leaves_dynamic_entries) {
  begin("10.0.0.0/8\n");
  bench.write_list("drop.txt", "172.16.0.0/12\n");
  ASSERT_TRUE(bench.apply());
  ASSERT_TRUE(bench.add("bans", "203.0.113.1"));
  const auto back = bench.rollback();
  ASSERT_TRUE(back) << back.error().message;
  EXPECT_EQ(back->to, first);
  EXPECT_GT(back->generation, back->from);
  EXPECT_EQ(dataplane.denies("10.1.2.3"), "drop");
  EXPECT_EQ(dataplane.denies("172.16.0.1"), "");
  EXPECT_EQ(dataplane.denies("203.0.113.1"), "bans");
  EXPECT_EQ(bench.rollback(999).error().code, Errc::not_found);
}

TEST_F(EngineTest, an_apply_that_is_not_confirmed_is_taken_back) {
  begin("10.0.0.0/8\n");
  bench.write_list("drop.txt", "172.16.0.0/12\n");
  const auto applied = bench.apply(1);
  ASSERT_TRUE(applied);
  EXPECT_NE(applied->reverts_at, 0u);
  EXPECT_TRUE(bench.engine().pending_confirm_s().has_value());
  EXPECT_EQ(dataplane.denies("172.16.0.1"), "drop");
  ASSERT_TRUE(
      bench.run_until([&] { return dataplane.denies("172.16.0.1").empty(); }, std::chrono::seconds(8)));
  EXPECT_EQ(dataplane.denies("10.1.2.3"), "drop");
  EXPECT_TRUE(bench.run_until([&] { return !bench.engine().pending_confirm_s(); }))
      << "once it has heard of it";
}

TEST_F(EngineTest, the_audit_log_has_what_came_into_force_and_that_it_was_taken_back) {
  begin("10.0.0.0/8\n");
  bench.write_list("drop.txt", "172.16.0.0/12\n");
  ASSERT_TRUE(bench.apply(1, true));
  ASSERT_TRUE(bench.run_until([&] { return !bench.engine().pending_confirm_s(); }, std::chrono::seconds(8)));
  bench.write_list("drop.txt", "nonsense\n");
  ASSERT_FALSE(bench.apply());
  const auto log = bench.engine().store().audited(10).value();
  ASSERT_GE(log.size(), 3u);
  const store::AuditRecord &applied = log[log.size() - 2], &back = log.back();
  EXPECT_EQ(applied.what, "apply");
  EXPECT_EQ(applied.list, "drop");
  EXPECT_NE(applied.detail.find("drop +1 -1, forced, to be confirmed within 1 s"), std::string::npos)
      << applied.detail;
  EXPECT_EQ(applied.generation, first.next());
  EXPECT_EQ(back.what, "rollback to " + std::to_string(first.value()));
  EXPECT_EQ(back.by, "");
  EXPECT_EQ(back.detail.find("the change after it was not confirmed"), 0u) << back.detail;
}

TEST_F(EngineTest, an_unconfirmed_apply_is_taken_back_after_a_restart_too) {
  begin("10.0.0.0/8\n");
  bench.write_list("drop.txt", "172.16.0.0/12\n");
  ASSERT_TRUE(bench.apply(1));
  bench.restart();
  ASSERT_TRUE(
      bench.run_until([&] { return dataplane.denies("172.16.0.1").empty(); }, std::chrono::seconds(8)));
  EXPECT_EQ(dataplane.denies("10.1.2.3"), "drop");
}

TEST_F(EngineTest, a_confirmed_apply_stays) {
  begin("10.0.0.0/8\n");
  bench.write_list("drop.txt", "172.16.0.0/12\n");
  ASSERT_TRUE(bench.apply(1));
  EXPECT_FALSE(bench.apply(1)) << "one confirmation at a time";
  const auto confirmed = bench.engine().confirm();
  ASSERT_TRUE(confirmed);
  EXPECT_EQ(*confirmed, bench.engine().live_record().id);
  EXPECT_FALSE(bench.engine().confirm());
  EXPECT_FALSE(
      bench.run_until([&] { return dataplane.denies("172.16.0.1").empty(); }, std::chrono::seconds(2)));
}

TEST_F(EngineTest, an_unchanged_list_keeps_its_content_version) {
  begin("10.0.0.0/8 # one\n");
  const std::uint64_t version = bench.engine().rules()->find("drop")->content_version;
  EXPECT_GT(version, 0u);
  ASSERT_TRUE(bench.apply());
  EXPECT_EQ(bench.engine().rules()->find("drop")->content_version, version);
  bench.write_list("drop.txt", "10.0.0.0/8 # two\n");
  ASSERT_TRUE(bench.apply());
  EXPECT_NE(bench.engine().rules()->find("drop")->content_version, version) << "a comment is content";
}

TEST_F(EngineTest, changes_wait_in_line_and_all_are_answered) {
  begin("10.0.0.0/8\n");
  bench.write_list("a.txt", "10.0.0.0/8\n172.16.0.1\n");
  bench.write_list("b.txt", "10.0.0.0/8\n172.16.0.2\n");
  unsigned answered = 0;
  for (const char *file : {"a.txt", "b.txt", "a.txt"})
    bench.engine().replace("drop", bench.path(file), false, [&](const Result<ChangeDone> &done) {
      EXPECT_TRUE(done);
      ++answered;
    });
  ASSERT_TRUE(bench.run_until([&] { return answered == 3; }));
  EXPECT_EQ(dataplane.denies("172.16.0.1"), "drop");
  EXPECT_EQ(dataplane.denies("172.16.0.2"), "");
}

} // namespace
} // namespace weir::control::engine_test
