#include "weir/build/packet_rules_builder.hpp"

#include <algorithm>
#include <cstring>

namespace weir::build {

Result<std::vector<std::byte>> build_packet_rules(const PacketRulesInput &in) {
  image::RulesHeader h{};
  h.rules = static_cast<std::uint32_t>(in.rules.size());
  h.patterns = static_cast<std::uint32_t>(in.patterns.size());
  h.ports = static_cast<std::uint32_t>(in.ports.size());
  std::vector<image::RulePort> ports(in.ports.size());
  for (std::size_t i = 0; i < ports.size(); ++i)
    in.ports[i].copy(ports[i].name.data(), image::rule_port_bytes_max);
  const auto port_bytes = std::as_bytes(std::span<const image::RulePort>(ports)),
             rules = std::as_bytes(in.rules), patterns = std::as_bytes(in.patterns);
  const std::size_t patterns_at = round_up(sizeof h + port_bytes.size() + rules.size(), cache_line_bytes);
  std::vector<std::byte> out(patterns_at + patterns.size());
  std::memcpy(out.data(), &h, sizeof h);
  std::ranges::copy(rules, std::ranges::copy(port_bytes, out.begin() + sizeof h).out);
  std::ranges::copy(patterns, out.begin() + static_cast<std::ptrdiff_t>(patterns_at));
  TRY(image::PacketRulesView::attach(out));
  return out;
}

image::RulePattern any_packet(RuleId rule) noexcept {
  image::RulePattern pattern{};
  pattern.rule = rule.value();
  pattern.vlan_last = image::vlan_max;
  pattern.port = image::RulePattern::any_port;
  return pattern;
}

image::RuleEntry rule_entry(std::string_view name, RuleAction action) noexcept {
  image::RuleEntry entry{};
  entry.action = action;
  name.copy(entry.name.data(), image::rule_name_bytes_max);
  return entry;
}

} // namespace weir::build
