// Which addresses nothing denies send most, and which share of such questions each has: what samples of
// packets say of the workload of a filter [Stacked §3, §9.3].
//
// Samples are few, so counts alone promise too much: of a thousand sampled addresses that came once each,
// hardly one is among the next thousand. What a count is worth is less by a discount, and what is taken
// off is the share of all that no sample has named yet:
//
//   D       n1 / (n1 + 2 n2), of addresses that came once and twice
//   cost    of an address that came c times: c - D, and less by what its row inherited
//   psi(n)  the costs of the n hottest, of all samples; what is missing at the end are strangers
//
// Two windows follow each other, each with room for as many addresses as it has samples or fewer; what is
// older is forgotten. After a shift nothing of before counts: begin_anew() keeps the last few thousand.
//
// Whoever can spoof sources can fill windows with sources that nobody sees twice. So a source earns its place
// over time (workload/earned_sources.hpp): seen in two intervals of next_interval() it comes before all that
// were seen in one only, and no flood of others takes its place. Its cost is its share of all that earned
// sources sent, of the share that they have of the samples now.
//
// What outlives the process (keep(), resume()) is the hottest few thousand, as the older of two windows; of
// the rest how many samples there were, and how many addresses came once and twice, so that discount and psi
// stay.
#pragma once

#include "control/workload/earned_sources.hpp"
#include "control/workload/heavy_hitters.hpp"
#include "weir/key/address.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <map>
#include <set>
#include <utility>
#include <vector>

namespace weir::workload {

struct HotSource {
  Address address;
  double cost = 0; // in samples
};

struct Negatives {
  std::vector<HotSource> hottest;      // earned ones first, then by falling cost; of cost 0 none
  double total = 0;                    // samples, those of strangers included
  std::vector<Address> denied_wrongly; // by a filter once: to be known, however seldom they come

  // The share of questions that the `count` hottest ask.
  [[nodiscard]] double psi(std::size_t count) const noexcept {
    double mass = 0;
    for (std::size_t i = 0; i < std::min(count, hottest.size()); ++i) mass += hottest[i].cost;
    return total > 0 ? mass / total : 0;
  }
};

class NegativeCounter {
public:
  struct Options {
    std::size_t rows_max = std::size_t{1} << 16;
    std::uint64_t window = std::uint64_t{1} << 18;
    std::size_t recent_max = 4096;
  };
  NegativeCounter() : NegativeCounter(Options{}) {}
  explicit NegativeCounter(Options options)
      : options_(options), older_(options.rows_max), newer_(options.rows_max),
        earned_({.rows_max = options.rows_max, .half_life = options.window}) {}

  void add(const Address &address) {
    if (newer_all_ >= options_.window) {
      older_ = std::exchange(newer_, workload::HeavyHitters<Address>(options_.rows_max));
      older_all_ = std::exchange(newer_all_, 0);
      older_earned_ = std::exchange(newer_earned_, 0);
      once_ = twice_ = 0;
    }
    ++newer_all_;
    ++samples_;
    if (earned_.add(address)) {
      ++newer_earned_;
    } else if (earned_.earns(address)) { // and brings along what it was counted for
      const std::uint64_t before = newer_.at_least(address), long_before = older_.at_least(address);
      earned_.take(address, static_cast<double>(1 + before + long_before));
      newer_earned_ += 1 + before;
      older_earned_ += long_before;
    } else {
      newer_.add(address);
    }
    if (recent_.size() < options_.recent_max)
      recent_.push_back(address);
    else
      recent_[next_recent_++ % options_.recent_max] = address;
  }

  // The last ones, in no order.
  [[nodiscard]] const std::vector<Address> &recent() const noexcept { return recent_; }
  void forget_recent() noexcept {
    recent_.clear();
    next_recent_ = 0;
  }
  // A while has passed, seconds or more: what comes from now on comes in another interval.
  void next_interval() noexcept { earned_.next_interval(); }
  // As if only the recent ones had been seen. What was earned stays, and counts little when others come again
  // and again in its place; strangers that come once take nothing from it.
  void begin_anew() {
    older_ = HeavyHitters<Address>(options_.rows_max);
    newer_ = HeavyHitters<Address>(options_.rows_max);
    older_all_ = older_earned_ = newer_earned_ = 0;
    newer_all_ = recent_.size();
    std::set<Address> still;
    for (const Address &address : recent_)
      if (earned_.has(address)) {
        ++newer_earned_;
        still.insert(address);
      } else {
        newer_.add(address);
      }
    std::uint64_t again = 0;
    for (const auto &row : newer_.top(options_.rows_max)) again += row.count > 1 ? row.count : 0;
    if (again > newer_earned_) earned_.fade_all_but(still);
    once_ = twice_ = 0;
  }
  [[nodiscard]] std::uint64_t samples() const noexcept { return samples_; } // ever
  [[nodiscard]] std::uint64_t held() const noexcept { return older_all_ + newer_all_; }
  [[nodiscard]] std::size_t earned() const noexcept { return earned_.size(); }

  struct Kept {
    struct Row {
      Address address;
      std::uint64_t count = 0;
      bool earned = false;
    };
    std::vector<Row> hottest;
    std::uint64_t total = 0, once = 0, twice = 0; // the latter beside the hottest
    std::vector<Address> recent;
  };
  [[nodiscard]] Kept keep(std::size_t most) const {
    Kept kept{.hottest = {}, .total = held(), .once = once_, .twice = twice_, .recent = recent_};
    for (const HotSource &source : earned_hottest())
      kept.hottest.push_back({source.address, std::max<std::uint64_t>(std::llround(source.cost), 1), true});
    const auto first = static_cast<std::ptrdiff_t>(kept.hottest.size());
    for (const auto &[address, count] : counts())
      if (count > 0) kept.hottest.push_back({address, count, false});
    std::ranges::stable_sort(kept.hottest.begin() + first, kept.hottest.end(), std::ranges::greater{},
                             &Kept::Row::count);
    for (std::size_t i = most; i < kept.hottest.size(); ++i) {
      if (kept.hottest[i].earned) continue;
      kept.once += kept.hottest[i].count == 1;
      kept.twice += kept.hottest[i].count == 2;
    }
    kept.hottest.resize(std::min(most, kept.hottest.size()));
    return kept;
  }
  void resume(const Kept &kept) {
    std::vector<HeavyHitters<Address>::Row> rows;
    earned_ = EarnedSources({.rows_max = options_.rows_max, .half_life = options_.window});
    older_earned_ = newer_earned_ = newer_all_ = 0;
    older_all_ = kept.total;
    for (const Kept::Row &row : kept.hottest) {
      if (row.earned) {
        earned_.take(row.address, static_cast<double>(row.count));
        older_earned_ += row.count;
      } else {
        rows.push_back({row.address, row.count, 0});
      }
    }
    older_.resume(rows, kept.total);
    newer_ = HeavyHitters<Address>(options_.rows_max);
    once_ = kept.once;
    twice_ = kept.twice;
    samples_ = kept.total;
    recent_ = kept.recent;
    if (recent_.size() > options_.recent_max) recent_.resize(options_.recent_max);
    next_recent_ = 0;
  }

  [[nodiscard]] Negatives look() const {
    Negatives seen;
    seen.total = static_cast<double>(held());
    seen.hottest = earned_hottest();
    const auto first = static_cast<std::ptrdiff_t>(seen.hottest.size());
    const std::map<Address, std::uint64_t> others = counts();
    auto once = static_cast<double>(once_), twice = static_cast<double>(twice_);
    for (const auto &[address, count] : others) once += count == 1, twice += count == 2;
    const double discount = once > 0 ? once / (once + 2 * twice) : 0;
    for (const auto &[address, count] : others)
      if (const auto cost = static_cast<double>(count) - discount; cost > 0)
        seen.hottest.push_back({address, cost});
    std::ranges::stable_sort(seen.hottest.begin() + first, seen.hottest.end(), std::ranges::greater{},
                             &HotSource::cost);
    return seen;
  }

private:
  // Of the windows, without those that have earned a place.
  [[nodiscard]] std::map<Address, std::uint64_t> counts() const {
    std::map<Address, std::uint64_t> counts;
    for (const auto *window : {&older_, &newer_})
      for (const auto &row : window->top(options_.rows_max))
        if (!earned_.has(row.key)) counts[row.key] += row.count - row.inherited;
    return counts;
  }
  [[nodiscard]] std::vector<HotSource> earned_hottest() const {
    std::vector<HotSource> hottest;
    const auto samples = static_cast<double>(older_earned_ + newer_earned_);
    for (const auto &[address, share] : earned_.hottest())
      if (share * samples > 0) hottest.push_back({address, share * samples});
    return hottest;
  }

  Options options_;
  HeavyHitters<Address> older_, newer_; // of what has not earned a place
  EarnedSources earned_;
  std::uint64_t older_all_ = 0, newer_all_ = 0, older_earned_ = 0,
                newer_earned_ = 0; // samples of the windows
  std::vector<Address> recent_;
  std::size_t next_recent_ = 0;
  std::uint64_t samples_ = 0;
  std::uint64_t once_ = 0, twice_ = 0; // addresses of the older window that have no row, from another life
};

} // namespace weir::workload
