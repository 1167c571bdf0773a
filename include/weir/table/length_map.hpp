// Which prefix lengths are worth asking for an address.
//
// IPv4: one 64-bit cell per /16. Bits 32..47 say which lengths from 17 to 32 are in use below it;
// the low half is the table value of the longest prefix of 1 to 16 bits that covers it. Short
// prefixes therefore cost no probe, and an empty cell ends the lookup. /0 stands in the header.
// IPv6: one bit per length in use, for the whole table.
//
// Bits are set in place before their key enters the table, and cleared only by the next image.
#pragma once

#include "weir/table/line.hpp"

#include <bit>

namespace weir::table {

inline constexpr unsigned short_length_max = 16; // prefixes up to here live in the cells

struct LengthMapV4 {
  const std::uint64_t *cells = nullptr;
  const std::uint32_t *default_value = nullptr;
  const std::uint32_t *in_use = nullptr; // a bit for every length that the side has had, see in_use_bit()

  // 0: nothing but default_value can match.
  [[nodiscard]] std::uint32_t lengths() const noexcept { return read_acquire(*in_use); }
  [[nodiscard]] std::uint64_t cell(std::uint32_t wire) const noexcept {
    return read_acquire(cells[index(wire)]);
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
[[nodiscard]] constexpr std::uint32_t short_value(std::uint64_t cell) noexcept {
  return static_cast<std::uint32_t>(cell);
}
[[nodiscard]] constexpr std::uint64_t length_bit(unsigned length) noexcept {
  return std::uint64_t{1} << (32 + length - (short_length_max + 1));
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
