// Builds chained filters with sections of their own (filter/chained_filter.hpp): for keys and the negatives that are to be
// rejected, or for keys alone as every base filter.
#pragma once

#include "weir/build/chained_and_shared_builder.hpp"
#include "weir/build/retrieval_builder.hpp"
#include "weir/build/stacked_builder.hpp"
#include "weir/filter/chained_filter.hpp"

namespace weir::build {

// The shape of the most bits in the first stage that `shape_of(f)` makes within `bits`, and of the fewest whose
// rate is low enough.
template <class F, class ShapeOf>
[[nodiscard]] std::optional<typename F::Shape> chained_shape_within(std::uint64_t bits, ShapeOf shape_of) {
  for (unsigned f = F::first_bits_max; f > 0; --f)
    if (const auto shape = shape_of(f); shape && shape->bits() <= bits) return shape;
  return std::nullopt;
}
template <class F, class ShapeOf>
[[nodiscard]] std::optional<typename F::Shape> chained_shape_for_rate(double keys, double rate,
                                                                      ShapeOf shape_of) {
  for (unsigned f = 1; f <= F::first_bits_max; ++f)
    if (const auto shape = shape_of(f); shape && F::rate(*shape, keys) <= rate) return shape;
  return std::nullopt;
}

class ChainedFilter : public filter::OwnedFilter<filter::ChainedFilterView> {
  using Base = filter::OwnedFilter<filter::ChainedFilterView>;
  using First = BinaryFuse4;
  using Second = Retrieval<4>;

public:
  static constexpr unsigned first_bits_max = filter::peeled_fingerprint_bits_max;

  [[nodiscard]] static double rate(const Shape &shape, double /*keys*/) noexcept {
    return std::exp2(-1.0 - shape.first_bits());
  }
  [[nodiscard]] static std::optional<Shape> shape_for(double keys, std::uint64_t bits) noexcept {
    return chained_shape_within<ChainedFilter>(bits,
                                               [&](unsigned f) { return Shape::for_keys(keys, f, keys); });
  }
  [[nodiscard]] static std::optional<Shape> shape_for_rate(double keys, double rate) noexcept {
    return chained_shape_for_rate<ChainedFilter>(keys, rate,
                                                 [&](unsigned f) { return Shape::for_keys(keys, f, keys); });
  }

  // For keys alone. Errors: usage, as below.
  [[nodiscard]] static Result<ChainedFilter> build(std::span<const KeyHash> keys, const Shape &shape,
                                                   std::uint64_t layer = 0, std::uint64_t seed = 0) {
    TRY(Base::check(shape));
    const First first = TRY(First::build(keys, shape.first, layer, seed));
    return finish(first, keys, {}, shape, layer);
  }
  // With a second stage as large as it takes. Keys may be repeated. Errors: usage, for a key that is positive and negative, and when
  // none of 64 seeds finds a place for every key in a stage.
  [[nodiscard]] static Result<ChainedFilter> build(std::span<const KeyHash> positives,
                                                   std::span<const KeyHash> negatives, unsigned first_bits,
                                                   std::uint64_t layer = 0, std::uint64_t seed = 0) {
    const auto keys = static_cast<double>(positives.size());
    auto shape = Shape::for_keys(keys, first_bits, keys);
    if (!shape) return too_many();
    TRY(Base::check(*shape));
    const First first = TRY(First::build(positives, shape->first, layer, seed));
    const std::vector<KeyHash> left = accepted_by(first, negatives);
    shape = Shape::for_keys(keys, first_bits, keys + static_cast<double>(left.size()));
    return shape ? finish(first, positives, left, *shape, layer) : too_many();
  }

  // Of a key that is neither: by stage, the second one's as of a layer that rejects negatives.
  [[nodiscard]] std::vector<double> rates() const {
    return {std::exp2(-static_cast<double>(shape().first_bits())), 0.5};
  }

private:
  [[nodiscard]] static std::unexpected<Error> too_many() {
    return fail(Errc::usage, "a chained filter: more keys than 2^32 slots take");
  }

  [[nodiscard]] static Result<ChainedFilter> finish(const First &first, std::span<const KeyHash> positives,
                                                    std::span<const KeyHash> negatives, Shape shape,
                                                    std::uint64_t layer) {
    const std::uint64_t seed = seed_of(first.section());
    const Second second = TRY(Second::build({{positives, 1}, {negatives, 0}}, {shape.second}, layer, seed));
    const std::uint64_t second_seed = seed_of(second.section());
    while (View::second_seed(seed, shape.second_try) != second_seed) ++shape.second_try;
    return ChainedFilter(shape, layer, seed, first, second);
  }
  [[nodiscard]] static std::uint64_t seed_of(Bytes section) noexcept {
    return load_unaligned<filter::FilterHeader>(section.data()).seed;
  }

  ChainedFilter(const Shape &shape, std::uint64_t layer, std::uint64_t seed, const First &first,
                const Second &second)
      : Base(shape, layer, seed) {
    std::byte *to = this->memory_.cells();
    for (const Bytes section : {first.section(), second.section()}) {
      const Bytes cells = section.subspan(sizeof(filter::FilterHeader));
      to = std::ranges::copy(cells, to).out;
    }
    this->memory_.set_keys(first.keys());
  }
};

class ChainedSharedFilter : public filter::OwnedFilter<filter::ChainedSharedFilterView> {
  using Base = filter::OwnedFilter<filter::ChainedSharedFilterView>;
  using Stages = ChainedAndShared<4>;

public:
  static constexpr unsigned first_bits_max = Stages::first_bits_max;

  // As full as `keys` alone make the columns.
  [[nodiscard]] static double rate(const Shape &shape, double keys) noexcept {
    return std::exp2(-static_cast<double>(shape.first_bits())) *
           shared_second_rate(static_cast<double>(shape.slots()), keys, 4);
  }
  [[nodiscard]] static std::optional<Shape> shape_for(double keys, std::uint64_t bits) noexcept {
    return chained_shape_within<ChainedSharedFilter>(bits,
                                                     [&](unsigned f) { return Shape::for_keys(keys, f); });
  }
  [[nodiscard]] static std::optional<Shape> shape_for_rate(double keys, double rate) noexcept {
    return chained_shape_for_rate<ChainedSharedFilter>(keys, rate,
                                                       [&](unsigned f) { return Shape::for_keys(keys, f); });
  }

  [[nodiscard]] static Result<ChainedSharedFilter> build(std::span<const KeyHash> keys, const Shape &shape,
                                                         std::uint64_t layer = 0, std::uint64_t seed = 0) {
    return build_in(keys, {}, shape, layer, seed);
  }
  // As above; besides, usage, when the negatives that the first stage accepts are more than the columns take.
  [[nodiscard]] static Result<ChainedSharedFilter> build(std::span<const KeyHash> positives,
                                                         std::span<const KeyHash> negatives,
                                                         unsigned first_bits, std::uint64_t layer = 0,
                                                         std::uint64_t seed = 0) {
    const auto shape = Shape::for_keys(static_cast<double>(positives.size()), first_bits);
    if (!shape) return fail(Errc::usage, "a chained filter with shared slots: more than 2^32 slots");
    return build_in(positives, negatives, *shape, layer, seed);
  }

  [[nodiscard]] std::vector<double> rates() const {
    const auto slots = static_cast<double>(shape().slots());
    return {std::exp2(-static_cast<double>(shape().first_bits())),
            1 - shared_second_rate(slots, static_cast<double>(second_keys_), 4)};
  }

private:
  [[nodiscard]] static Result<ChainedSharedFilter> build_in(std::span<const KeyHash> positives,
                                                            std::span<const KeyHash> negatives,
                                                            const Shape &shape, std::uint64_t layer,
                                                            std::uint64_t seed) {
    TRY(Base::check(shape));
    const Stages stages = TRY(Stages::build(positives, negatives, shape.table, layer, seed));
    return ChainedSharedFilter(shape, layer, stages);
  }

  ChainedSharedFilter(const Shape &shape, std::uint64_t layer, const Stages &stages)
      : Base(shape, layer, stages.seed()), second_keys_(stages.second_keys()) {
    std::ranges::copy(stages.cells(), this->memory_.cells());
    this->memory_.set_keys(stages.keys());
  }

  std::uint64_t second_keys_;
};

} // namespace weir::build
