// Whatever comes in whatever order: a positive is never missed, and what was excluded last is rejected.
#include "tests/support/filter_checks.hpp"
#include "weir/build/chained_dynamic.hpp"

#include <gtest/gtest.h>

namespace weir::build::chained_dynamic_test {
namespace {

TEST(ChainedDynamicProperty, misses_no_positive_and_accepts_nothing_excluded_in_any_order_of_changes) {
  const std::uint64_t first_seed = test::seed_or(17);
  for (std::uint64_t seed = first_seed; seed < first_seed + 150; ++seed) {
    WEIR_TRACE_SEED(seed);
    std::mt19937_64 random(seed);
    const std::size_t most = 1 + random() % 400;
    const double lambda = 0.25 * static_cast<double>(1 + random() % 40);
    auto filter =
        ChainedDynamic<>::sized(static_cast<double>(most), lambda, chained_first_rate(lambda)).value();
    const std::vector<KeyHash> positives = test::random_keys(most, seed);
    const std::vector<KeyHash> negatives =
        test::absent_keys(static_cast<std::size_t>(lambda * static_cast<double>(most)) + 1, seed);
    std::size_t in = 0, out = 0; // so many positives, negatives have come
    std::vector<KeyHash> known;  // to the second stage: rejected whatever comes
    while (in < positives.size() || out < negatives.size()) {
      if (random() % 2 == 0) {
        const std::size_t count = std::min<std::size_t>(random() % 50, positives.size() - in);
        ASSERT_TRUE(filter.insert(std::span(positives).subspan(in, count)));
        in += count;
      } else {
        const std::size_t count = std::min<std::size_t>(random() % 200, negatives.size() - out);
        const auto batch = std::span(negatives).subspan(out, count);
        ASSERT_TRUE(filter.exclude(batch));
        ASSERT_EQ(test::accepted(filter, batch), 0u);
        for (const KeyHash key : batch)
          if (filter.first().contains(key)) known.push_back(key);
        out += count;
      }
      ASSERT_EQ(test::missed(filter, std::span(positives).first(in)), 0u);
      ASSERT_EQ(test::accepted(filter, known), 0u);
    }
    ASSERT_EQ(filter.second().unsettled(), 0u);
  }
}

} // namespace
} // namespace weir::build::chained_dynamic_test
