#include "weir/table/range_packer.hpp"

#include <algorithm>
#include <bit>
#include <unordered_map>

namespace weir::table {

void RangePacker::clear() noexcept {
  lines_.clear();
  items_.clear();
  has_wide_lines_ = false;
  check_at_ = check_each;
}

void RangePacker::add(Part part, std::uint16_t key, RangeTarget target) {
  if (lines() >= check_at_) keep_in_reach();
  auto behind = static_cast<std::uint16_t>(target.is_line() ? 0 : target.number());
  if (is_point(behind)) behind = items_.back().behind;
  items_.push_back({key, 0, target, behind});
  if (items_.size() - part.first > waiting_max()) fold_oldest(part);
}

void RangePacker::keep(RangeTarget target) { items_.push_back({0, 0, target, 0}); }

unsigned RangePacker::shrink(Part part, std::uint32_t end, unsigned slots) {
  if (lines() >= check_at_) keep_in_reach();
  while (items_.size() - part.first > std::size_t{slots} * fold_items()) fold_oldest(part);
  if (items_.size() - part.first > slots) fold_narrowest(part, end, slots);
  return static_cast<unsigned>(items_.size() - part.first);
}

RangeTarget RangePacker::close(Part part, std::uint32_t end) {
  return make_line(shrink(part, end), part.window);
}

RangeTarget RangePacker::make_line(unsigned items, std::uint16_t window) {
  const RangeTarget line = emit(std::span(items_).last(items), window);
  items_.resize(items_.size() - items);
  return line;
}

RangeTarget RangePacker::make_wide_line(std::span<const WideKey> keys, unsigned first_window) {
  const std::uint32_t number = lines();
  const std::size_t first = items_.size() - keys.size() - 1;
  WideRangeLine line{};
  line.first_window = static_cast<std::uint16_t>(range_wide | first_window);
  for (std::size_t s = 0; s < WideRangeLine::slots; ++s)
    line.value[s] = encode(items_[first + std::min(s, keys.size())].target, number);
  for (std::size_t k = 0; k < WideRangeLine::keys; ++k) {
    line.high[k] = k < keys.size() ? keys[k].high : ~std::uint64_t{0};
    line.low[k] = k < keys.size() ? keys[k].low : std::uint16_t{0xFFFF};
  }
  lines_.push_back(std::bit_cast<RangeLine>(line));
  has_wide_lines_ = true;
  items_.resize(first);
  return RangeTarget::line(number);
}

RangeTarget RangePacker::make_first_lines(Part part, std::span<const std::uint32_t> keys,
                                          std::span<const unsigned> counts) {
  std::size_t end = keys.size();
  for (std::size_t n = counts.size(); n-- > 0; end -= counts[n]) {
    const std::size_t first = end - counts[n];
    FirstLineV6 line{};
    line.kind = range_first;
    for (std::size_t s = 0; s < FirstLineV6::slots; ++s)
      line.value[s] = encode(items_[part.first + std::min(first + s, end - 1)].target, lines());
    for (std::size_t k = 0; k < FirstLineV6::keys; ++k)
      line.key[k] = first + k + 1 < end ? keys[first + k + 1] : ~std::uint32_t{0};
    lines_.push_back(std::bit_cast<RangeLine>(line));
  }
  items_.resize(part.first);
  return RangeTarget::line(lines() - 1);
}

std::uint16_t RangePacker::encode(RangeTarget target, std::uint32_t from) noexcept {
  if (!target.is_line()) return static_cast<std::uint16_t>(target.number());
  return static_cast<std::uint16_t>(range_lead | (from - target.number()));
}

RangeTarget RangePacker::emit(std::span<const Item> items, std::uint16_t window) {
  const std::uint32_t number = lines();
  constexpr std::uint16_t last_key = 0xFFFF;
  RangeLine &line = lines_.emplace_back();
  for (unsigned s = 0; s < RangeLine::slots; ++s) {
    const Item &item = items[std::min<std::size_t>(s, items.size() - 1)];
    line.key[s] = s == 0 ? window : s < items.size() ? item.key : last_key;
    const bool answers_last_key = s < items.size() || !item.is_point() || item.key == last_key;
    line.value[s] = answers_last_key ? encode(item.target, number) : item.behind;
  }
  return RangeTarget::line(number);
}

// Items from `first` on become a line of their own.
void RangePacker::fold(std::size_t first, unsigned count, std::uint16_t window) {
  const auto folded = std::span(items_).subspan(first, count);
  const Item &deepest = std::ranges::max(folded, {}, &Item::depth);
  const auto depth = static_cast<std::uint16_t>(deepest.depth + 1);
  RangeTarget line;
  if (folded[0].is_point()) {
    std::vector<Item> with_range{{folded[0].key, 0, RangeTarget::value(items_[first - 1].behind), 0}};
    with_range.insert(with_range.end(), folded.begin(), folded.end());
    line = emit(with_range, window);
  } else {
    line = emit(folded, window);
  }
  items_[first] = {items_[first].key, depth, line, folded.back().behind};
  const auto rest = items_.begin() + static_cast<std::ptrdiff_t>(first) + 1;
  items_.erase(rest, rest + (count - 1));
}

// The first sixteen neighbours of least depth that there are. Depths never grow from the first item to the
// last, so the part stays as flat as can be.
void RangePacker::fold_oldest(Part part) {
  for (std::size_t end = items_.size();;) {
    std::size_t first = end - 1;
    while (first > part.first && items_[first - 1].depth == items_[end - 1].depth) --first;
    if (end - first >= fold_items() || first == part.first) return fold(first, fold_items(), part.window);
    end = first;
  }
}

// For n items, lines that take n - `left` away: all of sixteen items but one, which may have fewer. `cost` of
// (full, one, i) is the least number of keys that so many full lines and perhaps the smaller one cover among the
// first i items.
void RangePacker::fold_narrowest(Part part, std::uint32_t end, std::uint32_t left) {
  constexpr std::uint32_t never = 1u << 30;
  const std::uint32_t slots = fold_items();
  const std::span items = std::span(items_).subspan(part.first);
  const auto n = static_cast<std::uint32_t>(items.size());
  const std::uint32_t excess = n - left, lines = (excess + slots - 2) / (slots - 1);
  const std::uint32_t smaller = excess - (lines - 1) * (slots - 1) + 1;
  cost_.assign(std::size_t{lines} * 2 * (n + 1), never);
  const auto cost = [&](std::uint32_t full, std::uint32_t one, std::uint32_t i) -> std::uint32_t & {
    return cost_[(std::size_t{full} * 2 + one) * (n + 1) + i];
  };
  const auto keys_of = [&](std::uint32_t first, std::uint32_t count) {
    return (first + count < n ? items[first + count].key : end) - items[first].key;
  };
  cost(0, 0, 0) = 0;
  for (std::uint32_t full = 0; full < lines; ++full) {
    for (std::uint32_t one = 0; one < 2; ++one) {
      for (std::uint32_t i = 1; i <= n; ++i) {
        std::uint32_t &least = cost(full, one, i);
        least = std::min(least, cost(full, one, i - 1));
        if (full > 0 && i >= slots)
          least = std::min(least, cost(full - 1, one, i - slots) + keys_of(i - slots, slots));
        if (one == 1 && i >= smaller)
          least = std::min(least, cost(full, 0, i - smaller) + keys_of(i - smaller, smaller));
      }
    }
  }
  std::uint32_t full = lines - 1, one = 1;
  for (std::uint32_t i = n; full + one > 0;) { // from the end, so that places before stay as they are
    const std::uint32_t least = cost(full, one, i);
    if (least == cost(full, one, i - 1)) {
      --i;
    } else if (one == 1 && i >= smaller &&
               least == cost(full, 0, i - smaller) + keys_of(i - smaller, smaller)) {
      i -= smaller;
      one = 0;
      fold(part.first + i, smaller, part.window);
    } else {
      i -= slots;
      --full;
      fold(part.first + i, slots, part.window);
    }
  }
}

// An item whose line gets out of reach is led there by a line between, which those of the same line share. Items wait in the order
// in which their lines were made, but for few, so the lines that are put between come from items that wait for as many lines more.
void RangePacker::keep_in_reach() {
  const auto waiting = static_cast<std::uint32_t>(
      std::ranges::count_if(items_, [](const Item &item) { return item.target.is_line(); }));
  const std::uint32_t refer_again = reach() - (check_each + at_once + waiting);
  std::unordered_map<std::uint32_t, RangeTarget> hops;
  for (Item &item : items_) {
    if (!item.target.is_line() || lines() - item.target.number() < refer_again) continue;
    const auto [hop, is_new] = hops.try_emplace(item.target.number());
    if (is_new) {
      const Item referring{0, 0, item.target, 0};
      hop->second = emit(std::span(&referring, 1), 1);
    }
    item.target = hop->second;
  }
  check_at_ = lines() + check_each;
}

} // namespace weir::table
