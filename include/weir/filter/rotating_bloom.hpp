// Two Bloom filters that take turns: "was this key told lately?" for a stream that never ends, with no miss among
// the last keys. The young one is told keys; after `turn` of them the old one is emptied and they change places.
//
//   told     | turn keys | turn keys | some keys |
//                           `- old --' `- young -'      accepted: what either has
//
//   words    | young 0 | old 0 | young 1 | old 1 | ...   both have the same functions and lie side by side, so
//                                                         that a question sees both in one line
//
//   errors    never misses one of the last `turn` keys; forgets a key after turn to 2 turn more. Accepts an absent key with
//             1 - (1 - f(turn)) (1 - f(n)) with n keys in the young one, f the rate of a Bloom filter: at
//             most 1 - (1 - f(turn))^2
//   cost      insert: k lines; question: up to k lines. A turn writes half of the memory at once
//
// Any number of threads ask and insert: words are loaded and stored whole, never locked. Threads that insert at once lose a bit of
// each other's now and then; the one whose key fills a filter turns, and keys that others insert meanwhile may be lost. Who
// asks during a turn may miss keys of either filter, as if asked of half-filled ones. save() and restore() as in stable_bloom.hpp.
#pragma once

#include "weir/base/result.hpp"
#include "weir/filter/batch.hpp"
#include "weir/filter/bloom.hpp"

#include <algorithm>
#include <bit>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace weir::filter {

struct RotatingBloomShape {
  static constexpr unsigned hashes_max = 32;

  std::uint32_t words = 0;  // of 64 bits, of each of the two
  std::uint32_t hashes = 1; // k
  std::uint64_t turn = 0;   // keys; 0: no turn unless turn_over() is called

  [[nodiscard]] std::uint64_t bits() const noexcept { return std::uint64_t{words} * 128; }
  [[nodiscard]] const char *objection() const noexcept {
    if (words == 0) return "there is no word of bits";
    return hashes < 1 || hashes > hashes_max ? "hash functions are not 1 to 32" : nullptr;
  }
  // Share of absent keys accepted with so many keys in either.
  [[nodiscard]] double rate(double old_keys, double young_keys) const noexcept {
    const auto one = [&](double keys) { return Bloom::rate({words, hashes, HashFamily::xxh3}, keys); };
    return 1 - (1 - one(old_keys)) * (1 - one(young_keys));
  }
  // The best k for so many keys a turn, with at most so many bits.
  [[nodiscard]] static RotatingBloomShape for_bits(double turn, std::uint64_t bits) noexcept {
    const auto one = Bloom::shape_for(turn, std::max<std::uint64_t>(bits / 2, 64));
    RotatingBloomShape shape{64, 1, static_cast<std::uint64_t>(std::max(turn, 1.0))};
    if (one) shape.words = one->size, shape.hashes = one->hashes;
    return shape;
  }
};

class RotatingBloom {
public:
  using Shape = RotatingBloomShape;

  // Errors: usage.
  [[nodiscard]] static Result<RotatingBloom> make(const Shape &shape, std::uint64_t layer) {
    if (const char *what = shape.objection())
      return fail(Errc::usage, std::string("rotating Bloom filter: ") + what);
    return RotatingBloom(shape, layer);
  }

  [[nodiscard]] const Shape &shape() const noexcept { return shape_; }
  [[nodiscard]] std::uint64_t bits() const noexcept { return shape_.bits(); }

  [[nodiscard]] bool contains(KeyHash key) const noexcept {
    Positions positions(key, salt_);
    std::uint64_t first = 1, second = 1;
    for (unsigned i = 0; i < shape_.hashes; ++i) {
      const Place at = place(positions.next());
      first &= __atomic_load_n(&words_[at.pair], __ATOMIC_RELAXED) >> at.bit;
      second &= __atomic_load_n(&words_[at.pair + 1], __ATOMIC_RELAXED) >> at.bit;
      if ((first | second) == 0) return false;
    }
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
    if (const std::uint64_t before = __atomic_fetch_add(&told_, 1, __ATOMIC_RELAXED);
        shape_.turn != 0 && before != 0 && before % shape_.turn == 0)
      turn_over();
    const unsigned young = young_now();
    Positions positions(key, salt_);
    for (unsigned i = 0; i < shape_.hashes; ++i) {
      const Place at = place(positions.next());
      std::uint64_t &word = words_[at.pair + young];
      __atomic_store_n(&word, __atomic_load_n(&word, __ATOMIC_RELAXED) | std::uint64_t{1} << at.bit,
                       __ATOMIC_RELAXED);
    }
  }
  // One after the other, as insert() would; lines are prefetched.
  void insert_batch(std::span<const KeyHash> keys) noexcept {
    for (const KeyHash key : keys) prefetch(key);
    for (const KeyHash key : keys) insert(key);
  }
  // Forgets what is old: the young filter becomes the old one.
  void turn_over() noexcept {
    const unsigned young = __atomic_xor_fetch(&young_, 1, __ATOMIC_RELAXED);
    for (std::size_t i = young; i < words_.size(); i += 2) __atomic_store_n(&words_[i], 0, __ATOMIC_RELAXED);
  }

  // Insertions since it was empty, by all threads.
  [[nodiscard]] std::uint64_t told() const noexcept { return __atomic_load_n(&told_, __ATOMIC_RELAXED); }
  // Share of the bits that are set, of both.
  [[nodiscard]] double in_use() const noexcept {
    std::uint64_t set = 0;
    for (const std::uint64_t &word : words_)
      set += static_cast<unsigned>(std::popcount(__atomic_load_n(&word, __ATOMIC_RELAXED)));
    return static_cast<double>(set) / static_cast<double>(bits());
  }
  [[nodiscard]] std::size_t saved_words() const noexcept { return 2 + words_.size(); }
  void save(std::span<std::uint64_t> out) const noexcept {
    out[0] = told();
    out[1] = young_now();
    for (std::size_t i = 0; i < words_.size(); ++i)
      out[2 + i] = __atomic_load_n(&words_[i], __ATOMIC_RELAXED);
  }
  void restore(std::span<const std::uint64_t> from) noexcept {
    told_ = from[0];
    young_ = static_cast<unsigned>(from[1] & 1);
    for (std::size_t i = 0; i < words_.size(); ++i) words_[i] = from[2 + i];
  }

private:
  static constexpr std::uint64_t own_view = 0x707A71B100F11735ull;

  struct Place {
    std::uint64_t pair; // of the first filter's word
    unsigned bit;
  };

  RotatingBloom(const Shape &shape, std::uint64_t layer)
      : shape_(shape), salt_(remix({layer}, own_view)), words_(std::size_t{shape.words} * 2) {}

  void prefetch_lines(KeyHash key, unsigned lines) const noexcept {
    Positions positions(key, salt_);
    for (unsigned i = 0; i < lines; ++i) __builtin_prefetch(&words_[place(positions.next()).pair]);
  }
  [[nodiscard]] unsigned young_now() const noexcept { return __atomic_load_n(&young_, __ATOMIC_RELAXED) & 1; }
  [[nodiscard]] Place place(std::uint64_t uniform) const noexcept {
    __extension__ using Wide = unsigned __int128;
    const auto bit = static_cast<std::uint64_t>(Wide{uniform} * (std::uint64_t{shape_.words} * 64) >> 64);
    return {bit / 64 * 2, static_cast<unsigned>(bit % 64)};
  }

  Shape shape_;
  std::uint64_t salt_, told_ = 0;
  unsigned young_ = 0;
  std::vector<std::uint64_t> words_;
};

} // namespace weir::filter
