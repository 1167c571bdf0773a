// The lines of one /16 of IPv4, and the bitmap of its cell (range_map_v4.hpp).
#pragma once

#include "weir/table/range_packer.hpp"

#include <cstdint>
#include <span>
#include <vector>

namespace weir::table {

struct RangeStart {    // a range of a /16, which ends where the next one begins
  std::uint16_t key;   // the low 16 bits of its first address
  std::uint16_t value; // a number of the dictionary, or a point (range_line.hpp)
  friend constexpr bool operator==(RangeStart, RangeStart) = default;
};

struct PackedCell {
  std::uint32_t bitmap;
  RangeTarget first; // line

  // In a map where line number 0 from the end is number `last`.
  [[nodiscard]] constexpr std::uint64_t cell(std::uint32_t last) const noexcept {
    return std::uint64_t{bitmap} << 32 | (last - first.number());
  }
};

// Ranges of one address before and behind which the same answers become points, but for the first.
void make_points(std::vector<RangeStart> &ranges);

// `ranges` ascend strictly, and the first has key 0. The lines that the cell leads to come last and side by side.
[[nodiscard]] PackedCell pack_cell(RangePacker &packer, std::span<const RangeStart> ranges);

} // namespace weir::table
