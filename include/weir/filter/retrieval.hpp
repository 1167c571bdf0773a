// Retrieval: a value of 1 to 20 bits for each key of a set that never changes, without the keys. Other keys get
// some value: whoever asks knows the set, or does not mind. With one bit it is the exact Bloomier filter
// [Chained §3]: positives 1, negatives 0, right for all keys of the declared universe, and 1 for half of the
// others.
//
//   slots   [v bits] [v bits] [v bits] ...    as in a binary fuse filter, three-wise or four-wise
//              ^         ^         ^
//   key       p_0       p_1       p_2         value = slot p_0 xor slot p_1 xor slot p_2
//
// The lowest v bits of a key's mixed hash have no part in where its slots lie, so that a builder can carry the value
// there (build/retrieval_builder.hpp). Keys whose other 64 - v bits agree cannot be told apart, which limits v
// by the number of keys: see RetrievalShape::serves().
//
//   bits      three-wise 1.13 v a key from a million keys on, four-wise 1.08 v; more for fewer, see binary_fuse.hpp
//   cost      three or four lines a query, all of them known at once. Any number of readers
#pragma once

#include "weir/filter/binary_fuse.hpp"

namespace weir::filter {

template <unsigned ways> struct RetrievalShape {
  static constexpr FilterKind kind = ways == 3 ? FilterKind::retrieval_3 : FilterKind::retrieval_4;
  static constexpr std::uint64_t own_view = ways == 3 ? 0x3E7415CE5A6D0B97ull : 0x4E7415D1C3F28A69ull;

  FuseShape<ways> table; // its fingerprints are the values

  [[nodiscard]] static std::optional<RetrievalShape> for_keys(double keys, unsigned value_bits) noexcept {
    const auto table = FuseShape<ways>::for_keys(keys, value_bits);
    return table ? std::optional(RetrievalShape{*table}) : std::nullopt;
  }
  // Whether so many keys differ in the bits that place them, but for one seed in a hundred: 430 million with values of one
  // bit, 37 million of 8 bits, 590,000 of 20.
  [[nodiscard]] static bool serves(double keys, unsigned value_bits) noexcept {
    return keys * keys / 2 < 0.01 * std::exp2(64.0 - value_bits);
  }

  [[nodiscard]] unsigned value_bits() const noexcept { return table.fingerprint_bits; }
  [[nodiscard]] std::uint32_t value_mask() const noexcept { return (std::uint32_t{1} << value_bits()) - 1; }
  [[nodiscard]] std::uint64_t slots() const noexcept { return table.slots(); }
  [[nodiscard]] std::uint64_t bits() const noexcept { return table.bits(); }
  [[nodiscard]] ShapeWords as_words() const noexcept { return table.as_words(); }
  [[nodiscard]] static RetrievalShape of(const ShapeWords &w) noexcept { return {FuseShape<ways>::of(w)}; }
  [[nodiscard]] const char *objection() const noexcept {
    if (value_bits() < 1 || value_bits() > peeled_fingerprint_bits_max)
      return "values are not of 1 to 20 bits";
    return table.objection();
  }
  [[nodiscard]] PeeledSlots<ways> slots_of(std::uint64_t h) const noexcept {
    return table.slots_of(h & ~std::uint64_t{value_mask()}, (h >> value_bits()) * remix_factor_2);
  }
};

template <unsigned ways> class RetrievalView {
public:
  using Shape = RetrievalShape<ways>;

  RetrievalView() = default;
  RetrievalView(const Shape &shape, const FilterHeader &header, const std::byte *cells) noexcept
      : shape_(shape), near_(shape.bits() <= near_bits), family_(family(header.layer, header.seed)),
        bytes_(cells) {}
  [[nodiscard]] static Result<RetrievalView> attach(Bytes section) {
    return attach_view<RetrievalView>(section);
  }

  [[nodiscard]] const Shape &shape() const noexcept { return shape_; }

  [[nodiscard]] std::uint32_t value(KeyHash key) const noexcept {
    return combined(shape_.slots_of(remix(key, family_)));
  }
  [[nodiscard]] PeeledSlots<ways> slots_of(KeyHash key) const noexcept {
    return shape_.slots_of(remix(key, family_));
  }
  // The lines that value() will read.
  [[gnu::always_inline]] void prefetch(KeyHash key) const noexcept {
    const PeeledSlots<ways> slots = slots_of(key);
#pragma GCC unroll 4
    for (const std::uint32_t slot : slots) __builtin_prefetch(bytes_ + bit_of(slot) / 8, 0, into_l2);
  }
  // values[i] of keys[i]; up to batch_max keys.
  void values(std::span<const KeyHash> keys, std::uint32_t *values) const noexcept {
    if (const FuseKernels *kernels = shape_.table.kernels();
        kernels != nullptr && keys.size() >= fuse_kernel_keys)
      return kernels->values(shape_.table.table(bytes_, family_), keys, values);
    values_portable(keys, values);
  }
  // Two loops: prefetch the lines of all, then read.
  void values_portable(std::span<const KeyHash> keys, std::uint32_t *values) const noexcept {
    if (near_ || keys.size() <= few_keys) {
      for (std::size_t i = 0; i < keys.size(); ++i) values[i] = value(keys[i]);
      return;
    }
    std::array<PeeledSlots<ways>, batch_max> slots;
    for (std::size_t i = 0; i < keys.size(); ++i) {
      slots[i] = shape_.slots_of(remix(keys[i], family_));
#pragma GCC unroll 4
      for (const std::uint32_t slot : slots[i]) __builtin_prefetch(bytes_ + bit_of(slot) / 8, 0, into_l2);
    }
    for (std::size_t i = 0; i < keys.size(); ++i) values[i] = combined(slots[i]);
  }

  // Of one bit a key: is it a positive?
  [[nodiscard]] bool contains(KeyHash key) const noexcept { return (value(key) & 1) != 0; }
  [[nodiscard]] HitMask contains_batch(std::span<const KeyHash> keys) const noexcept {
    std::array<std::uint32_t, batch_max> found;
    values(keys, found.data());
    HitMask hits = 0;
    for (std::size_t i = 0; i < keys.size(); ++i) hits |= HitMask{found[i] & 1} << i;
    return hits;
  }

  // What builders need to agree with.
  [[nodiscard]] static std::uint64_t family(std::uint64_t layer, std::uint64_t seed) noexcept {
    return hash_family(Shape::own_view, layer) ^ seed;
  }

private:
  [[nodiscard]] std::uint64_t bit_of(std::uint32_t slot) const noexcept {
    return std::uint64_t{slot} * shape_.value_bits();
  }
  [[nodiscard, gnu::always_inline]] std::uint32_t combined(const PeeledSlots<ways> &slots) const noexcept {
    std::uint32_t bits = 0;
#pragma GCC unroll 4
    for (const std::uint32_t slot : slots) bits ^= peeled_load(bytes_, bit_of(slot));
    return bits & shape_.value_mask();
  }

  Shape shape_;
  bool near_ = true;
  std::uint64_t family_ = 0;
  const std::byte *bytes_ = nullptr;
};

} // namespace weir::filter
