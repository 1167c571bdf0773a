// XOR filter: "is this key in the set?" for sets that never change (Graf, Lemire 2020, after the tables of
// Botelho, Pagh, Ziviani 2007).
//
//   | block 0            | block 1            | block 2            |    of equal length, together 1.23 n
//   slots
//         p_0                   p_1                  p_2
//
//   errors    accepts an absent key with 2^-f; never misses a present one
//   bits      1.23 f a key; a binary fuse filter of the same rate is smaller from some hundred keys on
//   cost      three lines a query, in three distant places; filter/peeled_view.hpp. Built by
//             build/peeled_filter.hpp
#pragma once

#include "weir/filter/peeled_view.hpp"

#include <bit>

namespace weir::filter {

struct XorShape {
  static constexpr FilterKind kind = FilterKind::xor_table;
  static constexpr std::uint64_t own_view = 0x3E02F117E2B10C55ull;

  std::uint32_t block = 0; // slots of one of the three blocks
  std::uint32_t fingerprint_bits = 0;

  // With enough slots that nearly every seed serves.
  [[nodiscard]] static std::optional<XorShape> for_keys(double keys, unsigned fingerprint_bits) noexcept {
    const double block = std::ceil((1.23 * keys + 32) / 3);
    if (block * 3 > UINT32_MAX) return std::nullopt;
    return XorShape{static_cast<std::uint32_t>(block), fingerprint_bits};
  }

  [[nodiscard]] std::uint64_t slots() const noexcept { return std::uint64_t{block} * 3; }
  [[nodiscard]] std::uint64_t bits() const noexcept { return peeled_bits(slots(), fingerprint_bits); }
  [[nodiscard]] ShapeWords as_words() const noexcept { return {block, fingerprint_bits, 0, 0}; }
  [[nodiscard]] static XorShape of(const ShapeWords &w) noexcept { return {w[0], w[1]}; }
  [[nodiscard]] const char *objection() const noexcept {
    if (block == 0 || slots() > UINT32_MAX) return "slots are not 3 to 2^32";
    if (fingerprint_bits < 1 || fingerprint_bits > peeled_fingerprint_bits_max)
      return "fingerprints are not of 1 to 20 bits";
    return nullptr;
  }

  // Three overlapping thirds of the hash.
  [[nodiscard]] PeeledSlots<3> slots_of(std::uint64_t h) const noexcept {
    const auto in_block = [&](int turn) {
      return reduce(static_cast<std::uint32_t>(std::rotl(h, turn)), block);
    };
    return {in_block(0), block + in_block(21), 2 * block + in_block(42)};
  }
};

using XorView = PeeledView<XorShape>;

} // namespace weir::filter
