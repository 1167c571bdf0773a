#include "weir/config/check.hpp"

#include "weir/config/values.hpp"
#include "weir/image/packet_rules.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <unordered_map>

namespace weir::config {
namespace {

std::uint64_t or_one(std::size_t size) noexcept { return std::max<std::size_t>(size, 1); }

std::uint64_t of_family(const std::vector<Prefix> &prefixes, Family family) noexcept {
  return static_cast<std::uint64_t>(std::ranges::count(prefixes, family, &Prefix::family));
}

[[nodiscard]] bool protocols_have_ports(const PacketRule &rule) noexcept {
  return std::ranges::all_of(rule.protocols, protocol_has_ports);
}

[[nodiscard]] bool asks_ports(const PacketRule &rule) noexcept {
  return !rule.from_ports.empty() || !rule.to_ports.empty();
}

void check_rule(const Config &config, const PacketRule &rule, const auto &add) {
  if (!rule.name.empty())
    if (const auto why = name_fault(rule.name, image::rule_name_bytes_max))
      add(".name", fmt::format("\"{}\": {}", shown(rule.name), *why));
  if (asks_ports(rule) && !protocols_have_ports(rule))
    add(rule.to_ports.empty() ? ".from_port" : ".to_port",
        "one of the rule's protocols has no ports; give those that have some (tcp, udp, sctp, dccp) a rule "
        "of their own");
  if (patterns_of(rule) == 0)
    add(".to",
        "from and to have no family in common; write addresses of the same family, or make two rules of it");
  if (rule.port.empty()) return;
  std::vector<std::string_view> names;
  for (const Port &port : config.ports) names.push_back(port.name);
  if (std::ranges::find(names, rule.port) == names.end())
    add(".port",
        fmt::format(
            "no port of weir is named \"{}\", and a packet enters by one of those; ports of TCP and UDP are "
            "from_port and to_port{}",
            shown(rule.port), did_you_mean(rule.port, names)));
}

} // namespace

std::uint64_t patterns_of(const PacketRule &rule) noexcept {
  if (!rule.file.empty()) return 0;
  std::uint64_t addresses = 1;
  if (!rule.from.empty() && !rule.to.empty())
    addresses = of_family(rule.from, Family::ipv4) * of_family(rule.to, Family::ipv4) +
                of_family(rule.from, Family::ipv6) * of_family(rule.to, Family::ipv6);
  else
    addresses = or_one(rule.from.size() + rule.to.size());
  return addresses * or_one(rule.from_ports.size()) * or_one(rule.to_ports.size()) *
         or_one(rule.protocols.size()) * or_one(rule.vlans.size());
}

void check_rules(const Config &config, Faults &faults) {
  std::unordered_map<std::string_view, const PacketRule *> names;
  std::uint64_t patterns = 0, per_source = 0;
  for (std::size_t i = 0; i < config.rules.size(); ++i) {
    const PacketRule &rule = config.rules[i];
    const auto add = [&](std::string_view key, std::string_view sentence) {
      faults.add(rule.line, fmt::format("rules[{}]{}", i, key), sentence);
    };
    if (rule.file.empty())
      check_rule(config, rule, add);
    else if (const auto why = name_fault(rule.name, image::rule_name_bytes_max); why && !rule.name.empty())
      add(".name", fmt::format("\"{}\": {}", shown(rule.name), *why));
    if (const auto [other, fresh] = names.emplace(rule.name, &rule); !fresh && !rule.name.empty())
      add(".name", fmt::format("\"{}\" is already the rule of line {}; give each its own name",
                               shown(rule.name), other->second->line));
    per_source += rule.per == RulePer::source ? 1 : 0;
    patterns += std::min<std::uint64_t>(patterns_of(rule), rule_patterns_max + 1);
  }
  if (config.rules.empty()) return;
  const int last = config.rules.back().line;
  if (config.rules.size() > rules_max)
    faults.add(last, "rules",
               fmt::format("{} rules; at most {} are possible. Addresses alone are cheaper on lists",
                           config.rules.size(), rules_max));
  if (patterns > rule_patterns_max)
    faults.add(
        last, "rules",
        fmt::format(
            "the lists of addresses, ports, protocols and VLANs in these rules come to more than {} "
            "combinations; write prefixes and ranges in place of single values, or exact flows into a file",
            rule_patterns_max));
  if (per_source > rules_per_source_max)
    faults.add(
        last, "rules",
        fmt::format("{} rules with per: source; at most {} are possible, each remembers its sources in "
                    "a megabyte",
                    per_source, rules_per_source_max));
}

} // namespace weir::config
