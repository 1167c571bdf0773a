// The control plane lives from the stacked filter: sources denied in error are let through, and an image that
// does not do what was planned is followed by another.
#include "tests/support/engine_bench.hpp"
#include "tests/support/fake_dataplane.hpp"
#include "tests/support/seed.hpp"
#include "weir/key/text.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <nlohmann/json.hpp>

#include <random>

namespace weir::control::engine_deny_test {
namespace {

using test::EngineBench;
using test::FakeDataplane;

std::string yaml(const std::string &more, unsigned hosts) {
  std::string entries;
  for (unsigned i = 0; i < hosts; ++i)
    entries += fmt::format("{}11.0.{}.{}", i == 0 ? "" : ", ", i / 200, i % 200);
  return "version: 1\n" + more + "lists: [{name: hosts, action: deny, entries: [" + entries +
         "]}, {name: nets, action: deny, entries: [12.0.0.0/8]}, {name: bans, action: deny, dynamic: "
         "true}]\n";
}

wire::Sample sample(const std::string &address, std::uint16_t flags) {
  wire::Sample s;
  const Address a = parse_address(address).value();
  s.address = a.bytes;
  s.family = a.family;
  s.flags = flags;
  if (flags == wire::sample_by_default) return s;
  s.kind = wire::SampleKind::denied;
  s.list = compact_list;
  s.one_in = 1;
  return s;
}

class EngineDeny : public testing::Test {
protected:
  explicit EngineDeny(const std::string &more = "mode: {compact: {judge: stacked}}\nreplan: {interval: 1s}\n",
                      unsigned hosts = 600)
      : bench(yaml(more, hosts)), dataplane(bench.socket()) {
    EXPECT_TRUE(bench.run_until_live());
    images = dataplane.stages();
  }
  void wait_for(std::chrono::milliseconds time) {
    const auto end = push::Clock::now() + time;
    (void)bench.run_until([&] { return push::Clock::now() > end; });
  }
  // `known` questions from four hot sources, the rest from strangers.
  void ask(unsigned questions, unsigned known, const char *net = "11.0.200") {
    std::vector<wire::Sample> samples;
    for (unsigned i = 0; i < questions; ++i)
      samples.push_back(sample(i < known ? fmt::format("{}.{}", net, i % 4)
                                         : fmt::format("11.0.{}.{}", 210 + i / 200, i % 200),
                               wire::sample_by_default));
    dataplane.send(samples);
    const std::uint64_t before = bench.engine().deny_watch().samples();
    ASSERT_TRUE(bench.run_until([&] { return bench.engine().deny_watch().samples() == before + questions; }));
  }
  [[nodiscard]] nlohmann::json plan() {
    return nlohmann::json::parse(bench.engine().live_record().plan_json, nullptr, false);
  }
  [[nodiscard]] std::string built_for() { return plan().value("built_for", ""); }

  EngineBench bench;
  FakeDataplane dataplane;
  std::uint64_t images = 0;
};

TEST_F(EngineDeny, compact_mode_denies_hosts_without_a_table_and_prefixes_with_one) {
  EXPECT_EQ(dataplane.denies("11.0.1.7"), "compact");
  EXPECT_EQ(dataplane.denies("12.3.4.5"), "nets");
  const auto live = plan();
  EXPECT_EQ(live.at("deny_filter").at("chosen"), "stacked");
  EXPECT_EQ(live.at("deny_filter").at("layers").size(), 1u) << "nothing is known of the traffic";
  EXPECT_GT(live.at("deny_filter").at("built").at("bytes").get<std::uint64_t>(), 0u);
  EXPECT_GT(live.at("planned_at").get<std::uint64_t>(), 0u);
}

TEST_F(EngineDeny,
       a_source_denied_in_error_is_let_through_at_second_sight_and_one_that_a_rule_denies_is_not) {
  ASSERT_TRUE(bench.add("bans", "13.0.0.1"));
  const auto seen = [&](std::uint16_t flags, std::initializer_list<const char *> addresses) {
    std::vector<wire::Sample> samples;
    for (const char *address : addresses) samples.push_back(sample(address, flags));
    dataplane.send(samples);
  };
  seen(wire::sample_by_stack, {"80.0.0.1", "11.0.1.7", "12.3.4.5", "13.0.0.1"});
  seen(0, {"80.0.0.2"});
  wait_for(std::chrono::milliseconds(100));
  EXPECT_TRUE(dataplane.relieved().empty()) << "spoofed sources come once";
  seen(wire::sample_by_stack, {"80.0.0.1", "11.0.1.7", "12.3.4.5", "13.0.0.1"});
  ASSERT_TRUE(bench.run_until([&] { return dataplane.relieved().size() == 1; }));
  EXPECT_EQ(to_string(dataplane.relieved()[0]), "80.0.0.1");
  seen(wire::sample_again, {"80.0.0.2", "80.0.0.3", "11.0.1.7", "12.3.4.5", "13.0.0.1"});
  ASSERT_TRUE(bench.run_until([&] { return dataplane.relieved().size() == 3; }));
  EXPECT_EQ(to_string(dataplane.relieved()[1]), "80.0.0.2");
  EXPECT_EQ(to_string(dataplane.relieved()[2]), "80.0.0.3") << "a worker had met it before";
  seen(wire::sample_by_stack, {"80.0.0.1"});
  wait_for(std::chrono::milliseconds(100));
  EXPECT_EQ(dataplane.relieved().size(), 3u) << "not again within a second";
  EXPECT_EQ(bench.engine().deny_watch().wrongly_denied(), 3u);
}

// What the class map called a packet that no rule denies; counters of a dataplane that starts again begin at nothing.
TEST_F(EngineDeny, errors_are_counted_by_the_list_that_was_named_and_of_the_run_that_counts) {
  const auto named_hosts = [](const char *address) {
    wire::Sample one = sample(address, wire::sample_by_stack);
    one.list = 0; // hosts
    one.one_in = 64;
    return one;
  };
  const auto in_error = [&] { return bench.engine().relief().denied_in_error(); };
  EXPECT_THAT(in_error(), testing::IsEmpty());
  dataplane.send({named_hosts("80.0.0.1"), named_hosts("80.0.0.2"), named_hosts("11.0.1.7")});
  ASSERT_TRUE(bench.run_until([&] { return !in_error().empty(); }));
  EXPECT_THAT(in_error(), testing::ElementsAre(testing::Pair(ListId(0), 128))) << "a rule denies 11.0.1.7";
  dataplane.restart();
  ASSERT_TRUE(bench.run_until([&] { return in_error().empty(); }));
  ASSERT_TRUE(bench.run_until_live());
  EXPECT_THAT(in_error(), testing::IsEmpty()) << "before the first sample, too";
  dataplane.send({named_hosts("80.0.0.3")});
  ASSERT_TRUE(bench.run_until([&] { return !in_error().empty(); }));
  EXPECT_THAT(in_error(), testing::ElementsAre(testing::Pair(ListId(0), 64)));
}

TEST_F(EngineDeny, a_flood_of_samples_to_check_keeps_nobody_waiting) {
  const std::uint64_t seed = test::seed_or(41);
  WEIR_TRACE_SEED(seed);
  std::mt19937_64 random(seed);
  std::vector<wire::Sample> samples(1024, sample("80.0.0.1", wire::sample_by_stack));
  for (unsigned message = 0; message < 60; ++message) {
    for (wire::Sample &one : samples)
      one.address = Address::from_host(0x50000000 + static_cast<std::uint32_t>(random() >> 40)).bytes;
    dataplane.send(samples);
    const auto before = push::Clock::now();
    wait_for(std::chrono::milliseconds(1));
    EXPECT_LT(push::Clock::now() - before, std::chrono::milliseconds(500)) << "message " << message;
  }
  ASSERT_TRUE(bench.add("bans", "13.0.0.1"));
  EXPECT_NE(dataplane.denies("13.0.0.1"), "");
  EXPECT_LT(dataplane.relieved().size(), 1000u) << "they came once each";
}

TEST_F(EngineDeny, what_is_learned_of_the_traffic_goes_into_the_next_image_after_the_interval) {
  ask(600, 500);
  EXPECT_EQ(dataplane.stages(), images) << "not within the interval";
  ASSERT_TRUE(bench.run_until([&] { return dataplane.stages() == images + 1; }));
  ASSERT_TRUE(bench.run_until_live());
  EXPECT_NE(built_for().find("more is known of the traffic: 600 samples"), std::string::npos) << built_for();
  const auto filter = plan().at("deny_filter");
  EXPECT_EQ(filter.at("samples"), 600);
  EXPECT_GT(filter.at("advice").at("psi").get<double>(), 0.5);
  EXPECT_EQ(bench.engine().live_record().cause, "first load") << "the rules are those that it brought";
}

TEST_F(EngineDeny, a_judge_that_errs_beyond_the_band_is_built_anew_and_generations_say_why) {
  std::vector<wire::Sample> checked;
  for (unsigned i = 0; i < 100; ++i)
    checked.push_back(sample(fmt::format("82.0.0.{}", i), wire::sample_by_stack));
  dataplane.send(checked);
  dataplane.stack_did({.asked = 10'000, .accepted = 100, .false_accepted = 0, .denied = 100});
  ASSERT_TRUE(bench.run_until([&] { return dataplane.stages() == images + 1; }));
  ASSERT_TRUE(bench.run_until_live());
  EXPECT_NE(
      built_for().find("the stacked filter erred in 1 % of the questions that no list answers (100 errors"),
      std::string::npos)
      << built_for();
  for (const auto &source : {"82.0.0.0", "82.0.0.99"})
    EXPECT_EQ(dataplane.denies(source), "") << "with another seed it is hit hardly ever";
}

TEST_F(EngineDeny, is_planned_anew_on_request) {
  std::optional<Result<ChangeDone>> done;
  bench.engine().replan([&](Result<ChangeDone> result) { done = std::move(result); });
  ASSERT_TRUE(bench.run_until([&] { return done.has_value(); }));
  ASSERT_TRUE(*done) << done->error().message;
  EXPECT_EQ(built_for(), "plan: asked for");
  EXPECT_GT(dataplane.generation(), 1u);
}

TEST_F(EngineDeny, a_configuration_that_leaves_too_little_memory_is_refused_and_the_rules_stay) {
  const std::uint64_t generation = dataplane.generation();
  std::string entries;
  for (unsigned i = 0; i < 20'000; ++i) entries += fmt::format("14.{}.{}.{}\n", i / 40'000, i / 200, i % 200);
  bench.write_list("more.txt", entries);
  bench.configure(
      "version: 1\nmode: {compact: {memory: 4KiB}}\nlists: [{name: more, action: deny, file: more.txt}]\n");
  const auto applied = bench.apply();
  ASSERT_FALSE(applied);
  EXPECT_NE(applied.error().message.find("mode.compact.memory: 4.0 KiB is too little"), std::string::npos)
      << applied.error().message;
  EXPECT_EQ(dataplane.generation(), generation);
  EXPECT_EQ(dataplane.denies("11.0.1.7"), "compact");
  EXPECT_EQ(dataplane.denies("14.0.0.1"), "");
}

class EngineDenyKnown : public EngineDeny {
protected:
  EngineDenyKnown()
      : EngineDeny("mode: {compact: {judge: stacked, false_positive_budget: 1e-3, unknown_budget: 0.2, "
                   "memory: 6KiB}}\n"
                   "replan: {interval: 1s}\n",
                   8000) {}
  [[nodiscard]] std::size_t told(const char *source) const {
    const std::vector<Address> all = dataplane.relieved();
    return static_cast<std::size_t>(std::ranges::count(all, parse_address(source).value()));
  }
};

TEST_F(EngineDenyKnown, sources_that_a_judge_knows_are_asked_again_when_hosts_have_joined_it) {
  ask(2400, 2000);
  ASSERT_TRUE(bench.run_until([&] { return dataplane.stages() == images + 1; }));
  ASSERT_TRUE(bench.run_until_live());
  ASSERT_GE(plan().at("deny_filter").at("layers").size(), 3u) << plan().dump();
  ASSERT_TRUE(bench.run_until([&] { return told("11.0.200.3") > 0; })) << "what came while it was built";
  const std::size_t before = told("11.0.200.3");
  ASSERT_TRUE(bench.add("bans", "13.0.0.1"));
  ASSERT_TRUE(bench.run_until([&] { return told("11.0.200.3") > before; }));
  EXPECT_EQ(told("13.0.0.1"), 0u);
  ASSERT_TRUE(bench.add("bans", "11.0.200.1"));
  const std::size_t of_banned = told("11.0.200.1"), of_other = told("11.0.200.3");
  ASSERT_TRUE(bench.run_until([&] { return told("11.0.200.3") > of_other; }));
  EXPECT_EQ(told("11.0.200.1"), of_banned) << "a rule denies it now";
}

// Of forms that never change: what is added and removed stands in the overlay, and when that fills comes another image.
class EngineDenyStatic : public EngineDeny, public testing::WithParamInterface<const char *> {
protected:
  EngineDenyStatic()
      : EngineDeny(fmt::format("mode: {{compact: {{judge: {}}}}}\nreplan: {{interval: 1s}}\n", GetParam()),
                   600) {}
};

TEST_P(EngineDenyStatic, serves_lists_that_are_dynamic_and_is_rebuilt_when_the_overlay_fills) {
  EXPECT_EQ(plan().at("deny_filter").at("chosen"), GetParam());
  EXPECT_EQ(dataplane.denies("11.0.1.7"), "compact");
  ASSERT_TRUE(bench.add("bans", "13.0.0.1"));
  EXPECT_EQ(dataplane.denies("13.0.0.1"), "bans") << "of the overlay, which knows the list";
  unsigned added = 0;
  while (dataplane.stages() == images && added < 6000) {
    ASSERT_TRUE(bench.add("bans", fmt::format("13.1.{}.{}", added / 200, added % 200)));
    ++added;
  }
  ASSERT_TRUE(bench.run_until([&] { return dataplane.stages() > images; })) << added << " additions";
  ASSERT_TRUE(bench.run_until_live());
  // Half of the overlay was seen to be full, or an addition found no room before anybody looked.
  EXPECT_THAT(built_for(), testing::AnyOf(testing::HasSubstr("the overlay of"),
                                          testing::HasSubstr("the live image is full")));
  EXPECT_GT(plan().at("deny_filter").at("keys").get<unsigned>(), 600u);
  EXPECT_EQ(dataplane.denies("13.0.0.1"), "compact") << "it is a key now";
}

INSTANTIATE_TEST_SUITE_P(Judges, EngineDenyStatic, testing::Values("chained_and", "fuse"),
                         [](const auto &judge) { return std::string(judge.param); });

// In front of the tables it errs by itself, and nobody is hit.
class EngineDenyFront : public EngineDeny {
protected:
  EngineDenyFront() : EngineDeny("front_filter: stacked\nreplan: {interval: 1s}\n", 8000) {}
};

TEST_F(EngineDenyFront, stands_in_front_of_the_tables_and_is_replanned_on_its_rate) {
  EXPECT_EQ(dataplane.denies("11.0.1.7"), "hosts") << "the table names the list";
  EXPECT_EQ(plan().at("front_filter"), "stacked");
  dataplane.stack_did({.asked = 1'000'000, .accepted = 400'000, .false_accepted = 400'000, .denied = 0});
  ASSERT_TRUE(bench.run_until([&] { return dataplane.stages() == images + 1; }));
  ASSERT_TRUE(bench.run_until_live());
  EXPECT_NE(built_for().find("the stacked filter erred in 40 %"), std::string::npos) << built_for();
}

TEST_F(EngineDenyFront, follows_a_shift_of_the_traffic) {
  ask(2400, 2000);
  ASSERT_TRUE(bench.run_until([&] { return dataplane.stages() == images + 1; }));
  ASSERT_TRUE(bench.run_until_live());
  ASSERT_GT(plan().at("deny_filter").at("hot").get<unsigned>(), 0u);
  ask(2400, 2000, "11.0.201");
  ASSERT_TRUE(bench.run_until([&] { return dataplane.stages() == images + 2; }));
  ASSERT_TRUE(bench.run_until_live());
  EXPECT_NE(built_for().find("the traffic has shifted: known sources ask 0 %"), std::string::npos)
      << built_for();
  EXPECT_GT(plan().at("deny_filter").at("predicted").at("psi").get<double>(), 0.7) << "of the new sources";
}

TEST_F(EngineDeny, what_was_learned_of_the_traffic_survives_a_restart) {
  ask(400, 300);
  const workload::Negatives before = bench.engine().deny_watch().look();
  bench.engine().save_traffic();
  bench.restart();
  const workload::Negatives after = bench.engine().deny_watch().look();
  EXPECT_EQ(after.total, before.total);
  EXPECT_DOUBLE_EQ(after.psi(4), before.psi(4));
  ASSERT_FALSE(after.hottest.empty());
  EXPECT_EQ(after.hottest.front().address, before.hottest.front().address);
}

} // namespace
} // namespace weir::control::engine_deny_test
