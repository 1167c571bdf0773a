#include "weir/build/ribbon_builder.hpp"

#include <numeric>

namespace weir::build {
namespace {

using filter::ribbon_bucket_rows, filter::ribbon_bumped_rows, filter::ribbon_layers, filter::RibbonPlace;
using Shape = filter::RibbonShape<filter::FilterKind::ribbon>;

// One layer, while its equations are solved.
class Layer {
public:
  Layer(const Shape &shape, unsigned layer)
      : width_(shape.width), mask_(shape.value_mask()), layer_(layer), starts_(shape.starts(layer)),
        coefficients_(shape.rows(layer)), values_(shape.rows(layer)) {}

  [[nodiscard]] std::uint32_t start(std::uint64_t h) const noexcept {
    return RibbonPlace(h, width_).start(layer_, starts_);
  }

  // Keys in the order of their starts. Those that are bumped go to `bumped`; where `bumps` is null none may be, and the
  // answer is false when one had to.
  [[nodiscard]] bool take(std::span<const std::uint64_t> keys, std::uint64_t *bumps,
                          std::vector<std::uint64_t> &bumped) {
    for (std::size_t begin = 0, end = 0; begin < keys.size(); begin = end) {
      const std::uint32_t bucket = start(keys[begin]) / ribbon_bucket_rows;
      while (end < keys.size() && start(keys[end]) / ribbon_bucket_rows == bucket) ++end;
      const unsigned bump = take_bucket(keys.subspan(begin, end - begin), bumped);
      if (bump == 0) continue;
      if (bumps == nullptr) return false;
      bumps[bucket / 32] |= std::uint64_t{bump} << 2 * (bucket % 32);
    }
    return true;
  }

  // Rows nobody needs stay 0. `state[bit]` has the bit of the 64 rows behind.
  void substitute(std::uint64_t *words) const {
    std::array<std::uint64_t, filter::ribbon_value_bits_max> state{};
    for (std::size_t row = coefficients_.size(); row-- > 0;) {
      std::uint64_t *const column = words + row / 64 * width_;
      for (unsigned bit = 0; bit < width_; ++bit) {
        const std::uint64_t known = state[bit] << 1;
        std::uint64_t own = 0;
        if (coefficients_[row] != 0)
          own = (values_[row] >> bit ^ static_cast<unsigned>(std::popcount(known & coefficients_[row]))) & 1;
        state[bit] = known | own;
        column[bit] |= own << row % 64;
      }
    }
  }

private:
  static constexpr std::uint32_t no_row = UINT32_MAX;

  // Returns the two bits of the bucket.
  [[nodiscard]] unsigned take_bucket(std::span<const std::uint64_t> keys,
                                     std::vector<std::uint64_t> &bumped) {
    taken_.clear();
    std::size_t left = keys.size();
    while (left > 0 && insert(keys[left - 1])) --left;
    if (left == 0) return 0;
    const std::uint32_t first = start(keys[left - 1]) % ribbon_bucket_rows;
    const auto bump = static_cast<unsigned>(std::ranges::upper_bound(ribbon_bumped_rows, first) -
                                            ribbon_bumped_rows.begin());
    std::size_t gone = left;
    while (gone < keys.size() && start(keys[gone]) % ribbon_bucket_rows < ribbon_bumped_rows[bump]) {
      // Keys went in from the last to the first: the one taken last goes first.
      if (const std::uint32_t row = taken_.back(); row != no_row) coefficients_[row] = 0;
      taken_.pop_back();
      ++gone;
    }
    bumped.insert(bumped.end(), keys.begin(), keys.begin() + static_cast<std::ptrdiff_t>(gone));
    return bump;
  }

  // False where the equation contradicts those that are there.
  [[nodiscard]] bool insert(std::uint64_t h) {
    const RibbonPlace place(h, width_);
    std::uint32_t row = place.start(layer_, starts_), value = static_cast<std::uint32_t>(h) & mask_;
    std::uint64_t coefficient = place.coefficient;
    while (coefficients_[row] != 0) {
      coefficient ^= coefficients_[row];
      value ^= values_[row];
      if (coefficient == 0) {
        if (value != 0) return false;
        taken_.push_back(no_row);
        return true;
      }
      const auto shift = static_cast<unsigned>(std::countr_zero(coefficient));
      coefficient >>= shift;
      row += shift;
    }
    coefficients_[row] = coefficient;
    values_[row] = value;
    taken_.push_back(row);
    return true;
  }

  unsigned width_;
  std::uint32_t mask_;
  unsigned layer_;
  std::uint32_t starts_;
  std::vector<std::uint64_t> coefficients_; // of the equation that begins in a row; 0: none does
  std::vector<std::uint32_t> values_;
  std::vector<std::uint32_t> taken_; // rows of the bucket's keys, in the order in which they went in
};

// By the upper bits first, so that the pieces left to sort stay in the cache.
void sort_hashes(std::vector<std::uint64_t> &hashes) {
  constexpr unsigned piece_bits = 11, shift = 64 - piece_bits;
  std::vector<std::size_t> ends(std::size_t{1} << piece_bits);
  for (const std::uint64_t h : hashes) ++ends[h >> shift];
  std::partial_sum(ends.begin(), ends.end(), ends.begin());
  std::vector<std::size_t> next = ends;
  std::vector<std::uint64_t> sorted(hashes.size());
  for (const std::uint64_t h : hashes) sorted[--next[h >> shift]] = h;
  for (std::size_t piece = 0; piece < ends.size(); ++piece)
    std::sort(sorted.begin() + static_cast<std::ptrdiff_t>(next[piece]),
              sorted.begin() + static_cast<std::ptrdiff_t>(ends[piece]));
  hashes = std::move(sorted);
}

} // namespace

std::optional<std::uint64_t> solve_ribbon(const Shape &shape, std::vector<std::uint64_t> mixed,
                                          std::uint64_t *words) {
  sort_hashes(mixed); // by start in the first layer
  const auto repeated = std::ranges::unique(mixed);
  mixed.erase(repeated.begin(), repeated.end());
  const std::uint64_t keys = mixed.size();
  for (unsigned n = 0; n < ribbon_layers; ++n) {
    Layer layer(shape, n);
    if (n > 0) std::ranges::sort(mixed, {}, [&](std::uint64_t h) { return layer.start(h); });
    std::vector<std::uint64_t> bumped;
    if (!layer.take(mixed, n + 1 < ribbon_layers ? words + shape.bumps_at(n) : nullptr, bumped))
      return std::nullopt;
    layer.substitute(words + shape.rows_at(n));
    mixed = std::move(bumped);
  }
  return keys;
}

Result<RibbonRetrieval> RibbonRetrieval::build(std::span<const KeysOfValue> groups, const Shape &shape,
                                               std::uint64_t layer, std::uint64_t seed) {
  TRY(check(shape));
  const std::uint64_t keys = TRY(count_keys(groups, shape));
  std::vector<KeyAndValue> once; // filled when a seed does not serve: a key with two values never does
  for (unsigned attempt = 0; attempt < ribbon_seeds_max; ++attempt) {
    const std::uint64_t next = remix({seed}, attempt), family = View::family(layer, next);
    std::vector<std::uint64_t> mixed;
    mixed.reserve(attempt == 0 ? keys : once.size());
    const auto take = [&](KeyHash key, std::uint32_t value) {
      mixed.push_back((remix(key, family) & ~std::uint64_t{shape.value_mask()}) | value);
    };
    if (attempt == 0)
      for_each_key(groups, take);
    else
      for_each_key(once, take);
    RibbonRetrieval table(shape, layer, next);
    if (table.solve(std::move(mixed))) return table;
    if (attempt == 0) once = TRY(each_key_once(groups, keys, name_of(Shape::kind)));
  }
  return too_many(once.size(), shape);
}

std::optional<RibbonFilter::Shape> RibbonFilter::shape_for(double keys, std::uint64_t bits) noexcept {
  for (unsigned f = fingerprint_bits_max; f > 0; --f)
    if (const auto shape = Shape::for_keys(keys, f); shape && shape->bits() <= bits) return shape;
  return std::nullopt;
}

std::optional<RibbonFilter::Shape> RibbonFilter::shape_for_rate(double keys, double rate) noexcept {
  if (!(rate > 0)) return std::nullopt;
  const double bits = std::max(1.0, std::ceil(-std::log2(rate)));
  if (bits > fingerprint_bits_max) return std::nullopt;
  return Shape::for_keys(keys, static_cast<unsigned>(bits));
}

Result<RibbonFilter> RibbonFilter::build(std::span<const KeyHash> keys, const Shape &shape,
                                         std::uint64_t layer, std::uint64_t seed) {
  TRY(check(shape));
  for (unsigned attempt = 0; attempt < ribbon_seeds_max; ++attempt) {
    const std::uint64_t next = remix({seed}, attempt), family = View::family(layer, next);
    std::vector<std::uint64_t> mixed(keys.size());
    std::ranges::transform(keys, mixed.begin(), [&](KeyHash key) { return remix(key, family); });
    RibbonFilter table(shape, layer, next);
    if (table.solve(std::move(mixed))) return table;
  }
  return too_many(keys.size(), shape);
}

} // namespace weir::build
