// Sizing of the Seesaw filter: what is predicted is what is measured, and the search finds what it should.
#include "control/plan/seesaw_size.hpp"
#include "tests/support/seed.hpp"
#include "tests/support/seesaw_section.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <numeric>
#include <random>

namespace weir::plan::seesaw_size_test {
namespace {

using test::SeesawSection;

SeesawTask task_for(std::uint64_t keys, double bits_per_key, double skew = 1.0) {
  SeesawTask task;
  task.keys = keys;
  task.bits_total = static_cast<std::uint64_t>(static_cast<double>(keys) * bits_per_key);
  task.costs = CostCurve::zipf(keys, skew);
  return task;
}

double rate(const filter::SeesawView &view, std::uint64_t seed, std::uint64_t kind, std::uint64_t count) {
  std::uint64_t hits = 0;
  for (std::uint64_t i = 0; i < count; ++i) hits += view.contains(test::numbered_key(seed, kind, i));
  return static_cast<double>(hits) / static_cast<double>(count);
}

// Five deviations of a binomial share, and what the model leaves out.
double tolerance(double predicted, std::uint64_t asked, double model) {
  return 5 * std::sqrt(predicted / static_cast<double>(asked)) + model * predicted;
}

void replace_a_share(filter::SeesawWriter &writer, std::vector<KeyHash> &keys, std::uint64_t seed,
                     std::uint64_t &next, std::mt19937_64 &random, std::size_t part = 50) {
  const std::size_t many = keys.size() / part;
  for (std::size_t i = 0; i < many; ++i) {
    std::swap(keys[i], keys[i + random() % (keys.size() - i)]);
    ASSERT_TRUE(writer.erase(keys[i]));
  }
  for (std::size_t i = 0; i < many; ++i) {
    keys[i] = test::numbered_key(seed, 0, next++);
    writer.insert(keys[i]);
  }
}

TEST(SeesawSize, predicted_rates_are_measured_fresh_and_after_churn) {
  const std::uint64_t seed = test::seed_or(1);
  WEIR_TRACE_SEED(seed);
  const std::uint64_t n = 150'000;
  for (const double bits : {12.0, 18.0}) {
    SCOPED_TRACE(bits);
    const SeesawTask task = task_for(n, bits);
    const auto plan = size_seesaw(task);
    ASSERT_TRUE(plan) << plan.error().message;
    auto keys = test::numbered_keys(seed, 0, n);
    SeesawSection section(plan->params, keys, test::numbered_keys(seed, 1, plan->guarded));
    ASSERT_LE(8 * section.bytes().size(), task.bits_total);
    auto writer = section.writer();
    const filter::SeesawView view = section.view();
    const auto compare = [&](const SeesawForecast &f) {
      EXPECT_NEAR(rate(view, seed, 1, plan->guarded), f.guarded, tolerance(f.guarded, plan->guarded, 0.1));
      EXPECT_NEAR(rate(view, seed, 2, 400'000), f.others, tolerance(f.others, 400'000, 0.03));
      EXPECT_NEAR(writer.load().modulator_share(), f.modulator_share, 0.02);
      EXPECT_NEAR(writer.load().stuck_share(), f.stuck_share, 0.01);
    };
    compare(plan->fresh);
    std::mt19937_64 random(seed);
    std::uint64_t next = n;
    for (unsigned round = 0; round < task.churn_rounds; ++round)
      replace_a_share(writer, keys, seed, next, random);
    compare(plan->churned);
    for (const KeyHash key : keys) ASSERT_TRUE(view.contains(key));
  }
}

TEST(SeesawSize, the_plan_for_a_million_keys_stays_below_what_was_set_out) {
  const std::pair<double, double> goals[]{{20, 0.0075}, {24, 0.0045}, {28, 0.0025}, {32, 0.0013}};
  for (const auto &[bits, goal] : goals) {
    const auto plan = size_seesaw(task_for(1'000'000, bits));
    ASSERT_TRUE(plan);
    EXPECT_LT(plan->weighted_churned(), goal) << bits;
    EXPECT_LT(plan->weighted_fresh(), plan->weighted_churned());
    EXPECT_GT(plan->churned.others, plan->churned.guarded);
  }
}

TEST(SeesawSize, no_choice_nearby_is_better) {
  const SeesawTask task = task_for(1'000'000, 24);
  const auto plan = size_seesaw(task);
  ASSERT_TRUE(plan);
  const auto weighted = [&](const build::SeesawParams &params, double guarded) {
    return forecast_seesaw(params, 1e6, guarded, task.churn_rounds * task.churn_share)
        .weighted(task.costs.share_of(guarded));
  };
  const double best = plan->weighted_churned() * 0.999;
  const auto guarded = static_cast<double>(plan->guarded);
  for (const double factor : {0.5, 0.8, 1.25, 2.0}) EXPECT_GE(weighted(plan->params, guarded * factor), best);
  const auto changed = [&](auto change) {
    build::SeesawParams params = plan->params;
    change(params);
    return weighted(params, guarded);
  };
  EXPECT_GE(changed([](auto &p) { ++p.hashes; }), best / 1.15); // not worth another line a query
  EXPECT_GE(changed([](auto &p) { --p.hashes; }), best);
  EXPECT_GE(changed([](auto &p) { ++p.positive_bits; }), best);
  EXPECT_GE(changed([](auto &p) { ++p.count_bits; }), best);
  EXPECT_GE(
      changed([](auto &p) { p.modulator_words += p.cell_words / 10, p.cell_words -= p.cell_words / 10; }),
      best);
  EXPECT_GE(changed([](auto &p) {
              p.cell_words += p.modulator_words / 2, p.modulator_words -= p.modulator_words / 2;
            }),
            best);
}

TEST(SeesawSize, more_bits_and_more_skew_make_lower_rates) {
  double before = 1;
  for (const double bits : {10, 14, 18, 22}) {
    const double now = size_seesaw(task_for(10'000, bits)).value().weighted_churned();
    EXPECT_LT(now, before * 0.8);
    before = now;
  }
  EXPECT_LT(size_seesaw(task_for(10'000, 14, 2.0)).value().weighted_churned(),
            size_seesaw(task_for(10'000, 14, 1.0)).value().weighted_churned() / 10);
}

TEST(SeesawSize, an_adaptive_bit_is_charged) {
  SeesawTask task = task_for(100'000, 20);
  const auto plain = size_seesaw(task).value();
  task.adaptive = true;
  const auto adaptive = size_seesaw(task).value();
  EXPECT_TRUE(adaptive.params.adaptive);
  EXPECT_GT(adaptive.weighted_churned(), plain.weighted_churned());
  EXPECT_LE(8 * build::seesaw_bytes(adaptive.params).value(), task.bits_total);
}

TEST(SeesawSize, late_negatives_get_a_size_of_their_own_and_the_rates_that_are_predicted) {
  const std::uint64_t seed = test::seed_or(5), n = 60'000;
  WEIR_TRACE_SEED(seed);
  SeesawTask task = task_for(n, 24, 1.5);
  task.churn_share = 0.1;
  task.late = true;
  const auto plan = size_seesaw(task);
  ASSERT_TRUE(plan) << plan.error().message;
  EXPECT_TRUE(plan->params.adaptive);
  auto keys = test::numbered_keys(seed, 0, n);
  SeesawSection section(plan->params, keys, {});
  auto writer = section.writer();
  for (const KeyHash negative : test::numbered_keys(seed, 1, plan->guarded)) writer.learn(negative);
  std::mt19937_64 random(seed);
  std::uint64_t next = n;
  for (unsigned round = 0; round < task.churn_rounds; ++round)
    replace_a_share(writer, keys, seed, next, random, 10);
  const filter::SeesawView view = section.view();
  const SeesawForecast &f = plan->churned;
  EXPECT_NEAR(rate(view, seed, 1, plan->guarded), f.guarded, tolerance(f.guarded, plan->guarded, 0.25));
  EXPECT_NEAR(rate(view, seed, 2, 400'000), f.others, tolerance(f.others, 400'000, 0.1));
  for (const KeyHash key : keys) ASSERT_TRUE(view.contains(key));

  task.late = false;
  task.adaptive = true;
  const SeesawPlan early = size_seesaw(task).value();
  const SeesawForecast told_late =
      forecast_seesaw_late(early.params, n, static_cast<double>(early.guarded), 4);
  EXPECT_GT(told_late.weighted(early.guarded_cost), 1.1 * plan->weighted_churned())
      << "sized as if they had been known from the start";
}

TEST(SeesawSize, the_smallest_budgets_still_make_a_filter) {
  SeesawTask task = task_for(10, 2'048 / 10.0);
  task.bits_total = 2'048;
  const auto plan = size_seesaw(task);
  ASSERT_TRUE(plan) << plan.error().message;
  EXPECT_LE(8 * build::seesaw_bytes(plan->params).value(), task.bits_total);
  task.bits_total = 2'047;
  EXPECT_FALSE(size_seesaw(task));
  task.keys = 0;
  EXPECT_FALSE(size_seesaw(task));
}

TEST(SeesawSize, without_negatives_nothing_is_guarded) {
  SeesawTask task = task_for(10'000, 16);
  task.costs = CostCurve::of({}, 1);
  const auto plan = size_seesaw(task);
  ASSERT_TRUE(plan);
  EXPECT_EQ(plan->guarded, 0u);
  EXPECT_GT(plan->weighted_churned(), 0);
  EXPECT_DOUBLE_EQ(plan->weighted_churned(), plan->churned.others);
}

TEST(SeesawSize, a_cost_curve_of_a_list_is_that_of_its_law) {
  std::vector<double> costs;
  for (unsigned i = 5'000; i > 0; --i) costs.push_back(std::pow(i, -1.3));
  const CostCurve listed = CostCurve::of(costs), law = CostCurve::zipf(5'000, 1.3);
  for (const double count : {0.0, 1.0, 2.0, 63.0, 64.0, 100.0, 1'234.5, 5'000.0, 9'000.0})
    EXPECT_NEAR(listed.share_of(count), law.share_of(count), 1e-4) << count;
  EXPECT_NEAR(listed.share_of(0.5), listed.share_of(1) / 2, 1e-12);
  const double all = std::accumulate(costs.begin(), costs.end(), 0.0);
  EXPECT_NEAR(CostCurve::of(costs, all).share_of(5'000), 0.5, 1e-12);
}

// The chain behind the forecast, played with single counters.
TEST(SeesawSize, counters_fill_and_stick_as_the_chain_says) {
  const std::uint64_t seed = test::seed_or(2);
  WEIR_TRACE_SEED(seed);
  std::mt19937_64 random(seed);
  std::uniform_real_distribution<double> uniform;
  const double mean = 0.9, turnover = 1.5, step = 0.01;
  const unsigned maximum = 3, counters = 20'000;
  unsigned used = 0, stuck = 0;
  for (unsigned i = 0; i < counters; ++i) {
    unsigned count = std::min<unsigned>(std::poisson_distribution<unsigned>(mean)(random), maximum);
    for (double t = 0; t < turnover && count < maximum; t += step) {
      const double u = uniform(random);
      if (u < mean * step)
        ++count;
      else if (u < (mean + count) * step)
        --count;
    }
    used += count > 0;
    stuck += count == maximum;
  }
  const Occupied predicted = occupied(mean, maximum, turnover);
  EXPECT_NEAR(used / static_cast<double>(counters), predicted.share, 0.02);
  EXPECT_NEAR(stuck / static_cast<double>(counters), predicted.stuck, 0.02);
  EXPECT_GT(predicted.stuck, occupied(mean, maximum, 0).stuck + 0.05);
}

} // namespace
} // namespace weir::plan::seesaw_size_test
