// ChainedFilter with `&` [Chained Alg. 1]: exact membership over a declared universe in close to the fewest bits there can
// be. An approximate filter of the positives lets a few of the negatives through; an exact one-bit filter of the
// positives and these tells them apart.
//
//   key  ->  first: fuse filter, 2^-f  --accepts-->  second: retrieval of one bit  --1-->  positive
//               | rejects                               | 0
//               v                                       v
//            negative                                negative
//
//   errors    none for keys of the universe; another key is accepted with 2^-(f + 1)
//   bits      C (f + 1 + lambda / 2^f) a positive with f = floor(log2 lambda), for lambda negatives a positive; C is the
//             slots a key of the tables. At most 1.108 C times the bound (build/chained_model.hpp)
//   cost      three or four lines, and as many again for what the first accepts
//
// Without a first stage (lambda below 2) it is the exact filter alone. Built by build/chained_and_builder.hpp.
#pragma once

#include "weir/filter/binary_fuse.hpp"
#include "weir/filter/key_batch.hpp"
#include "weir/filter/retrieval.hpp"
#include "weir/filter/ribbon.hpp"

namespace weir::filter {

template <class FirstView, class SecondView> class ChainedView {
public:
  using First = FirstView;
  using Second = SecondView;

  ChainedView() = default;
  ChainedView(std::optional<First> first, const Second &second) noexcept
      : has_first_(first.has_value()), first_(first.value_or(First())), second_(second) {}

  [[nodiscard]] bool contains(KeyHash key) const noexcept {
    return (!has_first_ || first_.contains(key)) && second_.contains(key);
  }
  // The second stage is asked for all that the first accepts, at once.
  [[nodiscard]] HitMask contains_batch(std::span<const KeyHash> keys) const noexcept {
    if (!has_first_) return second_.contains_batch(keys);
    const KeyBatch left(keys, first_.contains_batch(keys));
    return left.placed(second_.contains_batch(left.keys()));
  }

  [[nodiscard]] bool has_first() const noexcept { return has_first_; }
  [[nodiscard]] const First &first() const noexcept { return first_; }
  [[nodiscard]] const Second &second() const noexcept { return second_; }

private:
  bool has_first_ = false;
  First first_;
  Second second_;
};

// Of fuse tables; of bumped ribbon tables, the smallest (ribbon.hpp).
template <unsigned ways> using ChainedAndView = ChainedView<PeeledView<FuseShape<ways>>, RetrievalView<ways>>;
using ChainedAndRibbonView = ChainedView<RibbonFilterView, RibbonRetrievalView>;

} // namespace weir::filter
