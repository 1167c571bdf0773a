// Addresses that a worker met lately, as 32 bits each in a table whose size is chosen once: a tag, a time and whether
// control was told. Four places make a set, and a newcomer takes the one that was met longest ago; were there
// but one, a host that comes all the time would hide for ever an address that shares its place with it.
//
//   first    not met for a minute or two, or forgotten: other addresses have the places
//   again    met before, and control has not been told
//   silent   control was told within the last seconds
//
// An address is taken for one of four others with a probability of 2^-18 at most. The hash is salted with
// what the caller changes: a new salt forgets everything.
#pragma once

#include "weir/base/hash.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace weir::dataplane {

class SeenLately {
public:
  static constexpr std::size_t places = std::size_t{1} << 20, places_least = 4096;
  static constexpr std::uint32_t ways = 4; // of a set of 16 bytes, within a line
  static constexpr std::uint32_t ticks_a_second = 4;
  static constexpr std::uint32_t remembered_ticks = 120 * ticks_a_second;
  static constexpr std::uint32_t silent_ticks = 4 * ticks_a_second;
  enum class Sight : std::uint8_t { first, again, silent };

  // Room for so many; a power of two up to `places`.
  explicit SeenLately(std::uint64_t room = places)
      : table_(bytes_for(room) / sizeof(Set)), mask_(static_cast<std::uint32_t>(table_.size() - 1)) {}
  [[nodiscard]] static std::uint64_t bytes_for(std::uint64_t room) noexcept {
    return std::bit_ceil(std::clamp<std::uint64_t>(room, places_least, places)) * sizeof(std::uint32_t);
  }

  struct Place {
    std::uint32_t set = 0, tag = 0, way = 0; // the way is known once it has been met
  };
  [[nodiscard]] static Place place_of(KeyHash host, std::uint64_t salt) noexcept {
    return place_of({remix(host, salt)});
  }
  [[nodiscard]] static Place place_of(KeyHash key) noexcept {
    return {static_cast<std::uint32_t>(key.bits % (places / ways)),
            static_cast<std::uint32_t>(key.bits >> (64 - tag_bits))};
  }
  void prefetch(const Place &place) const noexcept { __builtin_prefetch(&table_[place.set & mask_], 1); }

  // From now on it has been met.
  [[nodiscard]] Sight meet(Place &place, std::uint32_t tick) noexcept {
    Set &set = table_[place.set & mask_];
    std::uint32_t oldest = 0;
    for (std::uint32_t i = 0; i < ways; ++i) {
      // Of those that are equally old not the same each time.
      const std::uint32_t way = (place.tag + i) % ways;
      const std::uint32_t entry = set[way], age = age_of(entry, tick);
      if (age <= remembered_ticks && entry >> (32 - tag_bits) == place.tag) {
        place.way = way;
        if ((entry & told_bit) != 0 && age <= silent_ticks) return Sight::silent;
        set[way] = entry_of(place, tick);
        return Sight::again;
      }
      if (age > oldest) {
        oldest = age;
        place.way = way;
      }
    }
    if (oldest == 0) place.way = place.tag % ways;
    set[place.way] = entry_of(place, tick);
    return Sight::first;
  }
  // Behind meet().
  void told(const Place &place) noexcept { table_[place.set & mask_][place.way] |= told_bit; }

private:
  static constexpr unsigned tag_bits = 20, tick_bits = 10;
  static constexpr std::uint32_t tick_mask = (1u << tick_bits) - 1, told_bit = 1u << tick_bits,
                                 in_use = 1u << (tick_bits + 1);
  static_assert(remembered_ticks <= tick_mask);
  struct alignas(ways * sizeof(std::uint32_t)) Set : std::array<std::uint32_t, ways> {};

  [[nodiscard]] static std::uint32_t age_of(std::uint32_t entry, std::uint32_t tick) noexcept {
    return (entry & in_use) != 0 ? (tick - entry) & tick_mask : tick_mask + 1;
  }
  [[nodiscard]] static std::uint32_t entry_of(const Place &place, std::uint32_t tick) noexcept {
    return place.tag << (32 - tag_bits) | in_use | (tick & tick_mask);
  }
  std::vector<Set> table_; // touched here, not in the middle of a burst
  std::uint32_t mask_;
};

} // namespace weir::dataplane
