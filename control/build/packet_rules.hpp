// Packet rules of a configuration, and the flows of their files, as sections of an image.
#pragma once

#include "control/rules/flows.hpp"
#include "weir/base/result.hpp"
#include "weir/config/config.hpp"
#include "weir/image/identity.hpp"

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace weir::build {

struct PacketRuleSections {
  std::vector<std::byte> rules, flows; // packet_rules and flow_table; empty: no such section
  std::uint64_t fingerprint = 0;       // of what they say, whatever the seed; 0: nothing
};

// `seed`: of the table of flows. Where two rules have a flow, the first of them gets it.
[[nodiscard]] Result<PacketRuleSections> packet_rule_sections(const config::Config &config,
                                                              std::span<const rules::RuleFlows> flows,
                                                              std::uint64_t seed);

// Of rules and lists together.
[[nodiscard]] image::Digest digest_with(image::Digest lists, const PacketRuleSections &sections) noexcept;

} // namespace weir::build
