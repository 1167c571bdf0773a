// Holds the stacked filter in force against its plan: when is it time for another one?
//
//   rate      it errs more often than predicted: 30 errors, three standard deviations and half as much again
//             (rate_check.hpp). Compact mode cannot know an error by itself: samples of what the filter
//             denied are held against the rules, and their share of errors is that of all denials
//   shift     known negatives are asked for less than planned. The questions since the image came are
//             counted in groups, eight of known negatives and one of all others; by more than chance their
//             distribution is apart from the planned one by a total variation of v, and EFPR by no more than
//             drift_bound(v) [Stacked-early §4.5]. Half of the predicted rate is the band that this may fill
//   learned   the plan rests on few samples, and there are eight times as many now
//
// Not for every look: the caller keeps an interval.
#pragma once

#include "control/plan/promise.hpp"
#include "control/watch/rate_check.hpp"
#include "control/workload/negatives.hpp"
#include "weir/build/stacked_model.hpp"
#include "weir/wire/counters.hpp"

#include <array>
#include <cstdint>
#include <map>
#include <set>
#include <span>
#include <string>
#include <vector>

namespace weir::watch {

class DenyFilterWatch {
public:
  static constexpr std::size_t groups = 8, wrong_kept = 4096;
  static constexpr std::size_t recent_min = 512; // questions before a shift can be seen
  static constexpr double learned_factor = 8;

  // An image has come into force; `known` is what it knows, the hottest first, and empty when that is not
  // known here (after a restart): then a shift cannot be seen.
  void begin(plan::DenyPromise forecast, std::span<const workload::HotSource> known,
             std::vector<bool> asked_cells = {});

  // A question that no list answered, from a uniform sample. Those that the filter is not asked are left out.
  void negative(const Address &address) {
    const bool asked =
        asked_cells_.empty() || address.family != Family::ipv4 || asked_cells_[address.host() >> 16];
    if (asked) negatives_.add(address);
  }
  // A denial of the filter, held against the rules; it stands for so many.
  void denied(bool wrongly, double weight = 1);
  // A source that it denies in error, and that keeps coming: to be known from now on.
  void wrong(const Address &address);

  struct Rate {
    MeasuredRate sampled;      // as the band is judged by
    double share = 0, psi = 0; // of negative questions: errors, and those of known negatives of late
    double variation = 0;      // beyond chance, from the planned distribution
    double drift = 0;          // of the rate, at most, by that
    std::uint64_t recent = 0;  // questions behind psi
    std::uint64_t checked = 0; // denials that were held against the rules
    bool measured = false;
  };
  // `did`: what the dataplane counted under this generation.
  [[nodiscard]] Rate rate(const wire::CounterValues &did) const;

  // Why there should be another image.
  struct Reason {
    enum class Kind : std::uint8_t { none, rate, shift, learned } kind = Kind::none;
    std::string words;
  };
  [[nodiscard]] Reason why_replan(const wire::CounterValues &did) const;
  [[nodiscard]] bool has_shifted() const;

  // What the next plan rests on. After a shift that is what came since.
  [[nodiscard]] workload::Negatives look() const;
  // Sources that the filter in force knows and must go on letting through: those of its plan, or, when that
  // is not known here, as many of the hottest; and those that were denied wrongly once.
  [[nodiscard]] std::vector<Address> known() const;
  void forget_what_was_before_the_shift() { negatives_.begin_anew(); }
  // Some seconds have passed: sources that come from now on come again.
  void next_interval() noexcept { negatives_.next_interval(); }

  // What outlives the process: the sources, hottest first, and those denied wrongly.
  struct Kept {
    workload::NegativeCounter::Kept negatives;
    std::vector<Address> wrong;
  };
  [[nodiscard]] Kept keep(std::size_t most) const { return {negatives_.keep(most), wrong_in_order_}; }
  void resume(const Kept &kept);

  [[nodiscard]] const plan::DenyPromise &forecast() const noexcept { return forecast_; }
  [[nodiscard]] bool knows_plan() const noexcept { return knows_plan_; }
  [[nodiscard]] std::uint64_t samples() const noexcept { return negatives_.samples(); }
  [[nodiscard]] std::uint64_t wrongly_denied() const noexcept { return wrong_.size(); }

private:
  struct Shift {
    double psi = 0, variation = 0, drift = 0;
    std::uint64_t recent = 0;
  };
  [[nodiscard]] Shift shift() const;

  plan::DenyPromise forecast_;
  workload::NegativeCounter negatives_;
  std::map<Address, std::uint8_t> group_of_;
  std::array<double, groups + 1> planned_{};
  bool knows_plan_ = false;
  std::vector<bool> asked_cells_; // /16s with denied hosts; empty: not known
  std::uint64_t checked_ = 0, wrong_of_generation_ = 0;
  double weight_checked_ = 0, weight_wrong_ = 0;
  std::set<Address> wrong_; // denied wrongly once, to be known from now on
  std::vector<Address> wrong_in_order_;
  std::size_t next_wrong_ = 0;
};

} // namespace weir::watch
