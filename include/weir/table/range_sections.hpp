// How the sections of range maps begin, and where their parts stand. One section holds all prefixes of a
// family and a side:
//
//   IPv4   | RangeHeaderV4 | values: u32 | signs: 4,096 u32 | cells: 65,536 u64 | lines: 64 bytes each | covering |
//   IPv6   | RangeHeaderV6 | values: u32 | host marks: u32 | roots: 65,536 u32 | array: u32 places | lines | covering |
//
// Each part begins at a multiple of 64 bytes; the gaps before are zero.
//
//   values   the dictionary of table values (value.hpp); number 0 is what answers where no prefix of one bit and
//            more does: the value of /0, or 0 for none. Those beyond `values_used` are 0 and wait for pairs of
//            list and length that come while the section is in force
//   signs    two bits a /16: bit 2 (c % 16) of word c / 16, hosts below it, and the next, prefixes (mutable)
//   host marks   bits, by hash, of the /48s with hosts below them (mutable); none: each may have some. host_marks.hpp
//   cell     63..32 bitmap of the /21s that begin a new line  31..0 first line; see range_map_v4.hpp
//   root     31..27 shift s  26..0 first of 2^s places in the array; see range_map_v6.hpp
//   place    31..27 shift t  26..0 first of 2^t first lines
//   lines    range_line.hpp. Those from `lines_used` on are spare: zero as built, for changes in place
//   covering prefixes with longer ones inside, sorted by address and length: for the writer alone, who has to know
//            what answers once the longer one goes
#pragma once

#include "weir/table/range_line.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <type_traits>

namespace weir::table {

struct RangeHeaderV4 {
  std::uint32_t values;      // places of the dictionary, from 1 to range_values_max
  std::uint32_t values_used; // (mutable, only grows within an image)
  std::uint32_t lines;       // with the spare ones, at least 1
  std::uint32_t lines_used;  // as built
  std::uint64_t prefixes;    // as built, for people
  std::uint64_t ranges;      // as built, for people
  std::uint32_t covering;    // prefixes in that part
  std::uint32_t in_use;      // range_hosts, range_prefixes: what the side has had (mutable)
  std::uint32_t points;      // 1: values may be points (range_line.hpp); else 0
  std::array<std::uint8_t, 20> reserved;
};
inline constexpr std::uint64_t prefixes_a_host = 8; // where the map has at least so many, its hosts are few
inline constexpr std::uint32_t range_hosts = 1, range_prefixes = 2; // of in_use, and of a sign
static_assert(sizeof(RangeHeaderV4) == 64 && std::has_unique_object_representations_v<RangeHeaderV4>);
static_assert(offsetof(RangeHeaderV4, lines) == 8 && offsetof(RangeHeaderV4, prefixes) == 16);

struct RangeHeaderV6 {
  std::uint32_t values;
  std::uint32_t values_used; // (mutable, only grows within an image)
  std::uint32_t lines;
  std::uint32_t lines_used;
  std::uint64_t prefixes;
  std::uint64_t ranges;
  std::uint32_t array;      // places with the spare ones, at least 1
  std::uint32_t array_used; // as built
  std::uint32_t covering;
  std::uint32_t in_use;
  std::uint32_t host_marks; // words of them: 0, or a power of two
  std::uint32_t wide;       // 1: lines may be wide (range_line.hpp); else 0
  std::array<std::uint8_t, 8> reserved;
};
static_assert(sizeof(RangeHeaderV6) == 64 && std::has_unique_object_representations_v<RangeHeaderV6>);
static_assert(offsetof(RangeHeaderV6, lines) == offsetof(RangeHeaderV4, lines) &&
              offsetof(RangeHeaderV6, array) == 32);

inline constexpr std::uint32_t range_cells =
    65'536; // one for the first 16 bits of an address, in both families
inline constexpr std::uint32_t range_signs_a_word = 16, range_sign_words = range_cells / range_signs_a_word;

struct AddressV6 { // as a number
  std::uint64_t high, low;
  friend constexpr auto operator<=>(const AddressV6 &, const AddressV6 &) = default;
};

struct CoveringV4 {
  std::uint32_t first; // address, as a number
  std::uint32_t value; // a table value: its list and its length
  friend constexpr bool operator==(const CoveringV4 &, const CoveringV4 &) = default;
};
struct CoveringV6 {
  AddressV6 first;
  std::uint32_t value;
  std::uint32_t reserved;
  friend constexpr bool operator==(const CoveringV6 &, const CoveringV6 &) = default;
};
static_assert(sizeof(CoveringV4) == 8 && sizeof(CoveringV6) == 24);

// Where the parts begin, from the beginning of the section, and where it ends.
struct RangeLayoutV4 {
  std::uint64_t values, signs, cells, lines, covering, bytes;
};
[[nodiscard]] constexpr RangeLayoutV4 range_layout_v4(std::uint32_t values, std::uint32_t lines,
                                                      std::uint32_t covering) noexcept {
  RangeLayoutV4 at{};
  at.values = sizeof(RangeHeaderV4);
  at.signs = round_up(at.values + values * std::uint64_t{4}, cache_line_bytes);
  at.cells = at.signs + range_sign_words * std::uint64_t{4};
  at.lines = at.cells + range_cells * std::uint64_t{8};
  at.covering = at.lines + lines * std::uint64_t{sizeof(RangeLine)};
  at.bytes = at.covering + covering * std::uint64_t{sizeof(CoveringV4)};
  return at;
}
static_assert(range_layout_v4(1, 1, 1).lines % cache_line_bytes == 0);

struct RangeLayoutV6 {
  std::uint64_t values, host_marks, roots, array, lines, covering, bytes;
};
[[nodiscard]] constexpr RangeLayoutV6 range_layout_v6(std::uint32_t values, std::uint32_t array,
                                                      std::uint32_t lines, std::uint32_t covering,
                                                      std::uint32_t host_marks) noexcept {
  RangeLayoutV6 at{};
  at.values = sizeof(RangeHeaderV6);
  at.host_marks = round_up(at.values + values * std::uint64_t{4}, cache_line_bytes);
  at.roots = round_up(at.host_marks + host_marks * std::uint64_t{4}, cache_line_bytes);
  at.array = at.roots + range_cells * std::uint64_t{4};
  at.lines = round_up(at.array + array * std::uint64_t{4}, cache_line_bytes);
  at.covering = at.lines + lines * std::uint64_t{sizeof(RangeLine)};
  at.bytes = at.covering + covering * std::uint64_t{sizeof(CoveringV6)};
  return at;
}
static_assert(range_layout_v6(1, 1, 1, 1, 1).lines % cache_line_bytes == 0);

} // namespace weir::table
