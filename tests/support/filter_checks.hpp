// What every filter is held to: keys to ask it with, and questions whose answer is a count or a verdict.
#pragma once

#include "tests/support/seed.hpp"
#include "tests/support/seeded_key.hpp"
#include "weir/base/hash.hpp"
#include "weir/filter/batch.hpp"

#include <algorithm>
#include <cmath>
#include <gtest/gtest.h>
#include <random>
#include <span>
#include <string>
#include <vector>

namespace weir::test {

// Present and absent keys come from halves of their own.
[[nodiscard]] inline std::vector<KeyHash> keys_from(std::uint64_t first, std::size_t count,
                                                    std::uint64_t seed) {
  std::vector<KeyHash> keys(count);
  for (std::size_t i = 0; i < count; ++i) keys[i] = seeded_key(seed, first + i);
  return keys;
}
[[nodiscard]] inline std::vector<KeyHash> random_keys(std::size_t count, std::uint64_t seed) {
  return keys_from(0, count, seed);
}
[[nodiscard]] inline std::vector<KeyHash> absent_keys(std::size_t count, std::uint64_t seed) {
  return keys_from(std::uint64_t{1} << 40, count, seed);
}

template <class Filter>
[[nodiscard]] std::size_t accepted(const Filter &filter, std::span<const KeyHash> keys) {
  return static_cast<std::size_t>(std::ranges::count_if(keys, [&](KeyHash k) { return filter.contains(k); }));
}
template <class Filter>
[[nodiscard]] std::size_t missed(const Filter &filter, std::span<const KeyHash> keys) {
  return keys.size() - accepted(filter, keys);
}

// For every batch size from none to the largest.
template <class Filter>
[[nodiscard]] ::testing::AssertionResult batch_equals_single(const Filter &filter,
                                                             std::span<const KeyHash> keys) {
  std::size_t at = 0;
  for (std::size_t size = 0; size <= filter::batch_max && at + size <= keys.size(); at += size, ++size) {
    const std::span<const KeyHash> batch = keys.subspan(at, size);
    filter::HitMask single = 0;
    for (std::size_t i = 0; i < size; ++i) single |= filter::HitMask{filter.contains(batch[i])} << i;
    if (filter.contains_batch(batch) != single)
      return ::testing::AssertionFailure() << "a batch of " << size << " answers otherwise";
  }
  return ::testing::AssertionSuccess();
}

// What a sum of independent terms of at most `term_max` is from its mean at most, but once in ten million
// times (Bernstein's inequality).
[[nodiscard]] inline double farthest(double variance, double term_max = 1) noexcept {
  constexpr double log_of_chances = 16.8; // ln(2 x 10^7)
  const double linear = term_max * log_of_chances / 3;
  return linear + std::sqrt(linear * linear + 2 * log_of_chances * variance);
}

// Within chance, and a twentieth of the rate for what the model leaves out. `rate_variance`: of the rates of
// filters like this one, see filter_spread.hpp.
[[nodiscard]] inline ::testing::AssertionResult rate_is(double predicted, std::size_t hits, std::size_t asked,
                                                        double rate_variance = 0) {
  const auto n = static_cast<double>(asked);
  const double measured = static_cast<double>(hits) / n;
  const double chance = farthest(n * predicted * (1 - predicted) + n * n * rate_variance) / n;
  if (std::abs(measured - predicted) <= chance + predicted / 20) return ::testing::AssertionSuccess();
  return ::testing::AssertionFailure()
         << "measured " << measured << ", predicted " << predicted << ", chance allows for " << chance;
}

// Whether an insertion went well, for filters that can refuse and for those that cannot.
template <class Filter> [[nodiscard]] bool inserted(Filter &filter, KeyHash key) {
  if constexpr (std::is_void_v<decltype(filter.insert(key))>) {
    filter.insert(key);
    return true;
  } else {
    return static_cast<bool>(filter.insert(key));
  }
}

// Rounds of deleting a twentieth of the keys at random and inserting as many new ones.
template <class Filter>
[[nodiscard]] ::testing::AssertionResult survives_churn(Filter &filter, std::size_t keys, unsigned rounds,
                                                        std::uint64_t seed) {
  std::mt19937_64 random(seed);
  std::vector<KeyHash> present = random_keys(keys, seed);
  std::uint64_t next = keys;
  for (const KeyHash key : present)
    if (!inserted(filter, key)) return ::testing::AssertionFailure() << "a key was refused";
  for (unsigned round = 0; round < rounds; ++round) {
    std::ranges::shuffle(present, random);
    const std::size_t kept = keys - keys / 20;
    for (std::size_t i = kept; i < keys; ++i) filter.erase(present[i]);
    present.resize(kept);
    for (const KeyHash key : keys_from(next, keys - kept, seed)) {
      if (!inserted(filter, key)) return ::testing::AssertionFailure() << "a key was refused";
      present.push_back(key);
    }
    next += keys - kept;
    if (const std::size_t lost = missed(filter, present); lost != 0)
      return ::testing::AssertionFailure() << lost << " keys lost in round " << round;
  }
  return ::testing::AssertionSuccess();
}

} // namespace weir::test
