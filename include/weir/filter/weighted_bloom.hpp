// Weighted counting Bloom filter: keys whose wrong acceptance costs more are asked more hash functions
// (Bruck, Gao, Jiang 2006, on counting cells as [SSCF §4.1.1] has it).
//
//   cost classes   dear keys 16 functions | less dear 9 | ... | everything else k
//   cells          one counting Bloom filter for all of them
//
// How many functions a key has must be known again when it is asked, so the costs have to be stored: each
// class is a cuckoo filter of its keys, asked dearest first. The classes never change while keys are
// present. A key that a class takes wrongly has that class's functions in every operation, so nothing is
// missed; it only costs a little rate and time.
//
//   errors    (share of cells in use)^(functions of the key); never misses a present key
//   cost      one or two lines for each class, then up to the key's functions: the slowest filter here
//   bits      cells and classes; the stored costs are charged
//   erase     only of keys that are present
#pragma once

#include "weir/filter/counting_bloom.hpp"
#include "weir/filter/cuckoo_filter.hpp"

namespace weir::filter {

class WeightedBloom {
public:
  struct CostClass {
    CuckooFilter keys;
    unsigned hashes = 1;
  };

  // `cells.hashes` is what keys of no class have. Errors: usage, as CountingBloom::make().
  [[nodiscard]] static Result<WeightedBloom> make(CountingBloom::Shape cells,
                                                  std::vector<CostClass> classes) {
    for (const CostClass &c : classes)
      if (c.hashes < 1 || c.hashes > CountingBloom::hashes_max)
        return fail(Errc::usage, "a cost class has 1 to 32 hash functions, not " + std::to_string(c.hashes));
    auto made = TRY(CountingBloom::make(cells));
    return WeightedBloom(std::move(made), std::move(classes));
  }

  void insert(KeyHash key) noexcept { cells_.insert(key, hashes_of(key)); }
  // False, and nothing changed, when the key certainly is absent.
  bool erase(KeyHash key) noexcept { return cells_.erase(key, hashes_of(key)); }
  [[nodiscard]] bool contains(KeyHash key) const noexcept { return cells_.contains(key, hashes_of(key)); }
  [[nodiscard]] HitMask contains_batch(std::span<const KeyHash> keys) const noexcept {
    std::array<std::uint8_t, batch_max> hashes;
    hashes.fill(static_cast<std::uint8_t>(cells_.shape().hashes));
    for (auto c = classes_.rbegin(); c != classes_.rend(); ++c) // the dearest has the last word
      for (HitMask rest = c->keys.contains_batch(keys); rest != 0; rest &= rest - 1)
        hashes[static_cast<std::size_t>(std::countr_zero(rest))] = static_cast<std::uint8_t>(c->hashes);
    return cells_.contains_batch(keys, hashes);
  }

  [[nodiscard]] unsigned hashes_of(KeyHash key) const noexcept {
    for (const CostClass &c : classes_)
      if (c.keys.contains(key)) return c.hashes;
    return cells_.shape().hashes;
  }
  [[nodiscard]] std::uint64_t bits() const noexcept {
    std::uint64_t bits = cells_.bits();
    for (const CostClass &c : classes_) bits += c.keys.bits();
    return bits;
  }
  [[nodiscard]] std::uint64_t keys() const noexcept { return cells_.keys(); }
  [[nodiscard]] std::uint64_t cells_stuck() const noexcept { return cells_.cells_stuck(); }

private:
  WeightedBloom(CountingBloom cells, std::vector<CostClass> classes)
      : cells_(std::move(cells)), classes_(std::move(classes)) {}

  CountingBloom cells_;
  std::vector<CostClass> classes_;
};

} // namespace weir::filter
