// One key in 64, remembered exactly beside a memory that errs: what its errors are, in operation.
//
//   within   told in the last `gap` insertions: not to know it is a miss
//   before   told earlier: the memory may know it or not
//   never    not told in the last eight gaps, as far as there is room: to know it is a wrong accept
//
// A table of fixed size; a key has a window of four places, and what was told longest ago makes room. Words are loaded and
// stored whole, so that threads that tell at once lose an entry at worst: figures, not verdicts.
#pragma once

#include "weir/base/hash.hpp"

#include <algorithm>
#include <bit>
#include <cstdint>
#include <span>
#include <vector>

namespace weir::dataplane {

class Shadow {
public:
  static constexpr std::uint64_t one_in = 64;
  enum class Knows : std::uint8_t { within, before, never };

  explicit Shadow(std::uint64_t gap)
      : gap_(gap), places_(std::bit_ceil(std::max<std::uint64_t>(16 * gap / one_in, 64))) {}

  [[nodiscard]] static bool has(KeyHash key) noexcept { return remix(key, own_view) % one_in == 0; }
  // `now`: insertions so far.
  void tell(KeyHash key, std::uint64_t now) noexcept {
    const std::span<Place> places = window(key);
    Place *at = &places.front();
    for (Place &place : places) {
      if (load(place.key) == key.bits) {
        at = &place;
        break;
      }
      if (load(place.told) < load(at->told)) at = &place;
    }
    __atomic_store_n(&at->key, key.bits, __ATOMIC_RELAXED);
    __atomic_store_n(&at->told, now + 1, __ATOMIC_RELAXED);
  }
  [[nodiscard]] Knows knows(KeyHash key, std::uint64_t now) noexcept {
    for (const Place &place : window(key)) {
      if (load(place.key) != key.bits || load(place.told) == 0) continue;
      const std::uint64_t ago = now + 1 - std::min(load(place.told), now + 1);
      return ago <= gap_ ? Knows::within : ago <= 8 * gap_ ? Knows::before : Knows::never;
    }
    return Knows::never;
  }

private:
  static constexpr std::uint64_t own_view = 0x5AAD03EE5EEDull;
  static constexpr std::size_t window_places = 4;
  struct Place {
    std::uint64_t key = 0, told = 0; // told: when, plus one
  };

  [[nodiscard]] static std::uint64_t load(const std::uint64_t &word) noexcept {
    return __atomic_load_n(&word, __ATOMIC_RELAXED);
  }
  [[nodiscard]] std::span<Place> window(KeyHash key) noexcept {
    const std::uint64_t windows = places_.size() / window_places;
    return std::span(places_).subspan((remix(key, own_view) >> 8) % windows * window_places, window_places);
  }

  std::uint64_t gap_;
  std::vector<Place> places_;
};

} // namespace weir::dataplane
