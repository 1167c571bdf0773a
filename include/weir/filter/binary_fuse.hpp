// Binary fuse filters: "is this key in the set?" for sets that never change, in the fewest bits of all base filters
// (Graf, Lemire 2022; spatially coupled tables after Dietzfelbinger, Walzer 2019). Three-wise, or four-wise, which takes
// fewer bits and one more line.
//
//   segments   | 0 | 1 | 2 | 3 | ... | s + 1 |    of 2^l slots each
//                    ^   ^   ^
//   key             p_0 p_1 p_2                   one slot in each of three (four) neighbouring segments
//
// Peeling begins at both ends, where slots have few keys, and eats its way to the middle, so that the table
// can be filled further than one whose keys lie anywhere.
//
//   errors    accepts an absent key with 2^-f; never misses a present one
//   bits      three-wise 1.13 f a key from a million keys on, 1.18 at 100,000, 1.25 at 10,000;
//             four-wise 1.08 f, 1.13 and 1.21
//   cost      three or four lines a query; filter/peeled_view.hpp. Built by build/peeled_filter.hpp
#pragma once

#include "weir/filter/peeled_view.hpp"

namespace weir::filter {

template <unsigned ways> struct FuseShape {
  static_assert(ways == 3 || ways == 4);
  static constexpr FilterKind kind = ways == 3 ? FilterKind::binary_fuse : FilterKind::binary_fuse_4;
  static constexpr std::uint64_t own_view = ways == 3 ? 0xF05EF117E25E9355ull : 0x4F05E3A7B1D90C65ull;
  static constexpr unsigned segment_log_max = 18;

  std::uint32_t segments = 0; // in which a key's first slot may lie; ways - 1 more follow
  std::uint32_t segment_log = 0;
  std::uint32_t fingerprint_bits = 0;

  // Before segments are made whole.
  [[nodiscard]] static double slots_per_key(double keys) noexcept {
    const double log_keys = std::log(std::max(keys, 2.0));
    if constexpr (ways == 3)
      return std::max(1.125, 0.875 + 0.25 * std::log(1e6) / log_keys);
    else
      return std::max(1.075, 0.77 + 0.305 * std::log(6e5) / log_keys);
  }
  // Sizes with which nearly every seed serves: the authors', three-wise with segments half as long up to a
  // million keys, which wastes less of the last one.
  [[nodiscard]] static std::optional<FuseShape> for_keys(double keys, unsigned fingerprint_bits) noexcept {
    const double log_keys = std::log(std::max(keys, 2.0));
    const double log2_length = ways == 3 ? std::floor(log_keys / std::log(3.33) + (keys <= 1e6 ? 1.25 : 2.25))
                                         : std::max(0.0, std::floor(log_keys / std::log(2.91) - 0.5));
    const auto segment_log = static_cast<std::uint32_t>(std::min(log2_length, double{segment_log_max}));
    const double slots = std::ceil(keys * slots_per_key(keys));
    const double segments = std::max(double{ways}, std::ceil(slots / std::exp2(segment_log)));
    if (segments * std::exp2(segment_log) > UINT32_MAX) return std::nullopt;
    return FuseShape{static_cast<std::uint32_t>(segments) - (ways - 1), segment_log, fingerprint_bits};
  }

  [[nodiscard]] std::uint64_t slots() const noexcept {
    return (std::uint64_t{segments} + ways - 1) << segment_log;
  }
  [[nodiscard]] std::uint64_t bits() const noexcept { return peeled_bits(slots(), fingerprint_bits); }
  [[nodiscard]] ShapeWords as_words() const noexcept { return {segments, segment_log, fingerprint_bits, 0}; }
  [[nodiscard]] static FuseShape of(const ShapeWords &w) noexcept { return {w[0], w[1], w[2]}; }
  [[nodiscard]] const char *objection() const noexcept {
    if (segments == 0 || segment_log > segment_log_max || slots() > UINT32_MAX)
      return "segments are not at least one of 1 to 2^18 slots, 2^32 together";
    if (fingerprint_bits < 1 || fingerprint_bits > peeled_fingerprint_bits_max)
      return "fingerprints are not of 1 to 20 bits";
    return nullptr;
  }

  [[nodiscard]] static const FuseKernels *kernels() noexcept { return fuse_kernels<ways>(); }
  [[nodiscard]] FuseTable table(const std::byte *slots, std::uint64_t family) const noexcept {
    return {slots, family, segments, segment_log, fingerprint_bits};
  }

  // The first slot from the upper bits, so that keys in order of their hashes are in order of their slots;
  // the others are turned within their segments by 18 bits each. Four-wise these are of a product: those of the
  // hash itself would be the upper ones again.
  [[nodiscard]] PeeledSlots<ways> slots_of(std::uint64_t h) const noexcept {
    return slots_of(h, ways == 3 ? h : h * remix_factor_2);
  }
  [[nodiscard]] PeeledSlots<ways> slots_of(std::uint64_t h, std::uint64_t turns) const noexcept {
    __extension__ using Wide = unsigned __int128;
    const std::uint32_t length = std::uint32_t{1} << segment_log, within = length - 1;
    const auto first = static_cast<std::uint32_t>((Wide{h} * (std::uint64_t{segments} << segment_log)) >> 64);
    const auto turn = [&](unsigned shift) { return static_cast<std::uint32_t>(turns >> shift) & within; };
    PeeledSlots<ways> slots{first};
    constexpr unsigned last_turn = ways == 3 ? 0 : 10;
    for (std::uint32_t i = 1; i < ways; ++i)
      slots[i] = (first + i * length) ^ turn(last_turn + 18 * (ways - 1 - i));
    return slots;
  }
};

using BinaryFuseShape = FuseShape<3>;
using BinaryFuse4Shape = FuseShape<4>;
using BinaryFuseView = PeeledView<BinaryFuseShape>;
using BinaryFuse4View = PeeledView<BinaryFuse4Shape>;

} // namespace weir::filter
