// Whether a key has been seen before, of late, in bounded memory: what comes once is not worth a place.
//
// Two windows of at most `window_max` keys follow each other; a key is remembered while at least so many
// other new ones come.
#pragma once

#include <cstddef>
#include <set>
#include <utility>

namespace weir::workload {

template <class Key> class SecondSight {
public:
  explicit SecondSight(std::size_t window_max) : window_max_(window_max) {}

  // True from the second time on.
  bool again(const Key &key) {
    if (newer_.contains(key)) return true;
    const bool known = older_.contains(key);
    if (newer_.size() >= window_max_) older_ = std::exchange(newer_, {});
    newer_.insert(key);
    return known;
  }
  [[nodiscard]] std::size_t held() const noexcept { return older_.size() + newer_.size(); }

private:
  std::size_t window_max_;
  std::set<Key> older_, newer_;
};

} // namespace weir::workload
