#include "weir/table/range_windows.hpp"

#include "weir/table/range_grouping.hpp"
#include "weir/table/range_prefix.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <optional>

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
  Windows(RangePacker &packer, std::span<const RangeV6> ranges, bool wide)
      : packer_(packer), ranges_(ranges), wide_(wide) {}

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
    if (const auto wide = wide_line_of(item, window)) return *wide;
    const RangePacker::Part part = packer_.open(static_cast<std::uint16_t>(window + 1));
    for_each_item(
        item.first, item.end, window + 1, item.value,
        [&](const WindowItem &below) { packer_.add(part, below.key, target_of(below, window + 1)); }, Keys{});
    return packer_.close(part, 0x10000);
  }

private:
  // What a place of a wide line says: as WindowItem, of a key of several windows.
  struct WideItem {
    AddressV6 first_address;
    WindowItem item;
  };
  struct WideItems {
    std::array<WideItem, WideRangeLine::slots> of;
    unsigned count = 0;
  };

  // The items behind `window` of keys that end with window `end`, or nothing if they are more than a wide line has
  // room for.
  [[nodiscard]] std::optional<WideItems> wide_items(const WindowItem &item, unsigned window,
                                                    unsigned end) const {
    const AddressV6 &some = ranges_[item.first].first;
    const AddressV6 last = last_in(some, 16 * (window + 1));
    const unsigned bits = 16 * (end + 1);
    WideItems items;
    AddressV6 key = first_of_prefix(some, 16 * (window + 1));
    std::uint16_t value = item.value;
    for (std::uint32_t next = item.first;;) {
      const std::uint32_t begin = next;
      while (next < item.end && first_of_prefix(ranges_[next].first, bits) == key) ++next;
      std::uint32_t below = begin;
      if (below < next && ranges_[below].first == key) value = ranges_[below++].value;
      if (items.count == items.of.size()) return std::nullopt;
      items.of[items.count++] = {key, {0, value, below, next}};
      if (next > begin) value = ranges_[next - 1].value;
      const AddressV6 key_last = last_in(key, bits);
      if (below < next && key_last != last)
        key = {key_last.high + (key_last.low == ~std::uint64_t{0} ? 1 : 0), key_last.low + 1};
      else if (next < item.end)
        key = first_of_prefix(ranges_[next].first, bits);
      else
        return items;
    }
  }

  // One line for several windows behind `window`, as many as there may be, where a line of the next one alone would
  // lead on.
  [[nodiscard]] std::optional<RangeTarget> wide_line_of(const WindowItem &item, unsigned window) {
    const auto ranges = ranges_.subspan(item.first, item.end - item.first);
    if (!wide_ ||
        std::ranges::all_of(ranges, [&](const RangeV6 &r) { return ends_with(r.first, window + 1); }))
      return std::nullopt;
    const unsigned begin = std::min(window + 1, range_wide_window_max);
    for (unsigned end = begin + WideRangeLine::windows - 1; end > window + 1; --end)
      if (const auto items = wide_items(item, window, end)) return wide_line(*items, begin, end);
    return std::nullopt;
  }

  [[nodiscard]] RangeTarget wide_line(const WideItems &items, unsigned begin, unsigned end) {
    const RangePacker::Part part = packer_.open(0);
    std::array<WideKey, WideRangeLine::keys> keys{};
    for (unsigned i = 0; i < items.count; ++i) {
      const auto &[first_address, item] = items.of[i];
      if (i > 0) keys[i - 1] = RangeMapV6::wide_key(question_of(first_address), begin);
      packer_.add(part, static_cast<std::uint16_t>(i), target_of(item, end));
    }
    return packer_.make_wide_line(std::span(keys).first(items.count - 1), begin);
  }

  RangePacker &packer_;
  std::span<const RangeV6> ranges_;
  bool wide_;
};

} // namespace

PackedRoot pack_root(RangePacker &packer, std::span<const RangeV6> ranges, std::uint16_t value) {
  Windows windows(packer, ranges, true);
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
                       std::uint32_t first_key, std::uint32_t end_key, bool wide) {
  Windows windows(packer, ranges, wide);
  const RangePacker::Part part = packer.open(1);
  windows.for_each_item(
      0, static_cast<std::uint32_t>(ranges.size()), 1, value,
      [&](const WindowItem &item) { packer.add(part, item.key, windows.target_of(item, 1)); },
      {first_key, end_key});
  return packer.close(part, end_key);
}

} // namespace weir::table
