// A burst behind the allow side's filter gives the answers of the tables, whenever it is asked and however
// often the filter is wrong.
#include "tests/support/allow_filter_kind.hpp"
#include "tests/support/image_memory.hpp"
#include "tests/support/seed.hpp"
#include "weir/lookup/burst_lookup.hpp"
#include "weir/lookup/kernels/choose.hpp"

#include <gtest/gtest.h>

#include <memory>
#include <random>
#include <string>
#include <vector>

namespace weir::allow_questions_test {
namespace {

enum class Shape : std::uint8_t { hosts_alone, prefixes_too };

struct AllowQuestionsCase {
  Confirm confirm;
  Shape shape;
  test::AllowFilterKind guard = test::AllowFilterKind::seesaw;
};

class Guarded : public testing::TestWithParam<AllowQuestionsCase> {
protected:
  const std::uint64_t seed = test::seed_or(91);
  std::mt19937_64 random{seed};
  std::vector<build::EntryV4> v4[2];
  std::vector<build::EntryV6> v6[2];

  // Few addresses, so that many are on both sides.
  Address some_address() {
    if (random() % 3 != 0)
      return Address::from_host(static_cast<std::uint32_t>(0x0A000000 + random() % 4096));
    Address a;
    a.family = Family::ipv6;
    a.bytes[0] = 0x20;
    a.bytes[14] = static_cast<std::uint8_t>(random() % 4);
    a.bytes[15] = static_cast<std::uint8_t>(random());
    return a;
  }

  void add_entry(unsigned side) {
    const Address a = some_address();
    const unsigned bits = address_bits(a.family);
    const bool prefix = GetParam().shape == Shape::prefixes_too && random() % 32 == 0;
    const unsigned length = prefix ? bits - static_cast<unsigned>(random() % 5) : bits;
    const Address base = masked(a, length);
    const auto list = ListId(random() % 9);
    if (a.family == Family::ipv4)
      v4[side].push_back({base.host(), static_cast<std::uint8_t>(length), 0, list});
    else
      v6[side].push_back({base.bytes, static_cast<std::uint8_t>(length), 0, list});
  }

  test::ImageMemory build() {
    for (unsigned side = 0; side < 2; ++side) {
      v4[side].clear();
      v6[side].clear();
      for (unsigned n = 0; n < 900; ++n) add_entry(side);
      test::sort_entries(v4[side]);
      test::sort_entries(v6[side]);
    }
    build::BuildInput in;
    for (ListId n = 0; n < 9; ++n) in.lists.push_back({"l" + std::to_string(n.value()), n});
    in.deny = {v4[0], v6[0], random() % 2 == 0};
    in.allow = {v4[1], v6[1], false};
    in.seed = random();
    in.policy.confirm = GetParam().confirm;
    // Small, so that it is often wrong.
    if (GetParam().guard == test::AllowFilterKind::cuckoo)
      in.allow_filter.params = build::CuckooParams{900, {400, 4}};
    else if (GetParam().guard == test::AllowFilterKind::stacked)
      in.allow_filter.params = build::StackedCountingParams{900, {{100, 3, 2}, {8, 1, 1}, {32, 3, 2}}};
    else
      in.allow_filter.params =
          build::SeesawParams{.planned_keys = 900, .cell_words = 48, .modulator_words = 16};
    return test::ImageMemory::build(in);
  }
};

void ask(lookup::BurstLookup &burst, unsigned slot, const Address &a) {
  if (a.family == Family::ipv4)
    burst.ask_v4(slot, a.wire());
  else
    burst.ask_v6(slot, a.bytes.data());
}

TEST_P(Guarded, bursts_answer_what_the_tables_say) {
  WEIR_TRACE_SEED(seed);
  const auto burst = std::make_unique<lookup::BurstLookup>();
  const bool late = GetParam().confirm == Confirm::on_conflict;
  std::uint64_t exempted = 0, denied_asked = 0, denied_wrong = 0, asked_all = 0, accepted_all = 0,
                wrong_all = 0;
  for (unsigned round = 0; round < 12; ++round) {
    const test::ImageMemory memory = build();
    const image::ImageView view = memory.view();
    for (unsigned n = 0; n < 130; ++n) {
      const auto kernels = lookup::available_kernels();
      std::vector<Address> asked(random() % (lookup::BurstLookup::slots_max + 1));
      burst->begin(view, *kernels[random() % kernels.size()]);
      for (unsigned i = 0; i < asked.size(); ++i) ask(*burst, i, asked[i] = some_address());
      burst->send();
      burst->probe_first();
      if (random() % 2) burst->settle();
      burst->finish();
      unsigned denied = 0;
      for (unsigned i = 0; i < asked.size(); ++i) {
        const std::uint32_t deny = image::lookup(view, Side::deny, asked[i]);
        const std::uint32_t allow = image::lookup(view, Side::allow, asked[i]);
        ASSERT_EQ(burst->deny(i), deny);
        ASSERT_EQ(burst->allow(i), late && deny == 0 ? 0 : allow) << "denied " << (deny != 0);
        denied += deny != 0;
        exempted += deny != 0 && allow != 0;
      }
      const lookup::AllowFilterTally &tally = burst->cost().allow_filter;
      ASSERT_EQ(tally.denied_asked, denied);
      if (!late) {
        ASSERT_EQ(tally.asked, asked.size());
      }
      ASSERT_LE(tally.refuted, tally.accepted);
      ASSERT_LE(tally.denied_refuted, tally.refuted);
      denied_asked += tally.denied_asked;
      denied_wrong += tally.denied_refuted;
      asked_all += tally.asked;
      accepted_all += tally.accepted;
      wrong_all += tally.refuted;
    }
  }
  EXPECT_GT(exempted, 500u);
  EXPECT_GT(denied_wrong, 20u) << "the filter was never wrong: nothing was shown";
  EXPECT_LT(wrong_all, accepted_all);
  if (late) {
    EXPECT_GT(asked_all, denied_asked) << "no burst was sampled";
    EXPECT_LT(asked_all, denied_asked + denied_asked / 4);
  }
}

INSTANTIATE_TEST_SUITE_P(Ways, Guarded,
                         testing::Values(AllowQuestionsCase{Confirm::exact, Shape::hosts_alone},
                                         AllowQuestionsCase{Confirm::exact, Shape::prefixes_too},
                                         AllowQuestionsCase{Confirm::on_conflict, Shape::hosts_alone},
                                         AllowQuestionsCase{Confirm::on_conflict, Shape::prefixes_too},
                                         AllowQuestionsCase{Confirm::exact, Shape::prefixes_too,
                                                            test::AllowFilterKind::cuckoo},
                                         AllowQuestionsCase{Confirm::on_conflict, Shape::hosts_alone,
                                                            test::AllowFilterKind::cuckoo},
                                         AllowQuestionsCase{Confirm::on_conflict, Shape::prefixes_too,
                                                            test::AllowFilterKind::stacked}),
                         [](const auto &way) {
                           return std::string(name_of(way.param.confirm)) +
                                  (way.param.shape == Shape::hosts_alone ? "_hosts_" : "_prefixes_") +
                                  std::string(test::name_of(way.param.guard));
                         });

// What the filter says decides what the tables are asked, and nothing else: hosts whose answer is known.
TEST(GuardedTally, counts_addresses_and_probes_of_the_table) {
  std::vector<build::EntryV4> allowed, denied;
  for (std::uint32_t h = 0; h < 400; ++h) allowed.push_back({0x0A000000 + h, 32, 0, 1});
  for (std::uint32_t h = 200; h < 600; ++h) denied.push_back({0x0A000000 + h, 32, 0, 0});
  build::BuildInput in;
  in.lists = {{"bad", 0}, {"good", 1, Side::allow}};
  in.deny.v4 = denied;
  in.allow.v4 = allowed;
  in.seed = 5;
  in.allow_filter.params =
      build::SeesawParams{.planned_keys = 400, .cell_words = 4096, .modulator_words = 512};
  for (const Confirm confirm : {Confirm::exact, Confirm::on_conflict}) {
    in.policy.confirm = confirm;
    const test::ImageMemory memory = test::ImageMemory::build(in);
    const image::ImageView view = memory.view();
    const auto burst = std::make_unique<lookup::BurstLookup>();
    burst->begin(view, lookup::best_kernels());
    for (unsigned i = 0; i < 60; ++i) // 20 allowed, 20 both, 20 denied
      burst->ask_v4(i, Address::from_host(0x0A000000 + (i / 20) * 200 + i % 20).wire());
    burst->send();
    burst->probe_first();
    burst->finish();
    const lookup::AllowFilterTally &tally = burst->cost().allow_filter;
    EXPECT_EQ(tally.denied_asked, 40u);
    EXPECT_EQ(tally.asked, confirm == Confirm::exact ? 60u : 40u);
    EXPECT_EQ(tally.accepted - tally.refuted, confirm == Confirm::exact ? 40u : 20u);
    EXPECT_EQ(tally.table_asked, tally.accepted);
  }
}

} // namespace
} // namespace weir::allow_questions_test
