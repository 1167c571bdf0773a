#include "weir/table/range_windows.hpp"

#include "weir/table/range_grouping.hpp"
#include "weir/table/range_prefix.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <optional>
#include <utility>
#include <vector>

namespace weir::table {
namespace {

// A place for so many items of a /16, or ranges, at least. With few others beside it in a place, first lines are left to a crowd.
constexpr std::size_t items_a_place = 2, ranges_a_place = 4;
// A place has at most so many values of first lines for each of its items.
constexpr std::uint64_t values_an_item = 3;
// A line weighs as much as so many values of a crowd that are behind another line. Others than crowds hold more addresses.
constexpr std::uint64_t weight_of_line = 2, weight_of_other = 8;

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

// An item of window 1, and how many values of a first line it takes.
struct SizedItem {
  std::uint16_t key;
  std::uint32_t size;
};
// The first lines of a place. An item of window 1 is a value, or a crowd: ranges begin below its key. Of a crowd, a first line has the
// items of window 2 that hold keys of its share; where they are too many for it, some move into lines of window 2 that it leads on to.
// Each line has all other items, and where these leave too little room for crowds, those that hold the fewest keys move into lines of window 1.
class FirstLines {
public:
  FirstLines(RangePacker &packer, Windows &windows) : packer_(packer), windows_(windows) {}

  // `items`: of window 1, the first at or before the place; `end_key` is behind it.
  [[nodiscard]] PackedPlace pack(std::span<const WindowItem> items, std::uint32_t end_key,
                                 unsigned shift_max) {
    keys_.clear();
    counts_.clear();
    if (items.size() > FirstLineV6::slots) return pack_crowd_of_items(items, end_key);
    crowds_.clear();
    in_all_.clear();
    for (const WindowItem &item : items) {
      if (is_crowd(item)) crowds_.push_back(crowd_of(item));
      in_all_.push_back({item.key, is_crowd(item), RangeTarget::value(item.value)});
    }
    const Form form = choose_form(shift_max);
    if (form.others + crowds_.size() != items.size()) move_others(form.others, end_key);
    const RangePacker::Part part = packer_.open(0);
    for (std::uint32_t line = 0; line < 1u << form.shift; ++line)
      add_line(line << (16 - form.shift), (line + 1) << (16 - form.shift));
    return {packer_.make_first_lines(part, keys_, counts_), form.shift};
  }

  // Values that each item takes in one first line for all, if what is before it stands there as well.
  [[nodiscard]] std::vector<SizedItem> sizes_of(std::span<const WindowItem> items) const {
    std::vector<SizedItem> sizes;
    Counted counted;
    for (const WindowItem &item : items) {
      const std::uint32_t before = counted.values;
      if (is_crowd(item))
        windows_.for_each_item(item.first, item.end, 2, item.value,
                               [&](const WindowItem &below) { counted.add(below); }, {});
      else
        counted.add(item);
      sizes.push_back({item.key, counted.values - before});
    }
    return sizes;
  }

private:
  // Of a line: what goes on as before takes no place.
  struct Counted {
    std::uint32_t values = 0;
    std::optional<std::uint16_t> last = {}; // nothing behind a crowd that ranges begin below
    void add(std::uint16_t value, bool leads_on) {
      if (leads_on || last != value) ++values;
      last = leads_on ? std::nullopt : std::optional(value);
    }
    void add(const WindowItem &item) { add(item.value, is_crowd(item)); }
  };
  struct Crowd {
    std::vector<WindowItem> items;         // of window 2
    std::size_t next = 0, end_of_line = 0; // of them: what begins in the share of a line
    [[nodiscard]] std::uint16_t value_before() const noexcept { return items[next - 1].value; }
  };
  [[nodiscard]] Crowd crowd_of(const WindowItem &item) const {
    Crowd crowd;
    windows_.for_each_item(item.first, item.end, 2, item.value,
                           [&](const WindowItem &below) { crowd.items.push_back(below); }, {});
    return crowd;
  }

  // More items of window 1 than a line has values: lines of window 1 take what is too much.
  [[nodiscard]] PackedPlace pack_crowd_of_items(std::span<const WindowItem> items, std::uint32_t end_key) {
    const RangePacker::Part part = packer_.open(1);
    for (const WindowItem &item : items) packer_.add(part, item.key, windows_.target_of(item, 1));
    add_keys(part, packer_.shrink(part, end_key, FirstLineV6::slots), 0, 16);
    counts_.push_back(static_cast<unsigned>(keys_.size()));
    return {packer_.make_first_lines(part, keys_, counts_), 0};
  }

  void add_keys(RangePacker::Part part, unsigned count, std::uint32_t base, unsigned shift) {
    for (unsigned i = 0; i < count; ++i) keys_.push_back(base | std::uint32_t{packer_.key(part, i)} << shift);
  }

  struct Form {
    unsigned shift = 0;     // 2^shift lines
    std::size_t others = 0; // values of each that are no crowd's
  };
  // Weighs lines against values that have to be looked for behind them, and how many lines further.
  [[nodiscard]] Form choose_form(unsigned shift_max) {
    std::size_t runs = 0; // of others, between crowds
    for (std::size_t i = 0; i < in_all_.size(); ++i)
      runs += !in_all_[i].is_crowd && (i == 0 || in_all_[i - 1].is_crowd) ? 1 : 0;
    const std::size_t others = in_all_.size() - crowds_.size();
    std::uint64_t all = others;
    for (const Crowd &crowd : crowds_) all += crowd.items.size();
    Form best;
    std::uint64_t least = ~std::uint64_t{0};
    for (std::size_t kept = others;; kept = std::max(runs, kept / 2)) {
      const std::size_t fewer = others - kept;
      const std::uint64_t moved = fewer == 0 ? 0 : (fewer + runs) * weight_of_other;
      for (unsigned shift = 0; shift <= shift_max; ++shift) {
        if (shift != 0 && std::uint64_t{FirstLineV6::slots} << shift > all * values_an_item) break;
        const std::uint64_t cost = moved + cost_of(fewer, shift);
        if (cost < least) best = {shift, kept};
        least = std::min(least, cost);
        if (cost == moved + (weight_of_line << shift)) break; // no value of a crowd is behind a line
      }
      if (kept == runs || least == weight_of_line << best.shift) return best;
    }
  }
  [[nodiscard]] static bool is_crowd(const WindowItem &item) noexcept { return item.first != item.end; }
  // `fewer`: others that are moved.
  [[nodiscard]] std::uint64_t cost_of(std::size_t fewer, unsigned shift) {
    constexpr std::uint32_t moved_a_line = RangeLine::slots - 1;
    std::uint64_t cost = weight_of_line << shift;
    for (std::uint32_t line = 0; line < 1u << shift; ++line) {
      end_line((line + 1) << (16 - shift));
      const std::uint32_t all = values_of_line(line << (16 - shift));
      for (Crowd &crowd : crowds_) crowd.next = crowd.end_of_line;
      const auto values = static_cast<std::uint32_t>(all - std::min<std::size_t>(all, fewer));
      if (values <= FirstLineV6::slots) continue;
      const std::uint32_t lines = (values - FirstLineV6::slots + moved_a_line - 1) / moved_a_line;
      std::uint64_t steps = 1;
      for (std::uint64_t reached = FirstLineV6::slots * RangeLine::slots; reached < values;
           reached *= RangeLine::slots)
        ++steps;
      cost += lines * weight_of_line + std::min(values, lines * RangeLine::slots) * steps;
    }
    for (Crowd &crowd : crowds_) crowd.next = 0;
    return cost;
  }
  // The line that takes crowds from where they are has keys of window 2 below `end`.
  void end_line(std::uint32_t end) {
    for (Crowd &crowd : crowds_)
      for (crowd.end_of_line = crowd.next;
           crowd.end_of_line < crowd.items.size() && crowd.items[crowd.end_of_line].key < end;)
        ++crowd.end_of_line;
  }
  // Of the line for keys of window 2 from `first` on, if none is behind it.
  [[nodiscard]] std::uint32_t values_of_line(std::uint32_t first) const {
    Counted counted;
    auto crowd = crowds_.begin();
    for (const InAll &item : in_all_) {
      if (!item.is_crowd) {
        counted.add(static_cast<std::uint16_t>(item.target.number()), item.target.is_line());
        continue;
      }
      if (begins_before(*crowd, first)) counted.add(crowd->value_before(), false);
      for (std::size_t i = crowd->next; i < crowd->end_of_line; ++i) counted.add(crowd->items[i]);
      ++crowd;
    }
    return counted.values;
  }

  // All lines have so many others from now on.
  void move_others(std::size_t others, std::uint32_t end_key) {
    const std::vector<InAll> items = std::exchange(in_all_, {});
    const auto end_of_run = [&](std::size_t i) {
      while (i < items.size() && !items[i].is_crowd) ++i;
      return i;
    };
    order_.clear();
    for (std::size_t i = 0; i < items.size(); i = std::max(end_of_run(i), i + 1))
      if (!items[i].is_crowd) want(end_of_run(i) - i);
    share_out(others);
    auto room = room_.begin();
    for (std::size_t i = 0; i < items.size();) {
      if (items[i].is_crowd) {
        in_all_.push_back(items[i++]);
        continue;
      }
      const RangePacker::Part part = packer_.open(1);
      const std::size_t end = end_of_run(i);
      for (; i < end; ++i) packer_.add(part, items[i].key, items[i].target);
      const unsigned left = packer_.shrink(part, end == items.size() ? end_key : items[end].key, *room++);
      for (unsigned k = 0; k < left; ++k)
        in_all_.push_back({packer_.key(part, k), false, packer_.target(part, k)});
      packer_.drop(part);
    }
  }

  // The line for keys of window 2 from `first` on.
  void add_line(std::uint32_t first, std::uint32_t end) {
    const std::size_t before = keys_.size();
    order_.clear();
    std::size_t wanted = 0;
    end_line(end);
    for (const Crowd &crowd : crowds_) {
      want(crowd.end_of_line - crowd.next + (begins_before(crowd, first) ? 1 : 0));
      wanted += order_.back().first;
    }
    const bool all_fit = values_of_line(first) <= FirstLineV6::slots;
    share_out(all_fit ? wanted : FirstLineV6::slots - (in_all_.size() - crowds_.size()));
    auto crowd = crowds_.begin();
    auto room = room_.begin();
    for (const InAll &item : in_all_) {
      if (item.is_crowd) {
        add_crowd(*crowd++, item.key, first, end, *room++, keys_.size() > before);
        continue;
      }
      if (!item.target.is_line() && keys_.size() > before && packer_.last() == item.target) continue;
      packer_.keep(item.target);
      keys_.push_back(std::uint32_t{item.key} << 16);
    }
    counts_.push_back(static_cast<unsigned>(keys_.size() - before));
  }

  void add_crowd(Crowd &crowd, std::uint16_t key, std::uint32_t first, std::uint32_t end, unsigned room,
                 bool has_last) {
    const RangePacker::Part part = packer_.open(2);
    const bool goes_on = begins_before(crowd, first) || !is_crowd(crowd.items[crowd.next]);
    if (goes_on) {
      const RangeTarget value = RangeTarget::value(
          begins_before(crowd, first) ? crowd.value_before() : crowd.items[crowd.next++].value);
      if (!has_last || packer_.last() != value) packer_.add(part, static_cast<std::uint16_t>(first), value);
    }
    for (; crowd.next < crowd.end_of_line; ++crowd.next) {
      const WindowItem &item = crowd.items[crowd.next];
      packer_.add(part, item.key, windows_.target_of(item, 2));
    }
    add_keys(part, packer_.shrink(part, end, room), std::uint32_t{key} << 16, 0);
  }
  [[nodiscard]] static bool begins_before(const Crowd &crowd, std::uint32_t first) noexcept {
    return crowd.next == crowd.items.size() || crowd.items[crowd.next].key != first;
  }

  // Wishes for places of a line, by number, and what each gets: those that need least get it all, and each gets one at least.
  void want(std::size_t places) {
    order_.push_back({static_cast<std::uint32_t>(places), static_cast<std::uint32_t>(order_.size())});
  }
  void share_out(std::size_t places) {
    room_.resize(order_.size());
    std::ranges::sort(order_);
    auto left = static_cast<std::uint32_t>(places), waiting = static_cast<std::uint32_t>(order_.size());
    for (const auto &[wanted, number] : order_) {
      room_[number] = std::min(wanted, left / waiting);
      left -= room_[number];
      --waiting;
    }
  }

  RangePacker &packer_;
  Windows &windows_;
  struct InAll { // an item of each line
    std::uint16_t key;
    bool is_crowd;
    RangeTarget target;
  };

  std::vector<Crowd> crowds_;
  std::vector<InAll> in_all_;
  std::vector<std::uint32_t> keys_; // of all lines
  std::vector<unsigned> counts_;    // of the items of each line
  std::vector<unsigned> room_;      // of share_out()
  std::vector<std::pair<std::uint32_t, std::uint32_t>> order_;
};

} // namespace

PackedRoot pack_root(RangePacker &packer, std::span<const RangeV6> ranges, std::uint16_t value) {
  constexpr RangeLineKinds kinds;
  Windows windows(packer, ranges, kinds.wide);
  FirstLines first_lines(packer, windows);
  std::vector<WindowItem> items, of_group;
  windows.for_each_item(0, static_cast<std::uint32_t>(ranges.size()), 1, value,
                        [&](const WindowItem &item) { items.push_back(item); }, {});
  PackedRoot root;
  const std::size_t places_max = std::max(items.size() / items_a_place, ranges.size() / ranges_a_place);
  while (root.shift < 16 && std::size_t{2} << root.shift <= places_max) ++root.shift;
  const unsigned part_bits = 16 - root.shift;
  const std::vector<SizedItem> sizes = first_lines.sizes_of(items);
  const auto size_of = [](const SizedItem &item) { return item.size; };
  const auto never = [](const SizedItem &) { return false; };
  for (const RangeGroup &group :
       group_parts(std::span(sizes), part_bits, FirstLineV6::slots, size_of, never)) {
    of_group.clear();
    if (!group.begins_anew) {
      const auto first_key = static_cast<std::uint16_t>(group.part << part_bits);
      of_group.push_back({first_key, items[group.first - 1].value, 0, 0});
    }
    of_group.insert(of_group.end(), items.begin() + group.first, items.begin() + group.end);
    root.places.resize(group.part_end,
                       first_lines.pack(of_group, group.part_end << part_bits, kinds.first_shift_max));
  }
  return root;
}

PackedPlace pack_place(RangePacker &packer, std::span<const RangeV6> ranges, std::uint16_t value,
                       std::uint32_t first_key, std::uint32_t end_key, RangeLineKinds kinds) {
  Windows windows(packer, ranges, kinds.wide);
  std::vector<WindowItem> items;
  windows.for_each_item(0, static_cast<std::uint32_t>(ranges.size()), 1, value,
                        [&](const WindowItem &item) { items.push_back(item); }, {first_key, end_key});
  return FirstLines(packer, windows).pack(items, end_key, kinds.first_shift_max);
}

} // namespace weir::table
