// The lines of a range map for a writer: which of them are in use, which are free, and which wait for a grace
// period.
//
// A line is in use as long as something leads to it: a word (a cell of IPv4, a place of the array of IPv6) or a
// value of a line in use. The writer counts what leads to each line; a line that nothing leads to any more lets
// go of those that it led to itself.
#pragma once

#include "weir/key/address.hpp"
#include "weir/table/range_packer.hpp"
#include "weir/table/range_space.hpp"

#include <cstdint>
#include <optional>
#include <span>
#include <unordered_map>
#include <vector>

namespace weir::table {

// Tests break these on purpose.
struct SafeRanges {
  static constexpr bool waits_before_reuse = true, stores_lines_first = true;
};

class RangeStore {
public:
  RangeStore() = default;
  RangeStore(std::span<RangeLine> lines, Family family)
      : lines_(lines), leads_(lines.size()), is_v6_(family == Family::ipv6) {}

  // Something leads to the line from now on, or no longer does. Whether it is the first, or was the last.
  bool hold(std::uint32_t line) {
    for (todo_.push_back(line); !todo_.empty();) {
      const std::uint32_t at = todo_.back();
      todo_.pop_back();
      if (++leads_[at] == 1) push_lines_ahead(at);
    }
    return leads_[line] == 1;
  }
  bool release(std::uint32_t line) {
    for (todo_.push_back(line); !todo_.empty();) {
      const std::uint32_t at = todo_.back();
      todo_.pop_back();
      if (--leads_[at] != 0) continue;
      push_lines_ahead(at);
      space_.retire(at);
    }
    return leads_[line] == 0;
  }
  // After all that is in use is held: the others are free.
  void find_free_lines() {
    for (std::uint32_t line = 0; line < lines_.size(); ++line)
      if (leads_[line] == 0) space_.add(line);
  }

  // Room for the packer's lines: the first one's number, and nothing if there is none.
  [[nodiscard]] std::optional<std::uint32_t> take(const RangePacker &packer) {
    return space_.take(packer.lines());
  }
  // To where nobody reads.
  void write(std::uint32_t first, const RangePacker &packer) const noexcept {
    const std::vector<RangeLine> &reversed = packer.reversed();
    for (std::size_t i = 0; i < reversed.size(); ++i) {
      RangeLine &line = lines_[first + reversed.size() - 1 - i];
      for (unsigned s = 0; s < RangeLine::slots; ++s) {
        write_relaxed(line.key[s], reversed[i].key[s]);
        write_relaxed(line.value[s], reversed[i].value[s]);
      }
    }
  }

  [[nodiscard]] bool is_in_use(std::uint32_t line) const noexcept { return leads_[line] != 0; }
  [[nodiscard]] const RangeLine &operator[](std::uint32_t line) const noexcept { return lines_[line]; }
  void grace_passed() { space_.grace_passed(); }
  [[nodiscard]] std::uint32_t free() const noexcept { return space_.free(); }
  [[nodiscard]] std::size_t retired() const noexcept { return space_.retired(); }

private:
  void push_lines_ahead(std::uint32_t line) {
    const std::span<const std::uint16_t> values =
        is_v6_ ? values_of_v6(lines_[line]) : std::span<const std::uint16_t>(lines_[line].value);
    for (const std::uint16_t value : values)
      if (leads_on(value)) todo_.push_back(line + lines_ahead(value));
  }

  std::span<RangeLine> lines_;
  std::vector<std::uint32_t> leads_, todo_;
  bool is_v6_ = false;
  RangeSpace space_;
};

// The dictionary of a map for a writer.
class RangeNumbers {
public:
  RangeNumbers() = default;
  RangeNumbers(std::span<std::uint32_t> values, std::uint32_t &used) : values_(values), used_(&used) {
    numbers_.emplace(0, std::uint16_t{0}); // whatever the value of /0 is
    for (std::uint32_t i = 1; i < used; ++i) numbers_.emplace(values[i], static_cast<std::uint16_t>(i));
  }
  // Of a table value, which gets a place if it has none; nothing when there is no place left. Readers come to a
  // new one by a line that is published later.
  [[nodiscard]] std::optional<std::uint16_t> of(std::uint32_t value) {
    if (const auto known = numbers_.find(value); known != numbers_.end()) return known->second;
    const std::uint32_t number = *used_;
    if (number == values_.size()) return std::nullopt;
    write_relaxed(values_[number], value);
    write_release(*used_, number + 1);
    return numbers_[value] = static_cast<std::uint16_t>(number);
  }

private:
  std::span<std::uint32_t> values_;
  std::uint32_t *used_ = nullptr;
  std::unordered_map<std::uint32_t, std::uint16_t> numbers_;
};

} // namespace weir::table
