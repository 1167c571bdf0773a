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
//   array      line numbers: u32 each; the first s bits of window 1 choose among the places of a root
//   line       key 0 has no use as a key: it is the number of the window that the line looks at, and keys 1..15
//              are values of that window
//
//   2a00::/16  root: s = 11, first 5,000      2a00:1450:4001::1
//   array[5000 + (0x1450 >> 5)] = 812         line 812 looks at window 1: 0x1450, leads 3 lines ahead
//                                             line 815 looks at window 2: 0x4001, an answer
//
// A range that begins within a key leads from there to a line of the window behind, or, where few ranges begin there and the lines of
// the windows behind would lead on again, to a wide line (range_line.hpp) of several windows at once. Where a window has more
// ranges than one line holds, its lines are a B-tree. Neighbouring places of the array share a line while 16
// ranges suffice. A /16 of one answer has one place, which all such /16s share.
//
// Cost: a root, of which few are ever in use, a place of the array, and a line for each window down to the one
// that decides, more where a window has more than 16 ranges. Addresses outside of what the lists know end in
// the first line. The number of different lengths changes nothing.
//
// What breaks it: many prefixes below one /32 that part late, which take a line or two for each window that some of them part in. More than 16,383 pairs of list and length do not fit; the builder says so.
#pragma once

#include "weir/base/result.hpp"
#include "weir/table/host_marks.hpp"
#include "weir/table/range_sections.hpp"

namespace weir::table {

class RangeMapV6 {
public:
  static constexpr unsigned root_shift_bits = 5;
  static constexpr std::uint32_t root_first_mask = (1u << (32 - root_shift_bits)) - 1;

  RangeMapV6() = default;

  // The only door; it proves what RangeMapV4::attach() does, that each root has its places in the array, that
  // each place leads to a line of window 1, and that each line has a window.
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
  [[nodiscard]] const RangeLine *first_line(const Word &place, const KeyV6 & /*address*/) const noexcept {
    return lines_ + read_acquire(place);
  }
  // In a first line, which looks at window 1.
  [[nodiscard]] static std::uint16_t key_of(const KeyV6 &address) noexcept { return window(address, 1); }
  [[nodiscard]] static std::uint16_t step(const RangeLine &line, const KeyV6 &address) noexcept {
    if (is_wide(line)) [[unlikely]]
      return wide_step(as_wide(line), wide_key(address, read_relaxed(line.key[0])));
    return range_step(line, window(address, read_relaxed(line.key[0])));
  }
  [[nodiscard]] std::uint32_t value(std::uint16_t number) const noexcept {
    return read_relaxed(values_[number]);
  }
  [[nodiscard]] std::uint32_t root(std::uint32_t number) const noexcept {
    return read_acquire(roots_[number]);
  }

  [[nodiscard]] static constexpr std::uint32_t make_root(std::uint32_t first, unsigned shift) noexcept {
    return shift << (32 - root_shift_bits) | first;
  }
  [[nodiscard]] static constexpr unsigned root_shift(std::uint32_t root) noexcept {
    return root >> (32 - root_shift_bits);
  }
  [[nodiscard]] static constexpr std::uint32_t first_place(std::uint32_t root) noexcept {
    return root & root_first_mask;
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
