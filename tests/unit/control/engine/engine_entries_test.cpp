// Requests for dynamic entries: taken in groups that share a synced write, large ones in slices, each all or
// nothing.
#include "tests/support/engine_bench.hpp"
#include "tests/support/fake_dataplane.hpp"

#include <fmt/format.h>

namespace weir::control::engine_entries_test {
namespace {

using test::EngineBench;
using test::FakeDataplane;

constexpr const char *config = "version: 1\n"
                               "lists:\n"
                               "- {name: drop, action: deny, entries: [198.18.0.0/15]}\n"
                               "- {name: bans, action: deny, dynamic: true}\n"
                               "guard: {never_deny: [192.0.2.0/24]}\n";

std::vector<NewEntry> hosts(std::uint32_t from, std::uint32_t count) {
  std::vector<NewEntry> entries;
  for (std::uint32_t i = 0; i < count; ++i)
    entries.push_back({.prefix = Prefix{Address::from_host(from + i), 32}, .ttl_s = {}, .comment = "many"});
  return entries;
}

class EngineEntries : public testing::Test {
protected:
  EngineEntries() : bench(config), dataplane(bench.socket()) {}
  void SetUp() override { ASSERT_TRUE(bench.run_until_live()); }

  using Answer = std::optional<Result<EntriesDone>>;
  static auto into(Answer &answer) {
    return [&answer](Result<EntriesDone> done) { answer = std::move(done); };
  }

  EngineBench bench;
  FakeDataplane dataplane;
};

TEST_F(EngineEntries, that_come_in_during_a_write_share_the_next_one) {
  constexpr std::uint32_t clients = 100;
  const std::uint64_t writes_before = bench.engine().entry_writes();
  std::vector<Answer> answers(clients);
  for (std::uint32_t i = 0; i < clients; ++i)
    bench.engine().add("bans", hosts(0x0B000000 + i, 1), into(answers[i]));
  ASSERT_TRUE(bench.run_until(
      [&] { return std::ranges::all_of(answers, [](const Answer &answer) { return answer.has_value(); }); }));
  for (const Answer &answer : answers) ASSERT_TRUE(*answer) << answer->error().message;
  EXPECT_LE(bench.engine().entry_writes() - writes_before, 2u)
      << "one began at once, one took all the others";
  for (std::uint32_t i = 1; i < clients; ++i)
    EXPECT_EQ((*answers[i])->sequence, (*answers[i - 1])->sequence + 1) << "each has a sequence of its own";
  EXPECT_EQ(dataplane.denies("11.0.0.0"), "bans");
  EXPECT_EQ(dataplane.denies("11.0.0.99"), "bans");
}

TEST_F(EngineEntries, of_a_refused_request_leave_those_beside_it_alone) {
  Answer first, refused, absent, good;
  bench.engine().add("bans", hosts(0x0B000000, 1), into(first)); // its write is under way
  auto guarded = hosts(0x0B000010, 2);
  guarded.push_back({.prefix = parse_prefix("192.0.2.7").value(), .ttl_s = {}, .comment = {}});
  bench.engine().add("bans", guarded, into(refused));
  bench.engine().remove("bans", {parse_prefix("11.0.0.0").value(), parse_prefix("11.0.0.1").value()},
                        into(absent));
  bench.engine().add("bans", hosts(0x0B000020, 1), into(good));
  ASSERT_TRUE(bench.run_until([&] { return first && refused && absent && good; }));
  ASSERT_TRUE(*first && *good);
  ASSERT_FALSE(*refused);
  EXPECT_EQ(refused->error().code, Errc::refused);
  ASSERT_FALSE(*absent);
  EXPECT_EQ(absent->error().code, Errc::not_found);
  EXPECT_EQ(dataplane.denies("11.0.0.0"), "bans") << "the removal took nothing";
  EXPECT_EQ(dataplane.denies("11.0.0.16"), "");
  EXPECT_EQ(dataplane.denies("11.0.0.32"), "bans");
  EXPECT_EQ(bench.engine().dynamic().counts().total(), 2u);
}

TEST_F(EngineEntries, added_and_deleted_in_one_breath_keep_their_order) {
  Answer begun, added, deleted, again;
  bench.engine().add("bans", hosts(0x0B0000FF, 1), into(begun)); // its write is under way
  bench.engine().add("bans", hosts(0x0B000000, 1), into(added));
  bench.engine().remove("bans", {parse_prefix("11.0.0.0").value()}, into(deleted));
  bench.engine().add("bans", hosts(0x0B000000, 1), into(again));
  ASSERT_TRUE(bench.run_until([&] { return added && deleted && again; }));
  ASSERT_TRUE(*added && *deleted && *again);
  EXPECT_EQ((*deleted)->deleted, 1u);
  EXPECT_EQ((*again)->added, 1u);
  EXPECT_EQ(dataplane.denies("11.0.0.0"), "bans");
}

TEST_F(EngineEntries, of_a_large_request_are_taken_in_slices_with_turns_for_others_in_between) {
  constexpr std::uint32_t count = 40'000;
  Answer answer;
  bench.engine().add("bans", hosts(0x0B000000, count), into(answer));
  unsigned turns_of_others = 0;
  while (!answer) {
    bench.loop().post([&turns_of_others] { ++turns_of_others; });
    bench.loop().turn(std::chrono::milliseconds(1));
    ASSERT_LT(turns_of_others, 1'000'000u);
  }
  ASSERT_TRUE(*answer) << answer->error().message;
  EXPECT_EQ((*answer)->added, count);
  EXPECT_GT(turns_of_others, 30u);
  EXPECT_EQ(dataplane.denies("11.0.0.0"), "bans");
  EXPECT_EQ(dataplane.denies("11.0.156.63"), "bans") << "number 39,999";
  EXPECT_EQ(dataplane.denies("11.0.156.64"), "");
}

TEST_F(EngineEntries, of_a_large_request_are_all_refused_for_one_of_them) {
  Answer refused, absent;
  auto entries = hosts(0x0B000000, 5000);
  entries.push_back({.prefix = parse_prefix("192.0.2.7").value(), .ttl_s = {}, .comment = {}});
  bench.engine().add("bans", entries, into(refused));
  std::vector<Prefix> prefixes;
  for (const NewEntry &entry : hosts(0x0B000000, 5000)) prefixes.push_back(entry.prefix);
  bench.engine().remove("bans", prefixes, into(absent));
  ASSERT_TRUE(bench.run_until([&] { return refused && absent; }));
  ASSERT_FALSE(*refused);
  EXPECT_NE(refused->error().message.find("192.0.2.7"), std::string::npos);
  ASSERT_FALSE(*absent);
  EXPECT_LT(absent->error().message.size(), 20'000u) << "a sentence for each of the first hundred";
  EXPECT_EQ(bench.engine().dynamic().counts().total(), 0u);
  ASSERT_TRUE(bench.add("bans", "11.0.0.1")) << "the line goes on";
}

TEST_F(EngineEntries, under_way_while_rules_are_applied_are_all_in_force_afterwards) {
  constexpr std::uint32_t count = 20'000;
  Answer large;
  std::optional<Result<ChangeDone>> applied;
  bench.engine().add("bans", hosts(0x0B000000, count), into(large));
  bench.engine().apply({}, 0, true, [&](Result<ChangeDone> done) { applied = std::move(done); });
  std::vector<Answer> others(50);
  for (std::uint32_t i = 0; i < others.size(); ++i)
    bench.engine().add("bans", hosts(0x0C000000 + i, 1), into(others[i]));
  ASSERT_TRUE(bench.run_until([&] {
    return large && applied && std::ranges::all_of(others, [](const Answer &one) { return one.has_value(); });
  }));
  ASSERT_TRUE(*large && *applied);
  ASSERT_TRUE(bench.run_until_live());
  EXPECT_EQ(dataplane.denies("11.0.0.0"), "bans");
  EXPECT_EQ(dataplane.denies("11.0.78.31"), "bans") << "number 19,999";
  for (std::uint32_t i = 0; i < others.size(); ++i)
    EXPECT_EQ(dataplane.denies(fmt::format("12.0.0.{}", i)), "bans") << i;
}

TEST_F(EngineEntries, acknowledged_in_groups_are_all_there_after_a_restart) {
  std::vector<Answer> answers(60);
  for (std::uint32_t i = 0; i < answers.size(); ++i)
    bench.engine().add("bans", hosts(0x0B000000 + 4 * i, 3), into(answers[i]));
  ASSERT_TRUE(bench.run_until(
      [&] { return std::ranges::all_of(answers, [](const Answer &answer) { return answer.has_value(); }); }));
  bench.restart();
  EXPECT_EQ(bench.engine().dynamic().counts().total(), 3 * answers.size());
}

} // namespace
} // namespace weir::control::engine_entries_test
