// ChainedFilter with `&` for sets that change [Chained §4.3.1]: new negatives are excluded, new positives inserted, and
// nothing is built again.
//
//   key  ->  first: Bloom filter  --accepts-->  second: exact, dynamic  --accepts-->  positive
//               | rejects                          | rejects
//               v                                  v
//            negative                           negative
//
//   exclude(x)   does nothing where the first stage rejects x; otherwise the second stage learns to reject it
//   insert(x)    into both stages
//   errors       a positive is never missed. A negative that was excluded is rejected, until positives that are
//                inserted later widen the first stage: one that the first stage rejected by itself may then be
//                accepted, as the paper says. Any other key is accepted with the first stage's rate, or less
//   refused      a negative that is a positive too. It stays accepted, and no positive is missed
//
// The second stage is whatever tells positives and excluded keys apart and takes more of either. The paper has Othello
// hashing there (othello_stage.hpp); WhitelistLayers below is made of Bloom filters alone. [Chained §5.4] puts such a filter in
// front of every sorted run of an LSM tree.
//
// One thread, readers included: while keys go in, a positive may be rejected for a moment.
#pragma once

#include "weir/base/result.hpp"
#include "weir/build/stacked_builder.hpp"
#include "weir/filter/and_not.hpp"
#include "weir/filter/bloom.hpp"

#include <algorithm>
#include <cmath>
#include <concepts>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace weir::build {

template <class S>
concept DynamicSecondStage = requires(S s, const S &c, KeyHash key, std::span<const KeyHash> keys) {
  { s.include(keys) } -> std::same_as<Status>; // as positives
  { s.exclude(keys) } -> std::same_as<Status>; // refused keys stay accepted, and no positive is missed
  { c.contains(key) } -> std::same_as<bool>;   // right for all that it was told of, anything for other keys
  { c.bits() } -> std::same_as<std::uint64_t>; // that a reader needs
};

// Sizes of WhitelistLayers for a chain with a first stage of `first_rate`.
//
//   layer 2   the excluded keys, lambda first_rate n of them = a n; lets delta a of the positives through
//   layer i   delta^(i - 2) a n keys with rate delta^2 [Chained Alg. 2]
struct WhitelistPlan {
  double first_rate = 1;
  std::vector<filter::BloomShape> layers; // from layer 2

  [[nodiscard]] std::uint64_t bits() const noexcept {
    std::uint64_t bits = 0;
    for (const auto &layer : layers) bits += layer.bits();
    return bits;
  }
};

// What a filter of `planned` keys is sized for, since chance sends more.
[[nodiscard]] inline double with_chance(double planned) noexcept {
  return planned + 4 * std::sqrt(planned) + 16;
}

// The first stage's rate that suits `lambda` negatives a positive [Chained Alg. 2]. Below lambda = 1 there is nothing to
// gain from a higher one.
[[nodiscard]] inline double chained_first_rate(double lambda, double delta = 0.5) noexcept {
  return delta / std::max(lambda, 1.0);
}

// For `keys` positives and at most `lambda` negatives a positive. `first_rate` and `delta` lie between 0 and 1.
[[nodiscard]] inline WhitelistPlan plan_whitelist(double keys, double lambda, double first_rate,
                                                  double delta = 0.5) {
  WhitelistPlan plan{first_rate, {}};
  double held = lambda * first_rate * keys;
  double rate = std::clamp(delta * held / std::max(keys, 1.0), 1e-6, delta * delta);
  for (; held >= 1; held *= delta, rate = delta * delta)
    if (const auto shape = filter::Bloom::shape_for_rate(with_chance(held), rate))
      plan.layers.push_back(*shape);
  return plan;
}

// Exact over what it was told: rejects the excluded, accepts the positives. With W = F2 & ~(F3 & ~(F4 & ~ ...)), the
// whitelist of negatives [Chained Alg. 2], it accepts a key that W rejects.
//
//   F2   holds the excluded keys             F3   positives that F2 accepts
//   F4   excluded keys that F3 accepts       F5   positives that F4 accepts          ... until nobody is left
//
// Bits are only ever set. What goes in makes a layer accept more keys of the other side; these go one layer deeper, and so
// on. More keys than planned overfill layers; then deeper ones are added, as large as what they get.
//
// To find those keys the writer keeps the hashes of all, 8 bytes each, by the deepest layer that holds them, as
// Othello's writer keeps its graph; readers need the layers alone. A batch costs a question for each key on record, so give
// many keys at once. All keys that the first stage accepts are to be excluded, whatever this stage says of them: one that
// it rejects by chance may be accepted after the next change.
class WhitelistLayers {
public:
  // An even number, so that what is left behind the last one is never a positive.
  static constexpr std::size_t layers_max = 40;

  // `layer`: the number of F2's hash functions; the layers below take the numbers that follow.
  WhitelistLayers(WhitelistPlan plan, std::uint64_t layer)
      : plan_(std::move(plan)), layer_(layer), rows_(layers_max + 1) {}

  // Errors: needs_rebuild, when excluded keys come to be accepted, since no layer is left.
  [[nodiscard]] Status include(std::span<const KeyHash> keys) {
    rows_[0].insert(rows_[0].end(), keys.begin(), keys.end());
    return settle();
  }
  // Errors: needs_rebuild, when some of them, or a key that is also a positive, cannot be rejected.
  [[nodiscard]] Status exclude(std::span<const KeyHash> keys) {
    if (keys.empty()) return {};
    TRY(put(0, keys));
    return settle();
  }

  [[nodiscard]] bool contains(KeyHash key) const noexcept {
    return !filter::and_not(0, layers_.size(), [&](std::size_t i) { return layers_[i].contains(key); });
  }

  [[nodiscard]] std::uint64_t bits() const noexcept {
    std::uint64_t bits = 0;
    for (const auto &layer : layers_) bits += layer.bits();
    return bits;
  }
  [[nodiscard]] std::size_t depth() const noexcept { return layers_.size(); }
  [[nodiscard]] std::span<const filter::Bloom> layers() const noexcept { return layers_; }
  // Excluded keys that are accepted nevertheless, as of the last change.
  [[nodiscard]] std::uint64_t unsettled() const noexcept { return unsettled_; }
  [[nodiscard]] std::uint64_t record_bytes() const noexcept { // the writer's alone
    std::uint64_t keys = 0;
    for (const auto &row : rows_) keys += row.size();
    return keys * sizeof(KeyHash);
  }

private:
  // Into layer `at`, which is made when it is the next one.
  [[nodiscard]] Status put(std::size_t at, std::span<const KeyHash> keys) {
    if (at == layers_.size()) {
      const auto shape =
          at < plan_.layers.size()
              ? plan_.layers[at]
              : *filter::Bloom::shape_for_rate(with_chance(2 * static_cast<double>(keys.size())), 0.25);
      layers_.push_back(TRY(filter::Bloom::make(shape, layer_ + at)));
    }
    for (const KeyHash key : keys) layers_[at].insert(key);
    rows_[at + 1].insert(rows_[at + 1].end(), keys.begin(), keys.end());
    return {};
  }

  // Row i are keys whose deepest layer is the one before layers_[i]: where that accepts them, they go into the next.
  [[nodiscard]] Status settle() {
    unsettled_ = 0;
    for (std::size_t at = 0; at < layers_.size(); ++at) {
      const std::vector<KeyHash> deeper = accepted_by(layers_[at], rows_[at]);
      if (deeper.empty()) continue;
      if (at + 1 == layers_max) {
        unsettled_ = deeper.size();
        return fail(Errc::needs_rebuild, "a dynamic chained filter: " + std::to_string(unsettled_) +
                                             " excluded keys are still accepted, build it for more of them");
      }
      std::erase_if(rows_[at], [&](KeyHash key) { return layers_[at].contains(key); });
      TRY(put(at + 1, deeper));
    }
    return {};
  }

  WhitelistPlan plan_;
  std::uint64_t layer_;
  std::vector<filter::Bloom> layers_;
  std::vector<std::vector<KeyHash>> rows_;
  std::uint64_t unsettled_ = 0;
};
static_assert(DynamicSecondStage<WhitelistLayers>);

template <DynamicSecondStage Second = WhitelistLayers> class ChainedDynamic {
public:
  // Errors: usage, for a shape that cannot be. `layer`: of the first stage's functions; the second has its own.
  [[nodiscard]] static Result<ChainedDynamic> make(const filter::BloomShape &first, Second second,
                                                   std::uint64_t layer = 0) {
    return ChainedDynamic(TRY(filter::Bloom::make(first, layer)), std::move(second));
  }
  // For `keys` positives and up to `lambda` negatives a positive; `first_rate` is chained_first_rate() or less.
  // Errors: usage, when no filter is that large.
  [[nodiscard]] static Result<ChainedDynamic> sized(double keys, double lambda, double first_rate,
                                                    std::uint64_t layer = 0)
    requires std::same_as<Second, WhitelistLayers>
  {
    const auto first = filter::Bloom::shape_for_rate(keys, first_rate);
    if (!first) return fail(Errc::usage, "a dynamic chained filter: no first stage is that large");
    return make(*first, WhitelistLayers(plan_whitelist(keys, lambda, first_rate), layer + 1), layer);
  }

  // Errors: those of the second stage.
  [[nodiscard]] Status insert(std::span<const KeyHash> positives) {
    for (const KeyHash key : positives) first_.insert(key);
    return second_.include(positives);
  }
  [[nodiscard]] Status exclude(std::span<const KeyHash> negatives) {
    return second_.exclude(accepted_by(first_, negatives));
  }

  [[nodiscard]] bool contains(KeyHash key) const noexcept {
    return first_.contains(key) && second_.contains(key);
  }
  [[nodiscard]] filter::HitMask contains_batch(std::span<const KeyHash> keys) const noexcept {
    filter::HitMask hits = first_.contains_batch(keys);
    for (filter::HitMask rest = hits; rest != 0; rest &= rest - 1)
      if (!second_.contains(keys[static_cast<std::size_t>(std::countr_zero(rest))])) hits &= ~(rest & -rest);
    return hits;
  }
  [[nodiscard]] std::uint64_t bits() const noexcept { return first_.bits() + second_.bits(); }
  [[nodiscard]] const filter::Bloom &first() const noexcept { return first_; }
  [[nodiscard]] const Second &second() const noexcept { return second_; }

private:
  ChainedDynamic(filter::Bloom first, Second second) : first_(std::move(first)), second_(std::move(second)) {}

  filter::Bloom first_;
  Second second_;
};

} // namespace weir::build
