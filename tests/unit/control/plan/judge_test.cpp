// Judges of compact mode as they come out: the bits, the errors about unknown sources and about known ones that their plan
// promises, for every word of the configuration.
#include "control/plan/judge.hpp"

#include "control/build/deny_filter.hpp"
#include "tests/support/seed.hpp"
#include "weir/build/deny_filter_builder.hpp"
#include "weir/image/deny_filter_view.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>

namespace weir::plan::judge_test {
namespace {

constexpr std::uint32_t hosts = 40'000, sources = 20'000;

Address neighbour(std::uint32_t number, std::uint32_t of) {
  return Address::from_host(0x0B000000 + 5 * number + of);
}

struct Task {
  std::vector<build::EntryV4> deny;
  config::Config config;
  workload::Negatives negatives;
  build::BuildInput input;

  Task(config::Judge judge, std::uint64_t seed) {
    for (std::uint32_t i = 0; i < hosts; ++i) deny.push_back({neighbour(i, 0).host(), 32, 0, 1});
    double all = 0;
    for (std::uint32_t i = 1; i <= sources; ++i) all += 1.0 / i;
    negatives.total = 1.25e6; // a fifth is asked by strangers
    for (std::uint32_t i = 0; i < sources; ++i)
      negatives.hottest.push_back({neighbour(i, 1), 1e6 / all / (i + 1)});
    config.source = "weir.yaml";
    config.compact = {
        .false_positive_budget = 2e-3, .unknown_budget = 2e-2, .memory_bytes = {}, .judge = judge};
    input.deny.v4 = deny;
    input.seed = seed;
  }
  [[nodiscard]] DenyFilterPlan plan() const {
    return plan_deny_filter({input, config, negatives, built_in_calibration()}).value();
  }
};

class Judges : public testing::TestWithParam<config::Judge> {};

TEST_P(Judges, take_the_bits_and_make_the_errors_of_their_plan) {
  const std::uint64_t seed = test::seed_or(71);
  WEIR_TRACE_SEED(seed);
  for (const std::uint64_t memory : {std::uint64_t{0}, std::uint64_t{hosts} * 7 / 8}) {
    SCOPED_TRACE(memory);
    Task task(GetParam(), seed);
    if (memory != 0) task.config.compact->memory_bytes = memory, task.config.compact->unknown_budget = 0.1;
    const DenyFilterPlan plan = task.plan();
    const build::StackSection section = build::make_deny_filter(task.input, plan).value();
    const double bytes = static_cast<double>(section.bytes.size());
    EXPECT_NEAR(bytes / (plan.stack.bits / 8), 1, facts_of(plan.form).in_place ? 0.03 : 0.01);
    if (memory != 0) {
      EXPECT_LE(bytes, 1.03 * static_cast<double>(memory));
    }
    // One with room for more hosts errs less often while they have not come.
    EXPECT_LE(section.built.efpb, plan.stack.efpb * 1.05);
    if (!facts_of(plan.form).in_place) {
      EXPECT_NEAR(section.built.efpb, plan.stack.efpb, 0.02 * plan.stack.efpb);
    }
    EXPECT_LE(section.built.efpr, plan.stack.efpr * 1.1);
    if (!facts_of(plan.form).layers) {
      EXPECT_EQ(section.built.known_accepted, 0u);
    }

    std::vector<std::byte> aligned(section.bytes.size() + cache_line_bytes);
    auto *at = reinterpret_cast<std::byte *>(
        round_up(reinterpret_cast<std::uintptr_t>(aligned.data()), cache_line_bytes));
    std::memcpy(at, section.bytes.data(), section.bytes.size());
    const auto view = image::DenyFilterView::attach({at, section.bytes.size()}, section.role);
    ASSERT_TRUE(view) << view.error().message;
    EXPECT_EQ(view->kind(), facts_of(plan.form).kind);
    std::uint32_t missed = 0, unknown = 0;
    for (std::uint32_t i = 0; i < hosts; ++i)
      missed += !view->contains(build::detail::host_hash(neighbour(i, 0), seed));
    for (std::uint32_t i = 0; i < 5 * hosts; ++i)
      unknown += view->contains(build::detail::host_hash(Address::from_host(0x40000000 + i), seed));
    EXPECT_EQ(missed, 0u);
    const double rate = section.built.efpb;
    EXPECT_NEAR(unknown / (5.0 * hosts), rate, 0.1 * rate + 4 * std::sqrt(rate / (5.0 * hosts)));
  }
}

INSTANTIATE_TEST_SUITE_P(All, Judges,
                         testing::Values(config::Judge::automatic, config::Judge::stacked,
                                         config::Judge::chained_and, config::Judge::fuse),
                         [](const auto &judge) { return std::string(name_of(judge.param)); });

TEST(ChainedSize, halves_the_errors_with_each_bit_and_takes_known_negatives_for_next_to_nothing) {
  ChainTask task{
      .positives = 1e6, .negatives = CostCurve::zipf(10'000'000, 1), .rate_max = {}, .bits_total = 8e6};
  task.known_max = 1e7;
  const StackPlan plan = size_chained(task).value();
  ASSERT_EQ(plan.layers.size(), 2u);
  EXPECT_EQ(plan.layers[0].digits, 6u) << "of a known negative in sixty-four has a place in the second stage";
  EXPECT_EQ(plan.known, 1e7);
  EXPECT_LE(plan.bits, 8e6);
  EXPECT_NEAR(plan.efpb, 0.0078, 0.0001);
  EXPECT_EQ(plan.efpr, 0) << "where all of the universe is known";
  EXPECT_EQ(plan.known_rate, 0);
}

TEST(ChainedSize, shared_slots_take_a_byte_and_no_more_known_negatives_than_their_columns) {
  ChainTask task{.shared = true,
                 .positives = 1e6,
                 .negatives = CostCurve::zipf(100'000'000, 1),
                 .rate_max = {},
                 .bits_total = 8.7e6};
  task.known_max = 1e8;
  const StackPlan plan = size_chained(task).value();
  EXPECT_EQ(plan.layers[0].digits, 6u);
  EXPECT_LT(plan.known, 1e8);
  EXPECT_GT(plan.known, 5e7);
  EXPECT_LE(plan.efpb, 0.0079);
}

TEST(ChainedSize, knows_as_few_as_a_rate_needs) {
  ChainTask task{
      .positives = 1e5, .negatives = CostCurve::zipf(1'000'000, 1), .rate_max = 1e-3, .bits_total = {}};
  task.known_max = 1e6;
  task.efpb_max = 2e-2;
  const StackPlan plan = size_chained(task).value();
  EXPECT_LE(plan.efpr, 1e-3);
  EXPECT_LE(plan.efpb, 2e-2);
  EXPECT_GT(plan.known, 0);
  task.known_max = 0;
  EXPECT_GT(size_chained(task).value().bits, plan.bits) << "what is known never costs memory";
  task.efpb_max = 1e-9;
  EXPECT_FALSE(size_chained(task)) << "more than twenty bits";
  task.bits_total = 1e6;
  EXPECT_FALSE(size_chained(task)) << "two constraints";
}

} // namespace
} // namespace weir::plan::judge_test
