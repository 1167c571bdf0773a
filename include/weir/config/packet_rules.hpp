// `rules:` of weir.yaml: packet rules, in the order in which they are asked.
#pragma once

#include "weir/key/address.hpp"
#include "weir/key/rule.hpp"

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace weir::config {

struct NumberRange { // both ends belong to it
  std::uint16_t first = 0, last = 0;
  friend bool operator==(NumberRange, NumberRange) = default;
};

// Of each key a packet has to be one of what stands there; empty: any.
struct PacketRule {
  std::string name;
  RuleAction action = RuleAction::drop;
  std::vector<Prefix> from, to;
  std::vector<NumberRange> from_ports, to_ports;
  std::vector<std::uint8_t> protocols;
  std::vector<NumberRange> vlans;       // 0: packets without a VLAN
  std::string port;                     // that a packet enters; empty: any
  std::filesystem::path file;           // of exact flows, in place of the keys above
  std::uint32_t packets = 0, burst = 0; // of rate_limit, a second and at once
  RulePer per = RulePer::rule;
  int line = 0; // where it stands
};

// How many patterns of an image a rule comes to: one for each combination, of families that go together.
[[nodiscard]] std::uint64_t patterns_of(const PacketRule &rule) noexcept;

} // namespace weir::config
