// Layers 0, 1, 2 ... as `F0 & ~(F1 & ~(F2 & ~ ...))`: the answer of every stack of layers, be it a stacked
// filter [Stacked Alg. 2] or a chained predictor [Chained Alg. 2].
//
//   layers 0, 2, 4 ...   hold positives: the first that rejects a key makes it absent
//   layers 1, 3, 5 ...   hold negatives: the first that rejects a key makes it present
//   none rejects         the last layer has the last word
//
// Any number of layers may stand there, even numbers as well.
#pragma once

#include <cstddef>

namespace weir::filter {

// The answer for a key that all layers before `from` accept; accepts(i) is what layer i says of it.
template <class Accepts>
[[nodiscard, gnu::always_inline]] constexpr bool and_not(std::size_t from, std::size_t depth,
                                                         Accepts accepts) noexcept {
  for (std::size_t layer = from; layer < depth; ++layer)
    if (!accepts(layer)) return layer % 2 != 0;
  return depth % 2 != 0;
}

} // namespace weir::filter
