// Section packet_rules (image/packet_rules.hpp) from rules and their patterns.
#pragma once

#include "weir/base/result.hpp"
#include "weir/image/packet_rules.hpp"

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace weir::build {

struct PacketRulesInput {
  std::span<const image::RuleEntry> rules;
  std::span<const image::RulePattern> patterns; // in the order of their rules
  std::span<const std::string> ports;           // names that patterns ask for
};

// Errors: what a reader would say of the section.
[[nodiscard]] Result<std::vector<std::byte>> build_packet_rules(const PacketRulesInput &input);

// A pattern that every packet matches, to be narrowed.
[[nodiscard]] image::RulePattern any_packet(RuleId rule) noexcept;
[[nodiscard]] image::RuleEntry rule_entry(std::string_view name, RuleAction action) noexcept;

} // namespace weir::build
