// What dynamic entries have touched of late, by the sequence of the store's log: what deltas are made from.
#pragma once

#include "control/store/store.hpp"

#include <cstddef>
#include <cstdint>
#include <deque>
#include <vector>

namespace weir::control {

class TouchedLog {
public:
  [[nodiscard]] std::uint64_t first() const noexcept { return first_; } // last() + 1: it is empty
  [[nodiscard]] std::uint64_t last() const noexcept { return first_ + touched_.size() - 1; }
  // first() <= sequence <= last()
  [[nodiscard]] const store::Touched &at(std::uint64_t sequence) const { return touched_[sequence - first_]; }

  // Empty; the next record is `first`.
  void restart(std::uint64_t first) {
    touched_.clear();
    first_ = first;
  }
  // Records up to `last`. Older ones that these do not continue are forgotten: deltas have no holes. What is
  // older than the log itself is left out.
  void append(std::uint64_t last, const std::vector<store::Touched> &touched) {
    if (touched.empty() || last < first_) return;
    const std::uint64_t first = last - touched.size() + 1;
    if (first != first_ + touched_.size()) restart(first);
    touched_.insert(touched_.end(), touched.begin(), touched.end());
  }
  // The newest so many stay.
  void trim(std::size_t most) {
    while (touched_.size() > most) {
      touched_.pop_front();
      ++first_;
    }
  }

private:
  std::deque<store::Touched> touched_;
  std::uint64_t first_ = 1; // sequence of touched_.front()
};

} // namespace weir::control
