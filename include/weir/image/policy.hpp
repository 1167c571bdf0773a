// What a generation says about packets that no list decides. Travels in the image, so that a
// policy changes with a generation and not with a restart.
#pragma once

#include "weir/key/verdict.hpp"

#include <cstdint>

namespace weir {

struct Policy {
  Match match = Match::remote;
  Verdict fallthrough = Verdict::pass; // policy.default
  Verdict non_ip = Verdict::pass;      // and too many VLAN tags
  Verdict link_local = Verdict::pass;
  Verdict malformed = Verdict::drop;
  std::uint8_t reserved[59] = {};
};
static_assert(sizeof(Policy) == 64);

} // namespace weir
