// Bloom filter: "was this key never inserted?" for sets that only grow (Bloom 1970). The plain one, as
// [Stacked §3] builds its layers from it.
//
//   bits   | 0 1 0 0 1 1 0 ... |    any number of 64-bit words
//              ^     ^ ^
//   key       h_1  h_2 h_3          h_i steps through the words as filter/packed_cells.hpp says
//
//   errors    accepts an absent key with (1 - (1 - 1/m)^(k n))^k, m bits, n keys; never misses a present one
//   shape     for a rate a: k = max(1, round(-log2 a)), m = 1 / (1 - (1 - a^(1/k))^(1/(k n))) [Stacked §3.3]
//   cost      up to k lines, about two for an absent key
//   family    jhash: the same with its remixed hashes, asked key by key
//
// Readers may look on while one thread inserts.
#pragma once

#include "weir/filter/base_filter.hpp"
#include "weir/filter/packed_cells.hpp"

#include <algorithm>
#include <cmath>

namespace weir::filter {

struct BloomShape {
  static constexpr FilterKind kind = FilterKind::bloom;
  static constexpr unsigned hashes_max = 32;

  std::uint32_t size = 0;   // 64-bit words; family jhash: a power of two
  std::uint32_t hashes = 1; // k
  HashFamily family = HashFamily::xxh3;

  [[nodiscard]] std::uint64_t bits() const noexcept { return std::uint64_t{size} * 64; }
  [[nodiscard]] ShapeWords as_words() const noexcept { return {size, hashes, stored_family(family), 0}; }
  [[nodiscard]] static BloomShape of(const ShapeWords &w) noexcept {
    return {w[0], w[1], family_stored_as(w[2])};
  }
  [[nodiscard]] const char *objection() const noexcept {
    if (size == 0) return "there is no word of bits";
    if (hashes < 1 || hashes > hashes_max) return "hash functions are not 1 to 32";
    if (!is_stored_family(stored_family(family))) return "its family of hashes is unknown";
    if (family == HashFamily::jhash && !std::has_single_bit(size))
      return "family jhash wants a power of two of words";
    return nullptr;
  }
};

class BloomView {
public:
  using Shape = BloomShape;
  static constexpr std::uint64_t own_view = 0xB100F117E25C1A55ull; // for hash_family()

  BloomView() = default;
  BloomView(const Shape &shape, const FilterHeader &header, const std::byte *cells) noexcept
      : shape_(shape), bits_(shape.bits()), family_(hash_family(own_view, header.layer)),
        words_(reinterpret_cast<const std::uint64_t *>(cells)) {}
  [[nodiscard]] static Result<BloomView> attach(Bytes section) { return attach_view<BloomView>(section); }

  [[nodiscard]] const Shape &shape() const noexcept { return shape_; }
  [[nodiscard]] const std::uint64_t *words() const noexcept { return words_; }
  // What hashes are remixed with.
  [[nodiscard]] std::uint64_t salt() const noexcept { return family_; }

  [[nodiscard]] bool contains(KeyHash key) const noexcept {
    Positions positions(shape_.family, key, family_);
    for (unsigned i = 0; i < shape_.hashes; ++i)
      if ((bits_from(place(positions.next())) & 1) == 0) return false;
    return true;
  }

  // The first two positions of every key, then the rest of those that may still be present. No branch depends
  // on a bit.
  [[nodiscard]] HitMask contains_batch(std::span<const KeyHash> keys) const noexcept {
    if (shape_.family == HashFamily::jhash) [[unlikely]]
      return one_by_one(keys);
    switch (shape_.hashes) {
    case 1: return batch<1>(keys);
    case 2: return batch<2>(keys);
    case 3: return batch<3>(keys);
    case 4: return batch<4>(keys);
    case 5: return batch<5>(keys);
    case 6: return batch<6>(keys);
    case 7: return batch<7>(keys);
    case 8: return batch<8>(keys);
    case 9: return batch<9>(keys);
    case 10: return batch<10>(keys);
    default: return batch<0>(keys);
    }
  }

private:
  friend class Bloom;
  [[nodiscard]] std::uint64_t place(std::uint64_t uniform) const noexcept {
    __extension__ using Wide = unsigned __int128;
    return static_cast<std::uint64_t>(Wide{uniform} * bits_ >> 64);
  }
  // The bit in the lowest place.
  [[nodiscard]] std::uint64_t bits_from(std::uint64_t bit) const noexcept {
    return __atomic_load_n(&words_[bit / 64], __ATOMIC_RELAXED) >> bit % 64;
  }
  [[nodiscard]] HitMask one_by_one(std::span<const KeyHash> keys) const noexcept {
    HitMask hits = 0;
    for (std::size_t i = 0; i < keys.size(); ++i) hits |= HitMask{contains(keys[i])} << i;
    return hits;
  }
  // With Hashes functions; 0: as many as the shape says.
  template <unsigned Hashes> [[nodiscard]] HitMask batch(std::span<const KeyHash> keys) const noexcept {
    const bool near = bits_ <= near_bits;
    if ((near && Hashes > 0 && Hashes <= 3) || keys.size() <= few_keys) return at_once<Hashes>(keys);
    return near ? in_two_steps<Hashes, false>(keys) : in_two_steps<Hashes, true>(keys);
  }
  // Leaving out a third position costs more than asking for it.
  template <unsigned Hashes> [[nodiscard]] HitMask at_once(std::span<const KeyHash> keys) const noexcept {
    HitMask hits = 0;
    for (std::size_t i = 0; i < keys.size(); ++i) {
      Positions positions(keys[i], family_);
      hits |= HitMask{all_set(positions, Hashes != 0 ? Hashes : shape_.hashes)} << i;
    }
    return hits;
  }
  // Where lines are far, each is prefetched in all lanes before one is looked at.
  template <unsigned Hashes, bool Far>
  [[nodiscard]] HitMask in_two_steps(std::span<const KeyHash> keys) const noexcept {
    std::array<Positions, batch_max> lanes;
    std::array<std::uint8_t, batch_max + 1> open; // a key put down may stand behind the last
    constexpr unsigned first = Hashes == 1 ? 1 : 2;
    const unsigned rest = (Hashes != 0 ? Hashes : shape_.hashes) - first;
    for (std::size_t i = 0; Far && i < keys.size(); ++i) {
      const Positions positions(keys[i], family_);
      prefetch_line(positions, first);
      lanes[i] = positions;
    }
    unsigned count = 0;
    for (std::size_t i = 0; i < keys.size(); ++i) {
      Positions positions = Far ? lanes[i] : Positions(keys[i], family_);
      open[count] = static_cast<std::uint8_t>(i);
      count += all_set(positions, first) ? 1 : 0;
      lanes[i] = positions;
    }
    for (unsigned j = 0; Far && j < count; ++j) prefetch_line(lanes[open[j]], rest);
    HitMask hits = 0;
    for (unsigned j = 0; j < count; ++j) {
      Positions positions = lanes[open[j]];
      hits |= HitMask{all_set(positions, rest)} << open[j];
    }
    return hits;
  }
  [[gnu::always_inline]] void prefetch_line(Positions positions, unsigned count) const noexcept {
#pragma GCC unroll 8
    for (unsigned i = 0; i < count; ++i)
      __builtin_prefetch(&words_[place(positions.next()) / 64], 0, into_l2);
  }
  [[nodiscard, gnu::always_inline]] bool all_set(Positions &positions, unsigned count) const noexcept {
    std::uint64_t all = 1;
#pragma GCC unroll 8
    for (unsigned i = 0; i < count; ++i) all &= bits_from(place(positions.next()));
    return (all & 1) != 0;
  }

  Shape shape_;
  std::uint64_t bits_ = 0, family_ = 0;
  const std::uint64_t *words_ = nullptr;
};

class Bloom : public OwnedFilter<BloomView> {
public:
  static constexpr unsigned hashes_max = BloomShape::hashes_max;

  [[nodiscard]] static double rate(const Shape &shape, double keys) noexcept {
    const double m = static_cast<double>(shape.bits());
    return std::pow(-std::expm1(keys * shape.hashes * std::log1p(-1 / m)), shape.hashes);
  }

  [[nodiscard]] static unsigned hashes_for(double rate) noexcept {
    return static_cast<unsigned>(std::clamp(std::round(-std::log2(rate)), 1.0, double{hashes_max}));
  }
  // Not rounded up to words: what a continuous optimiser wants. `rate` lies between 0 and 1.
  [[nodiscard]] static double bits_needed(double keys, double rate) noexcept {
    const double k = hashes_for(rate);
    return -1 / std::expm1(std::log1p(-std::pow(rate, 1 / k)) / (k * keys));
  }

  // The same for very many keys, with the better of two whole numbers of functions: -k / ln(1 - a^(1/k)).
  [[nodiscard]] static double bits_per_key(double rate) noexcept {
    if (rate >= 1) return 0;
    const double fewer = std::floor(std::max(1.0, -std::log2(rate)));
    const auto bits = [rate](double k) { return -k / std::log1p(-std::pow(rate, 1 / k)); };
    return std::min(bits(fewer), bits(fewer + 1));
  }

  [[nodiscard]] static std::optional<Shape> shape_for(double keys, std::uint64_t bits) noexcept {
    const std::uint64_t words = std::min<std::uint64_t>(bits / 64, UINT32_MAX);
    if (words == 0) return std::nullopt;
    const double best = std::floor(static_cast<double>(words) * 64 * ln2 / std::max(keys, 1.0));
    const auto lower = static_cast<std::uint32_t>(std::clamp(best, 1.0, double{hashes_max}));
    const Shape one{static_cast<std::uint32_t>(words), lower};
    const Shape other{one.size, std::min(lower + 1, hashes_max)};
    return rate(other, keys) < rate(one, keys) ? other : one;
  }
  [[nodiscard]] static std::optional<Shape> shape_for_rate(double keys, double rate) noexcept {
    if (!(rate > 0)) return std::nullopt;
    if (rate >= 1 || keys <= 0) return Shape{1, 1};
    const double words = std::ceil(bits_needed(keys, rate) / 64);
    if (words >= UINT32_MAX) return std::nullopt;
    Shape shape{static_cast<std::uint32_t>(std::max(words, 1.0)), hashes_for(rate)};
    if (Bloom::rate(shape, keys) > rate) ++shape.size; // one bit of m was rounded away
    return shape;
  }

  // Errors: usage.
  [[nodiscard]] static Result<Bloom> make(const Shape &shape, std::uint64_t layer = 0) {
    TRY(check(shape));
    return Bloom(shape, layer);
  }
  // To go on with a section in place. Errors: as View::attach().
  [[nodiscard]] static Result<Bloom> adopt(MutableBytes section) {
    const auto opened = TRY(open_section<Shape>(section));
    return Bloom(opened, section);
  }

  void insert(KeyHash key) noexcept {
    auto *words = reinterpret_cast<std::uint64_t *>(memory_.cells());
    Positions positions(shape().family, key, view_.family_);
    for (unsigned i = 0; i < shape().hashes; ++i) {
      const std::uint64_t bit = view_.place(positions.next());
      const std::uint64_t word = __atomic_load_n(&words[bit / 64], __ATOMIC_RELAXED);
      __atomic_store_n(&words[bit / 64], word | std::uint64_t{1} << bit % 64, __ATOMIC_RELAXED);
    }
    memory_.set_keys(keys() + 1);
  }

private:
  static constexpr double ln2 = 0.69314718055994530942;

  using OwnedFilter::OwnedFilter;
};

} // namespace weir::filter
