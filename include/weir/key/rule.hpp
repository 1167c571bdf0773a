// Packet rules: what may be done with a packet, and the words for it. A rule is asked of packets whose outermost IP header
// was parsed, after everything that policy decides and before the lists; image/packet_rules.hpp says what it can ask for.
#pragma once

#include "weir/base/number.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace weir {

enum class RuleAction : std::uint8_t {
  drop = 0,
  pass = 1,
  count = 2,      // decides nothing: the lists are asked
  rate_limit = 3, // drops what is beyond a rate; below it decides nothing
  reject = 4,     // drops, and tells the sender
};
inline constexpr std::array<std::string_view, 5> rule_actions{"drop", "pass", "count", "rate_limit",
                                                              "reject"};
[[nodiscard]] constexpr std::string_view name_of(RuleAction action) noexcept {
  return rule_actions[static_cast<std::size_t>(action) % rule_actions.size()];
}

// Does a match leave the decision to what is asked next, as far as nothing is too much?
[[nodiscard]] constexpr bool goes_on(RuleAction action) noexcept {
  return action == RuleAction::count || action == RuleAction::rate_limit;
}

// Whose packets share a rate.
enum class RulePer : std::uint8_t {
  rule = 0,   // all that the rule matches
  source = 1, // those of one source: an IPv4 address, or a /64 of IPv6
};

// The place of a rule in its configuration and image.
using RuleId = Number<struct RuleIdTag, std::uint16_t>;
inline constexpr RuleId no_rule = 65'535;

inline constexpr std::size_t rules_max = 4'096;
inline constexpr std::size_t rule_patterns_max = 16'384;      // that all rules together come to
inline constexpr std::uint32_t rule_rate_max = 1'000'000'000; // packets a second, and at once
inline constexpr std::size_t rules_per_source_max = 64;       // each remembers its sources in a megabyte

// Protocols that begin with a source and a destination port: TCP, UDP, DCCP, SCTP, UDP-Lite.
[[nodiscard]] constexpr bool protocol_has_ports(std::uint8_t protocol) noexcept {
  return protocol == 6 || protocol == 17 || protocol == 33 || protocol == 132 || protocol == 136;
}

struct ProtocolName {
  std::string_view name;
  std::uint8_t number;
};
inline constexpr std::array<ProtocolName, 12> protocol_names{{{"icmp", 1},
                                                              {"igmp", 2},
                                                              {"ipip", 4},
                                                              {"tcp", 6},
                                                              {"udp", 17},
                                                              {"dccp", 33},
                                                              {"gre", 47},
                                                              {"esp", 50},
                                                              {"ah", 51},
                                                              {"icmpv6", 58},
                                                              {"ospf", 89},
                                                              {"sctp", 132}}};
// Empty: it has none here.
[[nodiscard]] constexpr std::string_view name_of_protocol(std::uint8_t number) noexcept {
  for (const ProtocolName &known : protocol_names)
    if (known.number == number) return known.name;
  return {};
}

} // namespace weir
