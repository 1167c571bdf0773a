// What tells images and the stores of rules that they come from apart.
#pragma once

#include "weir/base/number.hpp"

#include <array>
#include <cstdint>

namespace weir {

// A state of the rules that has been in force, counted up from 1 by their store; 0: none.
using Generation = Number<struct GenerationTag, std::uint64_t>;

} // namespace weir

namespace weir::image {

using StoreId = std::array<std::uint8_t, 16>;
using Digest = std::array<std::uint8_t, 32>;

// What an image is, wherever one is asked for, built, sent, claimed or kept.
struct ImageIdentity {
  StoreId store_id{};         // whose rules
  Generation generation{};    // which state of them; 0: no image
  std::uint64_t sequence = 0; // the last change of the store's log that is in it
  std::uint64_t bytes = 0;    // 0: not known yet
};

} // namespace weir::image
