// Control against a dataplane that refuses, hangs up and forgets.
#include "tests/support/engine_bench.hpp"
#include "tests/support/fake_dataplane.hpp"
#include "tests/support/seed.hpp"

#include <atomic>
#include <random>

namespace weir::control::push_test {
namespace {

using test::EngineBench;
using test::FakeDataplane;
using Reaction = FakeDataplane::Reaction;
using Seen = FakeDataplane::Seen;

constexpr const char *two_lists = "version: 1\n"
                                  "lists:\n"
                                  "- {name: base, action: deny, entries: [198.51.100.0/24]}\n"
                                  "- {name: bans, action: deny, dynamic: true}\n";

std::string address_of(std::uint32_t i) { return to_string(Address::from_host(0x0A000000 + i)); }

// Refuses the first message that `of` picks, once.
FakeDataplane::Hook refuse_once(std::function<bool(const Seen &)> of, Errc code) {
  auto done = std::make_shared<std::atomic<bool>>(false);
  return [of = std::move(of), code, done](const Seen &seen) -> Reaction {
    if (!of(seen) || done->exchange(true)) return {};
    return {.act = FakeDataplane::Act::answer, .refuse = Error{code, "as the test wants it"}};
  };
}
bool is_live_delta(const Seen &seen) {
  return seen.type == wire::Type::deltas && seen.target == wire::Target::live;
}
bool is_staged_delta(const Seen &seen) {
  return seen.type == wire::Type::deltas && seen.target == wire::Target::staged;
}

TEST(Push, the_first_load_is_live_as_soon_as_a_dataplane_connects) {
  EngineBench bench(two_lists);
  ASSERT_TRUE(bench.run_until([&] { return bench.engine().live_record().id == 1; }));
  FakeDataplane dataplane(bench.socket());
  ASSERT_TRUE(bench.run_until_live());
  EXPECT_EQ(dataplane.generation(), 1u);
  EXPECT_EQ(dataplane.denies("198.51.100.7"), "base");
  EXPECT_EQ(dataplane.denies("198.51.101.7"), "");
}

TEST(Push, an_added_entry_is_in_force_when_the_answer_comes) {
  EngineBench bench(two_lists);
  FakeDataplane dataplane(bench.socket());
  ASSERT_TRUE(bench.run_until_live());
  const auto added = bench.add("bans", "203.0.113.9");
  ASSERT_TRUE(added);
  EXPECT_TRUE(added->in_force);
  EXPECT_EQ(added->sequence, 1u);
  EXPECT_EQ(dataplane.denies("203.0.113.9"), "bans");
  ASSERT_TRUE(bench.remove("bans", "203.0.113.9"));
  EXPECT_EQ(dataplane.denies("203.0.113.9"), "");
  EXPECT_EQ(dataplane.stages(), 1u);
}

TEST(Push, an_entry_in_two_lists_survives_removal_from_one) {
  EngineBench bench(two_lists);
  FakeDataplane dataplane(bench.socket());
  ASSERT_TRUE(bench.run_until_live());
  ASSERT_TRUE(bench.add("bans", "198.51.100.0/24"));
  EXPECT_EQ(dataplane.denies("198.51.100.7"), "base") << "the first list names it";
  ASSERT_TRUE(bench.remove("bans", "198.51.100.0/24"));
  EXPECT_EQ(dataplane.denies("198.51.100.7"), "base");
}

TEST(Push, a_restarted_control_streams_only_what_is_missing) {
  EngineBench bench(two_lists);
  FakeDataplane dataplane(bench.socket());
  ASSERT_TRUE(bench.run_until_live());
  ASSERT_TRUE(bench.add("bans", "203.0.113.1"));
  bench.restart();
  ASSERT_TRUE(bench.run_until_live());
  ASSERT_TRUE(bench.add("bans", "203.0.113.2"));
  EXPECT_EQ(dataplane.stages(), 1u);
  EXPECT_EQ(dataplane.denies("203.0.113.1"), "bans");
  EXPECT_EQ(dataplane.denies("203.0.113.2"), "bans");
}

TEST(Push, what_was_stored_without_a_dataplane_is_streamed_when_it_is_back) {
  EngineBench bench(two_lists);
  auto dataplane = std::make_unique<FakeDataplane>(bench.socket());
  ASSERT_TRUE(bench.run_until_live());
  dataplane->set_hook(
      [](const Seen &) { return Reaction{.act = FakeDataplane::Act::hang_up, .refuse = {}}; });
  const auto added = bench.add("bans", "203.0.113.1");
  ASSERT_TRUE(added);
  EXPECT_FALSE(added->in_force);
  EXPECT_FALSE(added->note.empty());
  dataplane->set_hook({});
  ASSERT_TRUE(bench.run_until([&] { return dataplane->sequence() == 1; }));
  EXPECT_EQ(dataplane->denies("203.0.113.1"), "bans");
  EXPECT_EQ(dataplane->stages(), 1u);
}

TEST(Push, an_entry_is_answered_at_once_while_every_image_is_refused_and_in_force_later) {
  EngineBench bench(two_lists);
  FakeDataplane dataplane(bench.socket());
  ASSERT_TRUE(bench.run_until_live());
  dataplane.set_hook([](const Seen &seen) {
    if (seen.type == wire::Type::stage)
      return Reaction{.act = FakeDataplane::Act::answer,
                      .refuse = Error{Errc::bad_image, "it is not to its taste"}};
    if (seen.type == wire::Type::deltas)
      return Reaction{.act = FakeDataplane::Act::answer, .refuse = Error{Errc::needs_rebuild, "it is full"}};
    return Reaction();
  });
  for (const char *prefix : {"203.0.113.1", "203.0.113.2"}) { // before the first image is refused, and after
    const auto added = bench.add("bans", prefix);
    ASSERT_TRUE(added) << added.error().message;
    EXPECT_FALSE(added->in_force);
    EXPECT_NE(added->note.find("not to its taste"), std::string::npos) << added->note;
  }
  dataplane.set_hook({});
  ASSERT_TRUE(bench.run_until([&] { return dataplane.denies("203.0.113.2") == "bans"; }));
  const auto added = bench.add("bans", "203.0.113.3");
  ASSERT_TRUE(added);
  EXPECT_TRUE(added->in_force);
}

TEST(Push, a_dataplane_that_lost_its_image_gets_the_same_generation_again) {
  EngineBench bench(two_lists);
  FakeDataplane dataplane(bench.socket());
  ASSERT_TRUE(bench.run_until_live());
  ASSERT_TRUE(bench.add("bans", "203.0.113.1"));
  dataplane.forget();
  dataplane.hang_up();
  ASSERT_TRUE(bench.run_until([&] { return dataplane.generation() == 1; }));
  EXPECT_EQ(dataplane.stages(), 2u);
  EXPECT_EQ(dataplane.denies("203.0.113.1"), "bans");
}

TEST(Push, an_image_of_another_store_is_replaced) {
  EngineBench bench(two_lists);
  FakeDataplane dataplane(bench.socket());
  ASSERT_TRUE(bench.run_until_live());
  image::StoreId other{};
  other.fill(7);
  dataplane.pretend(other, 1);
  dataplane.hang_up();
  ASSERT_TRUE(bench.run_until([&] { return dataplane.stages() == 2 && dataplane.generation() > 1; }));
  EXPECT_EQ(dataplane.denies("198.51.100.7"), "base");
}

TEST(Push, a_generation_that_was_never_recorded_is_replaced_by_a_later_number) {
  EngineBench bench(two_lists);
  FakeDataplane dataplane(bench.socket());
  ASSERT_TRUE(bench.run_until_live());
  dataplane.pretend(bench.engine().store().id(), 9);
  dataplane.hang_up();
  ASSERT_TRUE(bench.run_until([&] { return dataplane.stages() == 2 && dataplane.generation() > 9; }));
  ASSERT_TRUE(bench.run_until_live());
  EXPECT_EQ(bench.engine().live_record().id, dataplane.generation());
  EXPECT_EQ(bench.engine().store().generations()->size(), 1u) << "the same rules are one generation";
}

TEST(Push, a_dataplane_that_saw_more_than_the_store_knows_is_brought_back_to_the_store) {
  EngineBench bench(two_lists);
  FakeDataplane dataplane(bench.socket());
  ASSERT_TRUE(bench.run_until_live());
  ASSERT_TRUE(bench.add("bans", "203.0.113.1"));
  dataplane.pretend(bench.engine().store().id(), 1, 500);
  dataplane.hang_up();
  ASSERT_TRUE(bench.run_until([&] { return dataplane.stages() == 2; }));
  ASSERT_TRUE(bench.run_until_live());
  const auto added = bench.add("bans", "203.0.113.2");
  ASSERT_TRUE(added && added->in_force);
  EXPECT_EQ(added->sequence, 501u);
  EXPECT_EQ(dataplane.denies("203.0.113.1"), "bans");
  EXPECT_EQ(dataplane.denies("203.0.113.2"), "bans");
}

TEST(Push, a_trimmed_log_means_a_whole_image) {
  EngineBench bench(two_lists, {.log_entries_max = 16});
  FakeDataplane dataplane(bench.socket());
  ASSERT_TRUE(bench.run_until_live());
  dataplane.set_hook([](const Seen &) { return Reaction{.act = FakeDataplane::Act::hang_up, .refuse = {}}; });
  for (std::uint32_t i = 0; i < 60; ++i) ASSERT_TRUE(bench.add("bans", address_of(i)));
  dataplane.set_hook({});
  ASSERT_TRUE(bench.run_until([&] { return dataplane.sequence() == 60; }));
  // An image that was begun between two additions falls behind the log in its turn, and a third replaces it.
  EXPECT_GE(dataplane.stages(), 2u);
  for (std::uint32_t i = 0; i < 60; ++i) EXPECT_EQ(dataplane.denies(address_of(i)), "bans");
}

TEST(Push, a_full_live_image_is_rebuilt_and_the_waiting_add_is_answered_in_force) {
  EngineBench bench(two_lists);
  FakeDataplane dataplane(bench.socket());
  ASSERT_TRUE(bench.run_until_live());
  dataplane.set_hook(refuse_once(is_live_delta, Errc::needs_rebuild));
  const auto added = bench.add("bans", "203.0.113.1");
  ASSERT_TRUE(added);
  EXPECT_TRUE(added->in_force);
  EXPECT_EQ(dataplane.denies("203.0.113.1"), "bans");
  EXPECT_EQ(dataplane.stages(), 2u);
  EXPECT_EQ(dataplane.generation(), 2u);
}

TEST(Push, a_change_out_of_order_ends_in_a_whole_image) {
  EngineBench bench(two_lists);
  FakeDataplane dataplane(bench.socket());
  ASSERT_TRUE(bench.run_until_live());
  dataplane.set_hook(refuse_once(is_live_delta, Errc::bad_sequence));
  const auto added = bench.add("bans", "203.0.113.1");
  ASSERT_TRUE(added);
  EXPECT_TRUE(added->in_force);
  EXPECT_EQ(dataplane.stages(), 2u);
}

TEST(Push, a_refused_image_fails_the_apply_and_the_running_rules_stay) {
  EngineBench bench(two_lists);
  FakeDataplane dataplane(bench.socket());
  ASSERT_TRUE(bench.run_until_live());
  dataplane.set_hook(
      refuse_once([](const Seen &seen) { return seen.type == wire::Type::stage; }, Errc::bad_image));
  bench.configure("version: 1\nlists:\n- {name: base, action: deny, entries: [192.0.2.0/24]}\n");
  const auto applied = bench.apply();
  ASSERT_FALSE(applied);
  EXPECT_EQ(applied.error().code, Errc::bad_image);
  EXPECT_EQ(dataplane.generation(), 1u);
  EXPECT_EQ(dataplane.denies("198.51.100.7"), "base");
  EXPECT_EQ(bench.engine().live_record().id, 1u);
  ASSERT_TRUE(bench.apply());
  EXPECT_EQ(dataplane.denies("198.51.100.7"), "");
}

TEST(Push, a_staged_image_that_is_refused_changes_is_built_again) {
  for (const Errc code : {Errc::needs_rebuild, Errc::bad_sequence}) {
    EngineBench bench(two_lists);
    FakeDataplane dataplane(bench.socket());
    ASSERT_TRUE(bench.run_until_live());
    dataplane.set_hook(refuse_once(is_staged_delta, code));
    bool applied = false, added = false;
    bench.engine().apply({}, 0, false, [&](const Result<ChangeDone> &done) { applied = done.has_value(); });
    // While the image is built: the staged stream has something to carry.
    bench.loop().post([&] {
      bench.engine().add("bans", {{parse_prefix("203.0.113.1").value(), {}, ""}},
                         [&](const Result<EntriesDone> &done) { added = done && done->in_force; });
    });
    ASSERT_TRUE(bench.run_until([&] { return applied && added; }));
    EXPECT_EQ(dataplane.denies("203.0.113.1"), "bans");
    EXPECT_EQ(dataplane.generation(), bench.engine().live_record().id);
  }
}

TEST(Push, a_dataplane_that_goes_in_the_middle_of_a_stage_is_brought_to_the_new_rules_later) {
  EngineBench bench(two_lists);
  FakeDataplane dataplane(bench.socket());
  ASSERT_TRUE(bench.run_until_live());
  std::atomic<bool> hung_up = false;
  dataplane.set_hook([&](const Seen &seen) -> Reaction {
    if (seen.type == wire::Type::commit && !hung_up.exchange(true))
      return {.act = FakeDataplane::Act::hang_up, .refuse = {}};
    return {};
  });
  bench.configure("version: 1\nlists:\n- {name: base, action: deny, entries: [192.0.2.0/24]}\n");
  const auto applied = bench.apply();
  ASSERT_TRUE(applied) << applied.error().message;
  EXPECT_FALSE(applied->in_force);
  ASSERT_TRUE(bench.run_until([&] { return dataplane.denies("192.0.2.1") == "base"; }));
  ASSERT_TRUE(bench.run_until_live());
  EXPECT_EQ(dataplane.generation(), bench.engine().live_record().id);
}

TEST(Push, acknowledged_adds_during_staged_swaps_are_never_missing) {
  const std::uint64_t seed = test::seed_or(17);
  WEIR_TRACE_SEED(seed);
  std::mt19937_64 random(seed);
  EngineBench bench(two_lists);
  FakeDataplane dataplane(bench.socket());
  ASSERT_TRUE(bench.run_until_live());
  unsigned swaps = 0;
  std::function<void()> swap_again = [&] {
    bench.engine().apply({}, 0, false, [&](const Result<ChangeDone> &done) {
      ASSERT_TRUE(done) << done.error().message;
      if (++swaps < 10) swap_again();
    });
  };
  swap_again();
  std::uint32_t acknowledged = 0, sent = 0;
  const auto send_some = [&] {
    for (unsigned burst = 1 + static_cast<unsigned>(random() % 4); burst > 0 && sent < 1000; --burst, ++sent)
      bench.engine().add("bans", {{parse_prefix(address_of(sent)).value(), {}, ""}},
                         [&, i = sent](const Result<EntriesDone> &done) {
                           ASSERT_TRUE(done && done->in_force);
                           EXPECT_EQ(dataplane.denies(address_of(i)), "bans");
                           ++acknowledged;
                         });
  };
  ASSERT_TRUE(bench.run_until(
      [&] {
        if (sent < 1000 && sent - acknowledged < 8) send_some();
        // An earlier one, at any moment, swaps included.
        if (acknowledged > 0) {
          const auto any = static_cast<std::uint32_t>(random() % acknowledged);
          EXPECT_EQ(dataplane.denies(address_of(any)), "bans");
        }
        return acknowledged == 1000 && swaps == 10;
      },
      std::chrono::seconds(120)));
  EXPECT_GE(dataplane.stages(), 11u) << "a full overlay may have asked for more";
}

} // namespace
} // namespace weir::control::push_test
