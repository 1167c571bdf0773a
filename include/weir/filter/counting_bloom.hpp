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

#include "weir/base/result.hpp"
#include "weir/filter/batch.hpp"
#include "weir/filter/packed_cells.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace weir::filter {

class CountingBloom {
public:
  static constexpr unsigned hashes_max = 32;

  struct Shape {
    std::uint32_t words = 0; // of 64 bits
    unsigned cell_bits = 4;
    unsigned hashes = 1; // k

    [[nodiscard]] std::uint64_t bits() const noexcept { return std::uint64_t{words} * 64; }
    [[nodiscard]] std::uint64_t cells() const noexcept { return CellArray::of(words, cell_bits).cells(); }
  };

  // Share of absent keys that are accepted once `counted` functions of keys have been counted, k each.
  [[nodiscard]] static double rate_at(const Shape &shape, double counted) noexcept {
    return std::pow(-std::expm1(counted * std::log1p(-1 / static_cast<double>(shape.cells()))), shape.hashes);
  }
  [[nodiscard]] static double rate(const Shape &shape, std::uint64_t keys) noexcept {
    return rate_at(shape, static_cast<double>(keys) * shape.hashes);
  }

  // As many whole words as `bits` hold, one at least, and the best k for so many keys.
  [[nodiscard]] static Shape shape_for(std::uint64_t keys, std::uint64_t bits,
                                       unsigned cell_bits = 4) noexcept {
    const auto words = static_cast<std::uint32_t>(std::clamp<std::uint64_t>(bits / 64, 1, UINT32_MAX));
    Shape best{words, cell_bits, 1};
    for (Shape next = best; next.hashes <= hashes_max; ++next.hashes)
      if (rate(next, keys) < rate(best, keys)) best = next;
    return best;
  }

  // Errors: usage, for cells, functions or words that cannot be.
  [[nodiscard]] static Result<CountingBloom> make(Shape shape, std::uint64_t layer = 0) {
    if (shape.cell_bits < 1 || shape.cell_bits > cell_bits_max)
      return fail(Errc::usage, "a counting Bloom filter's cells have 1 to 16 bits, not " +
                                   std::to_string(shape.cell_bits));
    if (shape.hashes < 1 || shape.hashes > hashes_max)
      return fail(Errc::usage,
                  "a counting Bloom filter has 1 to 32 hash functions, not " + std::to_string(shape.hashes));
    if (shape.words == 0) return fail(Errc::usage, "a counting Bloom filter needs a word of cells");
    return CountingBloom(shape, layer);
  }

  void insert(KeyHash key) noexcept { insert(key, shape_.hashes); }
  // False, and nothing changed, when the key certainly is absent.
  bool erase(KeyHash key) noexcept { return erase(key, shape_.hashes); }
  [[nodiscard]] bool contains(KeyHash key) const noexcept { return contains(key, shape_.hashes); }
  [[nodiscard]] HitMask contains_batch(std::span<const KeyHash> keys) const noexcept {
    return batch(keys, [this](std::size_t) { return shape_.hashes; });
  }

  // A key may have a number of functions of its own, the same each time.
  void insert(KeyHash key, unsigned hashes) noexcept {
    Positions positions(key, layer_);
    for (unsigned i = 0; i < hashes; ++i) raise(cells_.place(positions.next()));
    ++keys_;
  }
  bool erase(KeyHash key, unsigned hashes) noexcept {
    if (!contains(key, hashes)) return false;
    Positions positions(key, layer_);
    for (unsigned i = 0; i < hashes; ++i) lower(cells_.place(positions.next()));
    --keys_;
    return true;
  }
  [[nodiscard]] bool contains(KeyHash key, unsigned hashes) const noexcept {
    Positions positions(key, layer_);
    for (unsigned i = 0; i < hashes; ++i)
      if (count_in(cells_.place(positions.next())) == 0) return false;
    return true;
  }
  [[nodiscard]] HitMask contains_batch(std::span<const KeyHash> keys,
                                       std::span<const std::uint8_t> hashes) const noexcept {
    return batch(keys, [&](std::size_t i) { return unsigned{hashes[i]}; });
  }

  [[nodiscard]] std::uint64_t bits() const noexcept { return shape_.bits(); }
  [[nodiscard]] std::uint64_t keys() const noexcept { return keys_; }
  [[nodiscard]] std::uint64_t cells_stuck() const noexcept { return stuck_; }
  [[nodiscard]] const Shape &shape() const noexcept { return shape_; }

private:
  static constexpr std::uint64_t own_view = 0xC0117B1000F11735ull;

  CountingBloom(Shape shape, std::uint64_t layer)
      : shape_(shape), cells_(CellArray::of(shape.words, shape.cell_bits)),
        layer_(own_view + layer * remix_factor_2), words_(shape.words) {}

  [[nodiscard]] std::uint32_t count_in(CellPlace place) const noexcept {
    return load_cell(words_.data(), place) & cells_.mask();
  }
  void raise(CellPlace place) noexcept {
    const std::uint32_t count = count_in(place);
    if (count == cells_.mask()) return;
    if (count + 1 == cells_.mask()) ++stuck_;
    store_cell(words_.data(), place, cells_.mask(), count + 1);
  }
  void lower(CellPlace place) noexcept {
    const std::uint32_t count = count_in(place);
    if (count == 0 || count == cells_.mask()) return;
    store_cell(words_.data(), place, cells_.mask(), count - 1);
  }

  struct Lane {
    Positions positions;
    CellPlace place;
    std::uint32_t left; // functions not yet asked
  };

  // Position by position for the keys still in doubt, each cell sent for a pass ahead. No branch depends
  // on a cell.
  template <class HashesOf>
  [[nodiscard]] HitMask batch(std::span<const KeyHash> keys, HashesOf of) const noexcept {
    std::array<Lane, batch_max> lanes;
    std::array<std::uint8_t, batch_max + 1> open; // a key put down may stand behind the last
    unsigned count = 0;
    for (const KeyHash key : keys) {
      Lane &lane = lanes[count];
      lane.positions = Positions(key, layer_);
      lane.left = of(count);
      send_for_next(lane);
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
        send_for_next(lane);
        open[kept] = number;
        kept += counted & (last ^ 1);
      }
      count = kept;
    }
    return hits;
  }
  void send_for_next(Lane &lane) const noexcept {
    lane.place = cells_.place(lane.positions.next());
    __builtin_prefetch(&words_[lane.place.word]);
  }

  Shape shape_;
  CellArray cells_;
  std::uint64_t layer_;
  std::uint64_t keys_ = 0, stuck_ = 0;
  std::vector<std::uint64_t> words_;
};

} // namespace weir::filter
