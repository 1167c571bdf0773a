// The parameters of a Seesaw counting filter as its reader and its writer hold them [SSCF Table 2].
//
//   SeesawHeader | cells, padded to 64 bytes | modulator, padded to 64 bytes
//
//   cell            pc: positive count, low bits | nc: negative count | one adaptive bit, if asked for
//   modulator cell  count, low bits | index of the stored backup function
//
//   here            paper    bounds
//   hashes          k        1 .. 16
//   backups         k^       1 .. 16, at most 2^index_bits
//   negative_bits   theta_1  1 .. 8; one is enough, more only count the negatives
//   positive_bits   theta_2  1 .. 8
//   count_bits      eta_1    1 .. 12
//   index_bits      eta_2    0 .. 4
//   modulator_words alpha    by way of words
//
// A copy is taken at attach and masked with ever after: nothing that a section holds later can lead a
// reader out of it.
#pragma once

#include "weir/base/result.hpp"
#include "weir/filter/packed_cells.hpp"
#include "weir/image/layout.hpp"

#include <algorithm>
#include <cstring>
#include <type_traits>

namespace weir::filter {

inline constexpr unsigned seesaw_hashes_max = 16;
inline constexpr unsigned seesaw_backups_max = 16;

struct SeesawShape {
  CellArray cells, modulator;
  std::uint32_t positive_mask = 0, negative_mask = 0, adaptive_mask = 0; // of a cell; no adaptive bit: 0
  std::uint32_t count_mask = 0, index_mask = 0;                          // of a modulator cell, shifted down
  std::uint32_t count_bits = 0;
  std::uint32_t hashes = 0, backups = 0;

  static constexpr std::uint64_t layer = 0x5EE5A3C0117B1A57ull;

  [[nodiscard]] static Positions positions(KeyHash key) noexcept { return {key, layer}; }
  // A key's walk: `hashes` places in the cells, one in the modulator, then a family for the backups.
  [[nodiscard]] CellPlace backup_place(const Positions &after_modulator, std::uint32_t index) const noexcept {
    return cells.place(after_modulator.ahead(index));
  }
  [[nodiscard]] std::uint32_t count_of(std::uint32_t modulator_cell) const noexcept {
    return modulator_cell & count_mask;
  }
  [[nodiscard]] std::uint32_t index_of(std::uint32_t modulator_cell) const noexcept {
    return (modulator_cell >> count_bits) & index_mask;
  }
  [[nodiscard]] bool counted(std::uint32_t cell) const noexcept { return (cell & positive_mask) != 0; }
  [[nodiscard]] bool sealed(std::uint32_t cell) const noexcept { return (cell & negative_mask) != 0; }
};

// Calls `work` with the number of hashes as a constant where it is one that is planned, else with 0: loops
// of constant length are unrolled and keep a key's places in registers.
template <class Work>
[[gnu::always_inline]] inline auto with_hashes(std::uint32_t hashes, Work work) noexcept {
  switch (hashes) {
  case 2: return work(std::integral_constant<unsigned, 2>{});
  case 3: return work(std::integral_constant<unsigned, 3>{});
  case 4: return work(std::integral_constant<unsigned, 4>{});
  case 5: return work(std::integral_constant<unsigned, 5>{});
  case 6: return work(std::integral_constant<unsigned, 6>{});
  default: return work(std::integral_constant<unsigned, 0>{});
  }
}

inline constexpr std::uint64_t seesaw_words_aligned(std::uint64_t words) noexcept {
  return round_up(words, 8);
}
[[nodiscard]] inline std::uint64_t seesaw_section_bytes(const image::SeesawHeader &header) noexcept {
  return sizeof header +
         8 * (seesaw_words_aligned(header.cell_words) + seesaw_words_aligned(header.modulator_words));
}

// What makes the parameters impossible, or nothing.
[[nodiscard]] inline const char *seesaw_objection(const image::SeesawHeader &h) noexcept {
  const auto outside = [](unsigned value, unsigned low, unsigned high) {
    return value < low || value > high;
  };
  if (h.cell_words == 0 || h.modulator_words == 0) return "cells or modulator are missing";
  if (outside(h.hashes, 1, seesaw_hashes_max)) return "hashes are not 1 to 16";
  if (outside(h.negative_bits, 1, 8) || outside(h.positive_bits, 1, 8) || h.adaptive > 1)
    return "cells are not of 1 to 8 negative and 1 to 8 positive bits";
  if (h.negative_bits + h.positive_bits + h.adaptive > static_cast<int>(cell_bits_max))
    return "cells exceed 16 bits";
  if (outside(h.count_bits, 1, 12) || h.index_bits > 4)
    return "modulator cells are not of 1 to 12 bits of count and at most 4 of index";
  if (outside(h.backups, 1, 1u << h.index_bits)) return "the index cannot number the backups";
  if (h.reserved0 != 0 || std::ranges::any_of(h.reserved, [](std::uint8_t b) { return b != 0; }))
    return "reserved bytes are not zero";
  return nullptr;
}

[[nodiscard]] inline SeesawShape seesaw_shape(const image::SeesawHeader &h) noexcept {
  const auto low = [](unsigned bits) { return (std::uint32_t{1} << bits) - 1; };
  SeesawShape s;
  s.cells = CellArray::of(h.cell_words, h.negative_bits + h.positive_bits + h.adaptive);
  s.modulator = CellArray::of(h.modulator_words, h.count_bits + h.index_bits);
  s.positive_mask = low(h.positive_bits);
  s.negative_mask = low(h.negative_bits) << h.positive_bits;
  s.adaptive_mask = h.adaptive ? std::uint32_t{1} << (h.positive_bits + h.negative_bits) : 0;
  s.count_mask = low(h.count_bits);
  s.index_mask = low(h.index_bits);
  s.count_bits = h.count_bits;
  s.hashes = h.hashes;
  s.backups = h.backups;
  return s;
}

// A section taken apart; Byte is std::byte, const for readers.
template <class Byte> struct SeesawSection {
  using Word = std::conditional_t<std::is_const_v<Byte>, const std::uint64_t, std::uint64_t>;
  SeesawShape shape;
  Word *cells = nullptr;
  Word *modulator = nullptr;
};

// Errors: the section is cut, misaligned or its parameters are impossible.
template <class Byte> [[nodiscard]] Result<SeesawSection<Byte>> open_seesaw_section(std::span<Byte> section) {
  image::SeesawHeader header;
  if (section.size() < sizeof header || reinterpret_cast<std::uintptr_t>(section.data()) % 8 != 0)
    return fail(Errc::bad_image,
                "seesaw filter: the section has no room for its header, build the image again");
  std::memcpy(&header, section.data(), sizeof header);
  if (const char *objection = seesaw_objection(header))
    return fail(Errc::bad_image, std::string("seesaw filter: ") + objection + ", build the image again");
  if (seesaw_section_bytes(header) != section.size())
    return fail(Errc::bad_image,
                "seesaw filter: " + std::to_string(section.size()) + " bytes where the header asks for " +
                    std::to_string(seesaw_section_bytes(header)) + ", build the image again");
  using Word = typename SeesawSection<Byte>::Word;
  auto *words = reinterpret_cast<Word *>(section.data() + sizeof header);
  return SeesawSection<Byte>{seesaw_shape(header), words, words + seesaw_words_aligned(header.cell_words)};
}

} // namespace weir::filter
