// Counting Bloom filter: "was this key never inserted?" for sets that change (Fan, Cao, Almeida,
// Broder 2000). Each of k hash functions of a key counts it in a small cell.
//
//   cells   [2] [0] [1] [15] [0] ...      4 bits each unless another width is asked for
//            ^       ^    ^
//   key      h_1    h_2   h_3
//
//   errors    accepts an absent key with (1 - (1 - 1/m)^(k n))^k, m cells, n keys; never misses a present one
//   overflow  a cell at its maximum stays there for ever: it may count more keys than it can say. At four
//             bits and the best k this is one cell in 10^15; cells of one bit never go back at all, which
//             makes the filter a plain Bloom filter
//   cost      up to k lines, about two for an absent key
//   erase     only of keys that are present; one that the filter itself knows to be absent is refused
//
// Filters that stand behind one another need a layer number each, or the false positives of one are
// those of the next.
#pragma once

#include "weir/filter/base_filter.hpp"
#include "weir/filter/packed_cells.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <span>
#include <string>

namespace weir::filter {

struct CountingBloomShape {
  static constexpr FilterKind kind = FilterKind::counting_bloom;
  static constexpr unsigned hashes_max = 32;

  std::uint32_t words = 0; // of 64 bits
  unsigned cell_bits = 4;
  unsigned hashes = 1; // k

  [[nodiscard]] std::uint64_t bits() const noexcept { return std::uint64_t{words} * 64; }
  [[nodiscard]] std::uint64_t cells() const noexcept { return CellArray::of(words, cell_bits).cells(); }
  [[nodiscard]] ShapeWords as_words() const noexcept { return {words, cell_bits, hashes, 0}; }
  [[nodiscard]] static CountingBloomShape of(const ShapeWords &w) noexcept { return {w[0], w[1], w[2]}; }
  [[nodiscard]] const char *objection() const noexcept {
    if (cell_bits < 1 || cell_bits > cell_bits_max) return "cells are not of 1 to 16 bits";
    if (hashes < 1 || hashes > hashes_max) return "hash functions are not 1 to 32";
    if (words == 0) return "there is no word of cells";
    return nullptr;
  }
};

class CountingBloomView {
public:
  using Shape = CountingBloomShape;

  CountingBloomView() = default;
  CountingBloomView(const Shape &shape, const FilterHeader &header, const std::byte *cells) noexcept
      : shape_(shape), cells_(CellArray::of(shape.words, shape.cell_bits)),
        family_(hash_family(own_view, header.layer)), words_(reinterpret_cast<const std::uint64_t *>(cells)) {
  }
  [[nodiscard]] static Result<CountingBloomView> attach(Bytes section) {
    return attach_view<CountingBloomView>(section);
  }

  [[nodiscard]] const Shape &shape() const noexcept { return shape_; }

  [[nodiscard]] bool contains(KeyHash key) const noexcept { return contains(key, shape_.hashes); }
  [[nodiscard]] HitMask contains_batch(std::span<const KeyHash> keys) const noexcept {
    return batch(keys, [this](std::size_t) { return shape_.hashes; });
  }

  // A key may have a number of functions of its own, the same each time.
  [[nodiscard]] bool contains(KeyHash key, unsigned hashes) const noexcept {
    Positions positions(key, family_);
    for (unsigned i = 0; i < hashes; ++i)
      if (count_in(cells_.place(positions.next())) == 0) return false;
    return true;
  }
  [[nodiscard]] HitMask contains_batch(std::span<const KeyHash> keys,
                                       std::span<const std::uint8_t> hashes) const noexcept {
    return batch(keys, [&](std::size_t i) { return unsigned{hashes[i]}; });
  }

private:
  friend class CountingBloom;
  static constexpr std::uint64_t own_view = 0xC0117B1000F11735ull;

  [[nodiscard]] std::uint32_t count_in(CellPlace place) const noexcept {
    return load_cell(words_, place) & cells_.mask();
  }

  struct Lane {
    Positions positions;
    CellPlace place;
    std::uint32_t left; // functions not yet asked
  };

  // Position by position for the keys still in doubt, each cell prefetched a pass ahead. No branch depends
  // on a cell.
  template <class HashesOf>
  [[nodiscard]] HitMask batch(std::span<const KeyHash> keys, HashesOf of) const noexcept {
    std::array<Lane, batch_max> lanes;
    std::array<std::uint8_t, batch_max + 1> open; // a key put down may stand behind the last
    unsigned count = 0;
    for (const KeyHash key : keys) {
      Lane &lane = lanes[count];
      lane.positions = Positions(key, family_);
      lane.left = of(count);
      prefetch_next(lane);
      open[count] = static_cast<std::uint8_t>(count);
      ++count;
    }
    HitMask hits = 0;
    while (count > 0) {
      unsigned kept = 0;
      for (unsigned i = 0; i < count; ++i) {
        const std::uint8_t number = open[i];
        Lane &lane = lanes[number];
        const unsigned counted = count_in(lane.place) != 0, last = --lane.left == 0;
        hits |= HitMask{counted & last} << number;
        prefetch_next(lane);
        open[kept] = number;
        kept += counted & (last ^ 1);
      }
      count = kept;
    }
    return hits;
  }
  void prefetch_next(Lane &lane) const noexcept {
    lane.place = cells_.place(lane.positions.next());
    __builtin_prefetch(&words_[lane.place.word]);
  }

  Shape shape_;
  CellArray cells_;
  std::uint64_t family_ = 0;
  const std::uint64_t *words_ = nullptr;
};

class CountingBloom : public OwnedFilter<CountingBloomView> {
public:
  static constexpr unsigned hashes_max = CountingBloomShape::hashes_max;

  // Share of absent keys that are accepted once `counted` functions of keys have been counted, k each.
  [[nodiscard]] static double rate_at(const Shape &shape, double counted) noexcept {
    return std::pow(-std::expm1(counted * std::log1p(-1 / static_cast<double>(shape.cells()))), shape.hashes);
  }
  [[nodiscard]] static double rate(const Shape &shape, double keys) noexcept {
    return rate_at(shape, keys * shape.hashes);
  }

  // As many whole words as `bits` hold, one at least, and the best k for so many keys.
  [[nodiscard]] static Shape shape_for(double keys, std::uint64_t bits, unsigned cell_bits = 4) noexcept {
    const auto words = static_cast<std::uint32_t>(std::clamp<std::uint64_t>(bits / 64, 1, UINT32_MAX));
    Shape best{words, cell_bits, 1};
    for (Shape next = best; next.hashes <= hashes_max; ++next.hashes)
      if (rate(next, keys) < rate(best, keys)) best = next;
    return best;
  }

  // k as for a plain Bloom filter.
  [[nodiscard]] static std::optional<Shape> shape_for_rate(double keys, double rate,
                                                           unsigned cell_bits = 4) noexcept {
    if (!(rate > 0)) return std::nullopt;
    if (rate >= 1 || keys <= 0) return Shape{1, cell_bits, 1};
    const double k = std::clamp(std::round(-std::log2(rate)), 1.0, double{hashes_max});
    const double cells = -1 / std::expm1(std::log1p(-std::pow(rate, 1 / k)) / (k * keys));
    const double words = std::ceil(cells / (64 / cell_bits));
    if (words >= UINT32_MAX) return std::nullopt;
    Shape shape{static_cast<std::uint32_t>(std::max(words, 1.0)), cell_bits, static_cast<unsigned>(k)};
    if (CountingBloom::rate(shape, keys) > rate) ++shape.words; // one cell was rounded away
    return shape;
  }

  // Errors: usage, for cells, functions or words that cannot be.
  [[nodiscard]] static Result<CountingBloom> make(const Shape &shape, std::uint64_t layer = 0) {
    TRY(check(shape));
    return CountingBloom(shape, layer);
  }
  // To go on with a section in place. Errors: as View::attach().
  [[nodiscard]] static Result<CountingBloom> adopt(MutableBytes section) {
    const auto opened = TRY(open_section<Shape>(section));
    CountingBloom filter(opened, section);
    filter.count_stuck();
    return filter;
  }

  void insert(KeyHash key) noexcept { insert(key, shape().hashes); }
  // False, and nothing changed, when the key certainly is absent.
  bool erase(KeyHash key) noexcept { return erase(key, shape().hashes); }

  using OwnedFilter::contains;
  using OwnedFilter::contains_batch;
  [[nodiscard]] bool contains(KeyHash key, unsigned hashes) const noexcept {
    return view_.contains(key, hashes);
  }
  [[nodiscard]] HitMask contains_batch(std::span<const KeyHash> keys,
                                       std::span<const std::uint8_t> hashes) const noexcept {
    return view_.contains_batch(keys, hashes);
  }

  // A key may have a number of functions of its own, the same each time.
  void insert(KeyHash key, unsigned hashes) noexcept {
    Positions positions(key, view_.family_);
    for (unsigned i = 0; i < hashes; ++i) raise(view_.cells_.place(positions.next()));
    memory_.set_keys(keys() + 1);
  }
  bool erase(KeyHash key, unsigned hashes) noexcept {
    if (!contains(key, hashes)) return false;
    Positions positions(key, view_.family_);
    for (unsigned i = 0; i < hashes; ++i) lower(view_.cells_.place(positions.next()));
    memory_.set_keys(keys() - 1);
    return true;
  }

  // Any thread may ask.
  [[nodiscard]] std::uint64_t cells_stuck() const noexcept {
    return __atomic_load_n(&stuck_, __ATOMIC_RELAXED);
  }

private:
  using OwnedFilter::OwnedFilter;

  [[nodiscard]] std::uint64_t *words() noexcept { return reinterpret_cast<std::uint64_t *>(memory_.cells()); }
  void raise(CellPlace place) noexcept {
    const std::uint32_t count = view_.count_in(place), full = view_.cells_.mask();
    if (count == full) return;
    if (count + 1 == full) __atomic_store_n(&stuck_, stuck_ + 1, __ATOMIC_RELAXED);
    store_cell(words(), place, full, count + 1);
  }
  void lower(CellPlace place) noexcept {
    const std::uint32_t count = view_.count_in(place), full = view_.cells_.mask();
    if (count == 0 || count == full) return;
    store_cell(words(), place, full, count - 1);
  }
  void count_stuck() noexcept {
    const CellArray &cells = view_.cells_;
    for (std::uint32_t word = 0; word < cells.words; ++word)
      for (std::uint32_t i = 0; i < cells.per_word; ++i)
        if (view_.count_in({word, i * cells.width}) == cells.mask()) ++stuck_;
  }

  std::uint64_t stuck_ = 0;
};

} // namespace weir::filter
