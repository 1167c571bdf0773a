// Builds XOR and binary fuse filters: finds fingerprints for all slots so that every key's slots
// combine to its own.
//
// Keys are peeled off: a slot that only one key left uses can be given to that key, and the key leaves its
// other slots, which may so come to have one key only. In the reverse order each key finds the others
// settled and settles the one that it was given. Whether all keys come off depends on the seed; with the
// slots of Shape::for_keys() nearly every one serves, and another is tried otherwise.
//
//   memory while building: 12 bytes a key, 9 bytes a slot, and the filter
//
// A key given twice would never come off: when keys are left over, repeated ones are put out first.
#pragma once

#include "weir/filter/binary_fuse.hpp"
#include "weir/filter/xor_filter.hpp"

#include <numeric>

namespace weir::build {

inline constexpr unsigned peel_seeds_max = 64;

// The order in which keys came off, each with the slot that it was given.
struct Peeling {
  std::vector<std::uint64_t> mixed; // hashes
  std::vector<std::uint32_t> slots;
};

// Nothing when some keys do not come off. `mixed` in the order of their slots is fastest; the order in which they come off
// takes its place in memory.
template <class Shape>
[[nodiscard]] std::optional<Peeling> peel(const Shape &shape, std::vector<std::uint64_t> mixed) {
  const auto slots = static_cast<std::uint32_t>(shape.slots());
  std::vector<std::uint64_t> users(slots); // hashes of the keys that use a slot, xor-ed
  std::vector<std::uint8_t> degree(slots); // how many they are
  for (const std::uint64_t h : mixed)
    for (const std::uint32_t slot : shape.slots_of(h)) {
      users[slot] ^= h;
      if (++degree[slot] == 0) return std::nullopt; // one key over and over
    }
  const std::size_t keys = mixed.size();
  Peeling order;
  order.mixed = std::move(mixed);
  order.mixed.clear(); // which keeps its memory
  order.slots.reserve(keys);
  std::vector<std::uint32_t> open;
  for (std::uint32_t next = 0; next < slots; ++next) {
    if (degree[next] == 1) open.push_back(next);
    while (!open.empty()) {
      const std::uint32_t slot = open.back();
      open.pop_back();
      if (degree[slot] != 1) continue; // its key came off elsewhere
      const std::uint64_t h = users[slot];
      order.mixed.push_back(h);
      order.slots.push_back(slot);
      for (const std::uint32_t other : shape.slots_of(h)) {
        users[other] ^= h;
        if (--degree[other] == 1 && other != slot) open.push_back(other);
      }
    }
  }
  if (order.mixed.size() != keys) return std::nullopt;
  return order;
}

// Gives every slot its bits, last key first: `wanted(mixed hash)` is what a key's slots are to combine to.
template <class Shape, class Wanted>
void settle(const Peeling &order, const Shape &shape, unsigned slot_bits, std::byte *bytes, Wanted wanted) {
  const std::uint32_t mask = (std::uint32_t{1} << slot_bits) - 1;
  for (std::size_t i = order.mixed.size(); i-- > 0;) {
    std::uint32_t bits = wanted(order.mixed[i]);
    for (const std::uint32_t slot : shape.slots_of(order.mixed[i])) // its own is still 0
      bits ^= filter::peeled_load(bytes, std::uint64_t{slot} * slot_bits);
    const std::uint64_t at = std::uint64_t{order.slots[i]} * slot_bits;
    const auto word = load_unaligned<std::uint32_t>(bytes + at / 8) | (bits & mask) << at % 8;
    std::memcpy(bytes + at / 8, &word, sizeof word);
  }
}

// In the order of their upper bits, more or less: neighbours share cache lines. `each(take)` calls take(mixed hash)
// for every key, the same ones each time.
template <class Each> [[nodiscard]] std::vector<std::uint64_t> in_slot_order(std::size_t keys, Each each) {
  constexpr unsigned bucket_bits = 11, shift = 64 - bucket_bits;
  std::vector<std::size_t> ends(std::size_t{1} << bucket_bits);
  each([&](std::uint64_t h) { ++ends[h >> shift]; });
  std::partial_sum(ends.begin(), ends.end(), ends.begin());
  std::vector<std::uint64_t> mixed(keys);
  each([&](std::uint64_t h) { mixed[--ends[h >> shift]] = h; });
  return mixed;
}

template <class V> class PeeledFilter : public filter::OwnedFilter<V> {
  using Base = filter::OwnedFilter<V>;

public:
  using typename Base::Shape;
  static constexpr unsigned fingerprint_bits_max = filter::peeled_fingerprint_bits_max;

  // The same for any number of keys.
  [[nodiscard]] static double rate(const Shape &shape, double /*keys*/) noexcept {
    return std::exp2(-static_cast<double>(shape.fingerprint_bits));
  }
  [[nodiscard]] static std::optional<Shape> shape_for(double keys, std::uint64_t bits) noexcept {
    for (unsigned f = fingerprint_bits_max; f > 0; --f)
      if (const auto shape = Shape::for_keys(keys, f); shape && shape->bits() <= bits) return shape;
    return std::nullopt;
  }
  [[nodiscard]] static std::optional<Shape> shape_for_rate(double keys, double rate) noexcept {
    if (!(rate > 0)) return std::nullopt;
    const double bits = std::max(1.0, std::ceil(-std::log2(rate)));
    if (bits > fingerprint_bits_max) return std::nullopt;
    return Shape::for_keys(keys, static_cast<unsigned>(bits));
  }

  // The seeds tried follow from `seed`. Errors: usage, for an impossible shape, or one in which none of
  // 64 seeds finds a place for every key.
  [[nodiscard]] static Result<PeeledFilter> build(std::span<const KeyHash> keys, const Shape &shape,
                                                  std::uint64_t layer = 0, std::uint64_t seed = 0) {
    TRY(Base::check(shape));
    std::vector<KeyHash> once; // filled when keys turn out to be repeated
    for (unsigned attempt = 0; attempt < peel_seeds_max; ++attempt) {
      const std::uint64_t next = remix({seed}, attempt);
      const auto each = [keys, family = V::family(layer, next)](auto take) {
        for (const KeyHash key : keys) take(remix(key, family));
      };
      if (const auto order = peel(shape, in_slot_order(keys.size(), each)))
        return PeeledFilter(shape, layer, next, *order);
      if (attempt > 0) continue;
      once.assign(keys.begin(), keys.end());
      std::ranges::sort(once, {}, &KeyHash::bits);
      const auto rest = std::ranges::unique(once);
      once.erase(rest.begin(), rest.end());
      keys = once;
    }
    return fail(Errc::usage, std::string(name_of(Shape::kind)) + ": " + std::to_string(keys.size()) +
                                 " keys find no place in " + std::to_string(shape.slots()) +
                                 " slots, give it more");
  }

private:
  PeeledFilter(const Shape &shape, std::uint64_t layer, std::uint64_t seed, const Peeling &order)
      : Base(shape, layer, seed) {
    const unsigned f = shape.fingerprint_bits;
    settle(order, shape, f, this->memory_.cells(), [f](std::uint64_t h) { return V::fingerprint_of(h, f); });
    this->memory_.set_keys(order.mixed.size());
  }
};

using XorFilter = PeeledFilter<filter::XorView>;
using BinaryFuse = PeeledFilter<filter::BinaryFuseView>;
using BinaryFuse4 = PeeledFilter<filter::BinaryFuse4View>;

} // namespace weir::build
