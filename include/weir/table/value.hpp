// What a table holds beside every key, as 32 bits: which list has the key, and how long the prefix is.
#pragma once

#include "weir/base/number.hpp"

#include <cstdint>

namespace weir::table {

// The 32-bit value beside every key: bits 0..15 list number + 1 (0 = empty), 16..23 prefix length,
// 24..30 flags, 31 the group bit, which belongs to the slot's place and not to its key.
namespace value {
inline constexpr std::uint32_t list_mask = 0x0000FFFFu;
inline constexpr std::uint32_t match_mask = 0x00FFFFFFu; // list and length
inline constexpr std::uint32_t tombstone = 1u << 24;     // overlay only: the key is absent
inline constexpr std::uint32_t relief = 1u << 25;        // beside it: no rule put it there, it may give way
inline constexpr std::uint32_t group_bit = 1u << 31;

[[nodiscard]] constexpr std::uint32_t make(ListId list, unsigned length) noexcept {
  return (list.value() + 1u) | static_cast<std::uint32_t>(length) << 16;
}
[[nodiscard]] constexpr bool is_set(std::uint32_t v) noexcept { return (v & list_mask) != 0; }
[[nodiscard]] constexpr unsigned length_of(std::uint32_t v) noexcept { return (v >> 16) & 0xFF; }
[[nodiscard]] constexpr ListId list_of(std::uint32_t v) noexcept { return ListId((v & list_mask) - 1); }
static_assert(list_of(0) == no_list);
} // namespace value

} // namespace weir::table
