// The longest prefix that covers an IPv6 address: which table value has it?
//
// As for IPv4 (range_map_v4.hpp), nesting is resolved when the map is built, and ranges of one answer stand in
// range lines. An address is read in windows of 16 bits at fixed places:
//
//   window     0        1        2        3        4  5  6  7
//   bits       0..15    16..31   32..47   48..63   ...    112..127
//              root     array, then lines of window 1, then of the windows behind
//
//   root       | 31..27 shift s | 26..0 first of 2^s places in the array |      one for each value of window 0
//   array      places: | 31..27 shift t | 26..0 first of 2^t first lines | each; the first s bits of window 1 choose among
//              the places of a root
//   first line keys are of windows 1 and 2 (FirstLineV6); the first t bits of window 2 choose among the lines of a place
//   line       key 0 has no use as a key: it is the number of the window that the line looks at, and keys 1..15
//              are values of that window
//
//   2a00::/16  root: s = 11, first 5,000          2a00:1450:4001:8::1
//   array[5000 + (0x1450 >> 5)] = t 2, line 812   line 813, since 0x4001 >> 14 is 1: key 0x14504001, leads 7 lines ahead
//                                                 line 820 looks at window 3: 0x0008, an answer
//
// So what most lists hold, prefixes of up to 48 bits, ends in the first line, in a crowd below one /32 as well: each line of a place has
// the ranges that hold addresses of its share of window 2. A place has as many lines as pay: what more would answer at once is weighed
// against their number (range_windows.cpp), and where 11 values do not suffice some lead on to lines of 16.
//
// A range that begins within a key leads from there to a line of the window behind, or, where few ranges begin there and the lines of
// the windows behind would lead on again, to a wide line (range_line.hpp) of several windows at once. Where a window has more
// ranges than one line holds, its lines are a B-tree. Neighbouring places of the array share a first line while its 11
// values suffice. A /16 of one answer has one place, which all such /16s share.
//
// Cost: a root, of which few are ever in use, a place of the array, a first line, and a line for each window behind the third down to
// the one that decides. Addresses outside of what the lists know end in the first line. The number of different lengths changes nothing.
//
// What breaks it: many prefixes below one /48 that part late, which take a line or two for each window that some of them part in. More than 16,383 pairs of list and length do not fit; the builder says so.
#pragma once

#include "weir/base/result.hpp"
#include "weir/table/host_marks.hpp"
#include "weir/table/range_sections.hpp"

namespace weir::table {

class RangeMapV6 {
public:
  static constexpr unsigned shift_bits = 5; // of a root, and of a place
  static constexpr std::uint32_t first_mask = (1u << (32 - shift_bits)) - 1;

  RangeMapV6() = default;

  // The only door; it proves what RangeMapV4::attach() does, that each root has its places in the array, that
  // each place leads to first lines, to which nothing else leads, and that each line has a window.
  [[nodiscard]] static Result<RangeMapV6> attach(Bytes section);

  // The table value of the longest prefix around an address in network order; 0 for none.
  [[nodiscard]] std::uint32_t find(const KeyV6 &address) const noexcept {
    const RangeLine *line = first_line(*entrance(address), address);
    std::uint16_t said = step(*line, address);
    while (leads_on(said)) {
      line += lines_ahead(said);
      said = step(*line, address);
    }
    return value(said);
  }

  // In steps, as RangeMapV4 has them.
  using Question = KeyV6;
  using Word = std::uint32_t;
  [[nodiscard]] const Word *entrance(const KeyV6 &address) const noexcept {
    const std::uint32_t root = read_acquire(roots_[window(address, 0)]);
    return &array_[first_place(root) + (window(address, 1) >> (16 - root_shift(root)))];
  }
  [[nodiscard]] const RangeLine *first_line(const Word &place, const KeyV6 &address) const noexcept {
    const std::uint32_t word = read_acquire(place);
    return lines_ + first_of_place(word) + (window(address, 2) >> (16 - place_shift(word)));
  }
  // In a first line: windows 1 and 2.
  using Key = std::uint32_t;
  [[nodiscard]] static Key key_of(const KeyV6 &address) noexcept {
    return static_cast<Key>(std::byteswap(address.low) >> 16);
  }
  [[nodiscard]] static std::uint16_t step(const RangeLine &line, const KeyV6 &address) noexcept {
    const std::uint16_t first_word = read_relaxed(line.key[0]);
    if (first_word == range_first) return first_step(as_first(line), key_of(address));
    if ((first_word & range_wide) != 0) return wide_step(as_wide(line), wide_key(address, first_word));
    return range_step(line, window(address, first_word));
  }
  [[nodiscard]] std::uint32_t value(std::uint16_t number) const noexcept {
    return read_relaxed(values_[number]);
  }
  [[nodiscard]] std::uint32_t root(std::uint32_t number) const noexcept {
    return read_acquire(roots_[number]);
  }

  [[nodiscard]] static constexpr std::uint32_t make_root(std::uint32_t first, unsigned shift) noexcept {
    return shift << (32 - shift_bits) | first;
  }
  [[nodiscard]] static constexpr unsigned root_shift(std::uint32_t root) noexcept {
    return root >> (32 - shift_bits);
  }
  [[nodiscard]] static constexpr std::uint32_t first_place(std::uint32_t root) noexcept {
    return root & first_mask;
  }
  // Places are made alike.
  [[nodiscard]] static constexpr std::uint32_t make_place(std::uint32_t first, unsigned shift) noexcept {
    return make_root(first, shift);
  }
  [[nodiscard]] static constexpr unsigned place_shift(std::uint32_t place) noexcept {
    return root_shift(place);
  }
  [[nodiscard]] static constexpr std::uint32_t first_of_place(std::uint32_t place) noexcept {
    return first_place(place);
  }
  // 16 bits of an address: windows from 0 to 7.
  [[nodiscard]] static std::uint16_t window(const KeyV6 &address, unsigned number) noexcept {
    return byteswap16(load_unaligned<std::uint16_t>(reinterpret_cast<const std::byte *>(&address) +
                                                    std::size_t{2} * number));
  }

  // The 80 bits that a wide line looks at, whose first word this is.
  [[nodiscard]] static WideKey wide_key(const KeyV6 &address, std::uint16_t first_word) noexcept {
    const auto *from =
        reinterpret_cast<const std::byte *>(&address) + std::size_t{2} * (first_word & range_wide_window_max);
    return {std::byteswap(load_unaligned<std::uint64_t>(from)),
            byteswap16(load_unaligned<std::uint16_t>(from + sizeof(std::uint64_t)))};
  }

  [[nodiscard]] const std::uint32_t *values() const noexcept { return values_; }
  [[nodiscard]] const std::uint32_t *roots() const noexcept { return roots_; }
  [[nodiscard]] const std::uint32_t *array() const noexcept { return array_; }
  [[nodiscard]] const RangeLine *lines() const noexcept { return lines_; }

  [[nodiscard]] const HostMarks &host_marks() const noexcept { return host_marks_; }
  [[nodiscard]] bool has_hosts_near(const KeyV6 &address) const noexcept {
    return (in_use() & range_hosts) != 0 && host_marks_.may_have(address);
  }

  [[nodiscard]] bool empty() const noexcept { return header_ == nullptr; } // no map at all: do not ask it
  [[nodiscard]] std::uint32_t in_use() const noexcept { return read_acquire(header_->in_use); }
  [[nodiscard]] bool has_wide_lines() const noexcept { return header_->wide != 0; } // range_line.hpp
  [[nodiscard]] const RangeHeaderV6 &header() const noexcept { return *header_; }
  [[nodiscard]] std::span<const CoveringV6> covering() const noexcept { return covering_; }

private:
  const RangeHeaderV6 *header_ = nullptr;
  std::span<const CoveringV6> covering_;
  HostMarks host_marks_;
  const std::uint32_t *values_ = nullptr, *roots_ = nullptr, *array_ = nullptr;
  const RangeLine *lines_ = nullptr;
};

} // namespace weir::table
