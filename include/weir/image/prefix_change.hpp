// What a change of one prefix makes of the ranges of a part of a map (prefix_writer.hpp has the rule).
#pragma once

#include "weir/table/range_sections.hpp"
#include "weir/table/value.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace weir::image {

struct PrefixChange {
  unsigned length = 0;
  std::uint32_t value = 0;     // of the prefix from now on; 0: it goes
  std::uint32_t otherwise = 0; // what answers then

  // Found on the way: a shorter prefix that answered inside, and whether a longer one does.
  std::uint32_t shorter = 0;
  bool has_longer = false;

  // What a range inside the prefix answers from now on.
  [[nodiscard]] std::uint32_t operator()(std::uint32_t now) noexcept {
    const unsigned its = now == 0 ? 0 : table::value::length_of(now);
    if (value == 0) return now != 0 && its == length ? otherwise : now;
    if (now != 0 && its > length) {
      has_longer = true;
      return now;
    }
    if (now != 0 && its < length) shorter = now;
    return value;
  }
};

[[nodiscard]] constexpr std::uint32_t next_address(std::uint32_t a) noexcept { return a + 1; }
[[nodiscard]] constexpr std::uint32_t address_before(std::uint32_t a) noexcept { return a - 1; }
[[nodiscard]] constexpr table::AddressV6 next_address(const table::AddressV6 &a) noexcept {
  return {a.high + (a.low == ~std::uint64_t{0}), a.low + 1};
}
[[nodiscard]] constexpr table::AddressV6 address_before(const table::AddressV6 &a) noexcept {
  return {a.high - (a.low == 0), a.low - 1};
}

// The ranges of a part that ends with `end`, after a change of the addresses from `first` to `last`. `begin_of`
// says where a range begins; add(begin, value) takes the new ones in turn, with neighbours that may be alike.
template <class Range, class Address>
void change_ranges(const std::vector<Range> &ranges, const Address &end, const Address &first,
                   const Address &last, PrefixChange &change, const auto &begin_of, const auto &add) {
  for (std::size_t i = 0; i < ranges.size(); ++i) {
    const Address begin = begin_of(ranges[i]);
    const Address its_end = i + 1 < ranges.size() ? address_before(begin_of(ranges[i + 1])) : end;
    if (begin < first) add(begin, ranges[i].value);
    const Address from = std::max(begin, first);
    if (from <= std::min(its_end, last)) add(from, change(ranges[i].value));
    if (last < its_end) add(std::max(begin, next_address(last)), ranges[i].value);
  }
}

} // namespace weir::image
