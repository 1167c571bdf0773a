// What the filter of denied hosts is for.
#pragma once

#include <cstdint>
#include <string_view>

namespace weir::image {

// Its word about a host of the deny side: IPv4 /32, IPv6 /128. Shorter prefixes are not in it.
enum class DenyFilterRole : std::uint8_t {
  front, // rejects: absent; accepts: ask the table
  judge, // compact mode: the last word, there is no table of hosts
};
[[nodiscard]] constexpr std::string_view name_of(DenyFilterRole role) noexcept {
  return role == DenyFilterRole::judge ? "judge" : "front";
}

} // namespace weir::image
