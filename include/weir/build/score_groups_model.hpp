// How groups of scores are cut and what each group gets [SLBF §3.3, §4].
//
//   p_j, q_j   shares of the keys never told and of the keys told whose scores fall into group j (17)
//   a_j        rate of wrong accepts of group j's filter: sum p_j a_j is the whole filter's, eq. (10)
//   b_j        its bits for each insertion of the gap; it sees q_j of all insertions
//
// Three settings, for the same bits and the same bound on the rate:
//
//              a_j                             P_j                 bits
//   printed    (18): e / (p_j sum 1/p), sums   (19) as printed     (20): m_j ~ K_j / q_j
//              to e g / sum 1/p, far below e
//   corrected  e / (g p_j), sums to e          eq. (6) solved      m_j ~ K_j q_j: all settle equally fast
//   best       min(1, c q_j / p_j), sums to e  eq. (6) solved      least misses over all, by one price for a bit
//
// The misses of a group are judged at the gap that it sees, q_j of the whole; `printed` chooses K and Max at the
// whole gap, as (15) does. A group with a_j = 1 needs no filter. Where bits are short the best setting leaves out a group that few
// told keys fall into: all its keys are rejected, and missed, and its part of the rate goes to the others.
#pragma once

#include "weir/build/stable_bloom_model.hpp"
#include "weir/filter/rotating_bloom.hpp"

#include <vector>

namespace weir::build {

struct ScoreGroup {
  double told = 0, other = 0; // q_j, p_j
};

struct GroupSetting {
  double rate = 1; // a_j; 1: no filter, all are accepted
  StableLaw law;
  double bits_a_gap = 0; // b_j, for each insertion of the whole filter's gap
};

enum class Setting : std::uint8_t { printed, corrected, best };

// Uniform cuts of scores between 0 and 1 [SLBF §4].
[[nodiscard]] inline std::vector<float> uniform_thresholds(unsigned groups) {
  std::vector<float> thresholds;
  for (unsigned j = 1; j < groups; ++j)
    thresholds.push_back(static_cast<float>(j) / static_cast<float>(groups));
  return thresholds;
}

// Estimates from samples (17).
[[nodiscard]] inline std::vector<ScoreGroup> estimate_groups(std::span<const float> thresholds,
                                                             std::span<const float> told,
                                                             std::span<const float> other) {
  std::vector<ScoreGroup> groups(thresholds.size() + 1);
  const auto group_of = [&](float score) {
    return static_cast<std::size_t>(std::ranges::lower_bound(thresholds, score) - thresholds.begin());
  };
  for (const float score : told) groups[group_of(score)].told += 1 / static_cast<double>(told.size());
  for (const float score : other) groups[group_of(score)].other += 1 / static_cast<double>(other.size());
  return groups;
}

// Assumption 2: p falls and q rises.
[[nodiscard]] inline bool groups_are_ordered(std::span<const ScoreGroup> groups) noexcept {
  for (std::size_t j = 1; j < groups.size(); ++j)
    if (groups[j].other > groups[j - 1].other || groups[j].told < groups[j - 1].told) return false;
  return true;
}
// As many uniform groups as keep p falling and q rising in these samples.
[[nodiscard]] inline unsigned auto_groups(std::span<const float> told, std::span<const float> other,
                                          unsigned most = 64) {
  unsigned groups = 1;
  while (groups < most && groups_are_ordered(estimate_groups(uniform_thresholds(groups + 1), told, other)))
    ++groups;
  return groups;
}

// a_j that sum up to the rate: min(1, c q_j / p_j), and 0 for a group that is left out (`in`: of each group; empty: all are in). Least bits where they go with log 1/a_j, as a Bloom filter's do.
[[nodiscard]] inline std::vector<double> likelihood_rates(std::span<const ScoreGroup> groups, double rate,
                                                          const std::vector<bool> &in = {}) {
  const auto of = [&](std::size_t j, double c) {
    const ScoreGroup &group = groups[j];
    if (group.told <= 0 || (!in.empty() && !in[j])) return 0.0;
    return group.other > 0 ? std::min(1.0, c * group.told / group.other) : 1.0;
  };
  double low = 0, high = 1;
  const auto sum = [&](double c) {
    double all = 0;
    for (std::size_t j = 0; j < groups.size(); ++j) all += groups[j].other * of(j, c);
    return all;
  };
  while (sum(high) < rate && high < 1e12) high *= 2;
  for (int i = 0; i < 100; ++i) {
    const double middle = (low + high) / 2;
    (sum(middle) < rate ? low : high) = middle;
  }
  std::vector<double> rates;
  for (std::size_t j = 0; j < groups.size(); ++j) rates.push_back(of(j, low));
  return rates;
}

// A pair of Bloom filters that take turns behind a group's scores.
struct RotatingSetting {
  double rate = 1; // at most, at any time; 1: no filter, all are accepted; 0: all are rejected
  filter::RotatingBloomShape shape; // 0 words: no filter, or none that fits
};
// Rates by likelihood, one turn for all; of keys that were never told at most `rate` are accepted at any time.
[[nodiscard]] inline std::vector<RotatingSetting> rotating_groups(std::span<const ScoreGroup> groups,
                                                                  double rate, double turn) {
  const std::vector<double> rates = likelihood_rates(groups, rate);
  std::vector<RotatingSetting> out;
  for (std::size_t j = 0; j < groups.size(); ++j) {
    out.push_back({rates[j], {}});
    if (rates[j] >= 1 || rates[j] <= 0) continue;
    const double one = -std::expm1(std::log1p(-rates[j]) / 2); // of either filter, when both are full
    if (const auto bloom = filter::Bloom::shape_for_rate(std::max(groups[j].told * turn, 1.0), one))
      out.back().shape = {.words = bloom->size, .hashes = bloom->hashes, .turn = 0};
  }
  return out;
}
// Share of absent keys accepted, mean over a turn of so many keys.
[[nodiscard]] inline double rotating_mean_rate(const filter::RotatingBloomShape &shape,
                                               double keys) noexcept {
  constexpr int looks = 32;
  double sum = 0;
  for (int i = 0; i < looks; ++i) sum += shape.rate(keys, keys * (i + 0.5) / looks) / looks;
  return sum;
}

[[nodiscard]] inline std::vector<double> group_rates(std::span<const ScoreGroup> groups, double rate,
                                                     Setting setting) {
  if (setting == Setting::best) return likelihood_rates(groups, rate);
  double sum = 0; // of 1 / p
  for (const ScoreGroup &group : groups) sum += 1 / std::max(group.other, 1e-12);
  std::vector<double> rates;
  for (const ScoreGroup &group : groups)
    rates.push_back(
        std::min(1.0, rate / std::max(group.other, 1e-12) /
                          (setting == Setting::printed ? sum : static_cast<double>(groups.size()))));
  return rates;
}

// Of the whole filter, once settled, eq. (10).
[[nodiscard]] inline double groups_rate(std::span<const ScoreGroup> groups,
                                        std::span<const GroupSetting> settings) noexcept {
  double sum = 0;
  for (std::size_t j = 0; j < groups.size(); ++j)
    sum += groups[j].other * (settings[j].rate >= 1        ? 1
                              : settings[j].bits_a_gap > 0 ? stable_rate(settings[j].law)
                                                           : 0);
  return sum;
}
// Its misses, eq. (16), each group at its own gap.
[[nodiscard]] inline double groups_missed(std::span<const ScoreGroup> groups,
                                          std::span<const GroupSetting> settings) noexcept {
  double sum = 0;
  for (std::size_t j = 0; j < groups.size(); ++j) {
    if (settings[j].rate >= 1 || groups[j].told <= 0) continue;
    sum += groups[j].told * (settings[j].bits_a_gap > 0
                                 ? stable_missed_at(settings[j].law, settings[j].bits_a_gap / groups[j].told)
                                 : 1);
  }
  return sum;
}
// How far the rate strays from groups_rate() as a part of it: the standard deviation over groups that stray by themselves.
[[nodiscard]] inline double groups_rate_spread(std::span<const ScoreGroup> groups,
                                               std::span<const GroupSetting> settings, double gap) noexcept {
  double sum = 0;
  for (std::size_t j = 0; j < groups.size(); ++j) {
    if (settings[j].rate >= 1 || settings[j].bits_a_gap <= 0) continue;
    const StableLaw &law = settings[j].law;
    const double part = groups[j].other * stable_rate(law) *
                        stable_rate_spread(law, settings[j].bits_a_gap * gap * stable_cells_a_bit(law.max));
    sum += part * part;
  }
  const double rate = groups_rate(groups, settings);
  return rate > 0 ? std::sqrt(sum) / rate : 0;
}
// As printed, eq. (15) and (16): each group at the whole gap.
[[nodiscard]] inline double groups_missed_printed(std::span<const ScoreGroup> groups,
                                                  std::span<const GroupSetting> settings) noexcept {
  double sum = 0;
  for (std::size_t j = 0; j < groups.size(); ++j)
    if (settings[j].rate < 1)
      sum += groups[j].told *
             (settings[j].bits_a_gap > 0 ? stable_missed_at(settings[j].law, settings[j].bits_a_gap) : 1);
  return sum;
}
[[nodiscard]] inline double groups_bits(std::span<const GroupSetting> settings) noexcept {
  double sum = 0;
  for (const GroupSetting &setting : settings) sum += setting.bits_a_gap;
  return sum;
}

// What one group misses with how many bits for each insertion that it sees, at the best K and Max.
class MissesByBits {
public:
  explicit MissesByBits(double rate) {
    for (unsigned i = 0; i < steps; ++i) {
      const double bits = least * std::pow(step, i);
      missed_.push_back(stable_missed_at(best_stable_law(rate, bits), bits));
    }
  }
  // All are missed without bits.
  [[nodiscard]] double at(double bits) const noexcept {
    if (bits < least) return 1;
    const double place = std::min(std::log(bits / least) / std::log(step), steps - 1.001);
    const auto i = static_cast<std::size_t>(place);
    return std::lerp(missed_[i], missed_[i + 1], place - static_cast<double>(i));
  }

private:
  static constexpr double least = 0.25, step = 1.04;
  static constexpr unsigned steps = 260; // up to 6,500 bits
  std::vector<double> missed_;
};

// The best setting of some of the groups; the others are left out.
class BestGroups {
public:
  BestGroups(std::span<const ScoreGroup> groups, double rate, const std::vector<bool> &in = {})
      : groups_(groups.begin(), groups.end()), rates_(likelihood_rates(groups, rate, in)),
        curves_(groups.size()) {
    for (std::size_t j = 0; j < groups.size(); ++j)
      if (rates_[j] < 1 && rates_[j] > 0) curves_[j].emplace(rates_[j]), told_ += groups[j].told;
  }

  // For so many bits an insertion of the gap. Begins with all groups alike and with all bits in one group, and
  // moves bits from one to another as long as fewer are missed; misses are not convex in bits.
  [[nodiscard]] std::vector<double> shares(double bits) const {
    std::vector<double> best = climbed(alike(), bits);
    for (std::size_t j = 0; j < groups_.size(); ++j) {
      if (!curves_[j] || groups_[j].told < 0.25 * told_) continue;
      std::vector<double> start(groups_.size(), 0);
      start[j] = 1;
      start = climbed(std::move(start), bits);
      if (missed(start, bits) < missed(best, bits)) best = std::move(start);
    }
    return best;
  }
  // The fewest bits with which no more are missed; all that there are when that cannot be.
  [[nodiscard]] double bits_for(double most_missed) const {
    double low = 1e-2, high = 5e3;
    for (int i = 0; i < 20; ++i) {
      const double middle = std::sqrt(low * high);
      (missed(shares(middle), middle) > most_missed ? low : high) = middle;
    }
    return high;
  }
  [[nodiscard]] std::vector<GroupSetting> settings(double bits) const {
    const std::vector<double> part = shares(bits);
    std::vector<GroupSetting> out;
    for (std::size_t j = 0; j < groups_.size(); ++j) {
      GroupSetting one{rates_[j], {}, curves_[j] ? part[j] * bits : 0};
      if (one.bits_a_gap > 0) one.law = best_stable_law(one.rate, one.bits_a_gap / groups_[j].told);
      out.push_back(one);
    }
    return out;
  }

private:
  [[nodiscard]] std::vector<double> alike() const {
    std::vector<double> out;
    for (std::size_t j = 0; j < groups_.size(); ++j) out.push_back(curves_[j] ? groups_[j].told / told_ : 0);
    return out;
  }
  [[nodiscard]] double missed_of(std::size_t j, double bits) const {
    return groups_[j].told * curves_[j]->at(bits / groups_[j].told);
  }
  [[nodiscard]] double missed(const std::vector<double> &part, double bits) const {
    double sum = 0;
    for (std::size_t j = 0; j < groups_.size(); ++j)
      sum += curves_[j] ? missed_of(j, part[j] * bits) : rates_[j] == 0 ? groups_[j].told : 0;
    return sum;
  }
  [[nodiscard]] std::vector<double> climbed(std::vector<double> part, double bits) const {
    for (double step = 0.5; step > 0.002; step /= 2)
      for (bool moved = true; moved;) {
        moved = false;
        for (std::size_t from = 0; from < part.size(); ++from)
          for (std::size_t to = 0; to < part.size(); ++to) {
            const double amount = std::min(step * (1 + part[from]) / 2, part[from]);
            if (from == to || !curves_[from] || !curves_[to] || amount <= 0) continue;
            const double now = missed_of(from, part[from] * bits) + missed_of(to, part[to] * bits);
            const double then =
                missed_of(from, (part[from] - amount) * bits) + missed_of(to, (part[to] + amount) * bits);
            if (then > now - 1e-7) continue;
            part[from] -= amount, part[to] += amount;
            moved = true;
          }
      }
    return part;
  }

  std::vector<ScoreGroup> groups_;
  std::vector<double> rates_;
  std::vector<std::optional<MissesByBits>> curves_;
  double told_ = 0; // share of the keys told that fall into groups with filters
};

// Takes groups out that get next to no bits: all with less than half a bit an insertion, else the poorest with less than two. False: none.
[[nodiscard]] inline bool leave_out_poor(std::span<const ScoreGroup> groups,
                                         std::span<const GroupSetting> settings, std::vector<bool> &in) {
  bool left_out = false;
  std::size_t poorest = groups.size();
  double fewest = 2;
  for (std::size_t j = 0; j < groups.size(); ++j) {
    if (!in[j] || settings[j].rate >= 1) continue;
    const double bits = groups[j].told > 0 ? settings[j].bits_a_gap / groups[j].told : 0;
    if (bits < 0.5) in[j] = false, left_out = true;
    if (bits < fewest) fewest = bits, poorest = j;
  }
  if (left_out || poorest == groups.size()) return left_out;
  in[poorest] = false;
  return true;
}
// The best of the settings with ever fewer groups, as long as they get better. `settle(in)`: with these; `cost(settings)`: less is better.
template <class Settle, class Cost>
[[nodiscard]] std::vector<GroupSetting> best_of_fewer(std::span<const ScoreGroup> groups, Settle settle,
                                                      Cost cost) {
  std::vector<bool> in(groups.size(), true);
  std::vector<GroupSetting> best;
  for (;;) {
    std::vector<GroupSetting> next = settle(in);
    const bool fewer = leave_out_poor(groups, next, in);
    if (!best.empty() && !(cost(next) < cost(best))) return best;
    best = std::move(next);
    if (!fewer) return best;
  }
}

// The best setting within so many bits an insertion of the gap.
[[nodiscard]] inline std::vector<GroupSetting> best_groups(std::span<const ScoreGroup> groups, double rate,
                                                           double bits) {
  return best_of_fewer(
      groups, [&](const std::vector<bool> &in) { return BestGroups(groups, rate, in).settings(bits); },
      [&](const std::vector<GroupSetting> &settings) { return groups_missed(groups, settings); });
}
// The best setting that misses no more, in the fewest bits. Errors of the rate are at most `rate` in either.
[[nodiscard]] inline std::vector<GroupSetting> best_groups_for(std::span<const ScoreGroup> groups,
                                                               double rate, double missed) {
  return best_of_fewer(
      groups,
      [&](const std::vector<bool> &in) {
        const BestGroups with(groups, rate, in);
        return with.settings(with.bits_for(missed));
      },
      [](const std::vector<GroupSetting> &settings) { return groups_bits(settings); });
}

// K_j, Max_j, P_j and bits as the paper's steps give them, printed or corrected. K_j and Max_j are chosen for equal
// shares of the bits first, since (20) wants to know them, and again for the bits that came out; the best of eight rounds.
[[nodiscard]] inline std::vector<GroupSetting>
stepwise_groups(std::span<const ScoreGroup> groups, double rate, double bits_a_gap, Setting setting,
                std::span<const unsigned> maxima = stable_maxima) {
  const std::vector<double> rates = group_rates(groups, rate, setting);
  std::vector<GroupSetting> settings;
  for (const double a : rates)
    settings.push_back({a, {}, a < 1 ? bits_a_gap / static_cast<double>(groups.size()) : 0});
  const bool printed = setting == Setting::printed;
  std::vector<GroupSetting> best;
  for (int round = 0; round < 8; ++round) {
    double sum = 0;
    std::vector<double> weights(groups.size());
    for (std::size_t j = 0; j < groups.size(); ++j) {
      GroupSetting &one = settings[j];
      if (one.rate >= 1 || groups[j].told <= 0) continue;
      one.law = best_stable_law(one.rate, printed ? one.bits_a_gap : one.bits_a_gap / groups[j].told, maxima);
      weights[j] =
          one.law.hashes * (printed ? 1 / groups[j].told : groups[j].told) / stable_cells_a_bit(one.law.max);
      sum += weights[j];
    }
    for (std::size_t j = 0; j < groups.size(); ++j)
      settings[j].bits_a_gap = sum > 0 ? bits_a_gap * weights[j] / sum : 0;
    if (best.empty() || groups_missed(groups, settings) < groups_missed(groups, best)) best = settings;
    if (printed) break; // the print chooses once
  }
  if (printed)
    for (GroupSetting &one : best)
      if (one.rate < 1) one.law.decrements = stable_decrements_printed(one.rate, one.law.hashes, one.law.max);
  return best;
}

[[nodiscard]] inline std::vector<GroupSetting> set_groups(std::span<const ScoreGroup> groups, double rate,
                                                          double bits_a_gap, Setting setting) {
  return setting == Setting::best ? best_groups(groups, rate, bits_a_gap)
                                  : stepwise_groups(groups, rate, bits_a_gap, setting);
}

} // namespace weir::build
