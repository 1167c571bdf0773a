// Which sources send more than so many packets a second? Of a worker alone: a table with a place for each
// source, whose packets count up what other sources of the place count down [Misra, Gries 1982, with one counter a place]. A
// source that sends more than all others of its place together is found; rates are never overstated.
#pragma once

#include "weir/base/hash.hpp"

#include <algorithm>
#include <bit>
#include <cstdint>
#include <vector>

namespace weir::dataplane {

class SourceRates {
public:
  static constexpr std::size_t places = std::size_t{1} << 18, places_least = 4096;

  // Room for so many; a power of two up to `places`.
  explicit SourceRates(std::uint64_t room = places)
      : table_(bytes_for(room) / sizeof(Place)), mask_(table_.size() - 1) {}
  [[nodiscard]] static std::uint64_t bytes_for(std::uint64_t room) noexcept {
    return std::bit_ceil(std::clamp<std::uint64_t>(room, places_least, places)) * sizeof(Place);
  }

  void prefetch(KeyHash source) const noexcept { __builtin_prefetch(&table_[source.bits & mask_], 1); }
  // A packet of it in this second. True with the packet that exceeds `most`, and with each beyond.
  [[nodiscard]] bool exceeds(KeyHash source, std::uint32_t second, std::uint32_t most) noexcept {
    Place &place = table_[source.bits & mask_];
    const auto tag = static_cast<std::uint32_t>(source.bits >> 32);
    if (place.second != second) place = {0, second, 0};
    if (place.count == 0) place.tag = tag;
    if (place.tag != tag) {
      --place.count;
      return false;
    }
    return ++place.count > most;
  }

private:
  struct alignas(16) Place {
    std::uint32_t tag = 0, second = 0, count = 0;
  };
  std::vector<Place> table_; // touched here, not in the middle of a burst
  std::uint64_t mask_;
};

} // namespace weir::dataplane
