// Names and numbers of the lists of an image, and how its section `lists` has them.
#pragma once

#include "weir/key/side.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <type_traits>

namespace weir::image {

inline constexpr std::size_t list_name_bytes_max = 55;
// Values carry the list number plus one in 16 bits. The last one is nobody's list: a host denied by a filter
// that judges alone (compact mode) is counted there, since no table says which list it is on.
inline constexpr std::uint32_t lists_max = 65'534;
inline constexpr std::uint16_t compact_list = lists_max;
inline constexpr std::string_view compact_list_name = "compact";

struct ListsHeader {
  std::uint32_t count;
  std::array<std::uint8_t, 60> reserved;
};
static_assert(sizeof(ListsHeader) == 64);

struct ListEntry {
  std::uint16_t number; // what table values carry, minus one; 0 .. lists_max - 1
  std::uint8_t side;    // Side
  std::uint8_t reserved[5];
  std::array<char, list_name_bytes_max + 1> name; // zero-terminated, rest zero
};
static_assert(sizeof(ListEntry) == 64 && std::has_unique_object_representations_v<ListEntry>);

} // namespace weir::image
