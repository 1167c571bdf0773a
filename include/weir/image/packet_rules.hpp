// Section packet_rules: rules about more of a packet than one address, in the order in which they are asked.
//
//   | RulesHeader 64 | RulePort 32 each | RuleEntry 80 each, pad to 64 | RulePattern 64 each |
//
//   port      name of a port that patterns ask for
//   entry     what is done with a packet, under which name it is counted
//   pattern   what a packet has to be; an entry has as many as its lists of addresses, ports and protocols need, or none,
//             where exact flows alone (flow_table.hpp) lead to it
//
// The first pattern that matches decides, so the patterns of an entry stand together and entries in the order of the
// configuration. The section is plain data: a reader of packets makes its own classifier of it.
#pragma once

#include "weir/base/bits.hpp"
#include "weir/base/result.hpp"
#include "weir/key/address.hpp"
#include "weir/key/rule.hpp"
#include "weir/key/tuple.hpp"

#include <array>
#include <cstdint>
#include <span>
#include <string_view>
#include <type_traits>

namespace weir::image {

inline constexpr std::size_t rule_name_bytes_max = 55, rule_port_bytes_max = 31;
inline constexpr std::size_t rule_ports_max = 64;
inline constexpr std::uint16_t vlan_max = 4095;

struct RulesHeader {
  std::uint32_t rules, patterns, ports;
  std::array<std::uint8_t, 52> reserved;
};
static_assert(sizeof(RulesHeader) == 64 && std::has_unique_object_representations_v<RulesHeader>);

struct RulePort {
  std::array<char, rule_port_bytes_max + 1> name; // zero-terminated, rest zero
};
static_assert(sizeof(RulePort) == 32);

struct RuleEntry {
  RuleAction action;
  RulePer per;
  std::array<std::uint8_t, 6> reserved;
  std::uint32_t packets, burst;                   // of rate_limit, a second and at once; else 0
  std::uint64_t flows;                            // exact ones that lead here
  std::array<char, rule_name_bytes_max + 1> name; // zero-terminated, rest zero

  [[nodiscard]] std::string_view name_text() const noexcept { return name.data(); }
};
static_assert(sizeof(RuleEntry) == 80 && std::has_unique_object_representations_v<RuleEntry>);

struct RulePattern {
  static constexpr std::uint8_t any_port = 0xFF;

  std::array<std::uint8_t, 16> from, to; // prefixes in network order, an IPv4 one in the first four bytes
  std::uint16_t rule;                    // place of its entry
  std::uint16_t from_port_first, from_port_last, to_port_first, to_port_last; // with names_ports, else 0
  std::uint16_t vlan_first, vlan_last;                                        // 0 is a packet without a VLAN
  std::uint8_t family;                                                        // 4, 6, or 0 for both
  std::uint8_t from_length, to_length;
  std::uint8_t names_protocol, protocol; // 0 and 0: any
  std::uint8_t names_ports;              // 1: packets without ports do not match
  std::uint8_t port;                     // place of the port that a packet enters; any_port
  std::array<std::uint8_t, 11> reserved;

  [[nodiscard]] bool is_for(Family of) const noexcept {
    return family == 0 || family == static_cast<std::uint8_t>(of);
  }
};
static_assert(sizeof(RulePattern) == 64 && std::has_unique_object_representations_v<RulePattern>);

class PacketRulesView {
public:
  PacketRulesView() = default; // none

  // Errors: bad_image, and why.
  [[nodiscard]] static Result<PacketRulesView> attach(Bytes section);

  [[nodiscard]] bool empty() const noexcept { return rules_.empty(); }
  [[nodiscard]] std::span<const RuleEntry> rules() const noexcept { return rules_; }
  [[nodiscard]] std::span<const RulePattern> patterns() const noexcept { return patterns_; }
  [[nodiscard]] std::span<const RulePort> ports() const noexcept { return ports_; }
  [[nodiscard]] const RuleEntry &rule(RuleId id) const noexcept { return rules_[id.value()]; }

  // One pattern after the other, as the section has them: for explain and tests, never for bursts. `port`: the name of the one
  // that the packet enters. Returns no_rule when none matches.
  [[nodiscard]] RuleId first_match(const PacketTuple &tuple, const std::uint8_t *frame,
                                   std::string_view port) const noexcept;

private:
  std::span<const RuleEntry> rules_;
  std::span<const RulePattern> patterns_;
  std::span<const RulePort> ports_;
};
static_assert(std::is_trivially_copyable_v<PacketRulesView>);

} // namespace weir::image
