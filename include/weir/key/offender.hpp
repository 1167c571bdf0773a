// What the memory of offenders remembers, what it is kept in and what becomes of a packet from one.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

namespace weir {

// What is remembered. A score is a function of it and of nothing else: a key asked under another score than it was told
// under is missed [SLBF §3].
enum class OffenderElement : std::uint8_t {
  source = 0, // the judged address
  header = 1, // it and the traits of the packet's headers (key/traits.hpp)
};

// What becomes of a packet that no list decides about and whose element is remembered.
enum class OffenderAction : std::uint8_t {
  count = 0,      // passes
  rate_limit = 1, // passes as long as its group's token bucket has tokens
  drop = 2,
  ban = 3, // passes, and control puts the address on a dynamic list
};

enum class OffenderFilter : std::uint8_t {
  rotating = 1, // two Bloom filters that take turns
  stable = 2,   // stable Bloom filters [SLBF]
};

inline constexpr std::array<std::string_view, 2> offender_elements{"source", "header"};
inline constexpr std::array<std::string_view, 4> offender_actions{"count", "rate_limit", "drop", "ban"};

[[nodiscard]] constexpr std::string_view name_of(OffenderElement element) noexcept {
  return offender_elements[static_cast<std::size_t>(element)];
}
[[nodiscard]] constexpr std::string_view name_of(OffenderAction action) noexcept {
  return offender_actions[static_cast<std::size_t>(action)];
}
[[nodiscard]] constexpr std::string_view name_of(OffenderFilter filter) noexcept {
  return filter == OffenderFilter::stable ? "stable" : "rotating";
}

} // namespace weir
