// Builds ChainedFilter with `&` [Chained Alg. 1]: positives into the first stage, the negatives that it accepts
// and the positives again into the second.
#pragma once

#include "weir/build/chained_model.hpp"
#include "weir/build/retrieval_builder.hpp"
#include "weir/build/ribbon_builder.hpp"
#include "weir/filter/chained_and.hpp"

namespace weir::build {

template <class FirstFilter, class SecondTable> class ChainedOf {
public:
  using First = FirstFilter;
  using Second = SecondTable;
  using View = filter::ChainedView<typename First::View, typename Second::View>;

  // Errors: usage, for a key that is positive and negative, and those of the stages.
  [[nodiscard]] static Result<ChainedOf> build(std::span<const KeyHash> positives,
                                               std::span<const KeyHash> negatives, std::uint64_t layer = 0,
                                               std::uint64_t seed = 0) {
    const auto n = static_cast<double>(positives.size());
    const unsigned bits =
        std::min(First::fingerprint_bits_max,
                 positives.empty() ? 0 : chained_and_first_bits(static_cast<double>(negatives.size()) / n));
    if (bits == 0) return ChainedOf(std::nullopt, TRY(exact(positives, negatives, layer, seed)));
    const auto shape = First::Shape::for_keys(n, bits);
    if (!shape) return fail(Errc::usage, "a chained filter: more positives than 2^32 slots take");
    First first = TRY(First::build(positives, *shape, layer, seed));
    const std::vector<KeyHash> left = accepted(first.view(), negatives);
    return ChainedOf(std::move(first), TRY(exact(positives, left, layer + 1, seed)));
  }

  [[nodiscard]] bool contains(KeyHash key) const noexcept { return view().contains(key); }
  [[nodiscard]] filter::HitMask contains_batch(std::span<const KeyHash> keys) const noexcept {
    return view().contains_batch(keys);
  }
  [[nodiscard]] View view() const noexcept {
    return View(first_ ? std::optional(first_->view()) : std::nullopt, second_.view());
  }
  // Of the cells, with what packing and rounding leave unused; headers of 64 bytes are beside.
  [[nodiscard]] std::uint64_t bits() const noexcept { return (first_ ? first_->bits() : 0) + second_.bits(); }
  [[nodiscard]] const std::optional<First> &first() const noexcept { return first_; }
  [[nodiscard]] const Second &second() const noexcept { return second_; }

private:
  ChainedOf(std::optional<First> first, Second second)
      : first_(std::move(first)), second_(std::move(second)) {}

  [[nodiscard]] static Result<Second> exact(std::span<const KeyHash> positives,
                                            std::span<const KeyHash> negatives, std::uint64_t layer,
                                            std::uint64_t seed) {
    const auto shape = Second::Shape::for_keys(static_cast<double>(positives.size() + negatives.size()), 1);
    if (!shape) return fail(Errc::usage, "a chained filter: more keys than 2^32 slots take");
    return Second::build({{positives, 1}, {negatives, 0}}, *shape, layer, seed);
  }

  [[nodiscard]] static std::vector<KeyHash> accepted(const typename View::First &first,
                                                     std::span<const KeyHash> keys) {
    std::vector<KeyHash> left;
    for (std::size_t at = 0; at < keys.size(); at += filter::batch_max) {
      const auto batch = keys.subspan(at, std::min(filter::batch_max, keys.size() - at));
      for (filter::HitMask hits = first.contains_batch(batch); hits != 0; hits &= hits - 1)
        left.push_back(batch[static_cast<std::size_t>(std::countr_zero(hits))]);
    }
    return left;
  }

  std::optional<First> first_; // nothing: the second stage alone
  Second second_;
};

template <unsigned ways>
using ChainedAnd = ChainedOf<PeeledFilter<filter::PeeledView<filter::FuseShape<ways>>>, Retrieval<ways>>;
using ChainedAndRibbon = ChainedOf<RibbonFilter, RibbonRetrieval>;

} // namespace weir::build
