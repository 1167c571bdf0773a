#include "weir/table/range_windows.hpp"

#include "weir/table/range_grouping.hpp"

#include <bit>

namespace weir::table {
namespace {

// A place for so many items of a /16 at least: four of them fill a line in the mean.
constexpr std::size_t items_a_place = 4;

[[nodiscard]] std::uint16_t key_of(const AddressV6 &a, unsigned window) noexcept {
  const std::uint64_t half = window < 4 ? a.high : a.low;
  return static_cast<std::uint16_t>(half >> (48 - 16 * (window % 4)));
}

// Nothing but zeros behind the window.
[[nodiscard]] bool ends_with(const AddressV6 &a, unsigned window) noexcept {
  const std::uint64_t half = window < 4 ? a.high : a.low;
  const bool rest_is_zero = (half & ((std::uint64_t{1} << (48 - 16 * (window % 4))) - 1)) == 0;
  return rest_is_zero && (window >= 4 || a.low == 0);
}

// One key of a window: a value, which may hold for the keys behind as well, or ranges that begin below this
// key alone, after the value.
struct WindowItem {
  std::uint16_t key, value;
  std::uint32_t first, end; // ranges below
};

class Windows {
public:
  Windows(RangePacker &packer, std::span<const RangeV6> ranges) : packer_(packer), ranges_(ranges) {}

  struct Keys {
    std::uint32_t first = 0, end = 0x10000;
  };

  // Calls visit(item) for every item of a window that ranges from `first` to `end` begin in.
  void for_each_item(std::uint32_t first, std::uint32_t end, unsigned window, std::uint16_t value,
                     const auto &visit, Keys keys) const {
    for (std::uint32_t key = keys.first; key < keys.end;) {
      const std::uint32_t begin = first;
      while (first < end && key_of(ranges_[first].first, window) == key) ++first;
      std::uint32_t below = begin;
      if (below < first && ends_with(ranges_[below].first, window)) value = ranges_[below++].value;
      visit(WindowItem{static_cast<std::uint16_t>(key), value, below, first});
      if (first > begin) value = ranges_[first - 1].value;
      if (below < first)
        ++key; // what is in force behind the ranges below
      else if (first == end)
        break;
      else
        key = key_of(ranges_[first].first, window);
    }
  }

  [[nodiscard]] RangeTarget target_of(const WindowItem &item, unsigned window) {
    if (item.first == item.end) return RangeTarget::value(item.value);
    const RangePacker::Part part = packer_.open(static_cast<std::uint16_t>(window + 1));
    for_each_item(
        item.first, item.end, window + 1, item.value,
        [&](const WindowItem &below) { packer_.add(part, below.key, target_of(below, window + 1)); }, Keys{});
    return packer_.close(part, 0x10000);
  }

private:
  RangePacker &packer_;
  std::span<const RangeV6> ranges_;
};

} // namespace

PackedRoot pack_root(RangePacker &packer, std::span<const RangeV6> ranges, std::uint16_t value) {
  Windows windows(packer, ranges);
  std::vector<WindowItem> items;
  windows.for_each_item(0, static_cast<std::uint32_t>(ranges.size()), 1, value,
                        [&](const WindowItem &item) { items.push_back(item); }, {});
  PackedRoot root;
  while (root.shift < 16 && items.size() >> (root.shift + 1) >= items_a_place) ++root.shift;
  const unsigned part_bits = 16 - root.shift;
  const auto never = [](const WindowItem &) { return false; };
  for (const RangeGroup &group : group_parts(std::span<const WindowItem>(items), part_bits, never)) {
    const RangePacker::Part part = packer.open(1);
    if (!group.begins_anew)
      packer.add(part, static_cast<std::uint16_t>(group.part << part_bits),
                 RangeTarget::value(items[group.first - 1].value));
    for (std::uint32_t i = group.first; i < group.end; ++i)
      packer.add(part, items[i].key, windows.target_of(items[i], 1));
    root.places.resize(group.part_end, packer.close(part, group.part_end << part_bits));
  }
  return root;
}

RangeTarget pack_place(RangePacker &packer, std::span<const RangeV6> ranges, std::uint16_t value,
                       std::uint32_t first_key, std::uint32_t end_key) {
  Windows windows(packer, ranges);
  const RangePacker::Part part = packer.open(1);
  windows.for_each_item(
      0, static_cast<std::uint32_t>(ranges.size()), 1, value,
      [&](const WindowItem &item) { packer.add(part, item.key, windows.target_of(item, 1)); },
      {first_key, end_key});
  return packer.close(part, end_key);
}

} // namespace weir::table
