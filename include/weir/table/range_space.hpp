// Which lines of a range map, or places of its array, are free for a writer.
#pragma once

#include <cstdint>
#include <iterator>
#include <map>
#include <optional>
#include <utility>
#include <vector>

namespace weir::table {

// Runs of neighbouring numbers. What is given back is taken again only after a grace period.
class RangeSpace {
public:
  // A run of so many, the first that is long enough.
  [[nodiscard]] std::optional<std::uint32_t> take(std::uint32_t count) {
    for (auto run = runs_.begin(); run != runs_.end(); ++run) {
      const auto [first, length] = *run;
      if (length < count) continue;
      runs_.erase(run);
      if (length > count) runs_.emplace(first + count, length - count);
      free_ -= count;
      return first;
    }
    return std::nullopt;
  }
  void retire(std::uint32_t number) { retired_.push_back(number); }
  void grace_passed() {
    for (const std::uint32_t number : retired_) add(number);
    retired_.clear();
  }
  // Free at once: nobody has ever read it.
  void add(std::uint32_t number) {
    ++free_;
    auto next = runs_.upper_bound(number);
    if (next != runs_.begin()) {
      const auto before = std::prev(next);
      if (before->first + before->second == number) {
        ++before->second;
        if (next != runs_.end() && next->first == number + 1) {
          before->second += next->second;
          runs_.erase(next);
        }
        return;
      }
    }
    std::uint32_t length = 1;
    if (next != runs_.end() && next->first == number + 1) {
      length += next->second;
      next = runs_.erase(next);
    }
    runs_.emplace_hint(next, number, length);
  }
  [[nodiscard]] std::uint32_t free() const noexcept { return free_; }
  [[nodiscard]] std::size_t retired() const noexcept { return retired_.size(); }

private:
  std::map<std::uint32_t, std::uint32_t> runs_; // first -> length; no two touch
  std::vector<std::uint32_t> retired_;
  std::uint32_t free_ = 0;
};

} // namespace weir::table
