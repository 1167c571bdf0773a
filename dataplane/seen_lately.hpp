// Addresses that a worker met lately, as 32 bits each in a table of fixed size where the newest wins: a tag,
// a time and whether control was told.
//
//   first    not met for a minute or two, or forgotten: another address has the place
//   again    met before, and control has not been told
//   silent   control was told within the last seconds
//
// Two addresses are taken for one another with a probability of 2^-20 when they share a place. The hash is
// salted with what the caller changes: a new salt forgets everything.
#pragma once

#include "weir/base/hash.hpp"
#include "weir/key/address.hpp"

#include <cstddef>
#include <cstdint>
#include <vector>

namespace weir::dataplane {

class SeenLately {
public:
  static constexpr std::size_t places = std::size_t{1} << 20;
  static constexpr std::uint32_t ticks_a_second = 4;
  static constexpr std::uint32_t remembered_ticks = 120 * ticks_a_second;
  static constexpr std::uint32_t silent_ticks = 4 * ticks_a_second;
  enum class Sight : std::uint8_t { first, again, silent };

  SeenLately() : table_(places) {}

  struct Place {
    std::uint32_t at = 0, tag = 0;
  };
  [[nodiscard]] Place place_of(const Address &address, std::uint64_t salt) const noexcept {
    const std::uint64_t h = XXH3_64bits_withSeed(address.bytes.data(), address.bytes.size(), salt);
    return {static_cast<std::uint32_t>(h % places), static_cast<std::uint32_t>(h >> (64 - tag_bits))};
  }
  void prefetch(Place place) const noexcept { __builtin_prefetch(&table_[place.at], 1); }

  // From now on it has been met.
  [[nodiscard]] Sight meet(Place place, std::uint32_t tick) noexcept {
    std::uint32_t &entry = table_[place.at];
    const std::uint32_t age = (tick - entry) & tick_mask;
    const bool known =
        entry >> (32 - tag_bits) == place.tag && (entry & in_use) != 0 && age <= remembered_ticks;
    if (known && (entry & told_bit) != 0 && age <= silent_ticks) return Sight::silent;
    entry = place.tag << (32 - tag_bits) | in_use | (tick & tick_mask);
    return known ? Sight::again : Sight::first;
  }
  void told(Place place) noexcept { table_[place.at] |= told_bit; }

private:
  static constexpr unsigned tag_bits = 20, tick_bits = 10;
  static constexpr std::uint32_t tick_mask = (1u << tick_bits) - 1, told_bit = 1u << tick_bits,
                                 in_use = 1u << (tick_bits + 1);
  static_assert(remembered_ticks <= tick_mask);
  std::vector<std::uint32_t> table_; // touched here, not in the middle of a burst
};

} // namespace weir::dataplane
