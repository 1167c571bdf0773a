// Ranges into lines: for the builder, and for the writer that makes a part anew.
//
// Ranges are added in ascending order to the innermost open part, as items: a key, and a value or a reference
// to a line made before; a value may be a point, but for the first of a part. A part of up to 16 items is one line.
// A larger one becomes a B-tree, whose upper line has references as well as ranges of its own: for n items, the
// least possible 1 + (n - 16) / 15 lines. Which neighbours move into a lower line is chosen so that they cover as few keys as possible. Where there are
// points a lower line takes 15 items, since the range around its first one may have to stand before it.
//
// Lines are made in reverse, the last of the section first: what a line refers to is there before it, and stands
// behind it in the end. References reach 32,767 lines, and 16,383 where there are
// points; for an item that waits longer for its line, one that repeats the reference is put between ("hop"). That is looked after
// now and then, and hops add lines themselves: no more than there are items that wait, which `first_lines_max` bounds.
#pragma once

#include "weir/table/range_line.hpp"

#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

namespace weir::table {

// A number of the dictionary, or a line by its number from the end.
class RangeTarget {
public:
  RangeTarget() = default;
  [[nodiscard]] static constexpr RangeTarget value(std::uint32_t number) noexcept {
    return RangeTarget(number);
  }
  [[nodiscard]] static constexpr RangeTarget line(std::uint32_t number) noexcept {
    return RangeTarget(number | is_line_bit);
  }
  [[nodiscard]] constexpr bool is_line() const noexcept { return (bits_ & is_line_bit) != 0; }
  [[nodiscard]] constexpr std::uint32_t number() const noexcept { return bits_ & ~is_line_bit; }
  friend constexpr bool operator==(RangeTarget, RangeTarget) = default;

private:
  static constexpr std::uint32_t is_line_bit = 1u << 31;
  constexpr explicit RangeTarget(std::uint32_t bits) noexcept : bits_(bits) {}
  std::uint32_t bits_ = 0; // value 0
};

class RangePacker {
public:
  explicit RangePacker(bool points = false) noexcept : points_(points) {}

  // The ranges of a part, which begins where it was opened. `window` is what its lines have as key 0.
  struct Part {
    std::size_t first;
    std::uint16_t window;
  };

  [[nodiscard]] Part open(std::uint16_t window) const noexcept { return {items_.size(), window}; }
  void add(Part part, std::uint16_t key, RangeTarget target);
  // As it is: never moved into a lower line.
  void keep(RangeTarget target);
  // Until at most so many items are left; `end` is the first key behind the part. Their number.
  unsigned shrink(Part part, std::uint32_t end, unsigned slots = RangeLine::slots);
  // Of item i of a part that nothing has been added behind.
  [[nodiscard]] std::uint16_t key(Part part, std::size_t i) const noexcept {
    return items_[part.first + i].key;
  }
  [[nodiscard]] RangeTarget target(Part part, std::size_t i) const noexcept {
    return items_[part.first + i].target;
  }
  // Without a line of its items.
  void drop(Part part) noexcept { items_.resize(part.first); }
  [[nodiscard]] RangeTarget last() const noexcept { return items_.back().target; }
  // The line of a part: shrinks it and takes its items away.
  RangeTarget close(Part part, std::uint32_t end);
  // A line of the last `items` items of all, which it takes away.
  RangeTarget make_line(unsigned items, std::uint16_t window);

  // The same as a wide line; keys[i] is that of its item i + 1.
  RangeTarget make_wide_line(std::span<const WideKey> keys, unsigned first_window);
  // First lines of all items of a part, one behind the other: counts[n] items are in line n, with these keys, of which the first of
  // each line is not used. At most `first_lines_max`. The first of the lines.
  static constexpr unsigned first_lines_max = 1u << range_first_shift_max;
  RangeTarget make_first_lines(Part part, std::span<const std::uint32_t> keys,
                               std::span<const unsigned> counts);

  // In reverse: the last line of the section is the first.
  [[nodiscard]] const std::vector<RangeLine> &reversed() const noexcept { return lines_; }
  [[nodiscard]] std::vector<RangeLine> take_reversed() && { return std::move(lines_); }
  [[nodiscard]] bool has_wide_lines() const noexcept { return has_wide_lines_; }
  [[nodiscard]] std::uint32_t lines() const noexcept { return static_cast<std::uint32_t>(lines_.size()); }
  void clear() noexcept;

private:
  // Of a line below: it begins with the range around its first item where that is a point.
  [[nodiscard]] unsigned fold_items() const noexcept {
    return points_ ? RangeLine::slots - 1 : RangeLine::slots;
  }
  // Items of a part: as many as a line of lines has.
  [[nodiscard]] unsigned waiting_max() const noexcept { return fold_items() * RangeLine::slots; }

  struct Item {
    std::uint16_t key;
    std::uint16_t depth; // of lines below
    RangeTarget target;
    std::uint16_t behind; // the number that answers behind it; kept right where there are points

    [[nodiscard]] bool is_point() const noexcept {
      return !target.is_line() && table::is_point(static_cast<std::uint16_t>(target.number()));
    }
  };
  RangeTarget emit(std::span<const Item> items, std::uint16_t window);
  void fold(std::size_t first, unsigned count, std::uint16_t window);
  void fold_oldest(Part part);
  void fold_narrowest(Part part, std::uint32_t end, std::uint32_t left);
  void keep_in_reach();
  [[nodiscard]] static std::uint16_t encode(RangeTarget target, std::uint32_t from) noexcept;

  std::vector<RangeLine> lines_;
  std::vector<Item> items_;         // of all open parts, the innermost last
  std::vector<std::uint32_t> cost_; // of fold_narrowest()
  bool points_, has_wide_lines_ = false;
  // Lines between two looks; what comes at once without one, with something to spare, in which items of one part that became lines
  // out of order count as well; and how far values reach.
  static constexpr std::uint32_t check_each = 4096, at_once = first_lines_max + 2048;
  [[nodiscard]] std::uint32_t reach() const noexcept {
    return points_ ? range_ahead_max_beside_points : range_ahead_max;
  }
  std::uint32_t check_at_ = check_each;
};

} // namespace weir::table
