// Register-blocked Bloom filter: "was this key never inserted?" with one load [Lang et al., VLDB 2019].
//
// The filter is words of 64 bits. A key belongs to one word and sets up to k bits in it, drawn independently, so
// that some may be the same. Sizes of sections are in bytes, of shapes in words.
//
//   errors    accepts an absent key with RegisterBlockedBloom::rate(); never misses a present one. Loads of
//             words vary, which costs more than with larger blocks: at 10 bits a key 1.8 % against 0.8 % of a
//             plain Bloom filter, at 20 bits 0.2 % against 0.007 %
//   cost      one line a query, present or absent
//
// Of the laboratory alone: no image has it.
#pragma once

#include "weir/filter/base_filter.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <vector>

namespace weir::lab {

struct RegisterBlockedShape {
  static constexpr auto kind = static_cast<filter::FilterKind>(1001); // beyond those of images
  static constexpr unsigned hashes_max = 10;                          // six bits of a product for each

  std::uint32_t words = 0, hashes = 1;

  [[nodiscard]] std::uint64_t bits() const noexcept { return std::uint64_t{words} * 64; }
  [[nodiscard]] filter::ShapeWords as_words() const noexcept { return {words, hashes, 0, 0}; }
  [[nodiscard]] static RegisterBlockedShape of(const filter::ShapeWords &w) noexcept { return {w[0], w[1]}; }
  [[nodiscard]] const char *objection() const noexcept {
    if (words == 0) return "there is no word";
    return hashes < 1 || hashes > hashes_max ? "hash functions are not 1 to 10" : nullptr;
  }
};

// Share of absent keys that a word accepts with `load` keys in it, for each load: with s bits set it is
// (s / 64)^k, and s is the number of urns that load * k balls reach.
[[nodiscard]] inline std::vector<double> register_rates(unsigned hashes) {
  constexpr unsigned loads = 400, bits = 64;
  std::vector<double> rates;
  std::array<double, bits + 1> set{1};
  for (unsigned load = 0; load < loads; ++load) {
    double rate = 0;
    for (unsigned s = 0; s <= bits; ++s) rate += set[s] * std::pow(s / double{bits}, hashes);
    rates.push_back(rate);
    for (unsigned ball = 0; ball < hashes; ++ball)
      for (unsigned s = bits + 1; s-- > 0;)
        set[s] = set[s] * s / bits + (s > 0 ? set[s - 1] * (bits + 1 - s) / bits : 0);
  }
  return rates;
}

class RegisterBlockedView {
public:
  using Shape = RegisterBlockedShape;
  static constexpr std::uint64_t own_view = 0x4E6157E4B10C6EDBull; // for hash_family()

  RegisterBlockedView() = default;
  RegisterBlockedView(const Shape &shape, const filter::FilterHeader &header, const std::byte *cells) noexcept
      : shape_(shape), family_(filter::hash_family(own_view, header.layer)),
        words_(reinterpret_cast<const std::uint64_t *>(cells)) {}
  [[nodiscard]] static Result<RegisterBlockedView> attach(Bytes section) {
    return filter::attach_view<RegisterBlockedView>(section);
  }

  [[nodiscard]] const Shape &shape() const noexcept { return shape_; }
  [[nodiscard]] bool contains(KeyHash key) const noexcept {
    const std::uint64_t h = remix(key, family_);
    return holds(words_[word_of(h)], mask_of<0>(h, shape_.hashes));
  }
  // Where the filter is larger than a cache nearby: two loops, prefetch the words, then look.
  [[nodiscard]] filter::HitMask contains_batch(std::span<const KeyHash> keys) const noexcept {
    switch (shape_.hashes) {
    case 1: return batch<1>(keys);
    case 2: return batch<2>(keys);
    case 3: return batch<3>(keys);
    case 4: return batch<4>(keys);
    case 5: return batch<5>(keys);
    case 6: return batch<6>(keys);
    case 7: return batch<7>(keys);
    case 8: return batch<8>(keys);
    default: return batch<0>(keys);
    }
  }

private:
  friend class RegisterBlockedBloom;

  [[nodiscard]] std::uint32_t word_of(std::uint64_t h) const noexcept {
    return reduce(static_cast<std::uint32_t>(h >> 32), shape_.words);
  }
  [[nodiscard]] static bool holds(std::uint64_t word, std::uint64_t mask) noexcept {
    return (mask & ~word) == 0;
  }
  // Of the half of the hash that does not choose the word. Hashes 0: as many as `hashes` says.
  template <unsigned Hashes>
  [[nodiscard, gnu::always_inline]] static std::uint64_t mask_of(std::uint64_t h, unsigned hashes) noexcept {
    std::uint64_t spread = static_cast<std::uint32_t>(h) * remix_factor_1 >> 4, mask = 0;
#pragma GCC unroll 8
    for (unsigned i = 0; i < (Hashes != 0 ? Hashes : hashes); ++i, spread >>= 6)
      mask |= std::uint64_t{1} << spread % 64;
    return mask;
  }
  template <unsigned Hashes>
  [[nodiscard]] filter::HitMask batch(std::span<const KeyHash> keys) const noexcept {
    const bool near = shape_.bits() <= filter::near_bits || keys.size() <= filter::few_keys;
    return near ? look<Hashes>(keys, [this](KeyHash key) { return remix(key, family_); })
                : far_batch<Hashes>(keys);
  }
  template <unsigned Hashes, class Of>
  [[nodiscard, gnu::always_inline]] filter::HitMask look(std::span<const KeyHash> keys,
                                                         Of hash) const noexcept {
    filter::HitMask hits = 0;
    for (std::size_t i = 0; i < keys.size(); ++i) {
      const std::uint64_t h = hash(keys[i]);
      hits |= filter::HitMask{holds(words_[word_of(h)], mask_of<Hashes>(h, shape_.hashes))} << i;
    }
    return hits;
  }
  template <unsigned Hashes>
  [[nodiscard]] filter::HitMask far_batch(std::span<const KeyHash> keys) const noexcept {
    std::array<std::uint64_t, filter::batch_max> mixed;
    for (std::size_t i = 0; i < keys.size(); ++i) {
      mixed[i] = remix(keys[i], family_);
      __builtin_prefetch(&words_[word_of(mixed[i])], 0, filter::into_l2);
    }
    std::size_t next = 0;
    return look<Hashes>(keys, [&](KeyHash) { return mixed[next++]; });
  }

  Shape shape_;
  std::uint64_t family_ = 0;
  const std::uint64_t *words_ = nullptr;
};

class RegisterBlockedBloom : public filter::OwnedFilter<RegisterBlockedView> {
public:
  // A mean over the loads of words, which are binomial.
  [[nodiscard]] static double rate(const Shape &shape, double keys) noexcept {
    static const auto of_hashes = [] {
      std::array<std::vector<double>, Shape::hashes_max + 1> all;
      for (unsigned k = 1; k <= Shape::hashes_max; ++k) all[k] = register_rates(k);
      return all;
    }();
    const std::vector<double> &rates = of_hashes[shape.hashes];
    const double share = 1.0 / shape.words;
    if (keys * share > 200) return 1;
    if (shape.words == 1) return rates[static_cast<std::size_t>(keys)];
    double sum = 0, weight = std::exp(keys * std::log1p(-share));
    for (std::size_t load = 0; load < rates.size() && static_cast<double>(load) <= keys; ++load) {
      sum += weight * rates[load];
      weight *= (keys - static_cast<double>(load)) / static_cast<double>(load + 1) * share / (1 - share);
    }
    return sum;
  }
  // With the number of functions that is best for so many keys.
  [[nodiscard]] static std::optional<Shape> shape_for(double keys, std::uint64_t bits) noexcept {
    const auto words = static_cast<std::uint32_t>(std::min<std::uint64_t>(bits / 64, UINT32_MAX));
    if (words == 0) return std::nullopt;
    Shape best{words, 1};
    for (std::uint32_t k = 2; k <= Shape::hashes_max; ++k)
      if (rate({words, k}, keys) < rate(best, keys)) best.hashes = k;
    return best;
  }

  // Errors: usage, for a shape that cannot be.
  [[nodiscard]] static Result<RegisterBlockedBloom> make(const Shape &shape, std::uint64_t layer = 0) {
    TRY(check(shape));
    return RegisterBlockedBloom(shape, layer);
  }

  void insert(KeyHash key) noexcept {
    const std::uint64_t h = remix(key, view_.family_);
    auto *words = reinterpret_cast<std::uint64_t *>(memory_.cells());
    words[view_.word_of(h)] |= RegisterBlockedView::mask_of<0>(h, shape().hashes);
    memory_.set_keys(keys() + 1);
  }

private:
  using OwnedFilter::OwnedFilter;
};

} // namespace weir::lab
