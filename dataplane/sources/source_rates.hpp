// Which sources send more than so many packets a second? Of a worker alone: a table of fixed size with a place for each
// source, whose packets count up what other sources of the place count down [Misra, Gries 1982, with one counter a place]. A
// source that sends more than all others of its place together is found; rates are never overstated.
#pragma once

#include "weir/base/hash.hpp"

#include <cstdint>
#include <vector>

namespace weir::dataplane {

class SourceRates {
public:
  static constexpr std::size_t places = std::size_t{1} << 18;

  SourceRates() : table_(places) {}

  void prefetch(KeyHash source) const noexcept { __builtin_prefetch(&table_[source.bits % places], 1); }
  // A packet of it in this second. True with the packet that exceeds `most`, and with each beyond.
  [[nodiscard]] bool exceeds(KeyHash source, std::uint32_t second, std::uint32_t most) noexcept {
    Place &place = table_[source.bits % places];
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
};

} // namespace weir::dataplane
