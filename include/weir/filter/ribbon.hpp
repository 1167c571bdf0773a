// Bumped ribbon tables (Dillinger, Hübschle-Schneider, Sanders, Walzer 2022): retrieval, and a filter of fingerprints, in
// hardly more bits than the values have. For sets that never change.
//
//   rows of layer 0   | 128 rows | 128 rows | ... |    a row has v bits; for 64 rows the v words of their columns
//                         [--- 64 rows ---]            a key's value: the rows of its 64 that its coefficient names, xor-ed
//
// Every key is an equation over 64 neighbouring rows, and 1.06 keys come to a row, so that nearly all rows are used. Where
// the keys of a bucket of 128 rows have no solution, those that begin in its first 19 rows, in its first 38, or
// all go ("are bumped") to the next layer, which two bits a bucket say. The last layer, of half a percent of the keys, has room
// for all that come.
//
//   section   | header | bumps of layer 0 | of layer 1 | rows of layer 0 | of layer 1 | of layer 2 |
//
//   bits      1.02 a key with values of one bit, 1.005 v with 8 bits (from 100,000 keys on)
//   cost      a line, or two that follow one another, for 94 keys of 100, and as many again for the others; the bumps
//             of a million keys are 2 KiB. v bit counts a query: short values are fastest. Any number of readers
//
// The lowest v bits of a key's mixed hash have no part in where its rows lie. In a retrieval the value rides there while
// the table is built (build/ribbon_builder.hpp), and in a filter they are the fingerprint.
#pragma once

#include "weir/filter/base_filter.hpp"

#include <algorithm>
#include <bit>
#include <cmath>

namespace weir::filter {

inline constexpr unsigned ribbon_value_bits_max = 20;
inline constexpr std::uint32_t ribbon_bucket_rows = 128;
// By the two bits of a bucket: keys that begin in its first rows, so many, are in a later layer.
inline constexpr std::array<std::uint8_t, 4> ribbon_bumped_rows{0, 19, 38, ribbon_bucket_rows};
// The share of so many bits that is not needed to tell keys apart is given to values: as for any retrieval of peeled tables.
inline constexpr unsigned ribbon_layers = 3;

// Where a key's equation stands in each layer, and which of the 64 rows it names.
struct RibbonPlace {
  std::uint64_t mixed = 0,
                turned = 0; // layers 0 and 1 by their upper bits, layer 2 by the lower ones of `turned`
  std::uint64_t coefficient = 1;

  RibbonPlace() = default;
  RibbonPlace(std::uint64_t h, unsigned value_bits) noexcept
      : mixed(h >> value_bits << value_bits), turned((h >> value_bits) * remix_factor_2),
        coefficient((turned ^ turned >> 29) * remix_factor_1 | 1) {}

  [[nodiscard]] std::uint32_t start(unsigned layer, std::uint32_t starts) const noexcept {
    __extension__ using Wide = unsigned __int128;
    const std::uint64_t uniform = layer == 0 ? mixed : layer == 1 ? turned : std::rotl(turned, 32);
    return static_cast<std::uint32_t>((Wide{uniform} * starts) >> 64);
  }
};

template <FilterKind of_kind> struct RibbonShape {
  static constexpr FilterKind kind = of_kind;
  static constexpr std::uint64_t own_view =
      kind == FilterKind::ribbon ? 0x9B1BB0A7C53E41D5ull : 0x51BB0F117E2D86C3ull;

  std::array<std::uint32_t, ribbon_layers> buckets{1, 1, 1};
  std::uint32_t width = 1; // bits of a value, or of a fingerprint

  // Nothing for more keys than 2^31 rows take.
  [[nodiscard]] static std::optional<RibbonShape> for_keys(double keys, unsigned value_bits) noexcept {
    constexpr double keys_a_row = 1.06, second_layer = 0.0568, last_layer = 0.0038;
    const auto buckets_of = [](double rows) {
      return static_cast<std::uint32_t>(std::max(1.0, std::ceil(rows / ribbon_bucket_rows)));
    };
    if (!(keys < std::exp2(31))) return std::nullopt;
    return RibbonShape{{buckets_of(keys / keys_a_row), buckets_of(second_layer * keys / keys_a_row),
                        buckets_of(ribbon_bucket_rows / 2 + 1.3 * last_layer * keys)},
                       value_bits};
  }
  // As of a peeled retrieval: hashes must differ in the bits that place them.
  [[nodiscard]] static bool serves(double keys, unsigned value_bits) noexcept {
    return keys * keys / 2 < 0.01 * std::exp2(64.0 - value_bits);
  }

  [[nodiscard]] unsigned value_bits() const noexcept { return width; }
  [[nodiscard]] std::uint32_t value_mask() const noexcept { return (std::uint32_t{1} << width) - 1; }
  [[nodiscard]] std::uint64_t rows(unsigned layer) const noexcept {
    return std::uint64_t{buckets[layer]} * ribbon_bucket_rows;
  }
  // Rows in which an equation may begin: one row more follows the last of its 64.
  [[nodiscard]] std::uint32_t starts(unsigned layer) const noexcept {
    return static_cast<std::uint32_t>(rows(layer)) - 64;
  }
  [[nodiscard]] std::uint64_t slots() const noexcept { return rows(0) + rows(1) + rows(2); }
  // 64-bit words before those of a layer's bumps and rows; the last layer has no bumps.
  [[nodiscard]] std::uint64_t bumps_at(unsigned layer) const noexcept {
    return layer == 0 ? 0 : words_of_bumps(buckets[0]);
  }
  [[nodiscard]] std::uint64_t rows_at(unsigned layer) const noexcept {
    std::uint64_t at = words_of_bumps(buckets[0]) + words_of_bumps(buckets[1]);
    for (unsigned before = 0; before < layer; ++before) at += rows(before) / 64 * width;
    return at;
  }
  [[nodiscard]] std::uint64_t bits() const noexcept { return 64 * rows_at(ribbon_layers); }
  [[nodiscard]] ShapeWords as_words() const noexcept { return {buckets[0], buckets[1], buckets[2], width}; }
  [[nodiscard]] static RibbonShape of(const ShapeWords &w) noexcept { return {{w[0], w[1], w[2]}, w[3]}; }
  [[nodiscard]] const char *objection() const noexcept {
    constexpr std::uint32_t buckets_max = (std::uint32_t{1} << 31) / ribbon_bucket_rows;
    if (std::ranges::any_of(buckets, [](std::uint32_t n) { return n == 0 || n > buckets_max; }))
      return "layers are not of 1 to 2^24 buckets";
    if (width < 1 || width > ribbon_value_bits_max) return "values are not of 1 to 20 bits";
    return nullptr;
  }

private:
  [[nodiscard]] static std::uint64_t words_of_bumps(std::uint32_t count) noexcept {
    return (std::uint64_t{count} + 31) / 32;
  }
};

template <FilterKind of_kind> class RibbonView {
public:
  using Shape = RibbonShape<of_kind>;

  RibbonView() = default;
  RibbonView(const Shape &shape, const FilterHeader &header, const std::byte *cells) noexcept
      : shape_(shape), near_(shape.bits() <= near_bits), family_(family(header.layer, header.seed)) {
    const auto *const words = reinterpret_cast<const std::uint64_t *>(cells);
    for (unsigned n = 0; n < ribbon_layers; ++n)
      layers_[n] = {words + shape.rows_at(n), words + shape.bumps_at(n), shape.starts(n)};
  }
  [[nodiscard]] static Result<RibbonView> attach(Bytes section) { return attach_view<RibbonView>(section); }

  [[nodiscard]] const Shape &shape() const noexcept { return shape_; }

  // Of a retrieval.
  [[nodiscard]] std::uint32_t value(KeyHash key) const noexcept {
    const RibbonPlace place(remix(key, family_), shape_.width);
    return value_at(place, place.start(0, layers_[0].starts));
  }
  // values[i] of keys[i]; up to batch_max keys. Two loops: prefetch the lines of all, then read.
  void values(std::span<const KeyHash> keys, std::uint32_t *values) const noexcept {
    in_batch(keys, [&](std::size_t i, std::uint64_t, std::uint32_t value) { values[i] = value; });
  }

  // A filter's key has its own fingerprint; of a retrieval of one bit: is it a positive?
  [[nodiscard]] bool contains(KeyHash key) const noexcept {
    const std::uint64_t h = remix(key, family_);
    const RibbonPlace place(h, shape_.width);
    return says_yes(h, value_at(place, place.start(0, layers_[0].starts)));
  }
  [[nodiscard]] HitMask contains_batch(std::span<const KeyHash> keys) const noexcept {
    HitMask hits = 0;
    in_batch(keys, [&](std::size_t i, std::uint64_t h, std::uint32_t value) {
      hits |= HitMask{says_yes(h, value)} << i;
    });
    return hits;
  }

  // What builders need to agree with.
  [[nodiscard]] static std::uint64_t family(std::uint64_t layer, std::uint64_t seed) noexcept {
    return hash_family(Shape::own_view, layer) ^ seed;
  }

private:
  struct Layer {
    const std::uint64_t *rows = nullptr, *bumps = nullptr;
    std::uint32_t starts = 0;
  };

  template <class Take> void in_batch(std::span<const KeyHash> keys, Take take) const noexcept {
    std::array<std::uint64_t, batch_max> hashes;
    std::array<std::uint32_t, batch_max> starts;
    for (std::size_t i = 0; i < keys.size(); ++i) {
      hashes[i] = remix(keys[i], family_);
      starts[i] = RibbonPlace(hashes[i], shape_.width).start(0, layers_[0].starts);
      if (near_) continue;
      const std::uint64_t *const words = layers_[0].rows + std::uint64_t{starts[i] / 64} * shape_.width;
      for (unsigned word = 0; word < 2 * shape_.width; word += 7)
        __builtin_prefetch(words + word, 0, into_l2);
    }
    for (std::size_t i = 0; i < keys.size(); ++i)
      take(i, hashes[i], value_at(RibbonPlace(hashes[i], shape_.width), starts[i]));
  }

  [[nodiscard]] bool says_yes(std::uint64_t h, std::uint32_t value) const noexcept {
    if constexpr (of_kind == FilterKind::ribbon)
      return (value & 1) != 0;
    else
      return ((value ^ h) & shape_.value_mask()) == 0;
  }

  [[nodiscard, gnu::always_inline]] std::uint32_t value_at(const RibbonPlace &place,
                                                           std::uint32_t start) const noexcept {
    for (unsigned n = 0; n < ribbon_layers - 1; ++n) {
      const std::uint32_t bucket = start / ribbon_bucket_rows;
      const std::uint64_t bump = layers_[n].bumps[bucket / 32] >> 2 * (bucket % 32) & 3;
      if (start % ribbon_bucket_rows >= ribbon_bumped_rows[bump])
        return combined(layers_[n], start, place.coefficient);
      start = place.start(n + 1, layers_[n + 1].starts);
    }
    return combined(layers_[ribbon_layers - 1], start, place.coefficient);
  }

  [[nodiscard, gnu::always_inline]] std::uint32_t combined(const Layer &layer, std::uint32_t start,
                                                           std::uint64_t coefficient) const noexcept {
    const unsigned width = shape_.width, shift = start % 64;
    const std::uint64_t *const words = layer.rows + std::uint64_t{start / 64} * width;
    std::uint32_t value = 0;
    for (unsigned bit = 0; bit < width; ++bit) {
      const std::uint64_t rows = words[bit] >> shift | words[width + bit] << 1 << (63 - shift);
      value |= static_cast<std::uint32_t>(std::popcount(rows & coefficient) & 1) << bit;
    }
    return value;
  }

  Shape shape_;
  bool near_ = true;
  std::uint64_t family_ = 0;
  std::array<Layer, ribbon_layers> layers_{};
};

using RibbonRetrievalView = RibbonView<FilterKind::ribbon>;     // values
using RibbonFilterView = RibbonView<FilterKind::ribbon_filter>; // members

} // namespace weir::filter
