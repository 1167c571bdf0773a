// A split-block Bloom filter as a base filter: the blocks of filter/split_block_bloom.hpp behind a layer's
// own hash functions.
//
//   errors    accepts an absent key with split_block_bloom_rate(); never misses a present one. At equal bits
//             that is 1.5 times a plain Bloom filter's rate at 8 bits a key, three times at 16
//   cost      one line a query, present or absent
//
// Readers may look on while one thread inserts.
#pragma once

#include "weir/filter/base_filter.hpp"
#include "weir/filter/split_block_bloom.hpp"

#include <algorithm>

namespace weir::filter {

struct SplitBlockShape {
  static constexpr FilterKind kind = FilterKind::split_block_bloom;

  std::uint32_t blocks = 0; // of 256 bits

  [[nodiscard]] std::uint64_t bits() const noexcept { return std::uint64_t{blocks} * 256; }
  [[nodiscard]] ShapeWords as_words() const noexcept { return {blocks, 0, 0, 0}; }
  [[nodiscard]] static SplitBlockShape of(const ShapeWords &w) noexcept { return {w[0]}; }
  [[nodiscard]] const char *objection() const noexcept { return blocks == 0 ? "there is no block" : nullptr; }
};

class SplitBlockView {
public:
  using Shape = SplitBlockShape;

  SplitBlockView() = default;
  SplitBlockView(const Shape &shape, const FilterHeader &header, const std::byte *cells) noexcept
      : shape_(shape), family_(hash_family(SplitBlockBloom::layer, header.layer)),
        blocks_(reinterpret_cast<const Block *>(cells), shape.blocks) {}
  [[nodiscard]] static Result<SplitBlockView> attach(Bytes section) {
    return attach_view<SplitBlockView>(section);
  }

  [[nodiscard]] const Shape &shape() const noexcept { return shape_; }
  // For kernels, which mix hashes themselves, with this number.
  [[nodiscard]] const SplitBlockBloom &blocks() const noexcept { return blocks_; }
  [[nodiscard]] std::uint64_t family() const noexcept { return family_; }

  [[nodiscard]] bool contains(KeyHash key) const noexcept {
    return blocks_.contains_mixed(remix(key, family_));
  }
  // Two loops: prefetch the blocks, then look.
  [[nodiscard]] HitMask contains_batch(std::span<const KeyHash> keys) const noexcept {
    std::array<std::uint64_t, batch_max> mixed;
    for (std::size_t i = 0; i < keys.size(); ++i) {
      mixed[i] = remix(keys[i], family_);
      __builtin_prefetch(&blocks_.block_for(mixed[i]), 0, into_l2);
    }
    HitMask hits = 0;
    for (std::size_t i = 0; i < keys.size(); ++i) hits |= HitMask{blocks_.contains_mixed(mixed[i])} << i;
    return hits;
  }

private:
  friend class SplitBlockFilter;

  Shape shape_;
  std::uint64_t family_ = 0;
  SplitBlockBloom blocks_;
};

class SplitBlockFilter : public OwnedFilter<SplitBlockView> {
public:
  [[nodiscard]] static double rate(const Shape &shape, double keys) noexcept {
    return split_block_bloom_rate(keys, shape.blocks);
  }
  [[nodiscard]] static std::optional<Shape> shape_for(double /*keys*/, std::uint64_t bits) noexcept {
    const std::uint64_t blocks = std::min<std::uint64_t>(bits / 256, UINT32_MAX);
    if (blocks == 0) return std::nullopt;
    return Shape{static_cast<std::uint32_t>(blocks)};
  }
  // The rate falls with the number of blocks: halving finds it.
  [[nodiscard]] static std::optional<Shape> shape_for_rate(double keys, double rate) noexcept {
    if (!(rate > 0)) return std::nullopt;
    std::uint32_t enough = 1, too_few = 0;
    while (SplitBlockFilter::rate({enough}, keys) > rate) {
      too_few = enough;
      if (enough > UINT32_MAX / 2) return std::nullopt;
      enough *= 2;
    }
    while (enough - too_few > 1) {
      const std::uint32_t middle = too_few + (enough - too_few) / 2;
      (SplitBlockFilter::rate({middle}, keys) > rate ? too_few : enough) = middle;
    }
    return Shape{enough};
  }

  // Errors: usage.
  [[nodiscard]] static Result<SplitBlockFilter> make(const Shape &shape, std::uint64_t layer = 0) {
    TRY(check(shape));
    return SplitBlockFilter(shape, layer);
  }
  // To go on with a section in place. Errors: as View::attach().
  [[nodiscard]] static Result<SplitBlockFilter> adopt(MutableBytes section) {
    const auto opened = TRY(open_section<Shape>(section));
    return SplitBlockFilter(opened, section);
  }

  void insert(KeyHash key) noexcept {
    SplitBlockBloom::insert_mixed(reinterpret_cast<Block *>(memory_.cells()), shape().blocks,
                                  remix(key, view_.family_));
    memory_.set_keys(keys() + 1);
  }

private:
  using OwnedFilter::OwnedFilter;
};

} // namespace weir::filter
