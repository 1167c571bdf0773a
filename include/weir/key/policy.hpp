// What a generation says about packets that no list decides. Travels in the image, so that a
// policy changes with a generation and not with a restart.
#pragma once

#include "weir/key/verdict.hpp"

#include <cstdint>
#include <string_view>

namespace weir {

// When an address's allow entry is looked for, where a filter stands in front of the allow tables. The
// verdict is exact in both; the reason differs for an allowed address that nothing denies.
enum class Confirm : std::uint8_t {
  exact = 0,       // for every address: the filter first, its accept confirmed in the table
  on_conflict = 1, // only for one that the deny side matched: everything else passes as `default`
};

[[nodiscard]] constexpr std::string_view name_of(Confirm confirm) noexcept {
  return confirm == Confirm::exact ? "exact" : "on_conflict";
}

struct Policy {
  Match match = Match::remote;
  Verdict fallthrough = Verdict::pass; // policy.default
  Verdict non_ip = Verdict::pass;
  Verdict link_local = Verdict::pass;
  Verdict malformed = Verdict::drop;
  Confirm confirm = Confirm::exact; // on_conflict needs fallthrough = pass
  Verdict too_many_tags = Verdict::drop;
  Tunnels tunnels = Tunnels::outer;
  std::uint8_t reserved[56] = {};
};
static_assert(sizeof(Policy) == 64);

} // namespace weir
