// Changes an IPv4 range map in place, beside readers: one writer gives a /16 new ranges.
//
//   1. the new lines are written where nobody reads
//   2. one store of eight bytes, with release, has the cell lead to them
//   3. after a grace period the old lines are free
//
//   readers    cell, then line: by the cell that they loaded they see all old lines or all new ones
//
// Nothing in force is ever written to. Tests break both rules on purpose, and see it: lines that are taken again
// without a grace period, and a cell that is stored before its lines.
//
// The writer is told all ranges of a /16, since a map that has been built knows nothing of prefixes. A prefix of up to
// 16 bits concerns several cells, each with a change of its own. /16s of one answer share a line, which is free
// when the last of them has let go of it.
//
// Where spare lines or places of the dictionary run out, nothing is changed, and the map has to be built anew.
#pragma once

#include "weir/base/result.hpp"
#include "weir/table/range_cell.hpp"
#include "weir/table/range_map_v4.hpp"
#include "weir/table/range_store.hpp"

#include <cstdint>
#include <span>
#include <unordered_map>
#include <vector>

namespace weir::table {

struct CellRange {     // of a /16; ends where the next one begins
  std::uint16_t key;   // the low 16 bits of its first address
  std::uint32_t value; // a table value; 0 where no prefix of one bit and more answers
  friend constexpr bool operator==(const CellRange &, const CellRange &) = default;
};

template <class Protocol = SafeRanges> class RangeWriterV4 {
public:
  enum class Put : std::uint8_t { changed, needs_rebuild };

  // The section of a map as attach() takes it.
  [[nodiscard]] static Result<RangeWriterV4> adopt(MutableBytes section) {
    TRY(RangeMapV4::attach(section));
    return RangeWriterV4(section);
  }

  // All ranges of a /16: they ascend strictly, and the first has key 0.
  [[nodiscard]] Put put(std::uint32_t cell, std::span<const CellRange> ranges) {
    starts_.clear();
    for (const CellRange &range : ranges) {
      const auto number = numbers_.of(range.value);
      if (!number) return Put::needs_rebuild;
      if (starts_.empty() || starts_.back().value != *number) starts_.push_back({range.key, *number});
    }
    const bool one_answer = starts_.size() == 1;
    if (one_answer && lead_to_shared_line(cell, starts_[0].value)) return Put::changed;
    if (has_points_) make_points(starts_);
    packer_.clear();
    const PackedCell packed = pack_cell(packer_, starts_);
    const auto first = store_.take(packer_);
    if (!first) return Put::needs_rebuild;
    const std::uint64_t to = packed.cell(*first + packer_.lines() - 1), before = cells_[cell];
    if constexpr (Protocol::stores_lines_first) store_.write(*first, packer_);
    write_release(cells_[cell], to);
    if constexpr (!Protocol::stores_lines_first) store_.write(*first, packer_);
    replaced(before, to);
    if (one_answer) one_answer_[starts_[0].value] = static_cast<std::uint32_t>(to);
    return Put::changed;
  }

  // No reader holds a cell any more that was replaced before.
  void grace_passed() { store_.grace_passed(); }
  // Lines that can be taken now; those that wait for a grace period.
  [[nodiscard]] std::uint32_t free_lines() const noexcept { return store_.free(); }
  [[nodiscard]] std::size_t retired_lines() const noexcept { return store_.retired(); }

private:
  explicit RangeWriterV4(MutableBytes section) {
    auto *header = reinterpret_cast<RangeHeaderV4 *>(section.data());
    const RangeLayoutV4 at = range_layout_v4(header->values, header->lines, header->covering);
    numbers_ = RangeNumbers({reinterpret_cast<std::uint32_t *>(section.data() + at.values), header->values},
                            header->values_used);
    has_points_ = header->points != 0;
    packer_ = RangePacker(has_points_);
    cells_ = reinterpret_cast<std::uint64_t *>(section.data() + at.cells);
    store_ =
        RangeStore({reinterpret_cast<RangeLine *>(section.data() + at.lines), header->lines}, Family::ipv4);
    for (std::uint32_t c = 0; c < range_cells; ++c) {
      for_each_first_line(cells_[c], [this](std::uint32_t line) { store_.hold(line); });
      note_one_answer(cells_[c]);
    }
    store_.find_free_lines();
  }

  static void for_each_first_line(std::uint64_t cell, const auto &visit) {
    const auto first = static_cast<std::uint32_t>(cell);
    const auto more = static_cast<unsigned>(std::popcount(static_cast<std::uint32_t>(cell >> 32)));
    for (std::uint32_t line = first; line <= first + more; ++line) visit(line);
  }

  void note_one_answer(std::uint64_t cell) {
    const RangeLine &line = store_[static_cast<std::uint32_t>(cell)];
    if (cell >> 32 != 0 || leads_on(line.value[0])) return;
    for (const std::uint16_t value : line.value)
      if (value != line.value[0]) return;
    one_answer_[line.value[0]] = static_cast<std::uint32_t>(cell);
  }

  bool lead_to_shared_line(std::uint32_t cell, std::uint16_t value) {
    const auto known = one_answer_.find(value);
    if (known == one_answer_.end()) return false;
    const std::uint64_t before = cells_[cell];
    write_release(cells_[cell], std::uint64_t{known->second});
    replaced(before, known->second);
    return true;
  }

  void replaced(std::uint64_t before, std::uint64_t after) {
    for_each_first_line(after, [this](std::uint32_t line) { store_.hold(line); });
    for_each_first_line(before, [this](std::uint32_t line) {
      store_.release(line);
      if (!store_.is_in_use(line)) forget_one_answer(line);
    });
    if constexpr (!Protocol::waits_before_reuse) store_.grace_passed();
  }

  void forget_one_answer(std::uint32_t line) {
    const auto known = one_answer_.find(store_[line].value[0]);
    if (known != one_answer_.end() && known->second == line) one_answer_.erase(known);
  }

  std::uint64_t *cells_ = nullptr;
  RangeStore store_;
  RangeNumbers numbers_;
  std::unordered_map<std::uint16_t, std::uint32_t> one_answer_; // lines that cells of one answer share

  bool has_points_ = false;
  RangePacker packer_;
  std::vector<RangeStart> starts_;
};

} // namespace weir::table
