// The lines of one /16 of IPv6, and its places in the array (range_map_v6.hpp).
#pragma once

#include "weir/table/range_packer.hpp"
#include "weir/table/range_sections.hpp"

#include <cstdint>
#include <span>
#include <vector>

namespace weir::table {

struct RangeV6 { // ends where the next one begins
  AddressV6 first;
  std::uint16_t value; // a number of the dictionary
  friend constexpr bool operator==(const RangeV6 &, const RangeV6 &) = default;
};

inline constexpr unsigned range_windows = 8; // 16 bits each; window 0 is the root's

// What a place of the array leads to: 2^shift first lines, one behind the other.
struct PackedPlace {
  RangeTarget first;
  unsigned shift = 0;
};
// The places of a /16 in the array: 2^shift.
struct PackedRoot {
  unsigned shift = 0;
  std::vector<PackedPlace> places;
};

// How lines may be made of ranges.
struct RangeLineKinds {
  bool wide = true;                                 // some may be wide
  unsigned first_shift_max = range_first_shift_max; // of a place
};

// `ranges` ascend strictly and begin inside the /16; `value` is in force at its first address.
[[nodiscard]] PackedRoot pack_root(RangePacker &packer, std::span<const RangeV6> ranges, std::uint16_t value);

// The lines of one place, at whose first address `value` is in force: keys of window 1 from `first_key`,
// `end_key` left out. `ranges` ascend strictly and begin inside it.
[[nodiscard]] PackedPlace pack_place(RangePacker &packer, std::span<const RangeV6> ranges,
                                     std::uint16_t value, std::uint32_t first_key, std::uint32_t end_key,
                                     RangeLineKinds kinds);

} // namespace weir::table
