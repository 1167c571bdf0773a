// The stacked counting filter and its sizes: known negatives are answered better, and stay so.
#include "control/plan/allow_stack_size.hpp"
#include "tests/support/filter_checks.hpp"
#include "weir/build/stacked_counting_builder.hpp"
#include "weir/build/stacked_size.hpp"

#include <gtest/gtest.h>

namespace weir::filter::stacked_counting_test {
namespace {

using test::absent_keys;
using test::random_keys;

constexpr std::uint64_t keys_count = 40'000, negatives_count = 200'000;

// Zipf with exponent 1.
std::vector<double> zipf_mass() {
  std::vector<double> mass{0};
  for (std::uint64_t rank = 1; rank <= negatives_count; ++rank)
    mass.push_back(mass.back() + 1 / static_cast<double>(rank));
  return mass;
}

struct Built {
  build::StackSize size;
  StackedCounting stack;
  std::vector<KeyHash> keys, known, unknown;

  Built(const build::StackSize &chosen, std::uint64_t seed)
      : size(chosen), stack(StackedCounting::make(chosen.shape).value()),
        keys(random_keys(keys_count, seed)) {
    const std::vector<KeyHash> absent = absent_keys(negatives_count, seed);
    known.assign(absent.begin(), absent.begin() + static_cast<std::ptrdiff_t>(size.known));
    unknown.assign(absent.begin() + static_cast<std::ptrdiff_t>(size.known), absent.end());
    for (const KeyHash key : known) EXPECT_TRUE(stack.learn(key));
    for (const KeyHash key : keys) stack.insert(key);
  }
};

// Of the best stack with the name that the equal one has for its parts.
build::StackSize best_size(std::uint64_t bits, std::uint64_t known, double turnover = 0) {
  std::vector<double> costs;
  for (std::uint64_t rank = 1; rank <= known; ++rank) costs.push_back(1 / static_cast<double>(rank));
  double elsewhere = 0;
  for (std::uint64_t rank = known + 1; rank <= negatives_count; ++rank)
    elsewhere += 1 / static_cast<double>(rank);
  const auto plan = plan::size_allow_stack({.keys = keys_count,
                                            .bits_total = bits,
                                            .costs = plan::CostCurve::of(costs, elsewhere),
                                            .turnover = turnover})
                        .value();
  return {plan.params.shape, plan.known, plan.weighted_fresh(), plan.fresh.others, plan.fresh.known};
}

struct Sizes : ::testing::TestWithParam<unsigned> {
  std::vector<double> mass = zipf_mass();
  build::StackNeeds needs() const { return {keys_count, GetParam() * keys_count, negatives_count / 5, mass}; }
  build::StackSize equal() const { return build::size_equal_stack(needs()).value(); }
  build::StackSize best() const { return best_size(needs().bits, needs().known); }
};

TEST_P(Sizes, keep_to_the_budget_and_use_it) {
  const auto budget = static_cast<double>(needs().bits);
  EXPECT_LE(equal().shape.bits(), needs().bits);
  EXPECT_GT(static_cast<double>(equal().shape.bits()), 0.99 * budget);
  EXPECT_LE(8 * best().shape.bytes(), needs().bits) << "with all headers";
  EXPECT_GT(static_cast<double>(8 * best().shape.bytes()), 0.99 * budget);
}

TEST_P(Sizes, give_the_rates_that_they_predict) {
  const std::uint64_t seed = test::seed_or(31);
  WEIR_TRACE_SEED(seed);
  for (const build::StackSize &size : {equal(), best()}) {
    const Built built(size, seed);
    EXPECT_EQ(test::missed(built.stack, built.keys), 0u);
    EXPECT_EQ(built.stack.bits(), 8 * size.shape.bytes());
    const std::size_t known = test::accepted(built.stack, built.known);
    EXPECT_TRUE(test::rate_is(size.kept, known, built.known.size())) << "known";
    EXPECT_TRUE(test::rate_is(size.unknown, test::accepted(built.stack, built.unknown), built.unknown.size()))
        << "unknown";
    EXPECT_TRUE(test::batch_equals_single(built.stack, built.keys));
    EXPECT_TRUE(test::batch_equals_single(built.stack, built.known));
  }
}

TEST_P(Sizes, of_the_best_stack_beat_equal_rates_and_a_single_layer) {
  EXPECT_LT(best().weighted, equal().weighted);
  EXPECT_LT(best().weighted,
            CountingBloom::rate(CountingBloom::shape_for(keys_count, needs().bits), keys_count));
}

INSTANTIATE_TEST_SUITE_P(Bits, Sizes, ::testing::Values(12u, 20u, 32u));

TEST(EqualStack, has_layers_of_one_rate) {
  const std::vector<double> mass = zipf_mass();
  const auto size = build::size_equal_stack({keys_count, 24 * keys_count, 10'000, mass}).value();
  const double first = CountingBloom::rate(size.shape.positives, keys_count);
  EXPECT_NEAR(CountingBloom::rate(size.shape.negatives, 10'000) / first, 1, 0.05);
  EXPECT_NEAR(size.kept / (first * first), 1, 0.1);
}

TEST(StackedCounting, learns_nothing_once_a_key_is_there) {
  const std::vector<double> mass = zipf_mass();
  const auto size = build::size_equal_stack({keys_count, 20 * keys_count, 100, mass}).value();
  StackedCounting stack = StackedCounting::make(size.shape).value();
  EXPECT_TRUE(stack.learn(KeyHash{1}));
  stack.insert(KeyHash{2});
  const Status late = stack.learn(KeyHash{3});
  ASSERT_FALSE(late);
  EXPECT_EQ(late.error().code, Errc::refused);
  EXPECT_TRUE(stack.erase(KeyHash{2}));
  EXPECT_TRUE(stack.learn(KeyHash{3})) << "an empty one may learn again";
}

TEST(StackedCounting, deleted_keys_leave_no_trace_and_others_stay) {
  const std::uint64_t seed = test::seed_or(32);
  WEIR_TRACE_SEED(seed);
  build::StackSize size = best_size(20 * keys_count, 40'000);
  for (CountingBloomShape *layer : {&size.shape.positives, &size.shape.settled})
    *layer = CountingBloom::shape_for(keys_count, layer->bits(), 6); // no cell ever is stuck
  Built built(size, seed);
  for (std::size_t i = 0; i < keys_count / 2; ++i) ASSERT_TRUE(built.stack.erase(built.keys[i]));
  EXPECT_EQ(test::missed(built.stack, std::span(built.keys).subspan(keys_count / 2)), 0u);
  for (std::size_t i = keys_count / 2; i < keys_count; ++i) ASSERT_TRUE(built.stack.erase(built.keys[i]));
  EXPECT_EQ(built.stack.keys(), 0u);
  EXPECT_EQ(test::accepted(built.stack, built.keys), 0u);
  EXPECT_EQ(test::accepted(built.stack, built.unknown), 0u);
}

// Twenty rounds of a twentieth: every key once, so the counts that are stuck show.
TEST(StackedCounting, wears_through_churn_as_predicted) {
  const std::uint64_t seed = test::seed_or(33);
  WEIR_TRACE_SEED(seed);
  for (const unsigned bits : {7, 20}) {
    const build::StackSize size = best_size(bits * keys_count, 40'000, 1);
    StackedCounting stack = StackedCounting::make(size.shape).value();
    const std::vector<KeyHash> negatives = absent_keys(negatives_count, seed);
    const auto known = std::span(negatives).first(size.known),
               unknown = std::span(negatives).subspan(size.known);
    for (const KeyHash key : known) ASSERT_TRUE(stack.learn(key));
    EXPECT_TRUE(test::survives_churn(stack, keys_count, 20, seed));
    const plan::AllowStackForecast worn =
        plan::forecast_stack(size.shape, keys_count, static_cast<double>(size.known), 1);
    EXPECT_TRUE(test::rate_is(worn.known, test::accepted(stack, known), known.size())) << bits;
    EXPECT_TRUE(test::rate_is(worn.others, test::accepted(stack, unknown), unknown.size())) << bits;
    EXPECT_NEAR(stack.load().stuck_share() / worn.stuck_share, 1, 0.05) << bits;
    EXPECT_GT(worn.others, size.unknown) << "something has worn";
  }
}

// All negatives are known, so layer 2 lets few keys through, and chance makes layer 3 full or empty.
TEST(StackedCounting, keeps_its_promise_where_few_keys_settle) {
  std::uint64_t accepted = 0, asked = 0;
  double promised = 0;
  for (std::uint64_t seed = 1; seed <= 6; ++seed) {
    const std::vector<double> costs(keys_count, 1.0);
    const auto plan = plan::size_allow_stack(
        {.keys = keys_count, .bits_total = 13 * keys_count, .costs = plan::CostCurve::of(costs)});
    StackedCounting stack = StackedCounting::make(plan->params.shape).value();
    const std::vector<KeyHash> known = absent_keys(plan->known, seed);
    for (const KeyHash key : known) ASSERT_TRUE(stack.learn(key));
    EXPECT_TRUE(test::survives_churn(stack, keys_count, 16, seed));
    accepted += test::accepted(stack, known);
    asked += known.size();
    promised = plan->churned.known;
  }
  EXPECT_LE(static_cast<double>(accepted) / static_cast<double>(asked),
            3 * promised + 5.0 / static_cast<double>(asked))
      << promised;
}

TEST(StackedCounting, as_a_section_goes_on_where_it_was) {
  const std::uint64_t seed = test::seed_or(34);
  WEIR_TRACE_SEED(seed);
  Built built(best_size(8 * keys_count, 40'000), seed);
  const StackedCountingLoad before = built.stack.load();
  const MutableBytes section = built.stack.section();
  auto writer = StackedCountingWriter::attach(section).value();
  EXPECT_EQ(writer.load().keys, keys_count);
  EXPECT_EQ(writer.load().known, built.size.known);
  EXPECT_EQ(writer.load().cells_stuck, before.cells_stuck) << "counted anew";
  EXPECT_GT(before.cells_stuck, 0u);
  EXPECT_TRUE(writer.erase(built.keys[0]));
  writer.insert(built.keys[0]);
  const StackedCountingView view = StackedCountingView::attach(section).value();
  EXPECT_EQ(test::missed(view, built.keys), 0u);
  EXPECT_TRUE(test::batch_equals_single(view, built.unknown));
  EXPECT_FALSE(StackedCountingView::attach(section.first(section.size() - 64)));
  EXPECT_FALSE(StackedCountingView::attach(section.first(63)));
  EXPECT_FALSE(StackedCountingWriter::attach(section.subspan(8)));
}

TEST(StackedCounting, is_built_alike_each_time_and_refuses_shapes_and_sections_that_do_not_fit) {
  const build::StackedCountingParams params{100, {{40, 3, 3}, {8, 1, 2}, {8, 3, 2}}};
  const std::uint64_t bytes = build::stacked_counting_bytes(params).value();
  struct alignas(64) Line {
    std::byte bytes[64];
  };
  std::vector<Line> one(bytes / 64), two(bytes / 64);
  const auto keys = random_keys(90, 1), known = absent_keys(50, 1);
  for (auto *to : {&one, &two}) {
    const auto load =
        build::build_stacked_counting(params, keys, known, std::as_writable_bytes(std::span(*to)));
    ASSERT_TRUE(load) << load.error().message;
    EXPECT_EQ(load->keys, 90u);
    EXPECT_EQ(load->planned_keys, 100u);
  }
  EXPECT_EQ(std::memcmp(one.data(), two.data(), bytes), 0);
  EXPECT_FALSE(build::build_stacked_counting(params, keys, known,
                                             std::as_writable_bytes(std::span(one)).first(bytes - 64)));
  build::StackedCountingParams none = params;
  none.shape.settled.words = 0;
  EXPECT_EQ(build::stacked_counting_bytes(none).error().code, Errc::usage);
}

// Why layer 2 must not change while keys are present.
TEST(StackedCounting, would_lose_keys_if_it_learnt_late) {
  Built built(best_size(20 * keys_count, 40'000), 35);
  const auto layers = open_stack(built.stack.section()).value().layers;
  CountingBloom second = CountingBloom::adopt(layers[1]).value();
  for (const KeyHash negative : absent_keys(400'000, 36)) second.insert(negative);
  EXPECT_GT(test::missed(built.stack, built.keys), 100u);
}

} // namespace
} // namespace weir::filter::stacked_counting_test
