// Random packet rules and flows that packets of random_frame() often match, as a configuration has them, with all that is made
// of them: sections of an image, and the oracle's own copy.
#pragma once

#include "control/build/packet_rules.hpp"
#include "tests/support/random_rules.hpp"

#include <string>
#include <vector>

namespace weir::test {

struct PacketRuleSet {
  config::Config config;                                         // its rules alone
  std::vector<rules::RuleFlows> flows;                           // of those that have a file
  std::vector<std::pair<std::string, std::string>> oracle_flows; // flow, rule

  void tell(Oracle &oracle) const;
  [[nodiscard]] build::PacketRuleSections sections(std::uint64_t seed) const;
};

struct PacketRuleShape {
  unsigned rules = 30;
  unsigned flows = 0;     // taken from these frames, for the last rule, which has a file then
  bool any_action = true; // false: rules decide, every one
};

// "6 192.0.2.1 443 198.51.100.7 51000", as the oracle has it, as a line of a file.
[[nodiscard]] std::string line_of_flow(const std::string &of_oracle);

// Rate limits are so high that no test reaches them. The rules' ports are wan and lan.
[[nodiscard]] PacketRuleSet random_packet_rules(Random &random, const RuleSet &lists, PacketRuleShape shape,
                                                const std::vector<Frame> &frames = {});

} // namespace weir::test
