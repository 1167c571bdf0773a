// The dimensions of a cuckoo filter, where a key belongs in it, and how often it errs. filter/cuckoo.hpp
// says what the filter is; the reader, the writer and the builder hold copies of this.
//
//   FilterHeader | words of 64 bits: buckets of four fingerprints side by side, from the lowest bit up, and
//                  one more word
//
// A copy is taken at attach: nothing that a section holds later can lead a reader out of it.
#pragma once

#include "weir/base/hash.hpp"
#include "weir/base/result.hpp"
#include "weir/filter/base_filter.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <optional>
#include <span>
#include <string>
#include <type_traits>

namespace weir::filter {

inline constexpr unsigned cuckoo_slots = 4; // a bucket
inline constexpr unsigned cuckoo_fingerprint_bits_max = 20;

// Where a key may stand.
struct CuckooPlace {
  std::uint32_t bucket = 0, fingerprint = 0;
};

struct CuckooShape {
  static constexpr FilterKind kind = FilterKind::cuckoo;
  static constexpr std::uint64_t own_view = 0x3C0CC0F117E25A1Bull;

  std::uint32_t buckets = 0;
  unsigned fingerprint_bits = 0;

  [[nodiscard]] std::uint32_t fingerprint_mask() const noexcept {
    return (std::uint32_t{1} << fingerprint_bits) - 1;
  }
  [[nodiscard]] std::uint64_t slots() const noexcept { return std::uint64_t{buckets} * cuckoo_slots; }
  // A window of 64 bits from any slot on ends within the last word.
  [[nodiscard]] std::uint64_t words() const noexcept { return (slots() * fingerprint_bits + 63) / 64 + 1; }

  [[nodiscard]] std::uint64_t bits() const noexcept { return 64 * words(); }
  [[nodiscard]] ShapeWords as_words() const noexcept { return {buckets, fingerprint_bits, 0, 0}; }
  [[nodiscard]] static CuckooShape of(const ShapeWords &w) noexcept { return {w[0], w[1]}; }
  [[nodiscard]] const char *objection() const noexcept { // what makes it impossible, or nothing
    if (fingerprint_bits < 1 || fingerprint_bits > cuckoo_fingerprint_bits_max)
      return "fingerprints are not of 1 to 20 bits";
    return buckets == 0 ? "there is no bucket" : nullptr;
  }

  // Filters behind one another have a family each: see hash_family().
  [[nodiscard]] CuckooPlace place_of(KeyHash key, std::uint64_t family = own_view) const noexcept {
    const std::uint64_t h = remix(key, family);
    return {reduce(static_cast<std::uint32_t>(h >> 32), buckets),
            1 + reduce(static_cast<std::uint32_t>(h), fingerprint_mask())};
  }
  // The other bucket of a fingerprint that stands in `bucket`. Its own inverse.
  [[nodiscard]] std::uint32_t partner(std::uint32_t bucket, std::uint32_t fingerprint) const noexcept {
    const std::uint32_t offset =
        reduce(static_cast<std::uint32_t>((fingerprint * remix_factor_2) >> 32), buckets);
    return offset >= bucket ? offset - bucket : offset + (buckets - bucket);
  }

  friend bool operator==(const CuckooShape &, const CuckooShape &) = default;
};

// Share of the slots that a table of some millions takes, with some to spare for churn. Short fingerprints
// give a bucket few partners.
[[nodiscard]] constexpr double cuckoo_load_max(unsigned fingerprint_bits) noexcept {
  constexpr std::array<double, 9> of{0.07, 0.18, 0.5, 0.75, 0.85, 0.9, 0.92, 0.94, 0.95};
  return of[std::clamp<std::size_t>(fingerprint_bits, 1, of.size()) - 1];
}

// Small tables are unlucky more often: room for a standard deviation more.
[[nodiscard]] inline double cuckoo_slots_needed(double keys) noexcept { return keys + std::sqrt(keys); }

// The longest fingerprints with which `keys` fit into `bits` of words at a load of at most `load`; nothing
// when not even one bit a slot does.
[[nodiscard]] inline std::optional<CuckooShape> cuckoo_shape_for(std::uint64_t keys, std::uint64_t bits,
                                                                 double load = 1) noexcept {
  const std::uint64_t usable = bits >= 128 ? (bits / 64 - 1) * 64 : 0;
  for (unsigned f = cuckoo_fingerprint_bits_max; f > 0; --f) {
    const std::uint64_t buckets = std::min<std::uint64_t>(usable / (cuckoo_slots * f), UINT32_MAX);
    const double room = std::min(cuckoo_load_max(f), load) * cuckoo_slots * static_cast<double>(buckets);
    if (buckets > 0 && cuckoo_slots_needed(static_cast<double>(keys)) <= room)
      return CuckooShape{static_cast<std::uint32_t>(buckets), f};
  }
  return std::nullopt;
}

// Share of absent keys that are accepted: none of the slots looked at may hold the key's own fingerprint.
// Where there is one value alone, a bucket with any key in it accepts, and keys are too few to meet in one.
[[nodiscard]] inline double cuckoo_rate(CuckooShape shape, double keys) noexcept {
  const double values = std::exp2(shape.fingerprint_bits) - 1;
  const double apart = 2 - 1.0 / shape.buckets; // a key's two buckets may be one
  const double load = keys / static_cast<double>(shape.slots());
  return values <= 1 ? -std::expm1(-apart * keys / shape.buckets)
                     : -std::expm1(apart * cuckoo_slots * std::log1p(-load / values));
}

// The least shape that takes `keys` and errs with at most `rate`; nothing when no fingerprint is that long.
[[nodiscard]] inline std::optional<CuckooShape> cuckoo_shape_for_rate(double keys, double rate) noexcept {
  if (!(rate > 0)) return std::nullopt;
  std::optional<CuckooShape> best;
  for (unsigned f = 1; f <= cuckoo_fingerprint_bits_max; ++f) {
    const double none = rate < 1 ? std::log1p(-rate) : -1e300; // that a key is not accepted, as logarithm
    const double load = (1 - std::exp2(f)) * std::expm1(none / (2 * cuckoo_slots));
    const double for_rate = f == 1 ? -2 * keys / none : keys / (load * cuckoo_slots);
    const double buckets =
        std::max({1.0, std::ceil(for_rate),
                  std::ceil(cuckoo_slots_needed(keys) / (cuckoo_load_max(f) * cuckoo_slots))});
    if (buckets > UINT32_MAX) continue;
    const CuckooShape shape{static_cast<std::uint32_t>(buckets), f};
    if (!best || shape.bits() < best->bits()) best = shape;
  }
  return best;
}

} // namespace weir::filter
