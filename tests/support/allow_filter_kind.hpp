// The kinds of filter that tests put in front of the allow tables.
#pragma once

#include <cstdint>
#include <string_view>

namespace weir::test {

enum class AllowFilterKind : std::uint8_t { none, seesaw, cuckoo, stacked };

[[nodiscard]] constexpr std::string_view name_of(AllowFilterKind kind) noexcept {
  switch (kind) {
  case AllowFilterKind::none: break;
  case AllowFilterKind::seesaw: return "seesaw";
  case AllowFilterKind::cuckoo: return "cuckoo";
  case AllowFilterKind::stacked: return "stacked";
  }
  return "none";
}

} // namespace weir::test
