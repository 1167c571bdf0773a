// Three-layer stacked filter on counting Bloom layers: some negatives, known from the start, are answered
// better than the rest [Stacked §3; as SSCF §4.1.1 builds it for sets that change].
//
//   layer 1  positives                       rejects: absent
//   layer 2  the known negatives             rejects: present
//   layer 3  positives that layer 2 accepts  rejects: absent, else present
//
//   errors    an unknown negative passes with a1 ((1 - a2) + a2 a3), a known one with a1 a3; a present key
//             is never missed
//   changes   positives come and go [Stacked Alg. 3]. Negatives are learnt before the first positive and
//             never after: a positive that layer 2 had rejected has no entry in layer 3. Because layer 2
//             holds every known negative and not those alone that the first positives let through layer 1,
//             the rates do not drift as positives change
//   cost      layer 1 for an absent key mostly; all three for a present one that layer 2 takes
//   erase     only of keys that are present
#pragma once

#include "weir/filter/counting_bloom.hpp"

#include <bit>

namespace weir::filter {

class StackedCounting {
public:
  struct Shape {
    CountingBloom::Shape positives, negatives, settled; // layers 1, 2, 3

    [[nodiscard]] std::uint64_t bits() const noexcept {
      return positives.bits() + negatives.bits() + settled.bits();
    }
  };
  struct Rates {
    double known = 0, unknown = 0;
  };

  // Expected for `keys` positives and `known` negatives.
  [[nodiscard]] static Rates rates(const Shape &shape, std::uint64_t keys, std::uint64_t known) noexcept {
    const double a1 = CountingBloom::rate(shape.positives, keys);
    const double a2 = CountingBloom::rate(shape.negatives, known);
    const double a3 =
        CountingBloom::rate_at(shape.settled, a2 * static_cast<double>(keys) * shape.settled.hashes);
    return {a1 * a3, a1 * (1 - a2 + a2 * a3)};
  }

  // Errors: usage, as CountingBloom::make().
  [[nodiscard]] static Result<StackedCounting> make(const Shape &shape) {
    StackedCounting stack;
    std::uint64_t number = 1;
    for (const CountingBloom::Shape &layer : {shape.positives, shape.negatives, shape.settled}) {
      auto made = CountingBloom::make(layer, number++);
      if (!made) return std::unexpected(made.error());
      stack.layers_.push_back(std::move(*made));
    }
    return stack;
  }

  // Errors: refused, once a positive is there.
  [[nodiscard]] Status learn(KeyHash negative) {
    if (keys() != 0)
      return fail(Errc::refused, "a stacked filter learns negatives before its first key: build it again");
    layers_[1].insert(negative);
    return {};
  }

  void insert(KeyHash key) noexcept {
    layers_[0].insert(key);
    if (layers_[1].contains(key)) layers_[2].insert(key);
  }
  // False, and nothing changed, when the key certainly is absent.
  bool erase(KeyHash key) noexcept {
    const bool settled = layers_[1].contains(key);
    if (settled && !layers_[2].contains(key)) return false;
    if (!layers_[0].erase(key)) return false;
    if (settled) layers_[2].erase(key);
    return true;
  }

  [[nodiscard]] bool contains(KeyHash key) const noexcept {
    return layers_[0].contains(key) && (!layers_[1].contains(key) || layers_[2].contains(key));
  }
  // a & ~(b & ~c), each layer asked only about the keys that the one before lets through.
  [[nodiscard]] HitMask contains_batch(std::span<const KeyHash> keys) const noexcept {
    const HitMask first = layers_[0].contains_batch(keys);
    const HitMask doubted = first & among(keys, first, layers_[1]);
    return first & ~(doubted & ~among(keys, doubted, layers_[2]));
  }

  [[nodiscard]] std::uint64_t bits() const noexcept {
    return layers_[0].bits() + layers_[1].bits() + layers_[2].bits();
  }
  [[nodiscard]] std::uint64_t keys() const noexcept { return layers_[0].keys(); }
  [[nodiscard]] std::uint64_t cells_stuck() const noexcept {
    return layers_[0].cells_stuck() + layers_[2].cells_stuck(); // layer 2 never changes
  }

private:
  StackedCounting() = default;

  // The layer's answers for the keys of `wanted`, at their own bits.
  [[nodiscard]] static HitMask among(std::span<const KeyHash> keys, HitMask wanted,
                                     const CountingBloom &layer) noexcept {
    std::array<KeyHash, batch_max> asked;
    std::array<std::uint8_t, batch_max> number;
    std::size_t count = 0;
    for (HitMask rest = wanted; rest != 0; rest &= rest - 1) {
      number[count] = static_cast<std::uint8_t>(std::countr_zero(rest));
      asked[count] = keys[number[count]];
      ++count;
    }
    HitMask hits = 0;
    for (HitMask rest = layer.contains_batch({asked.data(), count}); rest != 0; rest &= rest - 1)
      hits |= HitMask{1} << number[static_cast<std::size_t>(std::countr_zero(rest))];
    return hits;
  }

  std::vector<CountingBloom> layers_;
};

} // namespace weir::filter
