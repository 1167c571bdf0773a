// Othello hashing as the exact second stage of a ChainedFilter that changes (chained_dynamic.hpp), as [Chained §4.3.1] has it:
// positives have value 1, excluded keys 0.
//
//   bits      2.33 for each positive and each excluded key that the first stage accepts. With the best first rate, 0.89 / lambda, a
//             Bloom filter before it and this take 1.4427 log2(lambda) + 4.65 bits a positive, a third of a bit more than
//             with WhitelistLayers
//   errors    right for all that it was told of; a fair share of other keys is accepted
//   cost      constant for each key, where WhitelistLayers asks for all keys on record in each batch
#pragma once

#include "weir/build/othello_builder.hpp"

#include <numbers>

namespace weir::build {

// The rate of a Bloom filter in front with which both stages together take least bits, for lambda negatives a positive.
[[nodiscard]] inline double othello_first_rate(double lambda) noexcept {
  constexpr double bits_a_halving = std::numbers::log2e, bits_a_key = filter::OthelloShape::cells_per_key;
  return std::min(0.5, bits_a_halving / (std::numbers::ln2 * bits_a_key * lambda));
}

class OthelloStage {
public:
  // For so many positives and excluded keys together. Errors: usage, when there is no table that large.
  [[nodiscard]] static Result<OthelloStage> sized(double keys, std::uint64_t layer, std::uint64_t seed = 0) {
    const auto shape = filter::OthelloShape::for_keys(keys, 1);
    if (!shape) return fail(Errc::usage, "Othello hashing: more keys than 2^31 cells take");
    return OthelloStage(TRY(Othello::make(*shape, layer, seed)));
  }

  // One that was excluded is a positive from now on. Errors: needs_rebuild, when there is no room for one of them.
  [[nodiscard]] Status include(std::span<const KeyHash> keys) {
    for (const KeyHash key : keys) {
      const auto before = othello_.declared(key);
      TRY(before == 0 ? othello_.change(key, 1) : othello_.insert(key, 1));
    }
    return {};
  }
  // Errors: refused, for positives, which stay accepted, when all others are excluded; needs_rebuild, as above.
  [[nodiscard]] Status exclude(std::span<const KeyHash> keys) {
    std::uint64_t positives = 0;
    for (const KeyHash key : keys) {
      if (othello_.declared(key) == 1)
        ++positives;
      else
        TRY(othello_.insert(key, 0));
    }
    if (positives == 0) return {};
    return fail(Errc::refused,
                fmt::format("a dynamic chained filter: {} keys to exclude are positives", positives));
  }

  [[nodiscard]] bool contains(KeyHash key) const noexcept { return othello_.contains(key); }
  [[nodiscard]] std::uint64_t bits() const noexcept { return othello_.bits(); }
  [[nodiscard]] const Othello &table() const noexcept { return othello_; }

private:
  explicit OthelloStage(Othello othello) : othello_(std::move(othello)) {}

  Othello othello_;
};

} // namespace weir::build
