// ChainedFilter with `& ~` [Chained Alg. 2]: F1 & ~(F2 & ~(F3 & ~ ...)), exact membership over a declared universe by approximate
// filters alone. It is a stacked filter (stacked.hpp) whose layers go on until nobody is left, so that the known negatives are
// all negatives there are, and the number of layers may be even.
//
//   layer 1  positives              accepts about delta x n negatives
//   layer 2  these                  accepts about delta^2 x n positives
//   layer 3  these ...              the first layer that rejects decides; none does: the last one holds the key's side
//
// The last stage may be exact: a retrieval of one bit over all that are left on both sides (retrieval.hpp).
//
//   errors    none for keys of the universe; another key is accepted as by a stack: build/stacked_model.hpp
//   bits      C' log2(16 lambda) a positive at most with delta = 1/2, for lambda negatives a positive: build/chained_model.hpp
//   cost      one layer for most negatives, two for most positives
//   changes   where layers take keys, a positive that the even layers do not know may come in; else none
//
// Built by build/chained_and_not_builder.hpp.
#pragma once

#include "weir/filter/retrieval.hpp"
#include "weir/filter/stacked_view.hpp"

namespace weir::filter {

// `Layer` is the view of a base filter.
template <Filter Layer> class ChainedAndNotView {
public:
  using Exact = RetrievalView<4>;

  ChainedAndNotView() = default; // accepts nothing
  // `exact`: the stage behind the last layer. At most stack_layers_max stages together.
  ChainedAndNotView(std::span<const Layer> layers, const std::optional<Exact> &exact) noexcept
      : depth_(layers.size() + (exact ? 1 : 0)), has_exact_(exact.has_value()),
        exact_(exact.value_or(Exact())) {
    std::ranges::copy(layers, layers_.begin());
  }

  [[nodiscard]] bool contains(KeyHash key) const noexcept {
    return and_not(0, depth_, [&](std::size_t stage) {
      return is_exact(stage) ? exact_.contains(key) : layers_[stage].contains(key);
    });
  }
  [[nodiscard]] HitMask contains_batch(std::span<const KeyHash> keys) const noexcept {
    if (keys.empty()) return 0;
    const HitMask all = ~HitMask{0} >> (batch_max - keys.size());
    return and_not_batch(0, depth_, keys, all, [&](std::size_t stage, std::span<const KeyHash> open) {
      return is_exact(stage) ? exact_.contains_batch(open) : layers_[stage].contains_batch(open);
    });
  }

  [[nodiscard]] std::size_t depth() const noexcept { return depth_; } // stages, the exact one as well
  [[nodiscard]] bool has_exact() const noexcept { return has_exact_; }

private:
  [[nodiscard]] bool is_exact(std::size_t stage) const noexcept { return has_exact_ && stage + 1 == depth_; }

  std::size_t depth_ = 0;
  bool has_exact_ = false;
  std::array<Layer, stack_layers_max> layers_{};
  Exact exact_;
};

} // namespace weir::filter
