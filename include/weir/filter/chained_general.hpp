// General membership by `&` [Chained §4.2, Corollary 4.1]: a filter that may accept a share of the declared negatives, in fewer
// bits than one that errs on all keys alike. As chained_and.hpp, but the second stage has only so many negatives as the
// rate asks for; for the others it is a coin.
//
//   key  ->  first: fuse filter, 2^-alpha  --accepts-->  second: retrieval of one bit, positives and some negatives
//
//   errors    no positive is missed. Of the declared negatives those that the second stage has are never accepted, of the others
//             2^-(alpha + 1); so the ones that are asked for most go first when it is built
//   cost      that of chained_and.hpp
//
// Built by build/chained_general_builder.hpp, by build/membership_model.hpp.
#pragma once

#include "weir/filter/binary_fuse.hpp"
#include "weir/filter/retrieval.hpp"

#include <optional>

namespace weir::filter {

template <unsigned ways> class ChainedGeneralView {
public:
  using First = PeeledView<FuseShape<ways>>;
  using Second = RetrievalView<ways>;

  // `coin`: of keys, in what the second stage has; nothing: it has 1 for positives and 0 for negatives.
  ChainedGeneralView(std::optional<First> first, std::optional<Second> second,
                     std::optional<std::uint64_t> coin) noexcept
      : first_(first), second_(second), coin_(coin) {}

  [[nodiscard]] bool contains(KeyHash key) const noexcept {
    if (first_ && !first_->contains(key)) return false;
    return !second_ || ((second_->value(key) ^ (coin_ ? side_of(key, *coin_) : 0)) & 1) != 0;
  }

  // 0 or 1: on which side the key's coin falls.
  [[nodiscard]] static std::uint32_t side_of(KeyHash key, std::uint64_t coin) noexcept {
    return static_cast<std::uint32_t>(remix(key, coin) >> 63);
  }

private:
  std::optional<First> first_;
  std::optional<Second> second_;
  std::optional<std::uint64_t> coin_;
};

} // namespace weir::filter
