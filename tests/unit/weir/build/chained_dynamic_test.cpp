// ChainedFilter with a dynamic second stage: exact over what it was told of while keys come, in as many bits as planned.
#include "tests/support/filter_checks.hpp"
#include "weir/build/chained_dynamic.hpp"

#include <gtest/gtest.h>
#include <set>

namespace weir::build::chained_dynamic_test {
namespace {

using test::absent_keys;
using test::random_keys;

constexpr std::size_t positives_count = 40'000;

struct Filled {
  ChainedDynamic<> filter;
  std::vector<KeyHash> positives, negatives;
};

// All positives at once, then `lambda` times as many negatives in `batches`.
Filled filled(double lambda, std::size_t batches, std::uint64_t seed, double first_rate = 0) {
  const double n = positives_count;
  Filled out{
      ChainedDynamic<>::sized(n, lambda, first_rate > 0 ? first_rate : chained_first_rate(lambda), 3).value(),
      random_keys(positives_count, seed), absent_keys(static_cast<std::size_t>(lambda * n), seed)};
  EXPECT_TRUE(out.filter.insert(out.positives));
  const std::size_t size = (out.negatives.size() + batches - 1) / batches;
  for (std::size_t at = 0; at < out.negatives.size(); at += size)
    EXPECT_TRUE(
        out.filter.exclude(std::span(out.negatives).subspan(at, std::min(size, out.negatives.size() - at))));
  return out;
}

TEST(ChainedDynamic, is_right_for_every_key_after_any_number_of_batches) {
  const std::uint64_t seed = test::seed_or(91);
  WEIR_TRACE_SEED(seed);
  for (const double lambda : {0.5, 1.0, 6.0, 15.0})
    for (const std::size_t batches : {1u, 7u, 30u}) {
      const Filled f = filled(lambda, batches, seed);
      EXPECT_EQ(test::missed(f.filter, f.positives), 0u) << lambda << ' ' << batches;
      EXPECT_EQ(test::accepted(f.filter, f.negatives), 0u) << lambda << ' ' << batches;
      EXPECT_TRUE(test::batch_equals_single(f.filter, f.positives));
      EXPECT_TRUE(test::batch_equals_single(f.filter, f.negatives));
    }
}

TEST(ChainedDynamic, accepts_other_keys_at_first_and_none_that_was_excluded) {
  const std::vector<KeyHash> positives = random_keys(10'000, 5), negatives = absent_keys(50'000, 5);
  auto filter = ChainedDynamic<>::sized(1e4, 5, chained_first_rate(5)).value();
  ASSERT_TRUE(filter.insert(positives));
  EXPECT_TRUE(test::rate_is(0.1, test::accepted(filter, negatives), negatives.size()));
  ASSERT_TRUE(filter.exclude(std::span(negatives).first(25'000)));
  EXPECT_EQ(test::accepted(filter, std::span(negatives).first(25'000)), 0u);
  EXPECT_GT(test::accepted(filter, std::span(negatives).subspan(25'000)), 1'000u);
}

// [Chained Alg. 2]: log2(8 lambda) bits of Bloom filter, 1.4427 real ones each, and room for chance in small layers.
TEST(ChainedDynamic, takes_the_bits_that_were_planned) {
  for (const double lambda : {1.0, 6.0, 15.0}) {
    const Filled f = filled(lambda, 5, 7);
    const double expected = 1.4427 * std::log2(8 * lambda) * positives_count;
    EXPECT_NEAR(static_cast<double>(f.filter.bits()) / expected, 1, 0.06) << lambda;
    const WhitelistPlan plan = plan_whitelist(positives_count, lambda, chained_first_rate(lambda));
    EXPECT_LE(static_cast<double>(f.filter.second().bits()), 1.01 * static_cast<double>(plan.bits()));
  }
}

TEST(ChainedDynamic, holds_a_rarer_first_stage_to_smaller_layers) {
  const Filled f = filled(8, 4, 8, 1.0 / 128);
  EXPECT_EQ(test::missed(f.filter, f.positives), 0u);
  EXPECT_EQ(test::accepted(f.filter, f.negatives), 0u);
  EXPECT_LT(f.filter.second().bits(), filled(8, 4, 8).filter.second().bits() / 2);
}

// Of what the first stage accepts F2 & ~(F3 & ~ ...) takes 1/4 (1 - 1/4 (1 - ...)) = 1/5 for excluded.
TEST(ChainedDynamic, accepts_an_unseen_key_a_fifth_less_often_than_its_first_stage) {
  const std::uint64_t seed = test::seed_or(92);
  WEIR_TRACE_SEED(seed);
  const Filled f = filled(6, 3, seed);
  const auto unseen = test::keys_from(std::uint64_t{1} << 41, 400'000, seed);
  const double first = filter::Bloom::rate(f.filter.first().shape(), positives_count);
  EXPECT_TRUE(test::rate_is(0.8 * first, test::accepted(f.filter, unseen), unseen.size(), 1e-6));
}

TEST(ChainedDynamic, takes_new_positives_and_keeps_rejecting_what_it_knows) {
  const std::uint64_t seed = test::seed_or(93);
  WEIR_TRACE_SEED(seed);
  const std::vector<KeyHash> positives = random_keys(20'000, seed), negatives = absent_keys(100'000, seed);
  auto filter = ChainedDynamic<>::sized(2e4, 5, chained_first_rate(5)).value();
  ASSERT_TRUE(filter.insert(std::span(positives).first(10'000)));
  ASSERT_TRUE(filter.exclude(negatives));
  std::vector<KeyHash> known; // to the second stage
  for (const KeyHash key : negatives)
    if (filter.first().contains(key)) known.push_back(key);
  for (std::size_t at = 10'000; at < positives.size(); at += 500)
    ASSERT_TRUE(filter.insert(std::span(positives).subspan(at, 500)));
  EXPECT_EQ(test::missed(filter, positives), 0u);
  EXPECT_EQ(test::accepted(filter, known), 0u);
  ASSERT_TRUE(filter.exclude(negatives)); // those that the first stage has come to accept
  EXPECT_EQ(test::missed(filter, positives), 0u);
  EXPECT_EQ(test::accepted(filter, negatives), 0u);
}

TEST(ChainedDynamic, grows_when_far_more_negatives_come_than_planned) {
  const std::vector<KeyHash> positives = random_keys(5'000, 9), negatives = absent_keys(400'000, 9);
  auto filter = ChainedDynamic<>::sized(5e3, 1, chained_first_rate(1)).value();
  ASSERT_TRUE(filter.insert(positives));
  const std::size_t planned = plan_whitelist(5e3, 1, chained_first_rate(1)).layers.size();
  ASSERT_TRUE(filter.exclude(negatives));
  EXPECT_GT(filter.second().depth(), planned);
  EXPECT_EQ(test::missed(filter, positives), 0u);
  EXPECT_EQ(test::accepted(filter, negatives), 0u);
}

TEST(ChainedDynamic, refuses_to_exclude_a_positive) {
  const std::vector<KeyHash> positives = random_keys(2'000, 10);
  auto filter = ChainedDynamic<>::sized(2e3, 4, chained_first_rate(4)).value();
  ASSERT_TRUE(filter.insert(positives));
  const Status refused = filter.exclude(std::span(positives).first(1));
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Errc::needs_rebuild);
  EXPECT_NE(refused.error().message.find("1 excluded keys are still accepted"), std::string::npos)
      << refused.error().message;
  EXPECT_EQ(filter.second().unsettled(), 1u);
  EXPECT_EQ(test::missed(filter, positives), 0u);
}

// Any second stage that is exact gives the same answers: here one that keeps the keys.
class KeptKeys {
public:
  Status include(std::span<const KeyHash>) { return {}; }
  Status exclude(std::span<const KeyHash> keys) {
    for (const KeyHash key : keys) excluded_.insert(key.bits);
    return {};
  }
  [[nodiscard]] bool contains(KeyHash key) const { return !excluded_.contains(key.bits); }
  [[nodiscard]] std::uint64_t bits() const { return 64 * excluded_.size(); }

private:
  std::set<std::uint64_t> excluded_;
};

TEST(ChainedDynamic, stands_before_any_exact_second_stage) {
  const Filled f = filled(3, 4, 11);
  auto other = ChainedDynamic<KeptKeys>::make(f.filter.first().shape(), KeptKeys(), 3).value();
  ASSERT_TRUE(other.insert(f.positives));
  ASSERT_TRUE(other.exclude(f.negatives));
  for (const auto &keys : {f.positives, f.negatives})
    for (const KeyHash key : keys) ASSERT_EQ(other.contains(key), f.filter.contains(key));
}

} // namespace
} // namespace weir::build::chained_dynamic_test
