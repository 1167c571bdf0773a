// Any filter of the library as a contender.
#pragma once

#include "tests/lab/contenders.hpp"

#include <algorithm>
#include <immintrin.h>
#include <type_traits>

namespace weir::lab {

using Made = Result<std::unique_ptr<Contender>>;

template <class F> class Model final : public Contender {
public:
  explicit Model(F filter) : filter_(std::move(filter)) {}

  bool insert(KeyHash key) override {
    if constexpr (std::is_void_v<decltype(filter_.insert(key))>) {
      filter_.insert(key);
      return true;
    } else {
      return static_cast<bool>(filter_.insert(key));
    }
  }
  void erase(KeyHash key) override { filter_.erase(key); }
  void learn_late(KeyHash negative) override {
    if constexpr (requires { filter_.learn_late(negative); }) filter_.learn_late(negative);
  }
  void insert_all(std::span<const KeyHash> keys) override {
    for (const KeyHash key : keys) (void)filter_.insert(key);
  }
  void erase_all(std::span<const KeyHash> keys) override {
    for (const KeyHash key : keys) filter_.erase(key);
  }
  std::uint64_t count_singly(std::span<const KeyHash> keys) const override {
    std::uint64_t hits = 0;
    for (const KeyHash key : keys) hits += filter_.contains(key) ? 1 : 0;
    return hits;
  }
  std::uint64_t count_waiting(std::span<const KeyHash> keys) const override {
    std::uint64_t hits = 0;
    for (const KeyHash key : keys) {
      hits += filter_.contains(key) ? 1 : 0;
      _mm_lfence();
    }
    return hits;
  }
  void insert_waiting(std::span<const KeyHash> keys) override {
    for (const KeyHash key : keys) {
      (void)filter_.insert(key);
      _mm_lfence();
    }
  }
  std::uint64_t count_batches(std::span<const KeyHash> keys) const override {
    std::uint64_t hits = 0;
    for (std::size_t at = 0; at < keys.size(); at += filter::batch_max)
      hits += static_cast<unsigned>(std::popcount(
          filter_.contains_batch(keys.subspan(at, std::min(filter::batch_max, keys.size() - at)))));
    return hits;
  }
  filter::HitMask accepts(std::span<const KeyHash> keys) const override {
    return filter_.contains_batch(keys);
  }
  std::uint64_t bits() const override { return filter_.bits(); }
  std::uint64_t overflows() const override {
    if constexpr (requires { filter_.cells_stuck(); }) return filter_.cells_stuck();
    return 0;
  }

private:
  F filter_;
};

template <class F> Made wrapped(Result<F> filter) {
  if (!filter) return std::unexpected(filter.error());
  return std::make_unique<Model<F>>(std::move(*filter));
}

} // namespace weir::lab
