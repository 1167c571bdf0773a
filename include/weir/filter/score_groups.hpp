// Filters behind a classifier: "was this key told?" where a score between 0 and 1 says how likely it is to be told at all
// [SLBF §2.2, §3.1, §3.2]. The score chooses the filter that is told and asked.
//
//   score   0 ----- t_1 ----- t_2 ----- 1       group j: t_(j-1) < score <= t_j
//   group    filter 1  filter 2   accept         strict where members are rare, lax or none where they are common
//
//   LearnedBloom   two groups, a Bloom filter and "accept": fills up as a Bloom filter does
//   s-SLBF         two groups, a stable Bloom filter and "accept"
//   g-SLBF         any number of groups with stable Bloom filters [SLBF Definition 4]
//   RotatingGroups pairs of Bloom filters that take turns together, every `turn` keys, so that none of the
//                  last `turn` keys is missed
//
// Any number of threads ask and insert, as the filters have it.
//
// A key has to come with the same score each time: asked under another group than it was told under, it is missed. So a
// score is a function of what is remembered and of nothing else. How groups are sized: build/score_groups_model.hpp.
#pragma once

#include "weir/filter/batch.hpp"
#include "weir/filter/bloom.hpp"
#include "weir/filter/rotating_bloom.hpp"
#include "weir/filter/stable_bloom.hpp"

#include <array>
#include <cassert>
#include <cmath>
#include <cstdint>
#include <optional>
#include <span>
#include <utility>
#include <vector>

namespace weir::filter {

// Of a group without a filter.
enum class GroupAnswer : std::uint8_t { reject, accept };

template <class F> class ScoreGroups {
public:
  struct Group {
    std::optional<F> filter;
    GroupAnswer answer = GroupAnswer::accept; // where there is no filter
  };
  static constexpr std::size_t groups_max = 256;

  // Thresholds rise, one fewer than groups. Errors: usage.
  [[nodiscard]] static Result<ScoreGroups> make(std::vector<float> thresholds, std::vector<Group> groups) {
    if (groups.empty() || groups.size() > groups_max || thresholds.size() + 1 != groups.size())
      return fail(Errc::usage, "score groups: there must be 1 to 256 groups and a threshold between any two");
    for (std::size_t i = 0; i < thresholds.size(); ++i)
      if (!std::isfinite(thresholds[i]) || (i > 0 && !(thresholds[i - 1] < thresholds[i])))
        return fail(Errc::usage, "score groups: thresholds do not rise");
    return ScoreGroups(std::move(thresholds), std::move(groups));
  }

  [[nodiscard]] std::size_t group_of(float score) const noexcept {
    std::size_t group = 0;
    for (const float threshold : thresholds_) group += threshold < score ? 1 : 0;
    return group;
  }
  [[nodiscard]] std::span<const Group> groups() const noexcept { return groups_; }
  [[nodiscard]] std::span<Group> groups() noexcept { return groups_; }
  [[nodiscard]] std::uint64_t bits() const noexcept {
    std::uint64_t sum = 0;
    for (const Group &group : groups_) sum += group.filter ? group.filter->bits() : 0;
    return sum;
  }

  [[nodiscard]] bool contains(KeyHash key, float score) const noexcept {
    return ask(groups_[group_of(score)], key);
  }
  void insert(KeyHash key, float score) noexcept { tell(groups_[group_of(score)], key); }

  // Bit i: key i is accepted. At most batch_max keys, with a score each.
  [[nodiscard]] HitMask contains_batch(std::span<const KeyHash> keys,
                                       std::span<const float> scores) const noexcept {
    std::array<std::uint8_t, batch_max> in;
    look_up(keys, scores, in, [](const F &filter, KeyHash key) {
      if constexpr (requires { filter.prefetch_to_ask(key); })
        filter.prefetch_to_ask(key);
      else if constexpr (requires { filter.prefetch(key); })
        filter.prefetch(key);
    });
    HitMask hits = 0;
    for (std::size_t i = 0; i < keys.size(); ++i) hits |= HitMask{ask(groups_[in[i]], keys[i])} << i;
    return hits;
  }
  // One after the other, as insert() would; lines are prefetched. At most batch_max keys.
  void insert_batch(std::span<const KeyHash> keys, std::span<const float> scores) noexcept {
    std::array<std::uint8_t, batch_max> in;
    look_up(keys, scores, in, [](const F &filter, KeyHash key) {
      if constexpr (requires { filter.prefetch(key); }) filter.prefetch(key);
    });
    for (std::size_t i = 0; i < keys.size(); ++i) tell(groups_[in[i]], keys[i]);
  }

private:
  ScoreGroups(std::vector<float> thresholds, std::vector<Group> groups)
      : thresholds_(std::move(thresholds)), groups_(std::move(groups)) {}

  [[nodiscard]] static bool ask(const Group &group, KeyHash key) noexcept {
    return group.filter ? group.filter->contains(key) : group.answer == GroupAnswer::accept;
  }
  static void tell(Group &group, KeyHash key) noexcept {
    if (group.filter) group.filter->insert(key);
  }
  template <class Prefetch>
  void look_up(std::span<const KeyHash> keys, std::span<const float> scores,
               std::array<std::uint8_t, batch_max> &in, Prefetch prefetch) const noexcept {
    assert(keys.size() <= batch_max && keys.size() == scores.size());
    for (std::size_t i = 0; i < keys.size(); ++i) {
      in[i] = static_cast<std::uint8_t>(group_of(scores[i]));
      if (const Group &group = groups_[in[i]]; group.filter) prefetch(*group.filter, keys[i]);
    }
  }

  std::vector<float> thresholds_;
  std::vector<Group> groups_;
};

using LearnedBloom = ScoreGroups<Bloom>;
using StableGroups = ScoreGroups<StableBloom>; // s-SLBF and g-SLBF

// All groups turn together: shapes have turn 0.
class RotatingGroups {
public:
  RotatingGroups(ScoreGroups<RotatingBloom> groups, std::uint64_t turn) noexcept
      : groups_(std::move(groups)), turn_(turn) {}

  [[nodiscard]] std::uint64_t bits() const noexcept { return groups_.bits(); }
  [[nodiscard]] std::uint64_t turn() const noexcept { return turn_; }
  [[nodiscard]] std::uint64_t told() const noexcept { return __atomic_load_n(&told_, __ATOMIC_RELAXED); }
  void restore_told(std::uint64_t told) noexcept { told_ = told; }
  [[nodiscard]] std::span<const ScoreGroups<RotatingBloom>::Group> groups() const noexcept {
    return groups_.groups();
  }
  [[nodiscard]] std::span<ScoreGroups<RotatingBloom>::Group> groups() noexcept { return groups_.groups(); }
  [[nodiscard]] bool contains(KeyHash key, float score) const noexcept {
    return groups_.contains(key, score);
  }
  [[nodiscard]] HitMask contains_batch(std::span<const KeyHash> keys,
                                       std::span<const float> scores) const noexcept {
    return groups_.contains_batch(keys, scores);
  }
  void insert(KeyHash key, float score) noexcept {
    count(1);
    groups_.insert(key, score);
  }
  // Keys of a batch may fall on both sides of a turn.
  void insert_batch(std::span<const KeyHash> keys, std::span<const float> scores) noexcept {
    if (!turns_within(__atomic_load_n(&told_, __ATOMIC_RELAXED), keys.size())) {
      count(keys.size()); // which may turn all the same, where another thread has counted in between
      return groups_.insert_batch(keys, scores);
    }
    for (std::size_t i = 0; i < keys.size(); ++i) insert(keys[i], scores[i]);
  }

private:
  // Is one of these insertions the first behind a turn?
  [[nodiscard]] bool turns_within(std::uint64_t before, std::uint64_t insertions) const noexcept {
    return insertions != 0 && (before + insertions - 1) / turn_ != (before == 0 ? 0 : (before - 1) / turn_);
  }
  // Who counts it turns all filters, whichever thread that is.
  void count(std::uint64_t insertions) noexcept {
    if (!turns_within(__atomic_fetch_add(&told_, insertions, __ATOMIC_RELAXED), insertions)) return;
    for (auto &group : groups_.groups())
      if (group.filter) group.filter->turn_over();
  }

  ScoreGroups<RotatingBloom> groups_;
  std::uint64_t turn_, told_ = 0;
};

} // namespace weir::filter
