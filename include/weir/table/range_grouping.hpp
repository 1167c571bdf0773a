// Which neighbouring parts of a /16 share a range line: as many as one line has room for. A part with more ranges
// than that is alone, but for parts behind it that begin no range.
#pragma once

#include "weir/table/range_line.hpp"

#include <cstdint>
#include <span>
#include <vector>

namespace weir::table {

struct RangeGroup {
  std::uint32_t first, end; // items that begin in it
  std::uint32_t part, part_end;
  bool begins_anew; // its first item begins where the group does

  // The last item before it goes on in a group that does not begin anew.
  [[nodiscard]] std::uint32_t count() const noexcept { return end - first + (begins_anew ? 0 : 1); }
};

// 2^(16 - part_bits) parts; items ascend by their `key`, and the first has key 0. A line has `slots`, of which an item takes
// size_of(item). is_point(item): of a group a range has to come first.
template <class Item, class SizeOf, class IsPoint>
[[nodiscard]] std::vector<RangeGroup> group_parts(std::span<const Item> items, unsigned part_bits,
                                                  unsigned slots, const SizeOf &size_of,
                                                  const IsPoint &is_point) {
  std::vector<RangeGroup> groups;
  const std::uint32_t parts = 1u << (16 - part_bits);
  std::uint32_t next = 0, taken = 0; // slots, by the last group
  for (std::uint32_t part = 0; part < parts; ++part) {
    const std::uint32_t first = next;
    std::uint32_t size = 0;
    for (; next < items.size() && std::uint32_t{items[next].key} >> part_bits == part; ++next)
      size += size_of(items[next]);
    if (groups.empty() || (next > first && taken + size > slots)) {
      const bool anew = next > first && items[first].key == part << part_bits && !is_point(items[first]);
      groups.push_back({first, next, part, part + 1, anew});
      taken = size + (anew ? 0 : 1);
    } else {
      groups.back().end = next;
      groups.back().part_end = part + 1;
      taken += size;
    }
  }
  return groups;
}

} // namespace weir::table
