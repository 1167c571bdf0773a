// Changes the length map of IPv4 in place, for image/writer.hpp: one writer, readers at work.
#pragma once

#include "weir/table/length_map.hpp"
#include "weir/table/line.hpp"

#include <cstddef>
#include <cstdint>

namespace weir::image {

class LengthWriterV4 {
public:
  LengthWriterV4() = default; // of no map
  explicit LengthWriterV4(const table::LengthMapV4 &map) noexcept : map_(map) {}

  // Of the prefix of length 0. False: it was that already.
  [[nodiscard]] bool set_default(std::uint32_t value) const noexcept {
    auto &slot = const_cast<std::uint32_t &>(*map_.default_value);
    if (slot == value) return false;
    table::write_release(slot, value);
    return true;
  }

  void mark_in_use(unsigned length) const noexcept {
    auto &lengths = const_cast<std::uint32_t &>(*map_.in_use);
    table::write_release(lengths, lengths | table::in_use_bit(length));
  }

  // Of a prefix of 17 to 32 bits that is about to change.
  void note_length(std::uint32_t wire, unsigned length) const noexcept {
    const std::uint64_t cell = map_.cell(wire);
    const std::uint64_t others = length == 32 ? cell : table::without_lone(cell);
    write_cell(table::LengthMapV4::index(wire), others | table::length_bit(length));
  }

  // A prefix of up to 16 bits: what is shorter below it gives way.
  void cover(std::uint32_t wire, std::uint32_t value) const noexcept {
    const unsigned length = table::value::length_of(value);
    below(wire, length, [=](std::uint32_t now) {
      return now == 0 || table::value::length_of(now) <= length ? value : now;
    });
  }
  // The same prefix goes; `next` is the value of the next shorter one, 0 for none.
  void uncover(std::uint32_t wire, unsigned length, std::uint32_t next) const noexcept {
    below(wire, length,
          [=](std::uint32_t now) { return now != 0 && table::value::length_of(now) == length ? next : now; });
  }

private:
  void write_cell(std::size_t c, std::uint64_t cell) const noexcept {
    table::write_cell(const_cast<std::uint64_t *>(map_.cells), const_cast<std::uint32_t *>(map_.signs), c,
                      cell);
  }
  // Every cell below a short prefix, in turn.
  void below(std::uint32_t wire, unsigned length, const auto &visit) const noexcept {
    const std::size_t first = table::LengthMapV4::index(wire);
    for (std::size_t c = first; c < first + (1u << (table::short_length_max - length)); ++c) {
      const std::uint64_t cell = map_.cells[c];
      write_cell(c, table::with_short(cell, visit(table::short_value(cell))));
    }
  }

  table::LengthMapV4 map_;
};

} // namespace weir::image
