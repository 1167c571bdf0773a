// Prefixes of range maps: what the map says of exactly one prefix, where ranges say what answers for an address.
//
// A prefix without longer ones inside answers for all of its addresses, so its first address tells. One with
// longer ones inside is among the map's covering prefixes, whether any range is left for it or not.
#pragma once

#include "weir/table/range_map_v4.hpp"
#include "weir/table/range_map_v6.hpp"

#include <algorithm>
#include <bit>
#include <cstdint>
#include <span>
#include <utility>

namespace weir::table {

// The bits of an address behind a prefix of this length; lengths from 0 on.
[[nodiscard]] constexpr std::uint32_t bits_behind(std::uint32_t /*first*/, unsigned length) noexcept {
  return length == 0 ? ~std::uint32_t{0} : ~std::uint32_t{0} >> (length - 1) >> 1;
}
[[nodiscard]] constexpr AddressV6 bits_behind(const AddressV6 & /*first*/, unsigned length) noexcept {
  constexpr std::uint64_t all = ~std::uint64_t{0};
  if (length == 0) return {all, all};
  if (length <= 64) return {all >> (length - 1) >> 1, all};
  return {0, all >> (length - 65) >> 1};
}

[[nodiscard]] constexpr std::uint32_t last_in(std::uint32_t first, unsigned length) noexcept {
  return first | bits_behind(first, length);
}
[[nodiscard]] constexpr AddressV6 last_in(const AddressV6 &first, unsigned length) noexcept {
  const AddressV6 behind = bits_behind(first, length);
  return {first.high | behind.high, first.low | behind.low};
}
[[nodiscard]] constexpr std::uint32_t first_of_prefix(std::uint32_t address, unsigned length) noexcept {
  return address & ~bits_behind(address, length);
}
[[nodiscard]] constexpr AddressV6 first_of_prefix(const AddressV6 &address, unsigned length) noexcept {
  const AddressV6 behind = bits_behind(address, length);
  return {address.high & ~behind.high, address.low & ~behind.low};
}

// As a map is asked.
[[nodiscard]] constexpr std::uint32_t question_of(std::uint32_t address) noexcept {
  return byteswap32(address);
}
[[nodiscard]] constexpr KeyV6 question_of(const AddressV6 &address) noexcept {
  return {std::byteswap(address.high), std::byteswap(address.low)};
}
[[nodiscard]] constexpr AddressV6 address_of(const KeyV6 &question) noexcept {
  return {std::byteswap(question.low), std::byteswap(question.high)};
}

// 0: it is not among them.
template <class Covering>
[[nodiscard]] std::uint32_t find_covering(std::span<const Covering> covering,
                                          const decltype(Covering::first) &first, unsigned length) noexcept {
  const auto order = [](const Covering &c) { return std::pair(c.first, value::length_of(c.value)); };
  const auto at = std::ranges::lower_bound(covering, std::pair(first, length), {}, order);
  return at != covering.end() && order(*at) == std::pair(first, length) ? at->value : 0;
}

// How a map finds its answer, for people.
struct RangeWay {
  std::uint64_t line = 0;  // that answers: its number in the section
  unsigned steps = 0;      // lines read
  std::uint32_t value = 0; // a table value; 0 for no prefix
};
template <class Map>
[[nodiscard]] RangeWay way_to(const Map &map, const typename Map::Question &question) noexcept {
  const RangeLine *line = map.first_line(*map.entrance(question), question);
  RangeWay way;
  for (;;) {
    const std::uint16_t said = map.step(*line, question);
    ++way.steps;
    if (!leads_on(said)) {
      way.line = static_cast<std::uint64_t>(line - map.lines());
      way.value = map.value(said);
      return way;
    }
    line += lines_ahead(said);
  }
}

// The table value of exactly this prefix as built; 0: the map does not have it.
template <class Map, class Address>
[[nodiscard]] std::uint32_t find_prefix(const Map &map, const Address &first, unsigned length) noexcept {
  if (length == 0) return map.value(0);
  if (const std::uint32_t v = find_covering(map.covering(), first, length)) return v;
  const std::uint32_t v = map.find(question_of(first));
  return value::length_of(v) == length ? v : 0;
}

} // namespace weir::table
