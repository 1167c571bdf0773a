// Stacked filter: "is this key absent?" with fewer wrong answers where questions are most frequent
// [Stacked §3].
//
//   layer 1  positives                                     rejects: absent
//   layer 2  known negatives that layer 1 accepts          rejects: present
//   layer 3  positives that layer 2 accepts                rejects: absent
//   ...      any number of layers. None rejects: present after an odd number, absent after an even one
//
// The first layer that rejects decides. A known negative is in every even layer that it meets, so it is
// accepted only if all odd layers accept it: their rates multiply. Deep layers hold few keys and cost
// little.
//
//   errors    with rates a1, a2 ...: a known negative passes with a1 a3 a5 ..., any other one with
//             a1 (1 - a2) + a1 a2 a3 (1 - a4) + ... + a1 a2 a3 ...; a present key is never missed
//   cost      layer 1 alone for most absent keys, layers 1 and 2 for most present ones
//   changes   positives come and go where the base filter lets them [Stacked Alg. 3, 4]. What layer 1 so
//             comes to accept beyond its first state is not in layer 2: the rate of known negatives
//             drifts until the next build, never the answers about present keys
//   refused   known negatives after building: a positive that layer 2 rejects has no entry in layer 3
//   erase     only of keys that are present
//
// `Odd` and `Even` are any filters with contains() and contains_batch(); even layers never change, so they
// may be of a kind that cannot. Each layer needs hash functions of its own, or what layer 1 accepts
// wrongly layer 3 accepts too: build/stacked_builder.hpp numbers them.
//
// One thread at a time while keys change, unless the base filter says otherwise.
#pragma once

#include "weir/base/hash.hpp"
#include "weir/base/result.hpp"
#include "weir/filter/and_not.hpp"
#include "weir/filter/base_filter.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <concepts>
#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace weir::filter {

template <class F>
concept StackLayer = requires(const F f, KeyHash key, std::span<const KeyHash> keys) {
  { f.contains(key) } -> std::same_as<bool>;
  { f.contains_batch(keys) } -> std::same_as<HitMask>;
};
template <class F>
concept ErasingLayer = requires(F f, KeyHash key) {
  { f.erase(key) } -> std::same_as<bool>;
};

// Keys of a batch that no layer has settled yet, side by side in pairs. They move together only when a
// pair becomes free, and a copy of the last one fills up the last pair: so loops over the few that are left
// end where the processor expects it.
class OpenLanes {
public:
  explicit OpenLanes(std::span<const KeyHash> keys) noexcept : keys_(keys) {}

  // What to ask. May contain keys that are settled, or twice: their answers are to be ignored.
  [[nodiscard]] std::span<const KeyHash> keys() const noexcept { return keys_; }

  void accept(HitMask lanes) noexcept { accepted_ |= lanes; }
  [[nodiscard]] HitMask accepted() const noexcept { return done_ | in_batch(accepted_); } // bits of the batch

  // These alone are open, one at least. Returns them where they are from now on.
  [[nodiscard]] HitMask keep(HitMask lanes) noexcept {
    if (pairs(static_cast<std::size_t>(std::popcount(lanes))) == pairs(keys_.size())) return lanes;
    done_ |= in_batch(std::exchange(accepted_, 0));
    auto *room = reinterpret_cast<KeyHash *>(room_.data());
    std::size_t count = 0;
    for (; lanes != 0; lanes &= lanes - 1) {
      const auto from = static_cast<std::size_t>(std::countr_zero(lanes));
      bit_[count] = moved_ ? bit_[from] : lanes & -lanes;
      room[count] = keys_[from]; // never in front of itself
      ++count;
    }
    moved_ = true;
    room[count] = room[count - 1];
    keys_ = {room, pairs(count) * 2};
    return (HitMask{1} << count) - 1; // a pair became free, so they are fewer than a word has bits
  }

private:
  static constexpr std::size_t group = 2;
  [[nodiscard]] static constexpr std::size_t pairs(std::size_t lanes) noexcept { return (lanes + 1) / 2; }
  [[nodiscard]] HitMask in_batch(HitMask lanes) const noexcept {
    if (!moved_) return lanes;
    HitMask bits = 0;
    for (; lanes != 0; lanes &= lanes - 1) bits |= bit_[static_cast<std::size_t>(std::countr_zero(lanes))];
    return bits;
  }

  std::span<const KeyHash> keys_;
  HitMask accepted_ = 0, done_ = 0; // accepted: as lanes, and since they moved as bits
  bool moved_ = false;
  alignas(KeyHash) std::array<std::byte, sizeof(KeyHash) * (batch_max + 1)> room_; // nothing to clear
  std::array<HitMask, batch_max> bit_;
};

// and_not() for the keys of a batch: those in `hits`, one at least, which all layers before `from` accept.
// accepts(i, keys) is what layer i says of keys; none is asked about keys that one before has settled.
template <class Accepts>
[[nodiscard, gnu::always_inline]] inline HitMask and_not_batch(std::size_t from, std::size_t depth,
                                                               std::span<const KeyHash> keys, HitMask hits,
                                                               Accepts accepts) noexcept {
  OpenLanes lanes(keys);
  HitMask open = hits;
  for (std::size_t layer = from; layer < depth && open != 0; ++layer) {
    open = lanes.keep(open);
    const HitMask yes = accepts(layer, lanes.keys());
    if (layer % 2 != 0) lanes.accept(open & ~yes);
    open &= yes;
  }
  if (depth % 2 != 0) lanes.accept(open);
  return lanes.accepted();
}

// The answer for a key that the odd layer `at` accepts.
template <StackLayer Odd, StackLayer Even>
[[nodiscard]] bool stack_settles(std::span<const Odd> odd, std::span<const Even> even, std::size_t at,
                                 KeyHash key) noexcept {
  return and_not(2 * at + 1, odd.size() + even.size(), [&](std::size_t layer) {
    return layer % 2 == 0 ? odd[layer / 2].contains(key) : even[layer / 2].contains(key);
  });
}

// Questions to layers that stand in two rows, of one length or the odd one longer by one [Stacked Alg. 2].
template <StackLayer Odd, StackLayer Even>
[[nodiscard]] bool stack_contains(std::span<const Odd> odd, std::span<const Even> even,
                                  KeyHash key) noexcept {
  return odd[0].contains(key) && stack_settles(odd, even, 0, key);
}
// Layers that the question reaches.
template <StackLayer Odd, StackLayer Even>
[[nodiscard]] unsigned stack_probes(std::span<const Odd> odd, std::span<const Even> even,
                                    KeyHash key) noexcept {
  unsigned probes = 1;
  for (std::size_t i = 0; i < even.size(); ++i) {
    if (!odd[i].contains(key)) return probes;
    ++probes;
    if (!even[i].contains(key)) return probes;
    ++probes;
  }
  return std::min(probes, static_cast<unsigned>(odd.size() + even.size()));
}

// Goes on behind the odd layer `at`, which accepts `hits`, one key at least.
template <StackLayer Odd, StackLayer Even>
[[nodiscard, gnu::noinline]] HitMask stack_settles_batch(std::span<const Odd> odd, std::span<const Even> even,
                                                         std::size_t at, std::span<const KeyHash> keys,
                                                         HitMask hits) noexcept {
  return and_not_batch(2 * at + 1, odd.size() + even.size(), keys, hits,
                       [&](std::size_t layer, std::span<const KeyHash> open) {
                         return layer % 2 == 0 ? odd[layer / 2].contains_batch(open)
                                               : even[layer / 2].contains_batch(open);
                       });
}

// No layer is asked about keys that one before has settled.
template <StackLayer Odd, StackLayer Even>
[[nodiscard]] HitMask stack_contains_batch(std::span<const Odd> odd, std::span<const Even> even,
                                           std::span<const KeyHash> keys) noexcept {
  const HitMask hits = odd[0].contains_batch(keys);
  return even.empty() || hits == 0 ? hits : stack_settles_batch(odd, even, 0, keys, hits);
}

template <StackLayer Odd, StackLayer Even = Odd> class Stacked {
public:
  // Errors: usage, unless there are as many odd layers as even ones, or one more.
  [[nodiscard]] static Result<Stacked> of(std::vector<Odd> odd, std::vector<Even> even) {
    if (odd.empty() || odd.size() - even.size() > 1)
      return fail(Errc::usage, "a stack has as many layers of positives as of negatives, or one more, not " +
                                   std::to_string(odd.size()) + " and " + std::to_string(even.size()));
    return Stacked(std::move(odd), std::move(even));
  }

  [[nodiscard]] bool contains(KeyHash key) const noexcept {
    return stack_contains<Odd, Even>(odd_, even_, key);
  }
  [[nodiscard]] HitMask contains_batch(std::span<const KeyHash> keys) const noexcept {
    return stack_contains_batch<Odd, Even>(odd_, even_, keys);
  }
  [[nodiscard]] unsigned probes(KeyHash key) const noexcept {
    return stack_probes<Odd, Even>(odd_, even_, key);
  }

  // Errors: those of the base filter, with nothing changed: layers above the one that refuses give the key
  // back. Refused, of an even number of layers, for a key that the last one takes for a known negative.
  [[nodiscard]] Status insert(KeyHash key) {
    for (std::size_t i = 0; i < odd_.size(); ++i) {
      if (const Status in = try_insert(odd_[i], key); !in) {
        take_back(key, i);
        return fail(in.error().code, "layer " + std::to_string(2 * i + 1) + ": " + in.error().message);
      }
      if (i < even_.size() && !even_[i].contains(key)) return {};
    }
    if (odd_.size() != even_.size()) return {};
    take_back(key, odd_.size());
    return fail(Errc::refused, "the last layer holds negatives and takes the key for one of them: build the "
                               "stack again");
  }

  // False, and nothing changed, when the key certainly is absent.
  bool erase(KeyHash key) noexcept
    requires ErasingLayer<Odd>
  {
    std::size_t holds = 0; // odd layers that the key was put into
    bool on = true;
    for (; on && holds < odd_.size(); ++holds) {
      if (!odd_[holds].contains(key)) return false;
      on = holds < even_.size() && even_[holds].contains(key);
    }
    if (on) return false; // the last layer holds negatives and takes it for one
    for (std::size_t i = 0; i < holds; ++i) odd_[i].erase(key);
    return true;
  }

  // Errors: refused, always. Known negatives belong to the build.
  [[nodiscard]] Status learn(KeyHash) const {
    return fail(Errc::refused, "a stacked filter learns negatives when it is built, and never after: a "
                               "positive that layer 2 rejects has no entry in layer 3. Build it again");
  }

  [[nodiscard]] unsigned depth() const noexcept { return static_cast<unsigned>(odd_.size() + even_.size()); }
  [[nodiscard]] std::span<const Odd> odd() const noexcept { return odd_; }
  [[nodiscard]] std::span<const Even> even() const noexcept { return even_; }
  [[nodiscard]] std::uint64_t bits() const noexcept {
    std::uint64_t bits = 0;
    for (const Odd &layer : odd_) bits += layer.bits();
    for (const Even &layer : even_) bits += layer.bits();
    return bits;
  }

private:
  Stacked(std::vector<Odd> odd, std::vector<Even> even) : odd_(std::move(odd)), even_(std::move(even)) {}

  void take_back(KeyHash key, std::size_t layers) noexcept {
    if constexpr (ErasingLayer<Odd>)
      for (std::size_t i = 0; i < layers; ++i) odd_[i].erase(key);
  }

  std::vector<Odd> odd_;
  std::vector<Even> even_;
};

} // namespace weir::filter
