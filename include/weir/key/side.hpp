// Which side of the rules an entry stands on.
#pragma once

#include <cstdint>
#include <string_view>

namespace weir {

enum class Side : std::uint8_t { deny = 0, allow = 1 };
[[nodiscard]] constexpr std::string_view name_of(Side side) noexcept {
  return side == Side::deny ? "deny" : "allow";
}

} // namespace weir
