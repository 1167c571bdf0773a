// Cuckoo filter, the reader's side: "is this key in the set?" for sets that change, by short fingerprints
// in one of two buckets (Fan, Andersen, Kaminsky, Mitzenmacher 2014).
//
//   bucket: | fingerprint 0 | 1 | 2 | 3 |   four slots of 1 to 20 bits, side by side; 0 is an empty slot
//
// A key's fingerprint f stands in bucket a or in bucket offset(f) - a, counted round the end of the
// table. Each follows from the other and f, so a fingerprint can move without its key, and the number of
// buckets need not be a power of two.
//
//   errors    accepts an absent key with 1 - (1 - 1/(2^f - 1))^(8 load), about 8 load / 2^f; every absent
//             key alike. Never misses a present one, also while the one writer works
//             (filter/cuckoo_writer.hpp)
//   cost      two lines a query, sometimes four where buckets straddle lines
//   limits    fingerprints cannot tell keys apart that share buckets and fingerprint: eight of a kind at most
//             (four when their two buckets are one), the same key inserted again among them
//
// A bucket is looked at as one window of 64 bits put together from two aligned words, longer ones as two. A
// slot that a store has changed by half, where it straddles words, is one that nobody relies on.
#pragma once

#include "weir/filter/batch.hpp"
#include "weir/filter/cuckoo_shape.hpp"

#include <bit>

namespace weir::filter {

class CuckooView {
public:
  static constexpr FilterKind kind = FilterKind::cuckoo;

  CuckooView() = default;
  CuckooView(CuckooShape shape, const std::uint64_t *words,
             std::uint64_t family = CuckooShape::own_view) noexcept
      : shape_(shape), family_(family), words_(words), bucket_bits_(cuckoo_slots * shape.fingerprint_bits),
        half_bits_(bucket_bits_ > 64 ? bucket_bits_ / 2 : 0) {
    for (unsigned slot = 0; slot < (half_bits_ != 0 ? cuckoo_slots / 2 : cuckoo_slots); ++slot)
      ones_ |= std::uint64_t{1} << slot * shape.fingerprint_bits;
    highs_ = ones_ << (shape.fingerprint_bits - 1);
  }

  // Errors: see open_section().
  [[nodiscard]] static Result<CuckooView> attach(Bytes section) {
    const auto opened = TRY(open_section<CuckooShape>(section));
    return CuckooView(opened.shape,
                      reinterpret_cast<const std::uint64_t *>(section.data() + sizeof(FilterHeader)),
                      hash_family(CuckooShape::own_view, opened.header.layer));
  }

  [[nodiscard]] bool empty() const noexcept { return words_ == nullptr; } // no filter: do not ask it
  [[nodiscard]] const CuckooShape &shape() const noexcept { return shape_; }

  [[nodiscard]] CuckooPlace place_of(KeyHash key) const noexcept { return shape_.place_of(key, family_); }
  [[nodiscard]] bool contains(KeyHash key) const noexcept {
    const CuckooPlace place = place_of(key);
    return holds(place.bucket, place.fingerprint) ||
           holds(shape_.partner(place.bucket, place.fingerprint), place.fingerprint);
  }

  // Two loops: prefetch the buckets, then look into both, without a branch. `keys` holds at most batch_max.
  [[nodiscard]] HitMask contains_batch(std::span<const KeyHash> keys) const noexcept {
    struct Lane {
      std::uint32_t first, second, fingerprint;
    };
    std::array<Lane, batch_max> lanes;
    for (std::size_t i = 0; i < keys.size(); ++i) {
      const CuckooPlace place = place_of(keys[i]);
      lanes[i] = {place.bucket, shape_.partner(place.bucket, place.fingerprint), place.fingerprint};
      prefetch(lanes[i].first);
      prefetch(lanes[i].second);
    }
    HitMask hits = 0;
    for (std::size_t i = 0; i < keys.size(); ++i) {
      const HitMask here = holds(lanes[i].first, lanes[i].fingerprint),
                    there = holds(lanes[i].second, lanes[i].fingerprint);
      hits |= (here | there) << i;
    }
    return hits;
  }

  // Does the fingerprint stand in this bucket?
  [[nodiscard]] bool holds(std::uint32_t bucket, std::uint32_t fingerprint) const noexcept {
    const std::uint64_t bit = bit_of(bucket, 0);
    if (equal(window(bit), fingerprint) != 0) return true;
    return half_bits_ != 0 && equal(window(bit + half_bits_), fingerprint) != 0;
  }

  // The first slot that holds it, cuckoo_slots when none does. 0 finds an empty one.
  [[nodiscard]] unsigned find(std::uint32_t bucket, std::uint32_t fingerprint) const noexcept {
    const std::uint64_t bit = bit_of(bucket, 0);
    if (const std::uint64_t at = equal(window(bit), fingerprint); at != 0) return slot_at(at);
    if (half_bits_ == 0) return cuckoo_slots;
    const std::uint64_t at = equal(window(bit + half_bits_), fingerprint);
    return at != 0 ? cuckoo_slots / 2 + slot_at(at) : cuckoo_slots;
  }

  [[nodiscard]] std::uint32_t get(std::uint32_t bucket, unsigned slot) const noexcept {
    return static_cast<std::uint32_t>(window(bit_of(bucket, slot))) & shape_.fingerprint_mask();
  }
  [[nodiscard]] std::uint64_t bit_of(std::uint32_t bucket, unsigned slot) const noexcept {
    return std::uint64_t{bucket} * bucket_bits_ + slot * shape_.fingerprint_bits;
  }

private:
  [[nodiscard]] std::uint64_t load(std::uint64_t word) const noexcept {
    return __atomic_load_n(&words_[word], __ATOMIC_RELAXED);
  }
  [[nodiscard]] std::uint64_t window(std::uint64_t bit) const noexcept {
    const unsigned shift = bit % 64;
    return load(bit / 64) >> shift | load(bit / 64 + 1) << 1 << (63 - shift);
  }
  // The highest bit of each slot that holds the fingerprint; those above the first one may be false alarms.
  [[nodiscard]] std::uint64_t equal(std::uint64_t slots, std::uint32_t fingerprint) const noexcept {
    const std::uint64_t differ = slots ^ fingerprint * ones_;
    return (differ - ones_) & ~differ & highs_;
  }
  [[nodiscard]] unsigned slot_at(std::uint64_t highs) const noexcept {
    return static_cast<unsigned>(std::countr_zero(highs)) / shape_.fingerprint_bits;
  }
  void prefetch(std::uint32_t bucket) const noexcept {
    __builtin_prefetch(&words_[bit_of(bucket, 0) / 64], 0, into_l2);
  }

  CuckooShape shape_;
  std::uint64_t family_ = CuckooShape::own_view;
  const std::uint64_t *words_ = nullptr;
  std::uint32_t bucket_bits_ = 0, half_bits_ = 0; // a window takes half of a bucket, or 0: all of it
  std::uint64_t ones_ = 0, highs_ = 0;            // the lowest and the highest bit of each slot of a window
};

} // namespace weir::filter
