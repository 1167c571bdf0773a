// What formulas say of stacked filters: closed forms beside their series, bounds beside what they bound, and
// what a shift of the workload may cost [Stacked §4, §6; Stacked-early §4].
#include "tests/support/seed.hpp"
#include "weir/build/stacked_model.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <vector>

namespace weir::build::stacked_model_test {
namespace {

TEST(StackedModel, of_equal_rates_is_the_series_in_closed_form) {
  for (const unsigned depth : {1u, 3u, 5u, 9u})
    for (const double rate : {0.02, 0.3})
      for (const double psi : {0.0, 0.6, 1.0})
        EXPECT_NEAR(equal_efpr(rate, depth, psi), stacked_efpr(std::vector<double>(depth, rate), psi), 1e-15);
}

TEST(StackedModel, work_stays_below_its_bounds_and_comes_close_to_them) {
  for (const double rate : {0.01, 0.2}) {
    const std::vector<double> deep(31, rate);
    EXPECT_LE(positive_probes(deep), positive_probes_bound(rate) * (1 + 1e-12));
    EXPECT_LE(known_probes(deep), known_probes_bound(rate) * (1 + 1e-12));
    EXPECT_LE(unknown_probes(deep), unknown_probes_bound(rate) * (1 + 1e-12));
    const StackWork work = build_work(deep, 1000, 3000), bound = build_work_bound(rate, 1000, 3000);
    EXPECT_LE(work.inserts, bound.inserts * (1 + 1e-12));
    EXPECT_LE(work.lookups, bound.lookups * (1 + 1e-12));
    EXPECT_GT(positive_probes(deep), 0.999 * positive_probes_bound(rate));
    EXPECT_GT(known_probes(deep), 0.999 * known_probes_bound(rate));
    EXPECT_GT(unknown_probes(deep), 0.999 * unknown_probes_bound(rate));
    EXPECT_GT(work.inserts, 0.999 * bound.inserts);
    EXPECT_GT(work.lookups, 0.999 * bound.lookups);
  }
}

TEST(StackedModel, a_share_of_9_6_percent_is_enough_at_one_percent_and_equal_sets) {
  EXPECT_FALSE(stack_is_smaller(bloom_law, 0.01, 0.0955, 1));
  EXPECT_TRUE(stack_is_smaller(bloom_law, 0.01, 0.0965, 1));
  EXPECT_FALSE(stack_is_smaller(bloom_law, 0.01, 0.069, 0.5)) << "7 %: half as many negatives";
  EXPECT_TRUE(stack_is_smaller(bloom_law, 0.01, 0.0725, 0.5));
  EXPECT_FALSE(stack_is_smaller(bloom_law, 0.01, 0.9, 1000));
}

TEST(StackedModel, the_theorem_never_promises_what_the_size_gain_denies) {
  for (const SizeLaw &law : {bloom_law, cuckoo_law, quotient_law})
    for (const double rate : {0.05, 0.01, 0.001})
      for (const double psi : {0.05, 0.2, 0.5, 0.9})
        for (const double per_positive : {0.1, 1.0, 5.0}) {
          const SizeGain gain = size_gain(law, rate, psi, per_positive);
          EXPECT_GE(gain.saved(), 0);
          EXPECT_TRUE(gain.saved() > 0 || !stack_is_smaller(law, rate, psi, per_positive));
        }
}

TEST(StackedModel, the_size_gain_grows_with_psi_until_larger_rates_no_longer_save) {
  const SizeGain half = size_gain(bloom_law, 0.01, 0.5, 1), most = size_gain(bloom_law, 0.01, 0.95, 1),
                 all = size_gain(cuckoo_law, 0.01, 1, 1);
  EXPECT_NEAR(half.rate, 0.02, 1e-4);
  EXPECT_GT(most.saved(), half.saved());
  EXPECT_LT(all.rate, 0.5) << "three bits a key are paid for every layer, so a least size lies inside";
  EXPECT_EQ(size_gain(bloom_law, 0.01, 0.01, 20).saved(), 0) << "too many for too little";
}

TEST(StackedModel, a_shift_of_the_workload_stays_within_the_bound_of_its_variation) {
  const std::vector<double> rates{0.1, 0.3, 0.2}, before{0.5, 0.3, 0.2}, after{0.2, 0.3, 0.5};
  const double variation = total_variation(before, after);
  EXPECT_NEAR(variation, 0.3, 1e-12);
  for (const std::size_t known : {1u, 2u}) {
    double psi = 0, later = 0;
    for (std::size_t i = 0; i < known; ++i) psi += before[i], later += after[i];
    const double shift = efpr_shift(rates, psi, later);
    EXPECT_NEAR(shift, stacked_efpr(rates, later) - stacked_efpr(rates, psi), 1e-12);
    EXPECT_LE(std::abs(shift), drift_bound(rates, variation) + 1e-12);
  }
  EXPECT_GE(variation_from_divergence(divergence(before, after)), variation);
  EXPECT_EQ(divergence(before, before), 0);
}

// Random laws of questions, of which a stack knows the hottest few.
TEST(StackedModel, no_shift_moves_the_rate_by_more_than_its_variation_and_pinsker_allow) {
  const std::uint64_t seed = test::seed_or(57);
  WEIR_TRACE_SEED(seed);
  std::mt19937_64 random(seed);
  std::uniform_real_distribution<double> share(0, 1);
  const auto law = [&](double skew) {
    std::vector<double> p(200);
    for (std::size_t i = 0; i < p.size(); ++i)
      p[i] = share(random) * std::pow(static_cast<double>(i + 1), -skew);
    double sum = 0;
    for (const double x : p) sum += x;
    for (double &x : p) x /= sum;
    return p;
  };
  for (int round = 0; round < 300; ++round) {
    std::vector<double> rates(2 * (random() % 5) + 1);
    for (double &rate : rates) rate = share(random);
    const std::vector<double> before = law(2 * share(random)), after = law(2 * share(random));
    const double variation = total_variation(before, after);
    EXPECT_LE(variation, variation_from_divergence(divergence(before, after)));
    double psi = 0, later = 0;
    for (std::size_t known = 0; known < before.size(); ++known) {
      psi += before[known], later += after[known];
      ASSERT_LE(std::abs(stacked_efpr(rates, later) - stacked_efpr(rates, psi)),
                drift_bound(rates, variation) + 1e-12);
    }
  }
}

} // namespace
} // namespace weir::build::stacked_model_test
