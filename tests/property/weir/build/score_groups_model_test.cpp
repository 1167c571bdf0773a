// What [SLBF] says of stable filters and of groups: printed equations, what is wrong with them, lemma and theorem.
#include "weir/build/score_groups_model.hpp"

#include "tests/support/seed.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <random>

namespace weir::test::score_groups_model_test {
namespace {

using namespace weir::build;

// Example 4 of the paper: p falls, q rises.
const std::vector<ScoreGroup> example{
    {.told = 0.090, .other = 0.485}, {.told = 0.347, .other = 0.390}, {.told = 0.563, .other = 0.125}};

TEST(StableModel, gives_the_rate_asked_for_where_equation_19_as_printed_gives_less) {
  EXPECT_NEAR(stable_decrements(0.0016, 6, 1), 11.54, 0.01);
  EXPECT_NEAR(stable_decrements_printed(0.0016, 6, 1), 17.54, 0.01);
  EXPECT_NEAR(stable_rate({6, 1, 17.54}), 0.000274, 0.000002);
  for (const double rate : {1e-4, 0.01, 0.05, 0.3})
    for (const unsigned max : stable_maxima)
      for (unsigned hashes = 1; hashes <= stable_hashes_most; ++hashes) {
        EXPECT_NEAR(stable_rate(stable_law(rate, hashes, max)) / rate, 1, 1e-9);
        EXPECT_LT(stable_rate({hashes, max, stable_decrements_printed(rate, hashes, max)}), rate);
      }
}

TEST(StableModel, has_the_sum_of_equation_21_in_closed_form) {
  for (const unsigned max : {1u, 3u, 7u})
    for (const unsigned gap : {100u, 1'000u, 3'000u})
      for (const double rate : {0.01, 0.1}) {
        const StableLaw law = stable_law(rate, 4, max);
        const double closed = stable_zero_after(law, 20'000, gap),
                     sum = stable_zero_after_sum(law, 20'000, gap);
        EXPECT_NEAR(closed, sum, 0.02 * sum + 1e-5) << max << ' ' << gap << ' ' << rate;
      }
}

TEST(StableModel, rises_to_its_rate_and_forgets_ever_more) {
  const StableLaw law = stable_law(0.05, 4, 7);
  double rate = 0, missed = 0;
  for (double n = 1; n < 1e7; n *= 1.5) {
    EXPECT_GE(stable_rate_after(law, 10'000, n), rate - 1e-12);
    EXPECT_GE(stable_missed(law, 10'000, n), missed - 1e-12);
    rate = stable_rate_after(law, 10'000, n);
    missed = stable_missed(law, 10'000, n);
  }
  EXPECT_NEAR(rate, 0.05, 1e-6);
  EXPECT_NEAR(missed, 1 - std::pow(1 - std::pow(law.decrements / (law.decrements + 4), 7), 4), 1e-6);
}

// 42.7 and 72.1 bits for each insertion of the gap.
TEST(StableModel, knows_the_least_bits_of_a_stable_filter) {
  EXPECT_NEAR(least_stable_bits(0.05, 0.1), 42.6, 0.2);
  EXPECT_NEAR(least_stable_bits(0.01, 0.1), 72.0, 0.3);
}

TEST(StableModel, solves_equation_8_and_judges_by_equation_4) {
  EXPECT_NEAR(equal_convergence_cells(1e6, 6, 1e8, 0.5), 4.99e5, 1e3); // the paper says 4.7e4
  EXPECT_NEAR(equal_convergence_cells(1e6, 6, 1e8, 1), 1e6, 1);
  EXPECT_TRUE(learned_pays(0.01, 0.3, 8, 0.5));
  EXPECT_FALSE(learned_pays(0.01, 0.3, 8, 4)); // the classifier is too large
  EXPECT_FALSE(learned_pays(0.1, 0.3, 8, 0));  // a Bloom filter of 8 bits a key accepts 2.1 %
  EXPECT_TRUE(learned_pays(0.005, 0, 8, 2));
}

// Example 4's own parameters (K = 6, 6, 5, Max 1, 2^18 bits, gap 2,000): (16) as printed, and what is missed.
TEST(GroupsModel, shows_that_a_group_sees_its_share_of_the_gap_and_that_bits_go_with_it) {
  const double bits = std::exp2(18) / 2'000;
  const auto with = [&](bool over_q) {
    std::vector<GroupSetting> settings;
    const std::array<double, 3> rates{0.0016, 0.0020, 0.0063};
    const std::array<unsigned, 3> hashes{6, 6, 5};
    double sum = 0;
    const auto weight = [&](std::size_t j) {
      return hashes[j] * (over_q ? 1 / example[j].told : example[j].told);
    };
    for (std::size_t j = 0; j < 3; ++j) sum += weight(j);
    for (std::size_t j = 0; j < 3; ++j)
      settings.push_back({rates[j], stable_law(rates[j], hashes[j], 1), bits * weight(j) / sum});
    return settings;
  };
  EXPECT_NEAR(groups_missed_printed(example, with(true)), 0.887, 0.005);
  EXPECT_NEAR(groups_missed(example, with(true)), 0.674, 0.005);
  EXPECT_NEAR(groups_missed(example, with(false)), 0.325, 0.005);
}

TEST(GroupsModel, misses_least_in_the_best_setting_at_the_rate_asked_for) {
  for (const double log_bits : {14.0, 16.0, 18.0}) {
    const double bits = std::exp2(log_bits) / 2'000;
    const auto printed = set_groups(example, 0.01, bits, Setting::printed),
               corrected = set_groups(example, 0.01, bits, Setting::corrected),
               best = set_groups(example, 0.01, bits, Setting::best);
    for (const auto &setting : {printed, corrected, best}) {
      EXPECT_LT(groups_bits(setting), 1.001 * bits);
      EXPECT_LT(groups_rate(example, setting), 0.01 * 1.0001);
    }
    EXPECT_LT(groups_rate(example, printed), 0.002); // (18) and (19) are slack
    EXPECT_LT(groups_missed(example, best), groups_missed(example, corrected));
    EXPECT_LT(groups_missed(example, corrected), groups_missed(example, printed));
    EXPECT_LT(groups_missed(example, best), stable_missed_at(best_stable_law(0.01, bits), bits));
  }
  EXPECT_LT(groups_missed(example, set_groups(example, 0.01, std::exp2(16) / 2'000, Setting::best)), 0.40);
}

TEST(GroupsModel, takes_no_more_bits_for_the_misses_asked_for_than_one_filter) {
  for (const double missed : {0.02, 0.1, 0.3}) {
    const auto best = best_groups_for(example, 0.01, missed);
    EXPECT_LE(groups_missed(example, best), missed * 1.01);
    EXPECT_LT(groups_bits(best), least_stable_bits(0.01, missed));
  }
  const std::vector<ScoreGroup> blind{{0.5, 0.5}, {0.5, 0.5}}; // scores that tell nothing
  EXPECT_NEAR(groups_bits(best_groups_for(blind, 0.05, 0.1)) / least_stable_bits(0.05, 0.1), 1, 0.02);
}

// Groups as Assumption 2 has them, drawn.
std::vector<ScoreGroup> drawn_groups(std::mt19937_64 &random, std::size_t count) {
  std::uniform_real_distribution<double> uniform(0.01, 1);
  std::vector<double> p(count), q(count);
  for (std::size_t j = 0; j < count; ++j) p[j] = uniform(random), q[j] = uniform(random);
  std::ranges::sort(p, std::greater());
  std::ranges::sort(q);
  const double all_p = std::accumulate(p.begin(), p.end(), 0.0),
               all_q = std::accumulate(q.begin(), q.end(), 0.0);
  std::vector<ScoreGroup> groups;
  for (std::size_t j = 0; j < count; ++j) groups.push_back({q[j] / all_q, p[j] / all_p});
  return groups;
}

TEST(GroupsModel, lemma_1_and_theorem_1_hold_for_rates_that_rise_as_p_falls) {
  const std::uint64_t seed = seed_or(31);
  WEIR_TRACE_SEED(seed);
  std::mt19937_64 random(seed);
  std::uniform_real_distribution<double> uniform(0, 1);
  for (std::size_t draw = 0; draw < 300; ++draw) {
    const auto groups = drawn_groups(random, 2 + draw % 5);
    ASSERT_TRUE(groups_are_ordered(groups));
    std::vector<double> rates;
    for (std::size_t j = 0; j < groups.size(); ++j) rates.push_back(uniform(random));
    std::ranges::sort(rates);
    const auto total = [&](const std::vector<double> &a) {
      double sum = 0;
      for (std::size_t j = 0; j < a.size(); ++j) sum += groups[j].other * a[j];
      return sum;
    };
    const double mean = std::accumulate(rates.begin(), rates.end(), 0.0) / static_cast<double>(rates.size());
    EXPECT_LE(total(rates), mean + 1e-12); // Theorem 1
    for (auto order = rates; std::ranges::next_permutation(order).found;)
      ASSERT_LE(total(rates), total(order) + 1e-12); // Lemma 1
    // Falling rates, as the paper's proof has them, are the worst order and break the bound.
    const std::vector<double> falling(rates.rbegin(), rates.rend());
    EXPECT_GE(total(falling), mean - 1e-12);
  }
}

TEST(GroupsModel, shares_out_the_whole_rate_and_more_of_it_where_told_keys_are_dense) {
  const std::uint64_t seed = seed_or(32);
  WEIR_TRACE_SEED(seed);
  std::mt19937_64 random(seed);
  for (std::size_t draw = 0; draw < 200; ++draw) {
    const auto groups = drawn_groups(random, 2 + draw % 9);
    for (const double rate : {0.001, 0.05, 0.4}) {
      const auto best = group_rates(groups, rate, Setting::best),
                 printed = group_rates(groups, rate, Setting::printed);
      double sum = 0, sum_printed = 0;
      for (std::size_t j = 0; j < groups.size(); ++j) {
        sum += groups[j].other * best[j];
        sum_printed += groups[j].other * printed[j];
        EXPECT_GE(best[j], best[j == 0 ? 0 : j - 1]);
      }
      EXPECT_NEAR(sum, rate, 1e-6);
      EXPECT_LE(sum_printed, rate / static_cast<double>(groups.size()) + 1e-9);
    }
  }
}

TEST(GroupsModel, estimates_shares_and_refines_until_they_are_out_of_order) {
  const std::uint64_t seed = seed_or(33);
  WEIR_TRACE_SEED(seed);
  std::mt19937_64 random(seed);
  std::vector<float> told, other;
  std::uniform_real_distribution<float> uniform(0, 1);
  for (int i = 0; i < 100'000; ++i) {
    told.push_back(std::sqrt(uniform(random))); // density 2 s
    other.push_back(1 - std::sqrt(uniform(random)));
  }
  const auto groups = estimate_groups(uniform_thresholds(4), told, other);
  ASSERT_EQ(groups.size(), 4u);
  EXPECT_NEAR(groups[0].told, 1.0 / 16, 0.004);
  EXPECT_NEAR(groups[0].other, 7.0 / 16, 0.006);
  const unsigned most = auto_groups(told, other);
  EXPECT_GE(most, 5u);
  EXPECT_TRUE(groups_are_ordered(estimate_groups(uniform_thresholds(most), told, other)));
  ASSERT_LT(most, 64u);
  EXPECT_FALSE(groups_are_ordered(estimate_groups(uniform_thresholds(most + 1), told, other)));
  EXPECT_EQ(auto_groups(other, told), 1u); // scores the wrong way round
}

} // namespace
} // namespace weir::test::score_groups_model_test
