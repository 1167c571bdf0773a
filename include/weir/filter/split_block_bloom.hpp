// Split-block Bloom filter: "was this key never inserted?" in half a cache line.
//
// A block of 32 bytes holds eight 32-bit words; a key sets one bit in each word of one block
// (Putze, Sanders, Singler 2007; block form and multipliers are those of the Apache Parquet
// specification). Answers are wrong only by accepting an absent key. Keys can be inserted in
// place, never removed.
//
//   block 0: word 0..7 | block 1 | ...     behind a FilterHeader (split_block_filter.hpp)
//
// Cost: one line a query. At 10 bits a key 1.3 % false positives, at 14 bits 0.26 %.
#pragma once

#include "weir/base/hash.hpp"
#include "weir/filter/batch.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <immintrin.h>
#include <span>

namespace weir::filter {

struct alignas(32) Block {
  std::uint32_t word[8];
};

class SplitBlockBloom {
public:
  SplitBlockBloom() = default;
  SplitBlockBloom(const Block *blocks, std::uint32_t count) noexcept : blocks_(blocks), count_(count) {}

  [[nodiscard]] const Block *blocks() const noexcept { return blocks_; }
  [[nodiscard]] std::uint32_t count() const noexcept { return count_; }

  // No filter at all; contains() must not be asked then.
  [[nodiscard]] bool empty() const noexcept { return count_ == 0; }

  // The filter's own view of a hash, remix(key, layer): batches compute it once for both steps.
  static constexpr std::uint64_t layer = 0x5B10C4B100F11735ull;
  [[nodiscard]] static std::uint64_t mixed(KeyHash key) noexcept { return remix(key, layer); }

  [[nodiscard]] const Block &block_for(std::uint64_t h) const noexcept {
    return blocks_[block_of(h, count_)];
  }
  void prefetch(KeyHash key) const noexcept { __builtin_prefetch(&block_for(mixed(key))); }

  [[nodiscard]] bool contains(KeyHash key) const noexcept { return contains_mixed(mixed(key)); }

  [[nodiscard]] bool contains_mixed(std::uint64_t h) const noexcept { return has_bits(block_for(h), h); }
  // Of the block that the hash names.
  [[nodiscard]] static bool has_bits(const Block &block, std::uint64_t h) noexcept {
#if defined(__SSE4_1__) && !defined(WEIR_WORDWISE)
    const auto *halves = reinterpret_cast<const __m128i *>(&block);
    const __m128i spread = _mm_set1_epi32(static_cast<int>(h));
    return _mm_testc_si128(_mm_load_si128(halves), bits_of(spread, 0)) != 0 &&
           _mm_testc_si128(_mm_load_si128(halves + 1), bits_of(spread, 4)) != 0;
#else
    return has_bits_wordwise(block, h);
#endif
  }

  // The portable form.
  [[nodiscard]] bool contains_wordwise(std::uint64_t h) const noexcept {
    return has_bits_wordwise(block_for(h), h);
  }

  // Two loops: prefetch, then probe.
  [[nodiscard]] HitMask contains_batch(std::span<const KeyHash> keys) const noexcept {
    for (const KeyHash key : keys) prefetch(key);
    HitMask hits = 0;
    for (std::size_t i = 0; i < keys.size(); ++i) hits |= HitMask{contains(keys[i])} << i;
    return hits;
  }

  // Sets a key's bits while readers look on; `blocks` is the memory that views read.
  static void insert(Block *blocks, std::uint32_t count, KeyHash key) noexcept {
    insert_mixed(blocks, count, mixed(key));
  }
  static void insert_mixed(Block *blocks, std::uint32_t count, std::uint64_t h) noexcept {
    Block &block = blocks[block_of(h, count)];
    for (unsigned i = 0; i < 8; ++i) __atomic_fetch_or(&block.word[i], bit(h, i), __ATOMIC_RELAXED);
  }

  [[nodiscard]] static constexpr std::uint32_t blocks_for(std::uint64_t keys,
                                                          unsigned bits_per_key) noexcept {
    return static_cast<std::uint32_t>(keys * bits_per_key / 256 + 1);
  }

  // An odd multiplier a word; the product's top five bits name the bit.
  alignas(32) static constexpr std::array<std::uint32_t, 8> odd{
      0x47B6137Bu, 0x44974D91u, 0x8824AD5Bu, 0xA2B7289Du, 0x705495C7u, 0x2DF1424Bu, 0x9EFC4947u, 0x5C6BFB31u};

private:
  [[nodiscard]] static std::uint32_t block_of(std::uint64_t h, std::uint32_t count) noexcept {
    return reduce(static_cast<std::uint32_t>(h >> 32), count);
  }
#ifdef __SSE4_1__
  // bit() of four words at once. SSE has no shift by lane, but 2^n as a float is n + 127 in the
  // exponent, and converting it back gives the bit; 2^31 overflows to exactly 0x80000000.
  [[nodiscard]] static __m128i bits_of(__m128i spread, unsigned first) noexcept {
    const __m128i multipliers = _mm_load_si128(reinterpret_cast<const __m128i *>(&odd[first]));
    const __m128i which = _mm_srli_epi32(_mm_mullo_epi32(spread, multipliers), 27);
    const __m128i exponent = _mm_slli_epi32(_mm_add_epi32(which, _mm_set1_epi32(127)), 23);
    return _mm_cvttps_epi32(_mm_castsi128_ps(exponent));
  }
#endif

  [[nodiscard]] static bool has_bits_wordwise(const Block &block, std::uint64_t h) noexcept {
    std::uint32_t missing = 0;
    for (unsigned i = 0; i < 8; ++i)
      missing |= bit(h, i) & ~__atomic_load_n(&block.word[i], __ATOMIC_RELAXED);
    return missing == 0;
  }
  [[nodiscard]] static std::uint32_t bit(std::uint64_t h, unsigned i) noexcept {
    return std::uint32_t{1} << ((static_cast<std::uint32_t>(h) * odd[i]) >> 27);
  }

  const Block *blocks_ = nullptr;
  std::uint32_t count_ = 0;
};

// Expected false positive rate at `keys` keys in `count` blocks: a block's load is binomial, and a
// query needs its bit in each of the eight words (Putze et al., section 3).
[[nodiscard]] inline double split_block_bloom_rate(double keys, std::uint32_t count) {
  const auto all_eight = [](double bit_clear) {
    const double twice = (1 - bit_clear) * (1 - bit_clear);
    return twice * twice * twice * twice;
  };
  constexpr double clear_after_one = 1 - 1.0 / 32;
  const double share = 1.0 / count, mean = keys * share;
  if (count == 1 || mean > 300) return all_eight(std::pow(clear_after_one, mean)); // no spread, or close to 1
  double rate = 0, weight = std::exp(keys * std::log1p(-share)), clear = 1;
  const double load_max = std::min(keys, mean + 12 * std::sqrt(mean) + 30);
  for (double load = 0; load <= load_max; ++load) {
    rate += weight * all_eight(clear);
    weight *= (keys - load) / (load + 1) * share / (1 - share);
    clear *= clear_after_one;
  }
  return rate;
}

} // namespace weir::filter
