#include "control/build/packet_rules.hpp"

#include "weir/base/hash.hpp"
#include "weir/build/flow_table_builder.hpp"
#include "weir/build/packet_rules_builder.hpp"

#include <algorithm>
#include <cstring>
#include <string>
#include <type_traits>

namespace weir::build {
namespace {

using config::NumberRange, config::PacketRule;
using image::FlowV4, image::FlowV6, image::RulePattern;

// What stands at a key, or what stands for any value where nothing does.
template <class T> std::vector<T> or_any(const std::vector<T> &values, T any) {
  return values.empty() ? std::vector<T>{any} : values;
}

bool set_addresses(RulePattern &pattern, const Prefix *from, const Prefix *to) {
  if (from != nullptr && to != nullptr && from->family() != to->family()) return false;
  const Prefix *const one = from != nullptr ? from : to;
  pattern.family = one != nullptr ? static_cast<std::uint8_t>(one->family()) : 0;
  if (from != nullptr) pattern.from = from->address.bytes, pattern.from_length = from->length;
  if (to != nullptr) pattern.to = to->address.bytes, pattern.to_length = to->length;
  return true;
}

std::vector<const Prefix *> pointers(const std::vector<Prefix> &prefixes) {
  std::vector<const Prefix *> all;
  for (const Prefix &prefix : prefixes) all.push_back(&prefix);
  return or_any<const Prefix *>(all, nullptr);
}

class Patterns {
public:
  void add(RuleId id, const PacketRule &rule) {
    if (!rule.file.empty()) return;
    const std::vector<NumberRange> from_ports = or_any(rule.from_ports, NumberRange{0, 65'535}),
                                   to_ports = or_any(rule.to_ports, NumberRange{0, 65'535}),
                                   vlans = or_any(rule.vlans, NumberRange{0, image::vlan_max});
    RulePattern pattern = any_packet(id);
    pattern.names_ports = rule.from_ports.empty() && rule.to_ports.empty() ? 0 : 1;
    if (!rule.port.empty()) pattern.port = place_of(rule.port);
    for (const Prefix *from : pointers(rule.from))
      for (const Prefix *to : pointers(rule.to)) {
        if (!set_addresses(pattern, from, to)) continue;
        for (const NumberRange vlan : vlans)
          for (const NumberRange from_port : from_ports)
            for (const NumberRange to_port : to_ports) {
              pattern.vlan_first = vlan.first, pattern.vlan_last = vlan.last;
              if (pattern.names_ports != 0) {
                pattern.from_port_first = from_port.first, pattern.from_port_last = from_port.last;
                pattern.to_port_first = to_port.first, pattern.to_port_last = to_port.last;
              }
              add_protocols(pattern, rule.protocols);
            }
      }
  }

  std::vector<RulePattern> all;
  std::vector<std::string> ports;

private:
  void add_protocols(RulePattern pattern, const std::vector<std::uint8_t> &protocols) {
    if (protocols.empty()) return all.push_back(pattern);
    pattern.names_protocol = 1;
    for (const std::uint8_t protocol : protocols) {
      pattern.protocol = protocol;
      all.push_back(pattern);
    }
  }
  std::uint8_t place_of(const std::string &port) {
    const auto known = std::ranges::find(ports, port);
    const auto place = static_cast<std::uint8_t>(known - ports.begin());
    if (known == ports.end()) ports.push_back(port);
    return place;
  }
};

// Flows of all rules, those of an earlier one first.
template <class Flow> void merge(std::vector<Flow> &into, const std::vector<Flow> &flows, RuleId rule) {
  for (Flow flow : flows) {
    flow.word = image::flow_word::leading_to(flow.word, rule);
    into.push_back(flow);
  }
}

template <class Flow> void keep_first(std::vector<Flow> &flows) {
  constexpr std::size_t asked_bytes = sizeof(Flow) - sizeof(std::uint16_t); // all but the rule
  const auto order = [](const Flow &a, const Flow &b) { return std::memcmp(&a, &b, asked_bytes); };
  std::ranges::stable_sort(flows, [&](const Flow &a, const Flow &b) { return order(a, b) < 0; });
  const auto twice =
      std::ranges::unique(flows, [&](const Flow &a, const Flow &b) { return order(a, b) == 0; });
  flows.erase(twice.begin(), twice.end());
}

} // namespace

Result<PacketRuleSections> packet_rule_sections(const config::Config &config,
                                                std::span<const rules::RuleFlows> flows, std::uint64_t seed) {
  PacketRuleSections out;
  if (config.rules.empty()) return out;
  std::vector<image::RuleEntry> entries;
  Patterns patterns;
  std::vector<FlowV4> v4;
  std::vector<FlowV6> v6;
  for (std::size_t i = 0; i < config.rules.size(); ++i) {
    const PacketRule &rule = config.rules[i];
    const RuleId id(static_cast<std::uint16_t>(i));
    image::RuleEntry entry = rule_entry(rule.name, rule.action);
    entry.per = rule.per;
    entry.packets = rule.packets, entry.burst = rule.burst;
    patterns.add(id, rule);
    const auto of = std::ranges::find(flows, rule.name, &rules::RuleFlows::rule);
    if (of != flows.end()) {
      entry.flows = of->body->size();
      merge(v4, of->body->v4, id);
      merge(v6, of->body->v6, id);
      out.fingerprint = remix({out.fingerprint}, of->fingerprint);
    }
    entries.push_back(entry);
  }
  out.rules = TRY(build_packet_rules({.rules = entries, .patterns = patterns.all, .ports = patterns.ports}));
  out.fingerprint ^= XXH3_64bits(out.rules.data(), out.rules.size());
  if (v4.empty() && v6.empty()) return out;
  keep_first(v4);
  keep_first(v6);
  out.flows = TRY(build_flow_table({.v4 = v4, .v6 = v6, .seed = seed}));
  return out;
}

image::Digest digest_with(image::Digest lists, const PacketRuleSections &sections) noexcept {
  if (sections.rules.empty()) return lists;
  for (std::size_t i = 0; i < lists.size(); i += sizeof(std::uint64_t)) {
    std::uint64_t word = 0;
    std::memcpy(&word, lists.data() + i, sizeof word);
    word ^= remix({sections.fingerprint}, i);
    std::memcpy(lists.data() + i, &word, sizeof word);
  }
  return lists;
}

} // namespace weir::build
