// Cuckoo filter: "is this key in the set?" for sets that change, by short fingerprints in one of two
// buckets (Fan, Andersen, Kaminsky, Mitzenmacher 2014).
//
//   bucket: | fingerprint 0 | 1 | 2 | 3 |   four slots of 1 to 20 bits, side by side; 0 is an empty slot
//
// A key's fingerprint f stands in bucket a or in bucket offset(f) - a, counted round the end of the
// table. Each follows from the other and f, so a fingerprint can move without its key, and the number of
// buckets need not be a power of two.
//
//   errors    accepts an absent key with 1 - (1 - 1/(2^f - 1))^(8 load), about 8 load / 2^f
//   cost      two lines a query, sometimes four where slots straddle lines
//   limits    a key can be inserted eight times at most (four when its two buckets are one); the table
//             takes 95 % of its slots, less with fingerprints below nine bits. A refused insertion leaves
//             the filter as it was
//   erase     only of keys that are present: an absent key may take a stranger's fingerprint with it
//
// One thread at a time: a reader beside a writer could look into each bucket just before and just after a
// fingerprint has moved from the one to the other.
#pragma once

#include "weir/base/hash.hpp"
#include "weir/base/result.hpp"
#include "weir/filter/batch.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <optional>
#include <span>
#include <vector>

namespace weir::filter {

class CuckooFilter {
public:
  static constexpr unsigned slots = 4; // a bucket
  static constexpr unsigned fingerprint_bits_max = 20;

  // Share of the slots that a table of a million takes, with some to spare for churn. Short fingerprints
  // give a bucket few partners.
  [[nodiscard]] static constexpr double load_max(unsigned fingerprint_bits) noexcept {
    constexpr std::array<double, 9> of{0.12, 0.25, 0.5, 0.75, 0.85, 0.9, 0.92, 0.94, 0.95};
    return of[std::clamp<std::size_t>(fingerprint_bits, 1, of.size()) - 1];
  }

  struct Shape {
    std::uint32_t buckets = 0;
    unsigned fingerprint_bits = 0;
  };

  // The longest fingerprints with which `keys` fit into `bits`; nothing when not even one bit a slot does.
  [[nodiscard]] static std::optional<Shape> shape_for(std::uint64_t keys, std::uint64_t bits) noexcept {
    const std::uint64_t usable = bits > padding_bits ? bits - padding_bits : 0;
    for (unsigned f = fingerprint_bits_max; f > 0; --f) {
      const std::uint64_t buckets = std::min<std::uint64_t>(usable / (slots * f), UINT32_MAX);
      if (buckets > 0 && static_cast<double>(keys) <= load_max(f) * slots * static_cast<double>(buckets))
        return Shape{static_cast<std::uint32_t>(buckets), f};
    }
    return std::nullopt;
  }

  [[nodiscard]] static Result<CuckooFilter> make(Shape shape) {
    if (shape.fingerprint_bits < 1 || shape.fingerprint_bits > fingerprint_bits_max)
      return fail(Errc::usage, "a cuckoo filter's fingerprints have 1 to 20 bits, not " +
                                   std::to_string(shape.fingerprint_bits));
    if (shape.buckets == 0) return fail(Errc::usage, "a cuckoo filter needs a bucket");
    return CuckooFilter(shape);
  }

  // Errors: needs_rebuild when no slot can be freed; nothing has changed then.
  [[nodiscard]] Status insert(KeyHash key) {
    const Place place = place_of(key);
    if (const auto slot = find(place.bucket, 0)) {
      set(place.bucket, *slot, place.fingerprint);
    } else if (const std::uint32_t other = partner(place.bucket, place.fingerprint);
               const auto second = find(other, 0)) {
      set(other, *second, place.fingerprint);
    } else if (!make_room(place.bucket, other, place.fingerprint)) {
      return fail(Errc::needs_rebuild, "the cuckoo filter is full at " + std::to_string(keys_) + " keys in " +
                                           std::to_string(shape_.buckets * std::uint64_t{slots}) +
                                           " slots: build a larger one");
    }
    ++keys_;
    return {};
  }

  // False, and nothing changed, when no such fingerprint stands in either bucket.
  bool erase(KeyHash key) noexcept {
    const Place place = place_of(key);
    for (const std::uint32_t bucket : {place.bucket, partner(place.bucket, place.fingerprint)})
      if (const auto slot = find(bucket, place.fingerprint)) {
        set(bucket, *slot, 0);
        --keys_;
        return true;
      }
    return false;
  }

  [[nodiscard]] bool contains(KeyHash key) const noexcept { return contains(place_of(key)); }

  // Two loops: send for the buckets, then look.
  [[nodiscard]] HitMask contains_batch(std::span<const KeyHash> keys) const noexcept {
    std::array<Place, batch_max> places;
    for (std::size_t i = 0; i < keys.size(); ++i) {
      places[i] = place_of(keys[i]);
      prefetch(places[i].bucket);
      prefetch(partner(places[i].bucket, places[i].fingerprint));
    }
    HitMask hits = 0;
    for (std::size_t i = 0; i < keys.size(); ++i) hits |= HitMask{contains(places[i])} << i;
    return hits;
  }

  [[nodiscard]] static std::uint64_t bits_of(Shape shape) noexcept { // whole bytes
    return round_up(std::uint64_t{shape.buckets} * slots * shape.fingerprint_bits, 8) + padding_bits;
  }
  [[nodiscard]] std::uint64_t bits() const noexcept { return bytes_.size() * 8; }
  [[nodiscard]] std::uint64_t keys() const noexcept { return keys_; }
  [[nodiscard]] Shape shape() const noexcept { return shape_; }
  [[nodiscard]] double load() const noexcept {
    return static_cast<double>(keys_) / (static_cast<double>(slots) * shape_.buckets);
  }

private:
  struct Place {
    std::uint32_t bucket = 0, fingerprint = 0;
  };
  static constexpr std::uint64_t layer = 0x3C0CC0F117E25A1Bull;
  static constexpr std::uint64_t padding_bits = 64; // a load of the last slot may read past it

  explicit CuckooFilter(Shape shape)
      : shape_(shape), mask_((std::uint64_t{1} << shape.fingerprint_bits) - 1), bytes_(bits_of(shape) / 8) {}

  [[nodiscard]] Place place_of(KeyHash key) const noexcept {
    const std::uint64_t h = remix(key, layer);
    return {reduce(static_cast<std::uint32_t>(h >> 32), shape_.buckets),
            1 + reduce(static_cast<std::uint32_t>(h), static_cast<std::uint32_t>(mask_))};
  }

  // Its own inverse.
  [[nodiscard]] std::uint32_t partner(std::uint32_t bucket, std::uint32_t fingerprint) const noexcept {
    const std::uint32_t offset =
        reduce(static_cast<std::uint32_t>((fingerprint * remix_factor_2) >> 32), shape_.buckets);
    return offset >= bucket ? offset - bucket : offset + (shape_.buckets - bucket);
  }

  [[nodiscard]] std::uint64_t bit_of(std::uint32_t bucket, unsigned slot) const noexcept {
    return (std::uint64_t{bucket} * slots + slot) * shape_.fingerprint_bits;
  }
  // Two slots, 40 bits at most, are in one load from any bit on.
  [[nodiscard]] std::uint64_t from_bit(std::uint64_t bit) const noexcept {
    return load_unaligned<std::uint64_t>(&bytes_[bit / 8]) >> bit % 8;
  }
  [[nodiscard]] std::uint32_t get(std::uint32_t bucket, unsigned slot) const noexcept {
    return static_cast<std::uint32_t>(from_bit(bit_of(bucket, slot)) & mask_);
  }
  void set(std::uint32_t bucket, unsigned slot, std::uint32_t fingerprint) noexcept {
    const std::uint64_t bit = bit_of(bucket, slot);
    auto word = load_unaligned<std::uint64_t>(&bytes_[bit / 8]);
    word = (word & ~(mask_ << bit % 8)) | std::uint64_t{fingerprint} << bit % 8;
    std::memcpy(&bytes_[bit / 8], &word, sizeof word);
  }
  [[nodiscard]] std::optional<unsigned> find(std::uint32_t bucket, std::uint32_t fingerprint) const noexcept {
    for (unsigned slot = 0; slot < slots; ++slot)
      if (get(bucket, slot) == fingerprint) return slot;
    return std::nullopt;
  }
  [[nodiscard]] bool holds(std::uint32_t bucket, std::uint32_t fingerprint) const noexcept {
    const unsigned f = shape_.fingerprint_bits;
    const std::uint64_t twice = fingerprint | std::uint64_t{fingerprint} << f;
    const std::uint64_t low = from_bit(bit_of(bucket, 0)) ^ twice, high = from_bit(bit_of(bucket, 2)) ^ twice;
    return (low & mask_) == 0 || (low >> f & mask_) == 0 || (high & mask_) == 0 || (high >> f & mask_) == 0;
  }
  [[nodiscard]] bool contains(Place place) const noexcept {
    return holds(place.bucket, place.fingerprint) ||
           holds(partner(place.bucket, place.fingerprint), place.fingerprint);
  }
  void prefetch(std::uint32_t bucket) const noexcept { __builtin_prefetch(&bytes_[bit_of(bucket, 0) / 8]); }

  // Breadth first from both buckets for the nearest free slot; then the fingerprints on the way move up,
  // the last one first. Failing, nothing has moved. The way found is a shortest one, so it takes no slot
  // twice.
  [[nodiscard]] bool make_room(std::uint32_t first, std::uint32_t second, std::uint32_t fingerprint) {
    constexpr std::size_t open_max = 1024;
    std::vector<Step> steps{{first, no_parent, 0}};
    if (second != first) steps.push_back({second, no_parent, 0});
    for (std::size_t at = 0; at < steps.size(); ++at)
      for (unsigned slot = 0; slot < slots && steps.size() < open_max; ++slot) {
        const std::uint32_t next = partner(steps[at].bucket, get(steps[at].bucket, slot));
        steps.push_back({next, static_cast<std::uint32_t>(at), slot});
        if (const auto free = find(next, 0)) {
          move_up(steps, steps.size() - 1, *free, fingerprint);
          return true;
        }
      }
    return false;
  }

  struct Step {
    std::uint32_t bucket, parent;
    unsigned parent_slot; // whose fingerprint would move into `bucket`
  };
  static constexpr std::uint32_t no_parent = UINT32_MAX;

  void move_up(const std::vector<Step> &steps, std::size_t at, unsigned slot, std::uint32_t fingerprint) {
    for (; steps[at].parent != no_parent; at = steps[at].parent) {
      set(steps[at].bucket, slot, get(steps[steps[at].parent].bucket, steps[at].parent_slot));
      slot = steps[at].parent_slot;
    }
    set(steps[at].bucket, slot, fingerprint);
  }

  Shape shape_;
  std::uint64_t mask_;
  std::uint64_t keys_ = 0;
  std::vector<std::byte> bytes_;
};

// Share of absent keys that are accepted: none of the fingerprints met may be the key's own.
[[nodiscard]] inline double cuckoo_rate(CuckooFilter::Shape shape, std::uint64_t keys) noexcept {
  const double values = std::exp2(shape.fingerprint_bits) - 1;
  const double met = 2.0 * static_cast<double>(keys) / shape.buckets;
  return values <= 1 ? 1 - std::exp(-met) : 1 - std::pow(1 - 1 / values, met);
}

} // namespace weir::filter
