#include "weir/table/range_cell.hpp"

#include "weir/table/range_grouping.hpp"

#include <array>

namespace weir::table {

PackedCell pack_cell(RangePacker &packer, std::span<const RangeStart> ranges) {
  constexpr unsigned part_bits = 11; // a /21
  const std::vector<RangeGroup> groups = group_parts(ranges, part_bits);
  std::array<unsigned, 1u << (16 - part_bits)> items;
  PackedCell packed{};
  for (std::size_t g = 0; g < groups.size(); ++g) { // lines further down first
    const RangeGroup &group = groups[g];
    const RangePacker::Part part = packer.open(static_cast<std::uint16_t>(group.part << part_bits));
    if (!group.begins_anew) packer.add(part, part.window, RangeTarget::value(ranges[group.first - 1].value));
    for (const RangeStart &range : ranges.subspan(group.first, group.end - group.first))
      packer.add(part, range.key, RangeTarget::value(range.value));
    items[g] = packer.shrink(part, group.part_end << part_bits);
    if (group.part != 0) packed.bitmap |= 1u << group.part;
  }
  for (std::size_t g = groups.size(); g-- > 0;)
    packed.first = packer.make_line(items[g], static_cast<std::uint16_t>(groups[g].part << part_bits));
  return packed;
}

} // namespace weir::table
