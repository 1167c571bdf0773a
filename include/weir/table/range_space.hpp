// Which lines of a range map, or places of its array, are free for a writer.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <map>
#include <optional>
#include <set>
#include <utility>
#include <vector>

namespace weir::table {

// Runs of neighbouring numbers. What is given back is taken again only after a grace period.
class RangeSpace {
public:
  // A run of so many: of the shortest that are long enough, the first.
  [[nodiscard]] std::optional<std::uint32_t> take(std::uint32_t count) {
    const auto found = by_length_.lower_bound({count, 0});
    if (found == by_length_.end()) return std::nullopt;
    const auto [length, first] = *found;
    by_length_.erase(found);
    runs_.erase(first);
    if (length > count) insert(first + count, length - count);
    free_ -= count;
    return first;
  }
  void retire(std::uint32_t number) { retired_.push_back(number); }
  void grace_passed() {
    std::ranges::sort(retired_);
    for (std::size_t i = 0, end; i < retired_.size(); i = end) {
      for (end = i + 1; end < retired_.size() && retired_[end] == retired_[end - 1] + 1;) ++end;
      add(retired_[i], static_cast<std::uint32_t>(end - i));
    }
    retired_.clear();
  }
  // Free at once: nobody has ever read them.
  void add(std::uint32_t first, std::uint32_t count = 1) {
    free_ += count;
    const auto next = runs_.upper_bound(first);
    const auto before = next == runs_.begin() ? runs_.end() : std::prev(next);
    const bool joins_next = next != runs_.end() && next->first == first + count;
    const bool joins_before = before != runs_.end() && before->first + before->second == first;
    if (joins_next) count += remove(next);
    if (joins_before) {
      first = before->first;
      count += remove(before);
    }
    insert(first, count);
  }
  [[nodiscard]] std::uint32_t free() const noexcept { return free_; }
  [[nodiscard]] std::size_t retired() const noexcept { return retired_.size(); }

private:
  using Runs = std::map<std::uint32_t, std::uint32_t>; // first -> length

  void insert(std::uint32_t first, std::uint32_t length) {
    runs_.emplace(first, length);
    by_length_.emplace(length, first);
  }
  // Its length.
  std::uint32_t remove(Runs::iterator run) {
    const auto [first, length] = *run;
    by_length_.erase({length, first});
    runs_.erase(run);
    return length;
  }

  Runs runs_; // no two touch
  std::set<std::pair<std::uint32_t, std::uint32_t>> by_length_;
  std::vector<std::uint32_t> retired_;
  std::uint32_t free_ = 0;
};

} // namespace weir::table
