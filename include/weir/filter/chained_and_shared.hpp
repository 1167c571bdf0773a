// ChainedFilter with `&` whose two stages share their slots [Chained §5.2, remark]: one hash, one set of lines and no branch for a
// question, where the plain form (chained_and.hpp) goes on to a second filter.
//
//   slot    | fingerprint, f bits | column 0 | column 1 |     slots as in a binary fuse filter, three-wise or four-wise
//
//   key     the slots' fingerprints combine to the key's, and the column that the key chooses combines to 1: positive
//
// The second stage holds the positives and the negatives that the first one lets through. They are as many again at
// most, so that half of them fit in each column, which has a bit for every slot.
//
//   errors    none for keys of the universe; another key is accepted with 2^-(f + 1)
//   bits      C (f + 2) a positive with f = ceil(log2 lambda): those of the plain form where lambda is a power of two
//   cost      three or four lines, all of them known at once
//
// Built by build/chained_and_shared_builder.hpp.
#pragma once

#include "weir/filter/binary_fuse.hpp"

namespace weir::filter {

// What a key's mixed hash says, but for its lowest bit, in which the builder carries the answer.
template <unsigned ways> struct SharedKey {
  PeeledSlots<ways> slots;
  std::uint32_t wanted; // fingerprint in the lowest bits, then a 1 in the key's column
  std::uint32_t mask;   // the bits of a slot that have a say

  SharedKey(const FuseShape<ways> &table, std::uint64_t h) noexcept {
    const std::uint64_t stirred = (h >> 1) * remix_factor_1;
    const unsigned f = table.fingerprint_bits - 2;
    const auto fingerprint = static_cast<std::uint32_t>(stirred >> 32 >> (32 - f));
    const std::uint32_t column = std::uint32_t{1} << (f + (stirred >> 31 & 1));
    slots = table.slots_of(h | 1, (h >> 1) * remix_factor_2);
    wanted = fingerprint | column;
    mask = ((std::uint32_t{1} << f) - 1) | column;
  }
};

template <unsigned ways> class ChainedAndSharedView {
public:
  static constexpr std::uint64_t own_view = ways == 3 ? 0x5A7ED3C41B0F9E27ull : 0x5A7ED4D86E3B71A9ull;

  ChainedAndSharedView() = default;
  ChainedAndSharedView(const FuseShape<ways> &table, std::uint64_t family, const std::byte *slots) noexcept
      : table_(table), family_(family), bytes_(slots) {}

  [[nodiscard]] bool contains(KeyHash key) const noexcept {
    const SharedKey<ways> k(table_, remix(key, family_));
    return (combined(k) & k.mask) == k.wanted;
  }
  [[nodiscard]] HitMask contains_batch(std::span<const KeyHash> keys) const noexcept {
    if (const FuseKernels *kernels = table_.kernels(); kernels != nullptr && keys.size() >= fuse_kernel_keys)
      return kernels->in_both(table_.table(bytes_, family_), keys);
    return contains_batch_portable(keys);
  }
  [[nodiscard]] HitMask contains_batch_portable(std::span<const KeyHash> keys) const noexcept {
    HitMask hits = 0;
    if (table_.bits() <= near_bits || keys.size() <= few_keys) {
      for (std::size_t i = 0; i < keys.size(); ++i) hits |= HitMask{contains(keys[i])} << i;
      return hits;
    }
    std::array<std::uint64_t, batch_max> mixed;
    for (std::size_t i = 0; i < keys.size(); ++i) {
      mixed[i] = remix(keys[i], family_);
#pragma GCC unroll 4
      for (const std::uint32_t slot : SharedKey<ways>(table_, mixed[i]).slots)
        __builtin_prefetch(bytes_ + std::uint64_t{slot} * table_.fingerprint_bits / 8, 0, into_l2);
    }
    for (std::size_t i = 0; i < keys.size(); ++i) {
      const SharedKey<ways> k(table_, mixed[i]);
      hits |= HitMask{(combined(k) & k.mask) == k.wanted} << i;
    }
    return hits;
  }

  // What builders need to agree with.
  [[nodiscard]] static std::uint64_t family(std::uint64_t layer, std::uint64_t seed) noexcept {
    return hash_family(own_view, layer) ^ seed;
  }

private:
  [[nodiscard, gnu::always_inline]] std::uint32_t combined(const SharedKey<ways> &key) const noexcept {
    std::uint32_t bits = 0;
#pragma GCC unroll 4
    for (const std::uint32_t slot : key.slots)
      bits ^= peeled_load(bytes_, std::uint64_t{slot} * table_.fingerprint_bits);
    return bits;
  }

  FuseShape<ways> table_;
  std::uint64_t family_ = 0;
  const std::byte *bytes_ = nullptr;
};

} // namespace weir::filter
