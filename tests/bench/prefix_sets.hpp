// Sets of prefixes that the benchmarks of prefix lists ask about: what the ranges of countries come to, a table
// as BGP brings it, random prefixes. Each prefix stands in one of several lists; where prefixes nest, the longest
// one that has an address answers for it.
#pragma once

#include "tests/bench/contenders.hpp"

#include <bit>
#include <optional>
#include <string>
#include <vector>

namespace weir::bench {

__extension__ using Wide = unsigned __int128; // an address of either family as a number

using ListNumber = decltype(build::EntryV4::list);

template <class Wire> struct OfFamily;
template <> struct OfFamily<WireV4> {
  using Entry = build::EntryV4;
  static constexpr unsigned bits = 32;
  static constexpr const char *name = "IPv4";
  [[nodiscard]] static Wide number(const Entry &entry) { return entry.host; }
  [[nodiscard]] static WireV4 wire(Wide number) { return byteswap32(static_cast<std::uint32_t>(number)); }
  [[nodiscard]] static Entry entry(Wide number, unsigned length, std::uint16_t list) {
    return {static_cast<std::uint32_t>(number), static_cast<std::uint8_t>(length), 0, ListNumber(list)};
  }
};
template <> struct OfFamily<WireV6> {
  using Entry = build::EntryV6;
  static constexpr unsigned bits = 128;
  static constexpr const char *name = "IPv6";
  [[nodiscard]] static Wide number(const Entry &entry);
  [[nodiscard]] static WireV6 wire(Wide number);
  [[nodiscard]] static Entry entry(Wide number, unsigned length, std::uint16_t list) {
    return {wire(number), static_cast<std::uint8_t>(length), 0, ListNumber(list)};
  }
};

// The number of an entry's list + 1: what tables and peers answer for it, 0 being no match.
template <class Entry> [[nodiscard]] std::uint32_t list_word(const Entry &entry) {
  return std::bit_cast<std::uint16_t>(entry.list) + 1u;
}

// The bits of an address of the family behind a prefix of `length`.
template <class Wire> [[nodiscard]] constexpr Wide host_mask(unsigned length) {
  return length == 0 && OfFamily<Wire>::bits == 128 ? ~Wide{0}
                                                    : (Wide{1} << (OfFamily<Wire>::bits - length)) - 1;
}

template <class Wire> struct PrefixSet {
  std::string name;
  std::vector<typename OfFamily<Wire>::Entry> entries; // sorted, each prefix once
  unsigned lists = 1;                                  // numbered from 0
};

// The ranges of Debian's package tor-geoipdb as prefixes, a list for each country.
struct Geo {
  PrefixSet<WireV4> v4, few; // few: six countries
  PrefixSet<WireV6> v6;
};
// None where the package's files are not there; geo_remedy says what to do then.
[[nodiscard]] std::optional<Geo> load_geo();
inline constexpr const char *geo_remedy = "no ranges of countries: fetch them with `make deps-bench`";

// As many prefixes as a full table of BGP has, with lengths and nesting like there. The same each time.
[[nodiscard]] PrefixSet<WireV4> bgp_like_v4(); // 900k
[[nodiscard]] PrefixSet<WireV6> bgp_like_v6(); // 200k

// 3,000 of ten lengths in one list, as firehol publishes them. The same each time.
[[nodiscard]] PrefixSet<WireV4> firehol_like_prefixes();

// Of lengths 16 to 24, a third of them 24; of 16 lists. The same each time.
[[nodiscard]] PrefixSet<WireV4> random_prefixes(std::uint32_t count);

} // namespace weir::bench
