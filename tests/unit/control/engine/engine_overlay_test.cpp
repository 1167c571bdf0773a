// An overlay on its way to being full leads to a new image before it is.
#include "tests/support/engine_bench.hpp"
#include "tests/support/fake_dataplane.hpp"
#include "weir/key/text.hpp"

#include <fmt/format.h>

namespace weir::control::engine_overlay_test {
namespace {

using test::EngineBench;
using test::FakeDataplane;

class EngineOverlay : public testing::Test {
protected:
  EngineOverlay()
      : bench("version: 1\nlists: [{name: bans, action: deny, dynamic: true}, {name: a, action: deny, "
              "entries: [192.0.2.1]}]\n"),
        dataplane(bench.socket()) {
    EXPECT_TRUE(bench.run_until_live());
    images = dataplane.stages();
    generation = dataplane.generation();
  }

  void add_hosts(std::uint32_t from, std::uint32_t to) {
    std::vector<NewEntry> entries;
    for (std::uint32_t i = from; i < to; ++i)
      entries.push_back({to_prefix(Address::from_host(0x0B000000 + i)), std::nullopt, {}});
    bool done = false;
    bench.engine().add("bans", entries, [&](const Result<EntriesDone> &added) {
      EXPECT_TRUE(added && added->in_force);
      done = true;
    });
    ASSERT_TRUE(bench.run_until([&] { return done; }));
  }
  static Prefix to_prefix(const Address &address) {
    return {.address = address, .length = static_cast<std::uint8_t>(address_bits(address.family))};
  }
  void let_it_look() { // many times as long as it waits before it looks
    const auto end = push::Clock::now() + std::chrono::milliseconds(300);
    (void)bench.run_until([&] { return push::Clock::now() > end && bench.engine().doing().empty(); });
  }

  EngineBench bench;
  FakeDataplane dataplane;
  std::uint64_t images = 0, generation = 0;
};

// The smallest table takes close to 288 keys, its overlay 256.
TEST_F(EngineOverlay, an_overlay_more_than_half_full_is_built_into_a_new_image) {
  add_hosts(0, 450);
  ASSERT_TRUE(bench.run_until([&] { return dataplane.stages() == images + 1; }));
  ASSERT_TRUE(bench.run_until_live());
  EXPECT_GT(dataplane.generation(), generation);
  EXPECT_EQ(dataplane.denies("11.0.1.193"), "bans") << "the 449th";
  EXPECT_EQ(bench.engine().last_error().text, "");
  let_it_look();
  EXPECT_EQ(dataplane.stages(), images + 1) << "the new image's overlay is empty";
}

TEST_F(EngineOverlay, one_that_holds_little_is_left_alone) {
  add_hosts(0, 340);
  let_it_look();
  EXPECT_EQ(dataplane.stages(), images);
}

// A filter for three entries has room for 67 keys.
class EngineFilter : public testing::TestWithParam<const char *> {
protected:
  EngineFilter()
      : bench(std::string("version: 1\nallow: {filter: ") + GetParam() +
              "}\nlists: [{name: ops, action: allow, dynamic: true}, "
              "{name: desk, action: allow, entries: [192.0.2.1, 192.0.2.2, 192.0.2.3]}, "
              "{name: a, action: deny, entries: [10.0.0.0/8]}]\n"),
        dataplane(bench.socket()) {
    EXPECT_TRUE(bench.run_until_live());
    images = dataplane.stages();
  }

  Result<EntriesDone> change(const std::vector<std::string> &hosts, bool add) {
    std::optional<Result<EntriesDone>> result;
    const auto on_done = [&](Result<EntriesDone> done) { result.emplace(std::move(done)); };
    std::vector<NewEntry> entries;
    std::vector<Prefix> prefixes;
    for (const std::string &host : hosts) {
      prefixes.push_back(parse_prefix(host).value());
      entries.push_back({prefixes.back(), std::nullopt, {}});
    }
    if (add)
      bench.engine().add("ops", entries, on_done);
    else
      bench.engine().remove("ops", prefixes, on_done);
    EXPECT_TRUE(bench.run_until([&] { return result.has_value(); }));
    return std::move(*result);
  }
  static std::vector<std::string> hosts(unsigned count) {
    std::vector<std::string> all;
    for (unsigned i = 0; i < count; ++i) all.push_back(fmt::format("10.1.{}.{}", i / 200, i % 200));
    return all;
  }

  EngineBench bench;
  FakeDataplane dataplane;
  std::uint64_t images = 0;
};

TEST_P(EngineFilter, that_outgrows_its_plan_is_built_anew_and_larger) {
  ASSERT_TRUE(change(hosts(60), true));
  ASSERT_TRUE(change({"10.2.0.1"}, true));
  EXPECT_EQ(dataplane.stages(), images) << "63 and one keys fit";
  ASSERT_TRUE(change(hosts(100), true));
  ASSERT_TRUE(bench.run_until([&] { return dataplane.stages() == images + 1; }));
  ASSERT_TRUE(bench.run_until_live());
  const auto load = dataplane.allow_filter();
  ASSERT_TRUE(load);
  EXPECT_EQ(load->keys, 104u);
  EXPECT_GT(load->planned_keys, 104u);
  EXPECT_EQ(bench.engine().last_error().text, "");
}

// A filter of a page for three entries hardly ever errs.
TEST_P(EngineFilter, that_errs_more_often_than_planned_is_built_anew_and_generations_say_why) {
  dataplane.filter_did(1'000'000, 29);
  const auto end = push::Clock::now() + std::chrono::milliseconds(200);
  (void)bench.run_until([&] { return push::Clock::now() > end; });
  EXPECT_EQ(dataplane.stages(), images) << "29 may be bad luck";
  dataplane.filter_did(1'000'000, 5'000);
  ASSERT_TRUE(bench.run_until([&] { return dataplane.stages() == images + 1; }));
  ASSERT_TRUE(bench.run_until_live());
  const store::GenerationRecord &record = bench.engine().live_record();
  EXPECT_NE(record.plan_json.find("accepted 0.5 % of 1000000 questions about addresses that are not allowed"),
            std::string::npos)
      << record.plan_json;
  EXPECT_EQ(record.cause, "first load") << "the rules are those that it brought";
  dataplane.filter_did(1'000'000, 5'000);
  const auto later = push::Clock::now() + std::chrono::milliseconds(200);
  (void)bench.run_until([&] { return push::Clock::now() > later; });
  EXPECT_EQ(dataplane.stages(), images + 1) << "not again within a minute";
}

TEST_P(EngineFilter, learns_of_denied_addresses_that_become_hot_if_it_can_favour_some) {
  const Address hot = parse_address("10.7.7.7").value(), cold = parse_address("10.8.8.8").value();
  const auto see = [&](const Address &address, unsigned times) {
    wire::Sample sample;
    sample.kind = wire::SampleKind::denied;
    sample.family = address.family;
    sample.address = address.bytes;
    bench.engine().traffic().take(std::vector(times, sample));
  };
  see(hot, 7);
  see(cold, 2);
  const auto look = [&] {
    const auto end = push::Clock::now() + std::chrono::milliseconds(120);
    (void)bench.run_until([&] { return push::Clock::now() > end; });
  };
  look();
  EXPECT_TRUE(dataplane.guarded().empty()) << "seven samples may be chance";
  see(hot, 1);
  look();
  if (GetParam() != std::string("seesaw")) {
    EXPECT_TRUE(dataplane.guarded().empty());
    return;
  }
  EXPECT_EQ(dataplane.guarded(), std::vector<Address>{hot}) << "once, and no other";
  ASSERT_TRUE(bench.apply());
  look();
  EXPECT_EQ(dataplane.guarded().size(), 2u) << "a new filter is told again";
}

TEST_P(EngineFilter, never_hears_of_the_deletion_of_an_entry_that_is_not_there) {
  const std::uint64_t deltas = dataplane.deltas();
  const auto absent = change({"10.9.9.9"}, false);
  ASSERT_FALSE(absent);
  EXPECT_EQ(absent.error().code, Errc::not_found);
  EXPECT_FALSE(change({"192.0.2.1"}, false)) << "it stands in a list of the configuration, not in this one";
  ASSERT_TRUE(change({"10.2.0.1"}, true));
  EXPECT_FALSE(change({"10.2.0.1", "10.9.9.9"}, false)) << "one of two is absent: nothing is deleted";
  ASSERT_TRUE(change({"10.2.0.1", "10.2.0.1"}, false)) << "said twice, deleted once";
  EXPECT_FALSE(change({"10.2.0.1"}, false)) << "it is gone";
  EXPECT_EQ(dataplane.deltas(), deltas + 2) << "one addition and one deletion";
  EXPECT_EQ(dataplane.allow_filter()->keys, 3u);
}

TEST_P(EngineFilter, holds_a_key_of_two_lists_once_and_until_both_have_lost_it) {
  ASSERT_TRUE(change({"192.0.2.1"}, true)) << "also in a file";
  EXPECT_EQ(dataplane.allow_filter()->keys, 3u);
  ASSERT_TRUE(change({"192.0.2.1"}, false));
  EXPECT_EQ(dataplane.allow_filter()->keys, 3u);
  EXPECT_EQ(dataplane.list_of(Side::allow, "192.0.2.1"), "desk");
}

INSTANTIATE_TEST_SUITE_P(Kinds, EngineFilter, testing::Values("seesaw", "cuckoo", "stacked"),
                         [](const auto &kind) { return std::string(kind.param); });

} // namespace
} // namespace weir::control::engine_overlay_test
