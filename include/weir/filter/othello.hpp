// Othello hashing: a value of 1 to 16 bits for each key of a set that changes, without the keys (Yu, Belazzougui,
// Qian, Zhang 2018). What retrieval.hpp is to sets that stay; [Chained §4.3.1] takes it as an exact stage that keys can be
// added to, and [Chained §5.3] as the one that ends training early. Other keys get some value.
//
//   left    [v bits] [v bits] [v bits] ...    cells of filter/packed_cells.hpp, as many on either side
//              ^
//   key      left cell                        value = left cell xor right cell
//           right cell
//              v
//   right   [v bits] [v bits] [v bits] ...
//
// A key is an edge between its two cells. While no edges close a circle, a value is changed, or a key added, by
// flipping the cells on one side of its edge; the writer keeps the keys to know them (build/othello_builder.hpp).
//
//   bits      2.33 v a key: with c keys to a cell of either side, a seed has no circle with (1 - c^2)^(1/2)
//   cost      two lines a query, both known at once
//   readers   any number while nobody writes: a change that is half done shows wrong values of other keys, and one that
//             needs another seed moves the section. Who reads beside a writer gives readers a copy
#pragma once

#include "weir/filter/base_filter.hpp"
#include "weir/filter/packed_cells.hpp"

#include <algorithm>
#include <cmath>

namespace weir::filter {

struct OthelloShape {
  static constexpr FilterKind kind = FilterKind::othello;
  static constexpr double cells_per_key = 2.33; // both sides; half of all seeds have no circle

  std::uint32_t side_words = 0; // of 64 bits, on either side
  std::uint32_t value_bits = 1;

  [[nodiscard]] static std::optional<OthelloShape> for_keys(double keys, unsigned value_bits) noexcept {
    if (value_bits < 1 || value_bits > cell_bits_max) return std::nullopt;
    const double cells = std::ceil(std::max(keys, 0.0) * cells_per_key / 2) + 8; // few keys meet more often
    const double words = std::ceil(cells / (64 / value_bits));
    if (words * (64 / value_bits) > double{INT32_MAX}) return std::nullopt;
    return OthelloShape{static_cast<std::uint32_t>(words), value_bits};
  }
  // The largest of at most so many bits. Nothing: there is no room for a word on either side.
  [[nodiscard]] static std::optional<OthelloShape> for_bits(std::uint64_t bits,
                                                            unsigned value_bits) noexcept {
    const OthelloShape shape{static_cast<std::uint32_t>(std::min<std::uint64_t>(bits / 128, UINT32_MAX)),
                             value_bits};
    return shape.objection() == nullptr ? std::optional(shape) : std::nullopt;
  }

  // More are refused: ever fewer seeds would have no circle.
  [[nodiscard]] std::uint64_t keys_max() const noexcept {
    return static_cast<std::uint64_t>(2 * static_cast<double>(side_cells()) / cells_per_key);
  }
  [[nodiscard]] CellArray side() const noexcept { return CellArray::of(side_words, value_bits); }
  [[nodiscard]] std::uint64_t side_cells() const noexcept { return side().cells(); }
  [[nodiscard]] std::uint64_t bits() const noexcept { return std::uint64_t{side_words} * 128; }
  [[nodiscard]] std::uint32_t value_mask() const noexcept { return (std::uint32_t{1} << value_bits) - 1; }
  [[nodiscard]] ShapeWords as_words() const noexcept { return {side_words, value_bits, 0, 0}; }
  [[nodiscard]] static OthelloShape of(const ShapeWords &w) noexcept { return {w[0], w[1]}; }
  [[nodiscard]] const char *objection() const noexcept {
    if (value_bits < 1 || value_bits > cell_bits_max) return "values are not of 1 to 16 bits";
    if (side_words == 0 || side_cells() > INT32_MAX) return "cells are not 1 word to 2^31 on either side";
    return nullptr;
  }

  struct Places {
    CellPlace left, right;
  };
  // By halves of the mixed hash, which have nothing to do with one another.
  [[nodiscard, gnu::always_inline]] Places places_of(std::uint64_t h) const noexcept {
    const CellArray cells = side();
    CellPlace right = cells.place(std::rotl(h, 32));
    right.word += side_words;
    return {cells.place(h), right};
  }
};

class OthelloView {
public:
  using Shape = OthelloShape;
  static constexpr std::uint64_t own_view = 0x07E110B1ACC0F1D5ull;

  OthelloView() = default;
  OthelloView(const Shape &shape, const FilterHeader &header, const std::byte *cells) noexcept
      : shape_(shape), near_(shape.bits() <= near_bits), family_(family(header.layer, header.seed)),
        words_(reinterpret_cast<const std::uint64_t *>(cells)) {}
  [[nodiscard]] static Result<OthelloView> attach(Bytes section) { return attach_view<OthelloView>(section); }

  [[nodiscard]] const Shape &shape() const noexcept { return shape_; }

  [[nodiscard]] std::uint32_t value(KeyHash key) const noexcept { return combined(places_of(key)); }
  // values[i] of keys[i]; up to batch_max keys. Two loops: prefetch the lines of all, then read.
  void values(std::span<const KeyHash> keys, std::uint32_t *values) const noexcept {
    if (near_ || keys.size() <= few_keys) {
      for (std::size_t i = 0; i < keys.size(); ++i) values[i] = value(keys[i]);
      return;
    }
    std::array<Shape::Places, batch_max> places;
    for (std::size_t i = 0; i < keys.size(); ++i) {
      places[i] = places_of(keys[i]);
      __builtin_prefetch(&words_[places[i].left.word], 0, into_l2);
      __builtin_prefetch(&words_[places[i].right.word], 0, into_l2);
    }
    for (std::size_t i = 0; i < keys.size(); ++i) values[i] = combined(places[i]);
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

  // What the writer needs to agree with.
  [[nodiscard]] Shape::Places places_of(KeyHash key) const noexcept {
    return shape_.places_of(remix(key, family_));
  }
  [[nodiscard]] static std::uint64_t family(std::uint64_t layer, std::uint64_t seed) noexcept {
    return hash_family(own_view, layer) ^ seed;
  }

private:
  [[nodiscard, gnu::always_inline]] std::uint32_t combined(const Shape::Places &places) const noexcept {
    return (load_cell(words_, places.left) ^ load_cell(words_, places.right)) & shape_.value_mask();
  }

  Shape shape_;
  bool near_ = true;
  std::uint64_t family_ = 0;
  const std::uint64_t *words_ = nullptr;
};

} // namespace weir::filter
