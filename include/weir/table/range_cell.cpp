#include "weir/table/range_cell.hpp"

#include "weir/table/range_grouping.hpp"

#include <array>

namespace weir::table {

namespace {

// What answers behind the range before this one.
std::uint16_t behind(std::span<const RangeStart> ranges, std::size_t before) {
  while (is_point(ranges[before].value)) --before;
  return ranges[before].value;
}

} // namespace

void make_points(std::vector<RangeStart> &ranges) {
  std::size_t kept = 1;
  std::uint16_t around = ranges[0].value;
  for (std::size_t i = 1; i < ranges.size(); ++i) {
    RangeStart range = ranges[i];
    const bool goes_on =
        i + 1 < ranges.size() && ranges[i + 1].value == around && ranges[i + 1].key == range.key + 1;
    if (goes_on) {
      range.value |= range_point;
      ++i;
    } else {
      around = range.value;
    }
    ranges[kept++] = range;
  }
  ranges.resize(kept);
}

PackedCell pack_cell(RangePacker &packer, std::span<const RangeStart> ranges) {
  constexpr unsigned part_bits = 11; // a /21
  const std::vector<RangeGroup> groups = group_parts(
      ranges, part_bits, RangeLine::slots, [](RangeStart) { return 1u; },
      [](RangeStart item) { return is_point(item.value); });
  std::array<unsigned, 1u << (16 - part_bits)> items;
  PackedCell packed{};
  for (std::size_t g = 0; g < groups.size(); ++g) { // lines further down first
    const RangeGroup &group = groups[g];
    const RangePacker::Part part = packer.open(static_cast<std::uint16_t>(group.part << part_bits));
    if (!group.begins_anew)
      packer.add(part, part.window, RangeTarget::value(behind(ranges, group.first - 1)));
    for (const RangeStart &range : ranges.subspan(group.first, group.end - group.first))
      packer.add(part, range.key, RangeTarget::value(range.value));
    // Behind a point that stands behind a lower line, that line would be asked as far as the next range.
    if (const RangeStart &last = ranges[group.end - 1]; group.count() > RangeLine::slots &&
                                                        is_point(last.value) &&
                                                        last.key < (group.part_end << part_bits) - 1)
      packer.add(part, static_cast<std::uint16_t>(last.key + 1),
                 RangeTarget::value(behind(ranges, group.end - 1)));
    items[g] = packer.shrink(part, group.part_end << part_bits);
    if (group.part != 0) packed.bitmap |= 1u << group.part;
  }
  for (std::size_t g = groups.size(); g-- > 0;)
    packed.first = packer.make_line(items[g], static_cast<std::uint16_t>(groups[g].part << part_bits));
  return packed;
}

} // namespace weir::table
