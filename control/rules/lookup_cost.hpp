// What the lines of a list make each lookup cost, and the guards that hold it.
//
// An IPv6 address is asked at every prefix length that its side has in use anywhere: one line with a length
// of its own slows every IPv6 packet. An IPv4 address is asked at the lengths from 17 on that are in use
// below its /16; shorter ones cost nothing (weir/table/length_map.hpp).
//
//   max_nested    lines of a file that may lie around one address. Published lists nest a few times.
//   max_lengths   lengths that a file may bring: of IPv6 in all, of IPv4 below one /16. Ranges of addresses
//                 written as prefixes bring nearly all of them, so without a setting a list that is loaded
//                 for the first time is only warned of; a later change may not bring more.
#pragma once

#include "control/rules/guard.hpp"

namespace weir::rules {

// `before`: what is in force on the same side. Lines around one address that all stand there are accepted.
[[nodiscard]] std::optional<Objection> object_to_nesting(const config::List &list, const Entries &after,
                                                         const Entries &before,
                                                         const config::PerFamily &most);

struct LengthsAsked {
  config::PerFamily most;
  bool set_v4 = false, set_v6 = false; // by the configuration: a first load is held by them as well
  bool first_load = false;
};
// Lengths that `before` has too are accepted.
[[nodiscard]] std::optional<Objection> object_to_variety(const config::List &list, const Entries &after,
                                                         const Entries &before, const LengthsAsked &asked);

} // namespace weir::rules
