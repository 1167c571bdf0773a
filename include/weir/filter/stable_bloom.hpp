// Stable Bloom filter: "was this key told lately?" for a stream that never ends (Deng, Rafiei 2006)
// [SLBF §2.3]. Before each insertion P random cells lose one, then the key's K cells are set to Max: the share
// of zero cells settles, and with it the rate of wrong accepts, however many keys come.
//
//   cells    [3] [0] [1] [2] [0] [3] ...      1 to 4 bits each, 64-bit words as filter/packed_cells.hpp says
//                 `--- run of P ---'          each cell in it that is not zero loses one
//             ^           ^       ^
//   key      h_1         h_2     h_3          set to Max
//
//   errors    accepts an absent key with (1 - (1 / (1 + K/P))^Max)^K once settled [SLBF eq. 6], with less before.
//             MISSES present keys by design, the more the longer ago they were told: build/stable_bloom_model.hpp.
//             Nothing that must never miss may rest on it
//   P         need not be whole: floor(P) cells, and one more with the fraction as probability
//   runs      the P cells stand side by side and begin at a random one, so that an insertion changes one line
//             or two for them and a whole word at a time, where P single cells would be P lines. Each cell still
//             loses one with probability P/m, and the cells of a key lie in no run together: rates are those of
//             independent cells, which tests measure
//   cost      insert: K lines and one or two more; question: up to K lines, one or two for an absent key
//
// Any number of threads ask and insert: words are loaded and stored whole, never locked. Threads that insert at once lose
// a change of each other's now and then, where they meet in a word: a key is missed a little more often for it, or a cell
// worn down less, and nothing else happens (measured: docs/filters.md). save() copies the filter word by word while others insert;
// restore() takes it back.
#pragma once

#include "weir/base/result.hpp"
#include "weir/filter/batch.hpp"
#include "weir/filter/packed_cells.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace weir::filter {

struct StableBloomShape {
  static constexpr unsigned hashes_max = 32, max_most = 15;

  std::uint32_t words = 0; // of 64 bits
  unsigned max = 1;        // what a cell is set to: 1 to 15; cells have as many bits as it takes
  unsigned hashes = 1;     // K
  double decrements = 1;   // P

  [[nodiscard]] static constexpr unsigned cell_bits_for(unsigned max) noexcept {
    return static_cast<unsigned>(std::bit_width(max));
  }
  [[nodiscard]] unsigned cell_bits() const noexcept { return cell_bits_for(max); }
  [[nodiscard]] std::uint64_t bits() const noexcept { return std::uint64_t{words} * 64; }
  [[nodiscard]] std::uint64_t cells() const noexcept { return CellArray::of(words, cell_bits()).cells(); }
  [[nodiscard]] const char *objection() const noexcept {
    if (words == 0) return "there is no word of cells";
    if (max < 1 || max > max_most) return "cells are not set to 1 to 15";
    if (hashes < 1 || hashes > hashes_max) return "hash functions are not 1 to 32";
    if (!(decrements >= 0) || decrements > static_cast<double>(cells()))
      return "decrements are not between none and all cells";
    return nullptr;
  }
};

class StableBloom {
public:
  using Shape = StableBloomShape;

  // `layer` chooses the hash functions, `seed` the random runs. Errors: usage.
  [[nodiscard]] static Result<StableBloom> make(const Shape &shape, std::uint64_t layer, std::uint64_t seed) {
    if (const char *what = shape.objection())
      return fail(Errc::usage, std::string("stable Bloom filter: ") + what);
    return StableBloom(shape, layer, seed);
  }

  [[nodiscard]] const Shape &shape() const noexcept { return shape_; }
  [[nodiscard]] std::uint64_t bits() const noexcept { return shape_.bits(); }

  [[nodiscard]] bool contains(KeyHash key) const noexcept {
    Positions positions(key, salt_);
    for (unsigned i = 0; i < shape_.hashes; ++i)
      if (count_in(cells_.place(positions.next())) == 0) return false;
    return true;
  }
  // Bit i: key i is accepted. At most batch_max keys.
  [[nodiscard]] HitMask contains_batch(std::span<const KeyHash> keys) const noexcept {
    for (const KeyHash key : keys) prefetch_to_ask(key);
    HitMask hits = 0;
    for (std::size_t i = 0; i < keys.size(); ++i) hits |= HitMask{contains(keys[i])} << i;
    return hits;
  }
  void prefetch(KeyHash key) const noexcept { prefetch_lines(key, shape_.hashes); }
  // The first two lines: an absent key rarely reads more.
  void prefetch_to_ask(KeyHash key) const noexcept { prefetch_lines(key, std::min(shape_.hashes, 2u)); }

  void insert(KeyHash key) noexcept {
    decrement_run();
    Positions positions(key, salt_);
    for (unsigned i = 0; i < shape_.hashes; ++i)
      store_cell(words_.data(), cells_.place(positions.next()), cells_.mask(), shape_.max);
  }
  // One after the other, as insert() would; lines are prefetched.
  void insert_batch(std::span<const KeyHash> keys) noexcept {
    for (const KeyHash key : keys) prefetch(key);
    for (const KeyHash key : keys) insert(key);
  }

  // Insertions since it was empty, by all threads.
  [[nodiscard]] std::uint64_t told() const noexcept { return __atomic_load_n(&told_, __ATOMIC_RELAXED); }

  // Number of the next random run, then the words. What restore() takes has to come from a filter of the same shape and layer.
  [[nodiscard]] std::size_t saved_words() const noexcept { return 1 + words_.size(); }
  void save(std::span<std::uint64_t> out) const noexcept {
    out[0] = told();
    for (std::size_t i = 0; i < words_.size(); ++i)
      out[1 + i] = __atomic_load_n(&words_[i], __ATOMIC_RELAXED);
  }
  void restore(std::span<const std::uint64_t> from) noexcept {
    told_ = from[0];
    for (std::size_t i = 0; i < words_.size(); ++i) words_[i] = from[1 + i];
  }

  // Share of the cells that are zero: tells how far the filter has settled.
  [[nodiscard]] double zeros() const noexcept {
    std::uint64_t in_use = 0;
    for (const std::uint64_t &word : words_)
      in_use += static_cast<unsigned>(std::popcount(not_zero(__atomic_load_n(&word, __ATOMIC_RELAXED))));
    return 1 - static_cast<double>(in_use) / static_cast<double>(cells_.cells());
  }

private:
  static constexpr std::uint64_t own_view = 0x57AB1EB100F11735ull;

  StableBloom(const Shape &shape, std::uint64_t layer, std::uint64_t seed)
      : shape_(shape), cells_(CellArray::of(shape.words, shape.cell_bits())), salt_(remix({layer}, own_view)),
        runs_(remix({seed}, salt_)), run_(static_cast<std::uint32_t>(shape.decrements)),
        one_more_(static_cast<std::uint32_t>(std::min(std::ldexp(shape.decrements - run_, 32), 0x1p32 - 1))),
        words_(shape.words) {
    for (std::uint32_t i = 0; i < cells_.per_word; ++i) ones_ |= std::uint64_t{1} << (i * cells_.width);
  }

  void prefetch_lines(KeyHash key, unsigned lines) const noexcept {
    Positions positions(key, salt_);
    for (unsigned i = 0; i < lines; ++i) __builtin_prefetch(&words_[cells_.place(positions.next()).word]);
  }
  [[nodiscard]] std::uint32_t count_in(CellPlace place) const noexcept {
    return load_cell(words_.data(), place) & cells_.mask();
  }
  // The lowest bit of every cell that is not zero.
  [[nodiscard]] std::uint64_t not_zero(std::uint64_t word) const noexcept {
    std::uint64_t any = word;
    for (unsigned i = 1; i < cells_.width; ++i) any |= word >> i;
    return any & ones_;
  }
  // The run of each insertion is a function of its number: threads draw different ones, and a seed repeats them.
  [[nodiscard]] std::uint64_t random() noexcept {
    const std::uint64_t number = __atomic_fetch_add(&told_, 1, __ATOMIC_RELAXED);
    return remix({runs_ + (number + 1) * Positions::growth}, own_view);
  }

  // The upper bits of the number choose where the run begins, the lowest 32 whether it has one cell more: of a
  // product with the number of cells they are as good as independent up to 2^32 cells.
  void decrement_run() noexcept {
    const std::uint64_t uniform = random();
    std::uint32_t left = run_ + (static_cast<std::uint32_t>(uniform) < one_more_ ? 1 : 0);
    CellPlace at = cells_.place(uniform);
    while (left > 0) {
      const std::uint32_t here = std::min(left, cells_.per_word - at.shift / cells_.width);
      const std::uint32_t bits = here * cells_.width;
      const std::uint64_t run = (bits == 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << bits) - 1) << at.shift;
      std::uint64_t &word = words_[at.word];
      const std::uint64_t now = __atomic_load_n(&word, __ATOMIC_RELAXED);
      __atomic_store_n(&word, now - (not_zero(now) & run), __ATOMIC_RELAXED);
      left -= here;
      at = {at.word + 1 == cells_.words ? 0 : at.word + 1, 0};
    }
  }

  Shape shape_;
  CellArray cells_;
  std::uint64_t salt_, runs_, ones_ = 0, told_ = 0;
  std::uint32_t run_, one_more_; // floor(P), and its fraction of 2^32
  std::vector<std::uint64_t> words_;
};

} // namespace weir::filter
