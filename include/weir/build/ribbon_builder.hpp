// Builds bumped ribbon tables (filter/ribbon.hpp): retrievals and filters.
//
// Keys go in by bucket, within a bucket from its last row to its first. Each is an equation; what stands in the row where
// it begins is subtracted from it until a row is free (Gaussian elimination in place). When nothing is left of the equation but a value
// that is not 0, it has no solution: it and all keys of the bucket that begin in its first rows, by one of three
// numbers of rows, go to the next layer. From the last row back every row then gets its bits.
//
//   memory while building: 16 bytes a key, 12 bytes a row, and the table. Time is linear but for the sort of keys by row
#pragma once

#include "weir/build/keys_of_value.hpp"
#include "weir/filter/ribbon.hpp"

namespace weir::build {

inline constexpr unsigned ribbon_seeds_max = 64;

// Fills `words`, shape.bits() / 64 and all 0, for these mixed hashes with their values in the lowest bits, and says how
// many they are, repeated ones once. Nothing where the last layer has no solution: another seed may have.
[[nodiscard]] std::optional<std::uint64_t>
solve_ribbon(const filter::RibbonShape<filter::FilterKind::ribbon> &shape, std::vector<std::uint64_t> mixed,
             std::uint64_t *words);

template <filter::FilterKind kind> class RibbonTable : public filter::OwnedFilter<filter::RibbonView<kind>> {
  using Base = filter::OwnedFilter<filter::RibbonView<kind>>;

protected:
  using Base::Base;
  using typename Base::Shape;
  using typename Base::View;

  [[nodiscard]] bool solve(std::vector<std::uint64_t> mixed) {
    const Shape &shape = this->shape();
    auto *const words = reinterpret_cast<std::uint64_t *>(this->memory_.cells());
    std::fill_n(words, shape.bits() / 64, 0);
    const auto keys = solve_ribbon({shape.buckets, shape.width}, std::move(mixed), words);
    if (keys) this->memory_.set_keys(*keys);
    return keys.has_value();
  }
  [[nodiscard]] static auto too_many(std::size_t keys, const Shape &shape) {
    return fail(Errc::usage, fmt::format("{}: {} keys find no place in {} rows, give it more",
                                         name_of(Shape::kind), keys, shape.slots()));
  }
};

class RibbonRetrieval : public RibbonTable<filter::FilterKind::ribbon> {
public:
  using View = filter::RibbonRetrievalView;
  using Shape = View::Shape;

  // As Retrieval::build() (retrieval_builder.hpp), with the same errors.
  [[nodiscard]] static Result<RibbonRetrieval> build(std::span<const KeysOfValue> groups, const Shape &shape,
                                                     std::uint64_t layer = 0, std::uint64_t seed = 0);
  [[nodiscard]] static Result<RibbonRetrieval> build(std::initializer_list<KeysOfValue> groups,
                                                     const Shape &shape, std::uint64_t layer = 0,
                                                     std::uint64_t seed = 0) {
    return build(std::span(groups.begin(), groups.size()), shape, layer, seed);
  }

  [[nodiscard]] std::uint32_t value(KeyHash key) const noexcept { return this->view_.value(key); }

private:
  using RibbonTable::RibbonTable;
};

class RibbonFilter : public RibbonTable<filter::FilterKind::ribbon_filter> {
public:
  using View = filter::RibbonFilterView;
  using Shape = View::Shape;
  static constexpr unsigned fingerprint_bits_max = filter::ribbon_value_bits_max;

  // The same for any number of keys.
  [[nodiscard]] static double rate(const Shape &shape, double /*keys*/) noexcept {
    return std::exp2(-static_cast<double>(shape.width));
  }
  [[nodiscard]] static std::optional<Shape> shape_for(double keys, std::uint64_t bits) noexcept;
  [[nodiscard]] static std::optional<Shape> shape_for_rate(double keys, double rate) noexcept;

  // The seeds tried follow from `seed`. Errors: usage, for an impossible shape, or one in which none of 64 seeds
  // finds a place for every key.
  [[nodiscard]] static Result<RibbonFilter> build(std::span<const KeyHash> keys, const Shape &shape,
                                                  std::uint64_t layer = 0, std::uint64_t seed = 0);

private:
  using RibbonTable::RibbonTable;
};

} // namespace weir::build
