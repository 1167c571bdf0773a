// Which side of the rules an entry stands on, and what there is one of for each side.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace weir {

enum class Side : std::uint8_t { deny = 0, allow = 1 };
inline constexpr std::array both_sides{Side::deny, Side::allow};
[[nodiscard]] constexpr std::string_view name_of(Side side) noexcept {
  return side == Side::deny ? "deny" : "allow";
}

// Two of a kind, taken by side alone: no number can name a third.
template <class T> struct PerSide {
  T of[2];

  [[nodiscard]] constexpr T &operator[](Side side) noexcept { return of[static_cast<std::size_t>(side)]; }
  [[nodiscard]] constexpr const T &operator[](Side side) const noexcept {
    return of[static_cast<std::size_t>(side)];
  }
};

} // namespace weir
