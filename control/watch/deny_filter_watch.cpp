#include "control/watch/deny_filter_watch.hpp"

#include "control/plan/deny_filter.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace weir::watch {

void DenyFilterWatch::begin(plan::DenyPromise forecast, std::span<const workload::HotSource> known,
                            std::vector<bool> asked_cells) {
  forecast_ = std::move(forecast);
  asked_cells_ = forecast_.stacks ? std::move(asked_cells) : std::vector<bool>();
  negatives_.forget_recent();
  checked_ = wrong_of_generation_ = 0;
  weight_checked_ = weight_wrong_ = 0;
  group_of_.clear();
  planned_ = {};
  knows_plan_ = !known.empty() && forecast_.stacks;
  if (!knows_plan_) return;
  double all = 0, so_far = 0;
  for (const workload::HotSource &source : known) all += source.cost;
  for (const workload::HotSource &source : known) {
    const auto group = std::min(static_cast<std::size_t>(groups * so_far / all), groups - 1);
    group_of_[source.address] = static_cast<std::uint8_t>(group);
    planned_[group] += source.cost / all * forecast_.psi;
    so_far += source.cost;
  }
  planned_[groups] = 1 - forecast_.psi;
}

void DenyFilterWatch::denied(bool wrongly, double weight) {
  ++checked_;
  weight_checked_ += weight;
  if (!wrongly) return;
  ++wrong_of_generation_;
  weight_wrong_ += weight;
}

void DenyFilterWatch::wrong(const Address &address) {
  if (!wrong_.insert(address).second) return;
  if (wrong_in_order_.size() < wrong_kept) {
    wrong_in_order_.push_back(address);
    return;
  }
  Address &oldest = wrong_in_order_[next_wrong_++ % wrong_kept];
  wrong_.erase(oldest);
  oldest = address;
}

void DenyFilterWatch::resume(const Kept &kept) {
  negatives_.resume(kept.negatives);
  wrong_in_order_ = kept.wrong;
  if (wrong_in_order_.size() > wrong_kept) wrong_in_order_.resize(wrong_kept);
  wrong_ = {wrong_in_order_.begin(), wrong_in_order_.end()};
  next_wrong_ = 0;
}

DenyFilterWatch::Shift DenyFilterWatch::shift() const {
  Shift s;
  s.recent = negatives_.recent().size();
  if (!knows_plan_ || s.recent == 0) return s;
  std::array<std::uint64_t, groups + 1> counts{};
  for (const Address &address : negatives_.recent()) {
    const auto at = group_of_.find(address);
    ++counts[at == group_of_.end() ? groups : at->second];
  }
  std::array<double, groups + 1> present{};
  const double each = 1 / static_cast<double>(s.recent);
  for (std::size_t i = 0; i <= groups; ++i) present[i] = static_cast<double>(counts[i]) * each;
  s.psi = static_cast<double>(s.recent - counts[groups]) * each;
  double chance = 0;
  for (const double p : planned_) chance += std::sqrt(p * (1 - p) * each);
  s.variation = std::max(0.0, build::total_variation(planned_, present) - chance);
  s.drift = build::drift_bound(forecast_.rates, s.variation);
  return s;
}

bool DenyFilterWatch::has_shifted() const {
  const Shift s = shift();
  return s.recent >= recent_min && s.psi < forecast_.psi &&
         s.drift > (rate_band_factor - 1) * forecast_.efpr && forecast_.efpr + s.drift > forecast_.tolerated;
}

DenyFilterWatch::Rate DenyFilterWatch::rate(const wire::CounterValues &did) const {
  using enum wire::CounterId;
  Rate r;
  const Shift s = shift();
  r.psi = s.psi, r.variation = s.variation, r.drift = s.drift, r.recent = s.recent;
  r.checked = checked_;
  const auto asked = static_cast<double>(did[deny_asked]);
  if (asked == 0) return r;
  if (!forecast_.compact) {
    const std::uint64_t right = did[deny_accepted] - std::min(did[deny_accepted], did[deny_false]);
    r.sampled = {did[deny_asked] - std::min(did[deny_asked], right), did[deny_false]};
    r.share = r.sampled.rate();
    r.measured = r.sampled.asked > 0;
    return r;
  }
  const double denied = std::min(static_cast<double>(did[deny_denied]), asked);
  if (checked_ == 0 && denied > 0) return r; // and nobody looked
  const double wrong_share = weight_checked_ > 0 ? weight_wrong_ / weight_checked_ : 0;
  const double negatives = asked - denied * (1 - wrong_share);
  if (negatives <= 0) return r;
  r.share = denied * wrong_share / negatives;
  // As if of the negative questions, too, only as many had been looked at as of the denials.
  const double looked_at = denied > 0 ? std::min(1.0, static_cast<double>(checked_) / denied) : 1;
  r.sampled = {static_cast<std::uint64_t>(negatives * looked_at), wrong_of_generation_};
  r.measured = true;
  return r;
}

DenyFilterWatch::Reason DenyFilterWatch::why_replan(const wire::CounterValues &did) const {
  using Kind = Reason::Kind;
  if (!forecast_.stacks) return {};
  const Rate now = rate(did);
  if (has_shifted())
    return {Kind::shift,
            fmt::format("the traffic has shifted: known sources ask {:.3g} % of the questions that no list "
                        "answers, {:.3g} % when it was planned; {:.3g} % of errors may become {:.3g} %",
                        100 * now.psi, 100 * forecast_.psi, 100 * forecast_.efpr,
                        100 * (forecast_.efpr + now.drift))};
  if (now.measured && is_beyond_band(forecast_.efpr, now.sampled))
    return {Kind::rate,
            fmt::format("the stacked filter erred in {:.3g} % of the questions that no list answers ({} "
                        "errors were seen), {:.3g} % were predicted",
                        100 * now.share, now.sampled.wrong, 100 * forecast_.efpr)};
  const double enough =
      std::max(learned_factor * forecast_.samples, static_cast<double>(plan::workload_samples_min));
  if (static_cast<double>(negatives_.held()) >= enough)
    return {Kind::learned,
            fmt::format("more is known of the traffic: {} samples of what no list answers, {:.0f} when it "
                        "was planned",
                        negatives_.held(), forecast_.samples)};
  return {};
}

std::vector<Address> DenyFilterWatch::known() const {
  std::vector<Address> all = wrong_in_order_;
  if (knows_plan_) {
    for (const auto &[address, group] : group_of_) all.push_back(address);
  } else {
    const workload::Negatives now = negatives_.look();
    for (const workload::HotSource &source :
         std::span(now.hottest).first(std::min(forecast_.hot, now.hottest.size())))
      all.push_back(source.address);
  }
  return all;
}

workload::Negatives DenyFilterWatch::look() const {
  workload::Negatives seen = negatives_.look();
  seen.denied_wrongly = wrong_in_order_;
  return seen;
}

} // namespace weir::watch
