// The cuckoo filter: what is in is found, what went is gone, a full one refuses and stays whole.
#include "weir/filter/cuckoo_filter.hpp"

#include "tests/support/filter_checks.hpp"
#include "tests/support/filter_spread.hpp"

#include <gtest/gtest.h>

namespace weir::filter::cuckoo_filter_test {
namespace {

using test::absent_keys;
using test::random_keys;

CuckooFilter filled(CuckooFilter::Shape shape, const std::vector<KeyHash> &keys) {
  CuckooFilter filter = CuckooFilter::make(shape).value();
  for (const KeyHash key : keys) EXPECT_TRUE(filter.insert(key)) << "at " << filter.keys();
  return filter;
}

TEST(CuckooFilter, refuses_fingerprints_and_tables_that_cannot_be) {
  for (const CuckooFilter::Shape shape : {CuckooFilter::Shape{100, 0}, {100, 21}, {0, 8}}) {
    const auto filter = CuckooFilter::make(shape);
    ASSERT_FALSE(filter);
    EXPECT_EQ(filter.error().code, Errc::usage);
  }
}

TEST(CuckooFilter, a_key_that_is_in_is_found_whatever_the_fingerprint_and_however_many_buckets) {
  const std::uint64_t seed = test::seed_or(11);
  WEIR_TRACE_SEED(seed);
  for (unsigned bits = 1; bits <= CuckooFilter::fingerprint_bits_max; ++bits)
    for (const std::uint32_t buckets : {1u, 2u, 3u, 257u, 1000u}) {
      CuckooFilter filter = CuckooFilter::make({buckets, bits}).value();
      std::vector<KeyHash> in;
      for (const KeyHash key : random_keys(buckets * 4u, seed + bits)) // some are refused
        if (filter.insert(key)) in.push_back(key);
      EXPECT_EQ(filter.keys(), in.size());
      EXPECT_EQ(test::missed(filter, in), 0u) << bits << " bits, " << buckets << " buckets";
      EXPECT_TRUE(test::batch_equals_single(filter, in));
      EXPECT_TRUE(test::batch_equals_single(filter, absent_keys(200, seed)));
    }
}

TEST(CuckooFilter, takes_ninety_five_percent_of_its_slots) {
  const std::uint64_t seed = test::seed_or(12);
  WEIR_TRACE_SEED(seed);
  const CuckooFilter filter = filled({25'003, 12}, random_keys(95'000, seed));
  EXPECT_NEAR(filter.load(), 0.95, 0.001);
}

TEST(CuckooFilter, accepts_absent_keys_as_often_as_predicted) {
  const std::uint64_t seed = test::seed_or(13);
  WEIR_TRACE_SEED(seed);
  const std::vector<KeyHash> keys = random_keys(18'000, seed), absent = absent_keys(200'000, seed);
  for (unsigned bits = 1; bits <= CuckooFilter::fingerprint_bits_max; ++bits) {
    const CuckooFilter::Shape shape{bits < 8 ? 80'000u : 4'900u + bits, bits};
    const CuckooFilter filter = filled(shape, keys);
    EXPECT_TRUE(test::rate_is(cuckoo_rate(shape, keys.size()), test::accepted(filter, absent), absent.size(),
                              test::rate_variance(shape, static_cast<double>(keys.size()))))
        << bits << " bits";
  }
}

TEST(CuckooFilter, a_key_deleted_leaves_no_trace) {
  const std::uint64_t seed = test::seed_or(14);
  WEIR_TRACE_SEED(seed);
  std::vector<KeyHash> keys = random_keys(9'000, seed);
  CuckooFilter filter = filled({2'500, 9}, keys);
  for (std::size_t i = 0; i < keys.size(); ++i) {
    EXPECT_TRUE(filter.erase(keys[i]));
    if (i % 1000 == 0) {
      EXPECT_EQ(test::missed(filter, std::span(keys).subspan(i + 1)), 0u);
    }
  }
  EXPECT_EQ(filter.keys(), 0u);
  EXPECT_EQ(test::accepted(filter, absent_keys(10'000, seed)), 0u);
  EXPECT_EQ(test::accepted(filter, keys), 0u);
  EXPECT_FALSE(filter.erase(keys[0])) << "nothing is there to be taken";
}

TEST(CuckooFilter, a_key_inserted_twice_is_deleted_twice) {
  CuckooFilter filter = CuckooFilter::make({100, 10}).value();
  const KeyHash key{42};
  ASSERT_TRUE(filter.insert(key) && filter.insert(key));
  EXPECT_TRUE(filter.erase(key));
  EXPECT_TRUE(filter.contains(key));
  EXPECT_TRUE(filter.erase(key));
  EXPECT_FALSE(filter.contains(key));
}

TEST(CuckooFilter, a_ninth_copy_is_refused_and_the_eight_stay) {
  CuckooFilter filter = CuckooFilter::make({1000, 16}).value();
  const KeyHash key{7};
  for (int i = 0; i < 8; ++i) ASSERT_TRUE(filter.insert(key));
  const Status ninth = filter.insert(key);
  ASSERT_FALSE(ninth);
  EXPECT_EQ(ninth.error().code, Errc::needs_rebuild);
  for (int i = 0; i < 8; ++i) EXPECT_TRUE(filter.contains(key) && filter.erase(key));
  EXPECT_FALSE(filter.contains(key));
}

TEST(CuckooFilter, a_refused_key_changes_nothing) {
  const std::uint64_t seed = test::seed_or(15);
  WEIR_TRACE_SEED(seed);
  CuckooFilter filter = CuckooFilter::make({50, 12}).value();
  std::vector<KeyHash> in;
  unsigned refused = 0;
  for (const KeyHash key : random_keys(2'000, seed)) {
    if (filter.insert(key))
      in.push_back(key);
    else
      ++refused;
    ASSERT_EQ(test::missed(filter, in), 0u) << "after " << refused << " refusals";
  }
  EXPECT_GT(refused, 1'000u);
  EXPECT_EQ(filter.keys(), in.size());
}

TEST(CuckooFilter, holds_its_keys_through_churn_at_full_load) {
  const std::uint64_t seed = test::seed_or(16);
  WEIR_TRACE_SEED(seed);
  CuckooFilter filter = CuckooFilter::make({2'111, 12}).value();
  EXPECT_TRUE(test::survives_churn(filter, 8'000, 40, seed));
}

TEST(CuckooFilter, uses_the_bits_that_it_is_given) {
  for (const double per_key : {5.5, 7.0, 12.0, 20.0, 32.0}) {
    const std::uint64_t keys = 100'000, budget = static_cast<std::uint64_t>(per_key * keys);
    const auto shape = CuckooFilter::shape_for(keys, budget);
    ASSERT_TRUE(shape);
    const CuckooFilter filter = CuckooFilter::make(*shape).value();
    EXPECT_LE(filter.bits(), budget);
    EXPECT_GT(static_cast<double>(filter.bits()), 0.999 * static_cast<double>(budget));
  }
  EXPECT_FALSE(CuckooFilter::shape_for(1'000, 5'000)) << "short fingerprints leave most slots empty";
}

} // namespace
} // namespace weir::filter::cuckoo_filter_test
