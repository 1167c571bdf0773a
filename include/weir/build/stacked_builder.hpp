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
// A base filter that changes has make(shape, layer) and insert(); one that does not has
// build(keys, shape, layer, seed). Layers are numbered from 1, which gives each its own hash functions.
//
// Errors: usage, for an even number of layers and for shapes that cannot be; needs_rebuild, when a layer
// has no room.
#pragma once

#include "weir/filter/stacked.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace weir::build {

// What building did, in operations on single layers.
struct StackCounts {
  std::vector<std::uint64_t> keys; // in each layer
  std::uint64_t positive_inserts = 0, positive_lookups = 0, known_inserts = 0, known_lookups = 0;
  std::uint64_t known_left = 0; // known negatives that the whole stack accepts
};

template <class Odd, class Even = Odd> struct BuiltStack {
  filter::Stacked<Odd, Even> stack;
  StackCounts counts;
};

// A layer of either kind.
template <class Filter>
[[nodiscard]] Result<Filter> build_layer(const typename Filter::Shape &shape, std::uint64_t layer,
                                         std::span<const KeyHash> keys, std::uint64_t seed) {
  if constexpr (requires { Filter::build(keys, shape, layer, seed); }) {
    return Filter::build(keys, shape, layer, seed);
  } else {
    auto made = Filter::make(shape, layer);
    for (const KeyHash key : keys) {
      if (!made) break;
      if constexpr (std::is_void_v<decltype(made->insert(key))>)
        made->insert(key);
      else if (const Status in = made->insert(key); !in)
        made = std::unexpected(in.error());
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

template <class Filter, class ShapeOf>
[[nodiscard]] Status stack_layer(std::size_t layer, ShapeOf &shape_of, std::vector<Filter> &layers,
                                 std::span<const KeyHash> keys, std::uint64_t seed) {
  const Result<typename Filter::Shape> shape = shape_of.template operator()<Filter>(layer, keys.size());
  if (!shape) return in_layer(layer, shape.error());
  auto made = build_layer<Filter>(*shape, layer, keys, seed);
  if (!made) return in_layer(layer, made.error());
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
  std::vector<KeyHash> positives_left, known_left; // unused while the spans are what the caller gave
  for (std::size_t layer = 1; layer <= depth; ++layer) {
    counts.keys.push_back(layer % 2 == 1 ? positives.size() : known.size());
    if (layer % 2 == 1) {
      if (const Status on = stack_layer(layer, shape_of, odd, positives, seed); !on)
        return std::unexpected(on.error());
      counts.positive_inserts += positives.size();
      counts.known_lookups += known.size();
      known_left = accepted_by(odd.back(), known);
      known = known_left;
    } else {
      if (const Status on = stack_layer(layer, shape_of, even, known, seed); !on)
        return std::unexpected(on.error());
      counts.known_inserts += known.size();
      counts.positive_lookups += positives.size();
      positives_left = accepted_by(even.back(), positives);
      positives = positives_left;
    }
  }
  counts.known_left = known.size();
  auto stack = filter::Stacked<Odd, Even>::of(std::move(odd), std::move(even));
  if (!stack) return std::unexpected(stack.error());
  return BuiltStack<Odd, Even>{std::move(*stack), std::move(counts)};
}

} // namespace weir::build
