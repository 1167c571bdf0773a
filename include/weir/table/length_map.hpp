// Which prefix lengths are worth asking for an address.
//
// IPv4: one 64-bit cell per /16. Bits 32..47 say which lengths from 17 to 32 are in use below it;
// the low half is the table value of the longest prefix of 1 to 16 bits that covers it. Short
// prefixes therefore cost no probe, and an empty cell ends the lookup. /0 stands in the header.
// Where nothing covers a cell and a single prefix of 17 to 31 bits lies below it, that one may stand in the
// cell as well: its value in the low half, the 16 bits of its address that the cell does not name on
// top. It costs no probe then either. Such a lone prefix is forgotten when any prefix of 17 to 31 bits
// changes below its cell.
// Two bits a cell, its sign, stand apart in 16 KiB that L1 holds: "hosts below" and "more
// than hosts". Most cells of most lists have hosts at most, so that only the others are read.
// IPv6: one bit per length in use, for the whole table.
//
// Bits are set in place before their key enters the table, and cleared only by the next image; a cell
// is written before its sign and read after it.
#pragma once

#include "weir/table/line.hpp"
#include "weir/table/sections.hpp"

#include <algorithm>
#include <bit>

namespace weir::table {

inline constexpr unsigned short_length_max = 16; // prefixes up to here live in the cells

// The sign of cell c: bits 2 * (c % 16) and the next of word c / 16.
inline constexpr unsigned signs_a_word = 16;
inline constexpr std::uint32_t sign_hosts = 1, sign_more = 2;

struct LengthMapV4 {
  const std::uint64_t *cells = nullptr;
  const std::uint32_t *signs = nullptr;
  const std::uint32_t *default_value = nullptr;
  const std::uint32_t *in_use = nullptr; // a bit for every length that the side has had, see in_use_bit()

  // 0: nothing but default_value can match.
  [[nodiscard]] std::uint32_t lengths() const noexcept { return read_acquire(*in_use); }
  [[nodiscard]] std::uint64_t cell(std::uint32_t wire) const noexcept {
    return read_acquire(cells[index(wire)]);
  }
  [[nodiscard]] std::uint32_t sign(std::uint32_t wire) const noexcept {
    const std::size_t c = index(wire);
    return read_acquire(signs[c / signs_a_word]) >> 2 * (c % signs_a_word) & 3;
  }
  // The top 16 bits of an address are the low ones of its wire form.
  [[nodiscard]] static std::size_t index(std::uint32_t wire) noexcept {
    return byteswap16(static_cast<std::uint16_t>(wire));
  }
};

// In LengthMapV4::lengths(), for a length from 1 to 32.
[[nodiscard]] constexpr std::uint32_t in_use_bit(unsigned length) noexcept { return 1u << (length - 1); }
inline constexpr std::uint32_t only_hosts = in_use_bit(32); // no cell is worth a look: ask the table

// Of a cell: bit l - 17 for length l.
[[nodiscard]] constexpr std::uint32_t long_lengths(std::uint64_t cell) noexcept {
  return static_cast<std::uint32_t>(cell >> 32) & 0xFFFF;
}
inline constexpr std::uint32_t hosts_below = 1u << (32 - short_length_max - 1); // of long_lengths()
inline constexpr std::uint64_t cell_lengths = std::uint64_t{0xFFFF} << 32;

[[nodiscard]] constexpr bool has_lone(std::uint64_t cell) noexcept {
  return value::length_of(static_cast<std::uint32_t>(cell)) > short_length_max;
}
[[nodiscard]] constexpr std::uint32_t short_value(std::uint64_t cell) noexcept {
  return has_lone(cell) ? 0 : static_cast<std::uint32_t>(cell);
}
[[nodiscard]] constexpr std::uint64_t length_bit(unsigned length) noexcept {
  return std::uint64_t{1} << (32 + length - (short_length_max + 1));
}

// For writers: the same cell under another short prefix, without its lone prefix, or with one.
[[nodiscard]] constexpr std::uint64_t with_short(std::uint64_t cell, std::uint32_t value) noexcept {
  return value == 0 && has_lone(cell) ? cell : (cell & cell_lengths) | value;
}
[[nodiscard]] constexpr std::uint64_t without_lone(std::uint64_t cell) noexcept {
  return has_lone(cell) ? cell & cell_lengths : cell;
}
[[nodiscard]] constexpr std::uint64_t with_lone(std::uint64_t cell, std::uint32_t host,
                                                std::uint32_t value) noexcept {
  return (cell & cell_lengths) | std::uint64_t{host & 0xFFFF} << 48 | value;
}
// May this cell take a lone prefix, and which length would it have? 0: no.
[[nodiscard]] constexpr unsigned lone_length(std::uint64_t cell) noexcept {
  const std::uint32_t prefixes = long_lengths(cell) & ~hosts_below;
  const bool one = std::has_single_bit(prefixes) && static_cast<std::uint32_t>(cell) == 0;
  return one ? short_length_max + 1 + static_cast<unsigned>(std::countr_zero(prefixes)) : 0;
}

// What a cell itself says of an address: the value of its short or its lone prefix, 0 for neither, and the
// lengths that are left to be asked of the table.
struct CellAnswer {
  std::uint32_t value, lengths;
};
[[nodiscard]] constexpr CellAnswer ask_cell(std::uint64_t cell, std::uint32_t wire) noexcept {
  const auto value = static_cast<std::uint32_t>(cell);
  const unsigned length = value::length_of(value);
  const unsigned shift = std::min(32 - length, short_length_max); // that no bit is left of a short one
  const std::uint32_t apart = (byteswap32(wire) ^ static_cast<std::uint32_t>(cell >> 48)) & 0xFFFF;
  const std::uint32_t lone = (1u << (length & 31)) >> (short_length_max + 1);
  return {apart >> shift == 0 ? value : 0, long_lengths(cell) & ~lone};
}

[[nodiscard]] constexpr std::uint32_t sign_of(std::uint64_t cell) noexcept {
  const bool more = (long_lengths(cell) & ~hosts_below) != 0 || short_value(cell) != 0;
  return ((long_lengths(cell) & hosts_below) != 0 ? sign_hosts : 0) | (more ? sign_more : 0);
}

// For writers: a cell's new content, and what its sign says from then on. Signs are only ever set.
inline void write_cell(std::uint64_t *cells, std::uint32_t *signs, std::size_t c,
                       std::uint64_t cell) noexcept {
  write_release(cells[c], cell);
  std::uint32_t &word = signs[c / signs_a_word];
  write_release(word, word | sign_of(cell) << 2 * (c % signs_a_word));
}

// The longest prefix of at most 16 bits around an address, /0 included.
[[nodiscard]] inline std::uint32_t covering(const LengthMapV4 &map, std::uint32_t wire) noexcept {
  const std::uint32_t value = short_value(map.cell(wire));
  return value != 0 ? value : read_acquire(*map.default_value);
}

struct LengthsV6 {
  const std::uint64_t *in_use = nullptr; // three words

  [[nodiscard]] std::uint64_t word(unsigned i) const noexcept { return read_acquire(in_use[i]); }
  [[nodiscard]] bool none() const noexcept { return (word(0) | word(1) | word(2)) == 0; }
  [[nodiscard]] bool only_hosts() const noexcept { return word(0) == 0 && word(1) == 0 && word(2) == 1; }
  [[nodiscard]] bool has(unsigned length) const noexcept {
    return (word(length / 64) >> (length % 64) & 1) != 0;
  }
};

} // namespace weir::table
