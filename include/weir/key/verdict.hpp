// The one list of verdicts and reasons. Counters, telemetry, replay tables and documents are made
// from it; a packet always leaves with exactly one reason.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace weir {

enum class Verdict : std::uint8_t { pass = 0, drop = 1 };

// Why a packet was passed or dropped, in the order in which the pipeline asks; but for `rule`, which is asked between
// link_local and allow: the P4 program has the numbers of all that stand before it.
enum class Reason : std::uint8_t {
  no_image,      // no generation attached: policy.no_image
  malformed,     // a header does not fit or contradicts itself: policy.malformed
  non_ip,        // not IPv4 or IPv6: policy.non_ip
  too_many_tags, // more VLAN tags than any network needs: policy.too_many_tags
  link_local,    // neighbour discovery, DHCP request: policy.link_local
  allow,         // on an allow list
  deny,          // on a deny list
  offender,      // misbehaved lately
  fallthrough,   // nothing matched: policy.default
  tx_refused,    // the output queue did not take it: always a drop
  rule,          // a packet rule decided (key/rule.hpp)
};

inline constexpr std::size_t reason_count = 11;

struct ReasonInfo {
  Reason reason;
  std::string_view name; // as users see it
  std::string_view meaning;
};

inline constexpr std::array<ReasonInfo, reason_count> reasons{{
    {Reason::no_image, "no_image", "no generation is attached yet"},
    {Reason::malformed, "malformed", "a header does not fit the packet or contradicts itself"},
    {Reason::non_ip, "non_ip", "neither IPv4 nor IPv6"},
    {Reason::too_many_tags, "too_many_tags",
     "more than two tags that name a VLAN, more than eight in all, or one behind a SNAP header"},
    {Reason::link_local, "link_local", "IPv6 neighbour or router discovery, or a DHCP request"},
    {Reason::allow, "allow", "the judged address is on an allow list"},
    {Reason::deny, "deny", "the judged address is on a deny list"},
    {Reason::offender, "offender", "the source misbehaved lately"},
    {Reason::fallthrough, "default", "no list matched"},
    {Reason::tx_refused, "tx_refused",
     "the output queue was full or its port down, and stayed so while it was asked again"},
    {Reason::rule, "rule", "a packet rule decided"},
}};

[[nodiscard]] constexpr std::string_view name_of(Reason reason) noexcept {
  return reasons[static_cast<std::size_t>(reason)].name;
}
[[nodiscard]] constexpr std::string_view name_of(Verdict verdict) noexcept {
  return verdict == Verdict::pass ? "pass" : "drop";
}

static_assert(
    [] {
      for (std::size_t i = 0; i < reason_count; ++i)
        if (static_cast<std::size_t>(reasons[i].reason) != i) return false;
      return true;
    }(),
    "reasons stand in the order of the enumeration");

// Which address of a packet is judged.
enum class Match : std::uint8_t {
  remote = 0, // source of what enters an outside port, destination of what enters an inside port
  source = 1,
  destination = 2,
  either = 3, // each alone: deny if one is denied; an allow exempts only its own address
};

// Which addresses count where a packet carries another one (weir/key/tunnel.hpp).
enum class Tunnels : std::uint8_t {
  outer = 0, // the outermost header's, as if nothing were inside
  inner = 1, // those of the packet inside
  both = 2,  // each alone, as under Match::either
};

enum class PortSide : std::uint8_t { none = 0, outside = 1, inside = 2 };

// Is a packet judged by its destination? By its source otherwise; under `either` by both, one after the other. What enters
// an inside port goes to the remote party; from everywhere else it comes from it.
[[nodiscard]] constexpr bool judges_destination(Match match, PortSide side) noexcept {
  return match == Match::destination || (match == Match::remote && side == PortSide::inside);
}

[[nodiscard]] constexpr std::string_view name_of(Match match) noexcept {
  constexpr std::array<std::string_view, 4> names{"remote", "source", "destination", "either"};
  return names[static_cast<std::size_t>(match) & 3];
}

[[nodiscard]] constexpr std::string_view name_of(PortSide side) noexcept {
  constexpr std::array<std::string_view, 3> names{"none", "outside", "inside"};
  return names[static_cast<std::size_t>(side) % names.size()];
}

[[nodiscard]] constexpr std::string_view name_of(Tunnels tunnels) noexcept {
  constexpr std::array<std::string_view, 3> names{"outer", "inner", "both"};
  return names[static_cast<std::size_t>(tunnels) % names.size()];
}

} // namespace weir
