// Builds a stacked filter layer by layer: one set is put into a layer, the other is asked of it, and what
// the layer accepts wrongly goes on [Stacked Alg. 1].
//
//   positives  ---- all ----> layer 1            layer 3 <--- accepted by layer 2 ---
//   negatives  ---- asked of layer 1 ---> accepted ones into layer 2 ---> ...
//
// A layer's shape is asked for when its keys are known: shape_of.operator()<Filter>(layer, keys). How many
// come so far is a matter of chance, and a layer that is a little too full lets too many through to the
// layer after the next, which is fuller still: deep stacks of fixed shapes end with useless layers.
//
// A stack of fixed depth has an odd number of layers: behind an even one, positives that it accepts would be missed. The chain
// that goes on until nobody is left may end with either (chained_and_not_builder.hpp).
//
// A base filter that changes has make(shape, layer) and insert(); one that does not has
// build(keys, shape, layer, seed). Layers are numbered from 1, which gives each its own hash functions.
//
// A table that refuses a key is built again with other functions, and from the third time on a little larger
// as long as shape_of.bits_max<Filter>(layer, bits used so far) allows it.
//
// Errors: usage, for an even number of layers and for shapes that cannot be; needs_rebuild, when a layer
// has no room, whatever was tried.
#pragma once

#include "weir/build/stacked_model.hpp"
#include "weir/filter/stacked_view.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace weir::build {

// What building did, in operations on single layers.
struct StackCounts {
  std::vector<std::uint64_t> keys; // in each layer
  std::uint64_t positive_inserts = 0, positive_lookups = 0, known_inserts = 0, known_lookups = 0;
  std::uint64_t known = 0;      // known negatives given
  std::uint64_t known_left = 0; // known negatives that the whole stack accepts
};

template <class Odd, class Even = Odd> struct BuiltStack {
  filter::Stacked<Odd, Even> stack;
  StackCounts counts;
};

// Numbers of layers that are built again: every one of its own, and none that another layer has.
inline constexpr unsigned layer_attempts_max = 8, layer_attempts_same = 2;
[[nodiscard]] constexpr std::uint64_t layer_attempt(std::uint64_t layer, unsigned attempt) noexcept {
  return layer + std::uint64_t{256} * attempt;
}
static_assert(filter::stack_layers_max < 256);

// By a sixty-fourth; the same where a kind has no slots that keys could lack.
template <class Shape> [[nodiscard]] Shape enlarged(Shape shape) noexcept {
  if constexpr (requires { shape.buckets; }) shape.buckets += shape.buckets / 64 + 1;
  if constexpr (requires { shape.remainder_bits; }) shape.slots += shape.slots / 64 + 1;
  return shape;
}

template <class Filter>
[[nodiscard]] Result<Filter> fill_layer(const typename Filter::Shape &shape, std::uint64_t layer,
                                        std::span<const KeyHash> keys) {
  auto made = Filter::make(shape, layer);
  for (const KeyHash key : keys) {
    if (!made) break;
    if (const Status in = filter::try_insert(*made, key); !in) made = std::unexpected(in.error());
  }
  return made;
}

// A layer of either kind, of `shape` or of up to `bits_max` bits if that refuses keys.
template <class Filter>
[[nodiscard]] Result<Filter> build_layer(const typename Filter::Shape &shape, std::uint64_t layer,
                                         std::span<const KeyHash> keys, std::uint64_t seed,
                                         std::uint64_t bits_max = 0) {
  if constexpr (requires { Filter::build(keys, shape, layer, seed); }) {
    return Filter::build(keys, shape, layer, seed); // tries again by itself
  } else {
    auto made = fill_layer<Filter>(shape, layer, keys);
    typename Filter::Shape next = shape;
    for (unsigned attempt = 1; attempt < layer_attempts_max; ++attempt) {
      if (made || made.error().code != Errc::needs_rebuild) break;
      const typename Filter::Shape larger = enlarged(next);
      if (attempt >= layer_attempts_same && larger.bits() <= bits_max) next = larger;
      made = fill_layer<Filter>(next, layer_attempt(layer, attempt), keys);
    }
    return made;
  }
}

// Those that the layer accepts, in the same order.
template <class Filter>
[[nodiscard]] std::vector<KeyHash> accepted_by(const Filter &layer, std::span<const KeyHash> keys) {
  std::vector<KeyHash> accepted;
  for (std::size_t at = 0; at < keys.size(); at += filter::batch_max) {
    const auto batch = keys.subspan(at, std::min(filter::batch_max, keys.size() - at));
    for (filter::HitMask hits = layer.contains_batch(batch); hits != 0; hits &= hits - 1)
      accepted.push_back(batch[static_cast<std::size_t>(std::countr_zero(hits))]);
  }
  return accepted;
}

[[nodiscard]] inline std::unexpected<Error> in_layer(std::size_t layer, const Error &error) {
  return fail(error.code, "layer " + std::to_string(layer) + ": " + error.message);
}

// The loop of every chain with `& ~` [Stacked Alg. 1] [Chained Alg. 2]. put(layer, own, others) makes layer 1, 2, ... of `own`,
// positives and negatives in turn, and returns those of `others` that the layer accepts: they are the next one's own.
// Goes on while goes_on(layer, own, others) says so. Errors: those of put().
template <class GoesOn, class Put>
[[nodiscard]] Status chain_layers(std::span<const KeyHash> positives, std::span<const KeyHash> negatives,
                                  GoesOn goes_on, Put put) {
  std::vector<KeyHash> left[2]; // unused while the spans are what the caller gave
  std::span<const KeyHash> own = positives, others = negatives;
  for (std::size_t layer = 1; goes_on(layer, own, others); ++layer) {
    std::vector<KeyHash> accepted = TRY(put(layer, own, others));
    others = own;
    own = left[layer % 2] = std::move(accepted);
  }
  return {};
}

template <class Filter, class ShapeOf>
[[nodiscard]] Status stack_layer(std::size_t layer, ShapeOf &shape_of, std::vector<Filter> &layers,
                                 std::span<const KeyHash> keys, std::uint64_t seed, std::uint64_t &used) {
  const Result<typename Filter::Shape> shape = shape_of.template operator()<Filter>(layer, keys.size());
  if (!shape) return in_layer(layer, shape.error());
  std::uint64_t bits_max = 0;
  if constexpr (requires { shape_of.template bits_max<Filter>(layer, used); })
    bits_max = shape_of.template bits_max<Filter>(layer, used);
  auto made = build_layer<Filter>(*shape, layer, keys, seed, bits_max);
  if (!made) return in_layer(layer, made.error());
  used += 8 * round_up(made->section().size(), cache_line_bytes);
  layers.push_back(std::move(*made));
  return {};
}

// `seed` is for bases that are built at once and may have to try again.
template <class Odd, class Even = Odd, class ShapeOf>
[[nodiscard]] Result<BuiltStack<Odd, Even>>
build_stack(unsigned depth, ShapeOf shape_of, std::span<const KeyHash> positives,
            std::span<const KeyHash> known, std::uint64_t seed = 1) {
  if (depth % 2 == 0)
    return fail(Errc::usage, "a stack has an odd number of layers, not " + std::to_string(depth));
  std::vector<Odd> odd;
  std::vector<Even> even;
  StackCounts counts;
  counts.known = known.size();
  std::uint64_t used = 8 * filter::stack_layers_offset(depth); // bits of the section
  using Accepted = Result<std::vector<KeyHash>>;
  const auto put = [&](std::size_t layer, std::span<const KeyHash> own,
                       std::span<const KeyHash> others) -> Accepted {
    const bool of_positives = layer % 2 == 1;
    counts.keys.push_back(own.size());
    (of_positives ? counts.positive_inserts : counts.known_inserts) += own.size();
    (of_positives ? counts.known_lookups : counts.positive_lookups) += others.size();
    const auto in = [&](auto &layers) -> Accepted {
      TRY(stack_layer(layer, shape_of, layers, own, seed, used));
      return accepted_by(layers.back(), others);
    };
    Accepted accepted = of_positives ? in(odd) : in(even);
    if (accepted && of_positives) counts.known_left = accepted->size();
    return accepted;
  };
  const auto goes_on = [&](std::size_t layer, const auto &, const auto &) { return layer <= depth; };
  TRY(chain_layers(positives, known, goes_on, put));
  auto stack = TRY(filter::Stacked<Odd, Even>::of(std::move(odd), std::move(even)));
  return BuiltStack<Odd, Even>{std::move(stack), std::move(counts)};
}

// ---- shapes of a plan ----------------------------------------------------------------------------

// A table whose fingerprints or remainders have so many bits, as full as the model says.
template <class Filter>
[[nodiscard]] std::optional<typename Filter::Shape> shape_of_digits(double keys, unsigned digits) {
  using Shape = typename Filter::Shape;
  if constexpr (requires { Shape::for_keys(keys, digits); }) {
    return Shape::for_keys(keys, digits);
  } else if constexpr (requires(Shape s) { s.remainder_bits; }) {
    const double slots = keys / quotient_load(digits) + std::sqrt(keys) / 2;
    return Shape{static_cast<std::uint32_t>(std::ceil(slots)) + 8, digits};
  } else if constexpr (requires(Shape s) { s.buckets; }) {
    // Small tables are unlucky more often.
    const double slots = (keys + std::sqrt(keys)) / cuckoo_load(digits);
    return Shape{static_cast<std::uint32_t>(std::ceil(slots / Filter::slots)) + 1, digits};
  } else {
    return std::nullopt; // a number of bits makes no shape
  }
}

// What a planned layer needs for the keys that it really gets. Errors: usage, when the base has no such
// shape.
template <class Filter>
[[nodiscard]] Result<typename Filter::Shape> layer_shape(const LayerSize &planned, double keys) {
  std::optional<typename Filter::Shape> shape;
  keys = std::max(keys, 1.0);
  if (planned.digits != 0) {
    shape = shape_of_digits<Filter>(keys, planned.digits);
  } else {
    const double bits = planned.bits * keys / std::max(planned.keys, 1.0);
    constexpr double least = requires(typename Filter::Shape s) { s.blocks; } ? 256 : 64;
    shape = Filter::shape_for(keys, static_cast<std::uint64_t>(std::max(bits, least)));
  }
  if (shape) return *shape;
  return fail(Errc::usage, "no filter of this kind for " + std::to_string(static_cast<std::uint64_t>(keys)) +
                               " keys has the shape that was planned");
}

// For build_stack(). `room` is how many times the positives of the build are to fit.
class PlannedShapes {
public:
  explicit PlannedShapes(std::span<const LayerSize> layers, double room = 1) : layers_(layers), room_(room) {}

  // Layers that refuse a key may become larger while the section keeps to so many bits.
  [[nodiscard]] PlannedShapes within(std::uint64_t bits) const {
    PlannedShapes shapes = *this;
    shapes.bits_ = bits;
    return shapes;
  }

  template <class Filter>
  [[nodiscard]] Result<typename Filter::Shape> operator()(std::size_t layer, std::uint64_t keys) const {
    return layer_shape<Filter>(layers_[layer - 1], static_cast<double>(keys) * (layer % 2 == 1 ? room_ : 1));
  }
  // What layers below do not need of the bits that are left.
  template <class Filter>
  [[nodiscard]] std::uint64_t bits_max(std::size_t layer, std::uint64_t used) const noexcept {
    constexpr double around = 8.0 * (sizeof(filter::FilterHeader) + cache_line_bytes); // header, and rounding
    double left = static_cast<double>(bits_) - static_cast<double>(used) - around;
    for (std::size_t below = layer; below < layers_.size(); ++below)
      left -= layers_[below].bits * (below % 2 == 0 ? room_ : 1) + around;
    return static_cast<std::uint64_t>(std::max(left, 0.0));
  }

private:
  std::span<const LayerSize> layers_;
  double room_;
  std::uint64_t bits_ = 0;
};

// ---- as a section --------------------------------------------------------------------------------

template <class Odd, class Even>
[[nodiscard]] std::vector<Bytes> stack_layer_sections(const filter::Stacked<Odd, Even> &stack) {
  std::vector<Bytes> sections;
  for (std::size_t i = 0; i < stack.odd().size(); ++i) {
    sections.push_back(stack.odd()[i].section());
    if (i < stack.even().size()) sections.push_back(stack.even()[i].section());
  }
  return sections;
}
template <class Odd, class Even>
[[nodiscard]] std::uint64_t stack_section_bytes(const filter::Stacked<Odd, Even> &stack) {
  std::uint64_t bytes = filter::stack_layers_offset(stack.depth());
  for (const Bytes layer : stack_layer_sections(stack)) bytes += round_up(layer.size(), cache_line_bytes);
  return bytes;
}
// `to` has stack_section_bytes() and is all zero.
template <class Odd, class Even>
void write_stack(const filter::Stacked<Odd, Even> &stack, const StackCounts &counts, MutableBytes to) {
  filter::StackHeader header = filter::stack_header(stack.depth());
  header.positives = counts.keys[0];
  header.known = counts.known;
  std::memcpy(to.data(), &header, sizeof header);
  std::uint64_t at = filter::stack_layers_offset(stack.depth());
  std::size_t table = sizeof header;
  for (const Bytes layer : stack_layer_sections(stack)) {
    const filter::StackLayerEntry entry{at, layer.size()};
    std::memcpy(to.data() + table, &entry, sizeof entry);
    std::memcpy(to.data() + at, layer.data(), layer.size());
    table += sizeof entry;
    at += round_up(layer.size(), cache_line_bytes);
  }
}

} // namespace weir::build
