// The most frequent of a stream of keys in bounded memory (Space-Saving, Metwally, Agrawal, El Abbadi 2005):
// a newcomer takes the place of the least frequent and inherits its count, so heavy keys stay.
//
//   counts    too high by `inherited` at most, never too low. A key of more than total / rows_max is there
//   psi(n)    the share of all observations that the n hottest keys carry [Stacked §3]: at most
//             psi(n), at least psi_at_least(n). With no more different keys than rows, both are exact
//   cost      logarithmic in the rows
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <set>
#include <utility>
#include <vector>

namespace weir::workload {

template <class Key> class HeavyHitters {
public:
  struct Row {
    Key key{};
    std::uint64_t count = 0;
    std::uint64_t inherited = 0; // of `count`, from keys that had the place before
  };

  explicit HeavyHitters(std::size_t rows_max = 1024) : rows_max_(std::max<std::size_t>(rows_max, 1)) {}

  void add(const Key &key, std::uint64_t times = 1) {
    total_ += times;
    auto at = rows_.find(key);
    std::uint64_t inherited = 0;
    if (at == rows_.end()) {
      if (rows_.size() >= rows_max_) inherited = take_least();
      at = rows_.emplace(key, Counts{inherited, inherited}).first;
    } else {
      order_.erase({at->second.count, key});
    }
    at->second.count += times;
    order_.emplace(at->second.count, key);
  }

  // As it was before: rows of top(), with all observations, those of other keys included.
  void resume(const std::vector<Row> &rows, std::uint64_t total) {
    *this = HeavyHitters(rows_max_);
    for (const Row &row : rows)
      if (rows_.size() < rows_max_ && rows_.emplace(row.key, Counts{row.count, row.inherited}).second)
        order_.emplace(row.count, row.key);
    total_ = total;
  }

  [[nodiscard]] std::uint64_t total() const noexcept { return total_; }
  [[nodiscard]] std::uint64_t at_least(const Key &key) const { // 0: it has no row
    const auto at = rows_.find(key);
    return at == rows_.end() ? 0 : at->second.count - at->second.inherited;
  }
  [[nodiscard]] std::size_t rows() const noexcept { return rows_.size(); }

  // Everything counts half from now on, rounded so that no row promises more than before.
  void halve() {
    order_.clear();
    for (auto at = rows_.begin(); at != rows_.end();) {
      const std::uint64_t at_least = (at->second.count - at->second.inherited) / 2;
      at->second.count /= 2;
      at->second.inherited = at->second.count - at_least;
      if (at->second.count == 0) {
        at = rows_.erase(at);
      } else {
        order_.emplace(at->second.count, at->first);
        ++at;
      }
    }
    total_ /= 2;
  }

  // The hottest first; of equal counts the greater key.
  [[nodiscard]] std::vector<Row> top(std::size_t most) const {
    std::vector<Row> rows;
    for (auto at = order_.rbegin(); at != order_.rend() && rows.size() < most; ++at) {
      const Counts &counts = rows_.at(at->second);
      rows.push_back({at->second, counts.count, counts.inherited});
    }
    return rows;
  }

  [[nodiscard]] double psi(std::size_t hottest) const {
    return share(hottest, [](const Row &row) { return row.count; });
  }
  [[nodiscard]] double psi_at_least(std::size_t hottest) const {
    return share(hottest, [](const Row &row) { return row.count - row.inherited; });
  }

private:
  struct Counts {
    std::uint64_t count = 0, inherited = 0;
  };

  // Returns the count that goes over to the newcomer.
  std::uint64_t take_least() {
    const auto [count, key] = *order_.begin();
    order_.erase(order_.begin());
    rows_.erase(key);
    return count;
  }

  [[nodiscard]] double share(std::size_t hottest, const auto &part) const {
    if (total_ == 0) return 0;
    std::uint64_t mass = 0;
    for (const Row &row : top(hottest)) mass += part(row);
    return std::min(1.0, static_cast<double>(mass) / static_cast<double>(total_));
  }

  std::size_t rows_max_;
  std::uint64_t total_ = 0;
  std::map<Key, Counts> rows_;
  std::set<std::pair<std::uint64_t, Key>> order_; // the least frequent first
};

} // namespace weir::workload
