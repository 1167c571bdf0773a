// What the trees of offenders see of the elements of a burst, a row a feature.
#pragma once

#include "dataplane/packet/packets.hpp"
#include "weir/image/offenders.hpp"

#include <array>
#include <cstddef>
#include <span>

namespace weir::dataplane {

using OffenderRows = std::array<learn::FeatureRow, image::offender_feature_names.size()>;

// Column i is features_of(addresses[i], traits[i]) of the view, as far as its element has features; up to burst_packets_max of
// them. Byte by byte into the rows: an array in between is stored in parts and would be loaded before these have arrived.
inline void fill_rows(const image::OffendersView &view, std::span<const Address> addresses,
                      std::span<const Traits> traits, OffenderRows &rows) noexcept {
  namespace feature = image::offender_feature;
  for (std::size_t i = 0; i < addresses.size(); ++i) {
    const Address &address = addresses[i];
    const bool v4 = address.family == Family::ipv4;
    rows[feature::family].of[i] = v4 ? 4 : 6;
    for (unsigned byte = 0; byte < feature::neighbours - feature::address; ++byte)
      rows[feature::address + byte].of[i] = v4 && byte >= 4 ? 0 : address.bytes[byte];
    rows[feature::neighbours].of[i] = view.neighbours(address);
  }
  if (view.element() != OffenderElement::header) return;
  for (std::size_t i = 0; i < traits.size(); ++i) {
    const auto bytes = traits[i].bytes();
    for (unsigned t = 0; t < bytes.size(); ++t) rows[feature::protocol + t].of[i] = bytes[t];
  }
}

} // namespace weir::dataplane
