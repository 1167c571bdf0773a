// Rules as lists, the effective state and the image builder hold them by the million.
#pragma once

#include "weir/base/number.hpp"

#include <array>
#include <compare>
#include <cstdint>

namespace weir::build {

struct EntryV4 {          // sorted by (host, length)
  std::uint32_t host = 0; // masked, as a number
  std::uint8_t length = 32;
  std::uint8_t reserved = 0;
  ListId list{};
  friend constexpr auto operator<=>(const EntryV4 &, const EntryV4 &) = default;
};
static_assert(sizeof(EntryV4) == 8);

struct EntryV6 { // sorted by (address, length)
  std::array<std::uint8_t, 16> address{};
  std::uint8_t length = 128;
  std::uint8_t reserved = 0;
  ListId list{};
  friend constexpr auto operator<=>(const EntryV6 &, const EntryV6 &) = default;
};
static_assert(sizeof(EntryV6) == 20);

} // namespace weir::build
