// The reader that XOR and binary fuse filters share: a packed table of fingerprints, in which three slots
// (four, by the shape) of a present key combine to the fingerprint of the key.
//
//   slots   [f bits] [f bits] [f bits] ...    side by side; no gaps
//              ^         ^         ^
//   key       p_0       p_1       p_2         present: slot p_0 xor slot p_1 xor slot p_2 = fingerprint(key)
//
// An absent key's slots hold what others put there, so it is accepted with 2^-f whatever the number of keys.
// Where the slots lie is the Shape's business. Cost: a line for each slot, all of them known at once.
// A section never changes; any number of readers.
#pragma once

#include "weir/filter/base_filter.hpp"
#include "weir/filter/fuse_kernels.hpp"

#include <algorithm>
#include <cmath>

namespace weir::filter {

inline constexpr unsigned peeled_fingerprint_bits_max = 20;
inline constexpr unsigned peeled_padding_bits = 24; // a 32-bit load of the last slot may read past it

template <unsigned ways> using PeeledSlots = std::array<std::uint32_t, ways>; // all different

// A slot's bits from its first one on; `bytes` are those of the table.
[[nodiscard]] inline std::uint32_t peeled_load(const std::byte *bytes, std::uint64_t bit) noexcept {
  return load_unaligned<std::uint32_t>(bytes + bit / 8) >> bit % 8;
}
[[nodiscard]] inline std::uint64_t peeled_bits(std::uint64_t slots, unsigned fingerprint_bits) noexcept {
  return round_up(slots * fingerprint_bits + peeled_padding_bits, 64);
}

// The form that kernels know.
template <class S>
concept HasFuseKernels = requires(const S s) {
  { s.kernels() } -> std::same_as<const FuseKernels *>;
};

// `S` has fingerprint_bits, slots() and slots_of(mixed hash).
template <class S> class PeeledView {
  using Slots = decltype(S().slots_of(0));

public:
  using Shape = S;

  PeeledView() = default;
  PeeledView(const Shape &shape, const FilterHeader &header, const std::byte *cells) noexcept
      : shape_(shape), near_(shape.bits() <= near_bits), family_(family(header.layer, header.seed)),
        bytes_(cells) {}
  [[nodiscard]] static Result<PeeledView> attach(Bytes section) { return attach_view<PeeledView>(section); }

  [[nodiscard]] const Shape &shape() const noexcept { return shape_; }

  [[nodiscard]] bool contains(KeyHash key) const noexcept {
    const std::uint64_t h = remix(key, family_);
    return matches(h, shape_.slots_of(h));
  }

  [[nodiscard]] Slots slots_of(KeyHash key) const noexcept { return shape_.slots_of(remix(key, family_)); }
  // The lines that contains() will read.
  [[gnu::always_inline]] void prefetch(KeyHash key) const noexcept {
    const Slots slots = slots_of(key);
#pragma GCC unroll 4
    for (const std::uint32_t slot : slots) __builtin_prefetch(bytes_ + bit_of(slot) / 8, 0, into_l2);
  }

  [[nodiscard]] HitMask contains_batch(std::span<const KeyHash> keys) const noexcept {
    if constexpr (HasFuseKernels<Shape>)
      if (const FuseKernels *kernels = shape_.kernels();
          kernels != nullptr && keys.size() >= fuse_kernel_keys)
        return kernels->accepted(shape_.table(bytes_, family_), keys);
    return contains_batch_portable(keys);
  }
  // Two loops: prefetch three lines a key, then look. One where nothing is far.
  [[nodiscard]] HitMask contains_batch_portable(std::span<const KeyHash> keys) const noexcept {
    if (near_ || keys.size() <= few_keys) {
      HitMask hits = 0;
      for (std::size_t i = 0; i < keys.size(); ++i) hits |= HitMask{contains(keys[i])} << i;
      return hits;
    }
    std::array<std::uint64_t, batch_max> mixed;
    std::array<Slots, batch_max> slots;
    for (std::size_t i = 0; i < keys.size(); ++i) {
      mixed[i] = remix(keys[i], family_);
      slots[i] = shape_.slots_of(mixed[i]);
#pragma GCC unroll 4
      for (const std::uint32_t slot : slots[i]) __builtin_prefetch(bytes_ + bit_of(slot) / 8, 0, into_l2);
    }
    HitMask hits = 0;
    for (std::size_t i = 0; i < keys.size(); ++i) hits |= HitMask{matches(mixed[i], slots[i])} << i;
    return hits;
  }

  // What builders need to agree with.
  [[nodiscard]] static std::uint64_t family(std::uint64_t layer, std::uint64_t seed) noexcept {
    return hash_family(Shape::own_view, layer) ^ seed;
  }
  // From bits that a product has stirred again: slots take those of the hash itself.
  [[nodiscard]] static std::uint32_t fingerprint_of(std::uint64_t mixed, unsigned bits) noexcept {
    return static_cast<std::uint32_t>((mixed * remix_factor_1) >> (64 - bits));
  }

private:
  [[nodiscard]] std::uint64_t bit_of(std::uint32_t slot) const noexcept {
    return std::uint64_t{slot} * shape_.fingerprint_bits;
  }
  [[nodiscard, gnu::always_inline]] bool matches(std::uint64_t mixed, const Slots &slots) const noexcept {
    std::uint32_t bits = fingerprint_of(mixed, shape_.fingerprint_bits);
#pragma GCC unroll 4
    for (const std::uint32_t slot : slots) bits ^= peeled_load(bytes_, bit_of(slot));
    return (bits & ((std::uint32_t{1} << shape_.fingerprint_bits) - 1)) == 0;
  }

  Shape shape_;
  bool near_ = true;
  std::uint64_t family_ = 0;
  const std::byte *bytes_ = nullptr;
};

} // namespace weir::filter
