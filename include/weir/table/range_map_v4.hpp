// The longest prefix that covers an IPv4 address: which table value has it?
//
// Nesting is resolved when the map is built. The prefixes cut the 2^32 addresses into ranges of one answer
// each; neighbours with the same answer are one range. Ranges stand in range lines (range_line.hpp), with the
// low 16 bits of their first address as key. A cell for each /16 says which line to read:
//
//   cell        | 63..32 bitmap: /21 number j of the /16 begins a new line | 31..0 first line |
//   line of j     first + number of bits 1..j of the bitmap
//
//   195.12.0.0/16  bitmap 0...0100010, first 700:
//     /21   0    1    2  3  4    5  6 ... 31
//     line  700  701  701 ..     702  702 ..     a line serves neighbouring /21s while 16 ranges suffice
//
// A /21 with more than 16 ranges has a line whose values lead to further lines, as in a B-tree, where the same
// step is repeated. A /16 of one answer points to a line of that answer, which all such /16s share.
//
// Cost: a cell, which the 512 KiB of all cells mostly have in L2, and one line; a second line where a /21 has
// more than 16 ranges, a third one beyond 256. The number of prefixes, their lengths and their depth of nesting
// change nothing else. No key is hashed, so nobody can aim collisions.
//
// What breaks it: more than 16,384 different pairs of list and length do not fit into 14 bits.
// The builder says so. A prefix of up to 16 bits that changes concerns up to 65,536 cells.
#pragma once

#include "weir/base/result.hpp"
#include "weir/table/range_sections.hpp"

namespace weir::table {

class RangeMapV4 {
public:
  RangeMapV4() = default;

  // The only door. One pass over the section proves what readers rely on: each cell leads to a line of the
  // section, each value is a number of the dictionary or leads ahead to a line of the section, and no
  // address takes more than range_steps_max steps. `section` must be aligned to 64 bytes and stay mapped.
  [[nodiscard]] static Result<RangeMapV4> attach(Bytes section);

  // The table value of the longest prefix around an address in wire order; 0 for none.
  [[nodiscard]] std::uint32_t find(std::uint32_t wire) const noexcept {
    const std::uint16_t key = key_of(wire);
    const RangeLine *line = first_line(*entrance(wire), wire);
    std::uint16_t said = range_step(*line, key);
    while (leads_on(said)) [[unlikely]] {
      line += lines_ahead(said);
      said = range_step(*line, key);
    }
    return value(said);
  }

  // Lines that an answer takes.
  [[nodiscard]] unsigned lines_asked(std::uint32_t wire) const noexcept {
    const RangeLine *line = first_line(*entrance(wire), wire);
    unsigned lines = 1;
    for (std::uint16_t said; leads_on(said = step(*line, wire)); ++lines) line += lines_ahead(said);
    return lines;
  }

  // The same in steps, for bursts (lookup/range_burst.hpp): the word that leads to the first line; that line; what
  // is looked for in lines; the table value that a line has given the number of.
  using Question = std::uint32_t;
  using Word = std::uint64_t;
  [[nodiscard]] const Word *entrance(std::uint32_t wire) const noexcept {
    return &cells_[byteswap16(static_cast<std::uint16_t>(wire))];
  }
  [[nodiscard]] const RangeLine *first_line(const Word &cell, std::uint32_t wire) const noexcept {
    return lines_ + line_of(read_acquire(cell), byteswap32(wire));
  }
  [[nodiscard]] static std::uint16_t step(const RangeLine &line, std::uint32_t wire) noexcept {
    return range_step(line, key_of(wire));
  }
  using Key = std::uint16_t;
  [[nodiscard]] static Key key_of(std::uint32_t wire) noexcept {
    return byteswap16(static_cast<std::uint16_t>(wire >> 16));
  }
  [[nodiscard]] std::uint32_t value(std::uint16_t number) const noexcept {
    return read_relaxed(values_[number]);
  }

  [[nodiscard]] static constexpr std::uint32_t line_of(std::uint64_t cell, std::uint32_t host) noexcept {
    const std::uint32_t up_to = (2u << (host >> 11 & 31)) - 1; // bits 0..j, and bit 0 is never set
    const auto begun = static_cast<unsigned>(std::popcount(static_cast<std::uint32_t>(cell >> 32) & up_to));
    return static_cast<std::uint32_t>(cell) + begun;
  }

  [[nodiscard]] const std::uint32_t *values() const noexcept { return values_; }
  [[nodiscard]] const std::uint64_t *cells() const noexcept { return cells_; }
  [[nodiscard]] const RangeLine *lines() const noexcept { return lines_; }

  [[nodiscard]] bool empty() const noexcept { return header_ == nullptr; } // no map at all: do not ask it
  // range_hosts and range_prefixes: whether the side has had hosts, and prefixes of one bit and more.
  [[nodiscard]] std::uint32_t in_use() const noexcept { return read_acquire(header_->in_use); }
  [[nodiscard]] bool has_points() const noexcept { return header_->points != 0; } // range_line.hpp
  [[nodiscard]] const std::uint32_t *signs() const noexcept { return signs_; }
  [[nodiscard]] bool has_hosts_below(std::uint32_t wire) const noexcept {
    const std::uint32_t c = byteswap16(static_cast<std::uint16_t>(wire));
    const std::uint32_t word = read_acquire(signs_[c / range_signs_a_word]);
    return (word >> 2 * (c % range_signs_a_word) & range_hosts) != 0;
  }
  [[nodiscard]] const RangeHeaderV4 &header() const noexcept { return *header_; }
  [[nodiscard]] std::span<const CoveringV4> covering() const noexcept { return covering_; }

private:
  const RangeHeaderV4 *header_ = nullptr;
  std::span<const CoveringV4> covering_;
  const std::uint32_t *values_ = nullptr, *signs_ = nullptr;
  const std::uint64_t *cells_ = nullptr;
  const RangeLine *lines_ = nullptr;
};

} // namespace weir::table
