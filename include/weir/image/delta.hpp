// A change of the effective state, as messages carry it and images take it.
#pragma once

#include "weir/base/number.hpp"
#include "weir/base/result.hpp"
#include "weir/key/address.hpp"
#include "weir/key/side.hpp"

#include <array>
#include <cstdint>
#include <type_traits>

namespace weir::image {

enum class DeltaOp : std::uint8_t { set = 1, unset = 2 };

// One upsert of effective state: afterwards `prefix` on `side` has this list, or none. Idempotent.
struct Delta {
  DeltaOp op = DeltaOp::set;
  Side side = Side::deny;
  Family family = Family::ipv4;
  std::uint8_t length = 0;
  ListId list{}; // ignored by unset
  std::uint16_t reserved = 0;
  std::array<std::uint8_t, 16> address{}; // as Address::bytes, masked
};
static_assert(sizeof(Delta) == 24 && std::has_unique_object_representations_v<Delta>);

// The one door for deltas: what does not pass it reaches no writer. Asks everything that a delta says by
// itself; whether a generation has its list is for those to ask who know the generation.
[[nodiscard]] Status check(const Delta &delta);

} // namespace weir::image
