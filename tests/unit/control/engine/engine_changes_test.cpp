// Changes that fail, wait in line or are taken back: what is in force afterwards, and after a restart.
#include "tests/support/damaged_store.hpp"
#include "tests/support/engine_bench.hpp"
#include "tests/support/fake_dataplane.hpp"

#include <algorithm>
#include <filesystem>

namespace weir::control::engine_changes_test {
namespace {

using test::DamagedStore;
using test::EngineBench;
using test::FakeDataplane;

constexpr const char *two_kept = "version: 1\n"
                                 "lists:\n"
                                 "- {name: ops, action: allow, entries: [10.0.0.7]}\n"
                                 "- {name: drop, action: deny, file: drop.txt}\n"
                                 "- {name: bans, action: deny, dynamic: true}\n"
                                 "generations_kept: 2\n";
constexpr const char *without_bans = "version: 1\n"
                                     "lists:\n"
                                     "- {name: drop, action: deny, file: drop.txt}\n"
                                     "generations_kept: 2\n";

class EngineChangesTest : public testing::Test {
protected:
  EngineChangesTest() : bench("version: 1\nlists: []\n"), dataplane(bench.socket()) {
    bench.write_list("drop.txt", "172.16.0.1\n");
    bench.configure(two_kept);
    EXPECT_TRUE(bench.apply(0, true));
    EXPECT_TRUE(bench.run_until_live());
    first = live();
  }

  [[nodiscard]] Generation live() { return bench.engine().live_record().id; }
  void apply_drop(const std::string &entry) {
    bench.write_list("drop.txt", entry + "\n");
    const auto applied = bench.apply();
    ASSERT_TRUE(applied) << applied.error().message;
  }
  [[nodiscard]] Status read_content(const RuleList &list) {
    return bench.engine().store().read_content(list.content_version, [](const Prefix &, std::string_view) {});
  }
  // No content can be written from now on.
  void break_ingestion() {
    std::filesystem::remove_all(bench.path("store/ingest"));
    bench.write_list("store/ingest", "");
  }
  void mend_ingestion() {
    std::filesystem::remove(bench.path("store/ingest"));
    std::filesystem::create_directory(bench.path("store/ingest"));
  }
  void refuse_commits(bool refusing) {
    dataplane.set_hook([refusing](const FakeDataplane::Seen &seen) {
      FakeDataplane::Reaction reaction;
      if (refusing && seen.type == wire::Type::commit) reaction.refuse = Error{Errc::refused, "not today"};
      return reaction;
    });
  }

  EngineBench bench;
  FakeDataplane dataplane;
  Generation first;
};

TEST_F(EngineChangesTest, a_replace_whose_content_cannot_be_written_leaves_the_list_even_after_a_restart) {
  break_ingestion();
  bench.write_list("next.txt", "172.16.0.2\n");
  const auto replaced = bench.replace("drop", "next.txt");
  ASSERT_FALSE(replaced);
  EXPECT_EQ(replaced.error().code, Errc::io);
  EXPECT_EQ(live(), first);
  EXPECT_EQ(dataplane.denies("172.16.0.1"), "drop");
  mend_ingestion();
  bench.restart();
  EXPECT_EQ(bench.engine().rules()->find("drop")->body->size(), 1u);
  ASSERT_TRUE(bench.replace("drop", "next.txt"));
  EXPECT_EQ(dataplane.denies("172.16.0.1"), "");
  EXPECT_EQ(dataplane.denies("172.16.0.2"), "drop");
}

TEST_F(EngineChangesTest, a_rollback_that_waits_behind_another_change_finds_its_generation) {
  apply_drop("172.16.0.2");
  bench.write_list("drop.txt", "172.16.0.3\n");
  unsigned answered = 0;
  bench.engine().apply({}, 0, false, [&](const Result<ChangeDone> &done) {
    EXPECT_TRUE(done);
    ++answered;
  });
  bench.engine().rollback(first, [&](const Result<ChangeDone> &done) { // the apply alone would forget it
    EXPECT_TRUE(done) << done.error().message;
    ++answered;
  });
  ASSERT_TRUE(bench.run_until([&] { return answered == 2; }));
  EXPECT_EQ(dataplane.denies("172.16.0.1"), "drop");
  EXPECT_EQ(dataplane.denies("172.16.0.3"), "");
  bench.restart();
  EXPECT_EQ(bench.engine().rules()->find("drop")->body->size(), 1u);
}

TEST_F(EngineChangesTest, what_an_unconfirmed_apply_goes_back_to_outlives_other_changes) {
  bench.write_list("drop.txt", "172.16.0.2\n");
  ASSERT_TRUE(bench.apply(2));
  for (int i = 3; i < 8; ++i) {
    bench.write_list("next.txt", "172.16.0." + std::to_string(i) + "\n");
    ASSERT_TRUE(bench.replace("drop", "next.txt"));
    EXPECT_TRUE(bench.engine().pending_confirm_s());
  }
  ASSERT_TRUE(bench.run_until([&] { return dataplane.denies("172.16.0.1") == "drop"; }));
  ASSERT_TRUE(bench.run_until([&] { return !bench.engine().pending_confirm_s(); }));
  EXPECT_EQ(dataplane.denies("172.16.0.7"), "");
}

TEST_F(EngineChangesTest, a_revert_that_is_refused_stays_pending_and_is_tried_again) {
  bench.write_list("drop.txt", "172.16.0.2\n");
  ASSERT_TRUE(bench.apply(1));
  refuse_commits(true);
  ASSERT_TRUE(
      bench.run_until([&] { return bench.engine().taking_back().find("not today") != std::string::npos; }));
  EXPECT_TRUE(bench.engine().pending_confirm_s());
  EXPECT_EQ(dataplane.denies("172.16.0.2"), "drop");
  refuse_commits(false);
  ASSERT_TRUE(bench.run_until([&] { return dataplane.denies("172.16.0.1") == "drop"; }));
  ASSERT_TRUE(bench.run_until([&] { return !bench.engine().pending_confirm_s(); }));
  EXPECT_EQ(bench.engine().taking_back(), "");
}

TEST_F(EngineChangesTest, a_rollback_that_fails_leaves_the_confirmation_pending) {
  bench.write_list("drop.txt", "172.16.0.2\n");
  ASSERT_TRUE(bench.apply(60));
  refuse_commits(true);
  EXPECT_FALSE(bench.rollback());
  EXPECT_TRUE(bench.engine().pending_confirm_s());
  refuse_commits(false);
  bench.restart();
  EXPECT_TRUE(bench.engine().pending_confirm_s()) << "the store knows it too";
  ASSERT_TRUE(bench.rollback(first));
  EXPECT_FALSE(bench.engine().pending_confirm_s());
  bench.restart();
  EXPECT_FALSE(bench.engine().pending_confirm_s());
}

TEST_F(EngineChangesTest, a_change_that_the_dataplane_refuses_leaves_no_trace_in_the_store) {
  refuse_commits(true);
  bench.write_list("drop.txt", "172.16.0.2\n");
  EXPECT_FALSE(bench.apply());
  EXPECT_FALSE(bench.apply(60));
  EXPECT_FALSE(bench.engine().pending_confirm_s());
  refuse_commits(false);
  bench.restart();
  EXPECT_EQ(live(), first);
  EXPECT_EQ(bench.engine().store().generations().value().back().id, first);
  EXPECT_FALSE(bench.engine().pending_confirm_s());
  ASSERT_TRUE(bench.run_until_live());
  EXPECT_EQ(dataplane.denies("172.16.0.1"), "drop");
  EXPECT_EQ(dataplane.denies("172.16.0.2"), "");
}

TEST_F(EngineChangesTest, a_damaged_generation_is_no_rollback_and_no_start) {
  const std::uint64_t old_version = bench.engine().rules()->find("drop")->content_version;
  apply_drop("172.16.0.2");
  const std::uint64_t live_version = bench.engine().rules()->find("drop")->content_version;
  bench.stop();
  DamagedStore(bench.path("store")).lose_entry(old_version);
  bench.restart();
  const auto back = bench.rollback(first);
  ASSERT_FALSE(back);
  EXPECT_NE(back.error().message.find("list drop"), std::string::npos) << back.error().message;
  EXPECT_EQ(dataplane.denies("172.16.0.2"), "drop");
  EXPECT_EQ(bench.engine().rules()->find("drop")->body->size(), 1u);

  bench.stop();
  DamagedStore(bench.path("store")).lose_entry(live_version);
  const Status started = bench.try_restart();
  ASSERT_FALSE(started);
  EXPECT_NE(started.error().message.find("list drop"), std::string::npos) << started.error().message;
  EXPECT_NE(started.error().message.find("Put a copy"), std::string::npos) << started.error().message;
  EXPECT_EQ(dataplane.denies("172.16.0.2"), "drop");
}

TEST_F(EngineChangesTest, content_that_was_pruned_meanwhile_is_an_error_and_not_an_empty_list) {
  const RuleList stale = *bench.engine().rules()->find("drop");
  for (int i = 2; i < 5; ++i) apply_drop("172.16.0." + std::to_string(i));
  const Status read = read_content(stale);
  ASSERT_FALSE(read);
  EXPECT_NE(read.error().message.find("no longer kept"), std::string::npos) << read.error().message;
}

TEST_F(EngineChangesTest, an_apply_of_the_same_file_writes_a_content_anew_that_was_found_damaged) {
  ASSERT_TRUE(bench.apply());
  const RuleList before = *bench.engine().rules()->find("drop");
  for (const auto &file : std::filesystem::directory_iterator(bench.path("store")))
    if (file.path().extension() == ".sst") std::filesystem::resize_file(file.path(), 8);
  EXPECT_FALSE(read_content(before));
  EXPECT_EQ(dataplane.denies("172.16.0.1"), "drop");
  ASSERT_TRUE(bench.apply());
  const RuleList after = *bench.engine().rules()->find("drop");
  EXPECT_NE(after.content_version, before.content_version);
  EXPECT_TRUE(read_content(after));
}

// ---- entries added by hand go with their list ----------------------------------------------------

TEST_F(EngineChangesTest, bans_of_a_list_that_left_do_not_come_back_with_its_name) {
  ASSERT_TRUE(bench.add("bans", "203.0.113.1"));
  bench.configure(without_bans);
  const auto gone = bench.apply(0, true);
  ASSERT_TRUE(gone) << gone.error().message;
  ASSERT_FALSE(gone->warnings.empty());
  EXPECT_NE(gone->warnings.back().find("list bans is gone: 1 entries"), std::string::npos)
      << gone->warnings.back();
  EXPECT_EQ(dataplane.denies("203.0.113.1"), "");
  bench.configure(two_kept);
  ASSERT_TRUE(bench.apply());
  EXPECT_EQ(dataplane.denies("203.0.113.1"), "");
  bench.restart();
  EXPECT_EQ(bench.engine().dynamic().counts(bench.engine().rules()->find("bans")->number).total(), 0u);
}

TEST_F(EngineChangesTest, a_rollback_to_the_list_brings_its_bans_back_even_after_a_restart) {
  ASSERT_TRUE(bench.add("bans", "203.0.113.1"));
  bench.configure(without_bans);
  ASSERT_TRUE(bench.apply(0, true));
  bench.restart();
  ASSERT_TRUE(bench.rollback());
  ASSERT_TRUE(bench.run_until_live());
  EXPECT_EQ(dataplane.denies("203.0.113.1"), "bans");
}

TEST_F(EngineChangesTest, bans_are_forgotten_with_the_last_generation_that_names_their_list) {
  ASSERT_TRUE(bench.add("bans", "203.0.113.1", 3600));
  const ListId number = bench.engine().rules()->find("bans")->number;
  bench.configure(without_bans);
  ASSERT_TRUE(bench.apply(0, true));
  EXPECT_EQ(bench.engine().dynamic().counts(number).total(), 1u);
  apply_drop("172.16.0.9");
  EXPECT_EQ(bench.engine().dynamic().counts(number).total(), 0u);
  bench.restart();
  EXPECT_EQ(bench.engine().dynamic().counts(number).total(), 0u);
  const auto free = bench.engine().store().free_numbers(4).value();
  EXPECT_NE(std::ranges::find(free, number), free.end());
}

TEST_F(EngineChangesTest, a_list_with_bans_turns_to_allow_by_force_alone_and_lets_none_of_them_pass) {
  ASSERT_TRUE(bench.add("bans", "203.0.113.1"));
  std::string turned = two_kept;
  turned.replace(turned.find("bans, action: deny"), 18, "bans, action: allow");
  bench.configure(turned);
  const auto refused = bench.apply();
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Errc::refused);
  EXPECT_NE(refused.error().message.find("list bans turns from deny to allow"), std::string::npos);
  EXPECT_EQ(dataplane.denies("203.0.113.1"), "bans");
  ASSERT_TRUE(bench.apply(0, true));
  EXPECT_EQ(dataplane.denies("203.0.113.1"), "");
  EXPECT_EQ(dataplane.list_of(Side::allow, "203.0.113.1"), "");
  ASSERT_TRUE(bench.add("bans", "203.0.113.2"));
  EXPECT_EQ(dataplane.list_of(Side::allow, "203.0.113.2"), "bans");
  ASSERT_TRUE(bench.rollback());
  EXPECT_EQ(dataplane.denies("203.0.113.1"), "bans") << "on the side that it was on";
  EXPECT_EQ(dataplane.denies("203.0.113.2"), "");
}

TEST_F(EngineChangesTest, list_numbers_are_used_again) {
  ListId highest{};
  for (int i = 0; i < 12; ++i) {
    std::string config = two_kept;
    config.replace(config.find("name: drop"), 10, "name: d" + std::to_string(i));
    bench.configure(config);
    ASSERT_TRUE(bench.apply(0, true));
    for (const RuleList &list : bench.engine().rules()->lists) highest = std::max(highest, list.number);
  }
  EXPECT_LE(highest, ListId(6));
}

} // namespace
} // namespace weir::control::engine_changes_test
