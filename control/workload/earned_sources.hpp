// Sources that were seen in more than one interval, and how much of what such sources send each of them
// sends.
//
//   score     of a source: its samples, where those of `half_life` samples of earned sources ago count half.
//             Samples of others are no clock: a flood of strangers makes nothing older
//   share     its score, less half a sample, of the scores of all
//   first     addresses that were seen and may earn a place: two sets of at most `first_max` follow each
//   other room      a quarter more than `rows_max`, then those of the least score go
#pragma once

#include "weir/key/address.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <set>
#include <utility>
#include <vector>

namespace weir::workload {

class EarnedSources {
public:
  struct Options {
    std::size_t rows_max = std::size_t{1} << 16;
    std::uint64_t half_life = std::uint64_t{1} << 18;
    std::size_t first_max = std::size_t{1} << 17;
  };
  explicit EarnedSources(Options options) : options_(options) {}

  void next_interval() noexcept { ++interval_; }

  // A sample of it; false: it has not earned a place.
  bool add(const Address &address) {
    const auto at = scores_.find(address);
    if (at == scores_.end()) return false;
    at->second += worth_;
    total_ += worth_;
    grow();
    return true;
  }
  // A sample of another one: whether it has earned a place with it.
  [[nodiscard]] bool earns(const Address &address) {
    const std::uint64_t *first = find(newer_first_, address);
    if (first == nullptr) first = find(older_first_, address);
    if (first != nullptr) return *first != interval_;
    if (newer_first_.size() >= options_.first_max) older_first_ = std::exchange(newer_first_, {});
    newer_first_.emplace(address, interval_);
    return false;
  }
  // From now on it has a place, with so many samples.
  void take(const Address &address, double samples) {
    double &score = scores_[address];
    score += samples * worth_;
    total_ += samples * worth_;
    newer_first_.erase(address);
    older_first_.erase(address);
    if (scores_.size() > options_.rows_max + options_.rows_max / 4) prune();
  }
  // Others have come in the place of the rest.
  void fade_all_but(const std::set<Address> &these) {
    constexpr double rest = 1.0 / 8;
    for (auto &[address, score] : scores_)
      if (!these.contains(address)) score *= rest;
    add_up();
  }

  [[nodiscard]] bool has(const Address &address) const { return scores_.contains(address); }
  [[nodiscard]] std::size_t size() const noexcept { return scores_.size(); }

  struct Row {
    Address address;
    double share = 0; // of what all earned sources send
  };
  [[nodiscard]] std::vector<Row> hottest() const {
    std::vector<Row> rows;
    const double half = worth_ / 2;
    for (const auto &[address, score] : scores_)
      if (score > half) rows.push_back({address, (score - half) / total_});
    std::ranges::stable_sort(rows, std::ranges::greater{}, &Row::share);
    return rows;
  }

private:
  using First = std::map<Address, std::uint64_t>; // interval
  [[nodiscard]] static const std::uint64_t *find(const First &first, const Address &address) {
    const auto at = first.find(address);
    return at == first.end() ? nullptr : &at->second;
  }

  // New samples weigh more instead of old ones less.
  void grow() {
    worth_ *= std::exp2(1 / static_cast<double>(options_.half_life));
    if (worth_ < 1e100) return;
    for (auto &[address, score] : scores_) score /= worth_;
    worth_ = 1;
    add_up();
  }
  void add_up() {
    total_ = 0;
    for (const auto &[address, score] : scores_) total_ += score;
  }
  void prune() {
    std::vector<double> scores;
    for (const auto &[address, score] : scores_) scores.push_back(score);
    const auto least = scores.end() - static_cast<std::ptrdiff_t>(options_.rows_max);
    std::ranges::nth_element(scores, least);
    const double bound = *least;
    std::erase_if(scores_, [bound](const auto &row) { return row.second < bound; });
    add_up();
  }

  Options options_;
  std::map<Address, double> scores_;
  First older_first_, newer_first_;
  std::uint64_t interval_ = 0;
  double worth_ = 1, total_ = 0;
};

} // namespace weir::workload
