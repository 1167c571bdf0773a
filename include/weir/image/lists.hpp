// Names and numbers of the lists of an image, and how its section `lists` has them.
#pragma once

#include "weir/base/number.hpp"
#include "weir/key/side.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <type_traits>

namespace weir::image {

inline constexpr std::size_t list_name_bytes_max = 55;
inline constexpr std::uint32_t lists_max = compact_list.value(); // their numbers are those below
inline constexpr std::string_view compact_list_name = "compact";

struct ListsHeader {
  std::uint32_t count;
  std::array<std::uint8_t, 60> reserved;
};
static_assert(sizeof(ListsHeader) == 64);

struct ListEntry {
  ListId number;     // what table values carry, minus one; 0 .. lists_max - 1
  std::uint8_t side; // Side
  std::uint8_t reserved[5];
  std::array<char, list_name_bytes_max + 1> name; // zero-terminated, rest zero
};
static_assert(sizeof(ListEntry) == 64 && std::has_unique_object_representations_v<ListEntry>);

} // namespace weir::image
