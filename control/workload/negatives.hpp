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
// What outlives the process (keep(), resume()) is the hottest few thousand, as the older of two windows; of
// the rest how many samples there were, and how many addresses came once and twice, so that discount and psi
// stay.
#pragma once

#include "control/workload/heavy_hitters.hpp"
#include "weir/key/address.hpp"

#include <algorithm>
#include <cstdint>
#include <map>
#include <utility>
#include <vector>

namespace weir::workload {

struct HotSource {
  Address address;
  double cost = 0; // in samples
};

struct Negatives {
  std::vector<HotSource> hottest;      // by falling cost; of cost 0 none
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
      : options_(options), older_(options.rows_max), newer_(options.rows_max) {}

  void add(const Address &address) {
    if (newer_.total() >= options_.window) {
      older_ = std::exchange(newer_, workload::HeavyHitters<Address>(options_.rows_max));
      once_ = twice_ = 0;
    }
    newer_.add(address);
    ++samples_;
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
  // As if only the recent ones had been seen.
  void begin_anew() {
    older_ = HeavyHitters<Address>(options_.rows_max);
    newer_ = HeavyHitters<Address>(options_.rows_max);
    for (const Address &address : recent_) newer_.add(address);
    once_ = twice_ = 0;
  }
  [[nodiscard]] std::uint64_t samples() const noexcept { return samples_; } // ever
  [[nodiscard]] std::uint64_t held() const noexcept { return older_.total() + newer_.total(); }

  struct Kept {
    struct Row {
      Address address;
      std::uint64_t count = 0;
    };
    std::vector<Row> hottest;
    std::uint64_t total = 0, once = 0, twice = 0; // the latter beside the hottest
    std::vector<Address> recent;
  };
  [[nodiscard]] Kept keep(std::size_t most) const {
    Kept kept{.hottest = {}, .total = held(), .once = once_, .twice = twice_, .recent = recent_};
    std::map<Address, std::uint64_t> counts;
    for (const auto *window : {&older_, &newer_})
      for (const auto &row : window->top(options_.rows_max)) counts[row.key] += row.count - row.inherited;
    for (const auto &[address, count] : counts)
      if (count > 0) kept.hottest.push_back({address, count});
    std::ranges::stable_sort(kept.hottest, std::ranges::greater{}, &Kept::Row::count);
    for (std::size_t i = most; i < kept.hottest.size(); ++i) {
      kept.once += kept.hottest[i].count == 1;
      kept.twice += kept.hottest[i].count == 2;
    }
    kept.hottest.resize(std::min(most, kept.hottest.size()));
    return kept;
  }
  void resume(const Kept &kept) {
    std::vector<HeavyHitters<Address>::Row> rows;
    for (const Kept::Row &row : kept.hottest) rows.push_back({row.address, row.count, 0});
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
    seen.total = static_cast<double>(older_.total() + newer_.total());
    std::map<Address, double> counts;
    for (const auto *window : {&older_, &newer_})
      for (const auto &row : window->top(options_.rows_max))
        counts[row.key] += static_cast<double>(row.count - row.inherited);
    auto once = static_cast<double>(once_), twice = static_cast<double>(twice_);
    for (const auto &[address, count] : counts) once += count == 1, twice += count == 2;
    const double discount = once > 0 ? once / (once + 2 * twice) : 0;
    for (const auto &[address, count] : counts)
      if (count > discount) seen.hottest.push_back({address, count - discount});
    std::ranges::stable_sort(seen.hottest, std::ranges::greater{}, &HotSource::cost);
    return seen;
  }

private:
  Options options_;
  HeavyHitters<Address> older_, newer_;
  std::vector<Address> recent_;
  std::size_t next_recent_ = 0;
  std::uint64_t samples_ = 0;
  std::uint64_t once_ = 0, twice_ = 0; // addresses of the older window that have no row, from another life
};

} // namespace weir::workload
