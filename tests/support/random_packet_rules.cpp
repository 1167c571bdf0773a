#include "tests/support/random_packet_rules.hpp"

#include "control/rules/flows.hpp"
#include "weir/key/text.hpp"
#include "weir/key/tuple.hpp"

#include <array>
#include <sstream>
#include <stdexcept>

namespace weir::test {
namespace {

using config::NumberRange, config::PacketRule;

Prefix random_net(Random &random, const RuleSet &lists, Family family) {
  const unsigned bits = address_bits(family);
  const unsigned length = random.one_in(3) ? bits : random.below(bits + 1);
  return {masked(interesting_address(random, lists, family), length), static_cast<std::uint8_t>(length)};
}

NumberRange random_ports(Random &random) {
  static constexpr std::array<std::uint16_t, 6> known{53, 67, 68, 80, 4789, 0};
  if (random.one_in(2)) {
    const std::uint16_t port = known[random.below(6)];
    return {port, port};
  }
  const auto a = static_cast<std::uint16_t>(random.bits()), b = static_cast<std::uint16_t>(random.bits());
  return {std::min(a, b), std::max(a, b)};
}

PacketRule random_rule(Random &random, const RuleSet &lists) {
  static constexpr std::array<std::uint8_t, 8> protocols{6, 17, 17, 1, 58, 44, 47, 0};
  PacketRule rule;
  const Family family = random.one_in(3) ? Family::ipv6 : Family::ipv4;
  for (std::vector<Prefix> *side : {&rule.from, &rule.to})
    if (random.one_in(3))
      for (unsigned n = 1 + random.below(3); n > 0; --n)
        side->push_back(random_net(random, lists, random.one_in(6) ? Family::ipv6 : family));
  const bool ports = random.one_in(3);
  if (ports)
    for (unsigned n = 1 + random.below(2); n > 0; --n)
      (random.one_in(2) ? rule.from_ports : rule.to_ports).push_back(random_ports(random));
  if (random.one_in(3))
    for (unsigned n = 1 + random.below(2); n > 0; --n)
      rule.protocols.push_back(ports ? protocols[random.below(3)] : protocols[random.below(8)]);
  if (random.one_in(5)) {
    const auto first = static_cast<std::uint16_t>(1 + random.below(4094));
    rule.vlans.push_back(random.one_in(2) ? NumberRange{first, 4094} : NumberRange{0, 0});
  }
  if (random.one_in(5)) rule.port = random.one_in(2) ? "wan" : "lan";
  return rule;
}

[[nodiscard]] bool matches_all(const PacketRule &rule) {
  return rule.from.empty() && rule.to.empty() && rule.from_ports.empty() && rule.to_ports.empty() &&
         rule.protocols.empty() && rule.vlans.empty() && rule.port.empty();
}

// The flow of a frame as the oracle writes it; empty: it has none.
std::string flow_of(const Frame &frame) {
  const ParsedPacket outer = parse_packet(frame.bytes.data(), frame.bytes.size());
  if (!outer.is_ip()) return {};
  const PacketTuple tuple = tuple_of(frame.bytes.data(), frame.bytes.size(), outer);
  if (!tuple.has_ports() && protocol_has_ports(tuple.protocol)) return {};
  const auto end = [&](std::uint16_t at, unsigned port_at) {
    const unsigned port =
        tuple.has_ports() ? detail::load_be16(frame.bytes.data() + tuple.ports_offset + port_at) : 0;
    return ' ' + to_string(address_at(outer, frame.bytes.data(), at)) + ' ' + std::to_string(port);
  };
  return std::to_string(tuple.protocol) + end(tuple.source_offset, 0) + end(tuple.destination_offset, 2);
}

} // namespace

std::string line_of_flow(const std::string &of_oracle) {
  std::istringstream words(of_oracle);
  std::string protocol, from, from_port, to, to_port;
  words >> protocol >> from >> from_port >> to >> to_port;
  const bool ports = protocol_has_ports(static_cast<std::uint8_t>(std::stoi(protocol)));
  const auto end = [&](const std::string &address, const std::string &port) {
    if (!ports) return address;
    return (address.find(':') == address.npos ? address : '[' + address + ']') + ':' + port;
  };
  return protocol + ' ' + end(from, from_port) + ' ' + end(to, to_port) + '\n';
}

void PacketRuleSet::tell(Oracle &oracle) const {
  for (const PacketRule &rule : config.rules) oracle.add_rule(rule);
  for (const auto &[flow, rule] : oracle_flows) oracle.add_flow(flow, rule);
}

build::PacketRuleSections PacketRuleSet::sections(std::uint64_t seed) const {
  auto made = build::packet_rule_sections(config, flows, seed);
  if (!made) throw std::runtime_error(made.error().message);
  return std::move(*made);
}

PacketRuleSet random_packet_rules(Random &random, const RuleSet &lists, PacketRuleShape shape,
                                  const std::vector<Frame> &frames) {
  PacketRuleSet set;
  while (set.config.rules.size() < shape.rules) {
    PacketRule rule = random_rule(random, lists);
    if (config::patterns_of(rule) == 0 || matches_all(rule)) continue;
    rule.name = "rule" + std::to_string(set.config.rules.size());
    rule.action = static_cast<RuleAction>(random.below(shape.any_action ? 4 : 2));
    if (rule.action == RuleAction::rate_limit) {
      rule.packets = rule.burst = rule_rate_max;
      rule.per = random.one_in(8) ? RulePer::source : RulePer::rule;
    }
    set.config.rules.push_back(std::move(rule));
  }
  if (shape.flows == 0) return set;
  PacketRule exact;
  exact.name = "flows";
  exact.action = random.one_in(2) ? RuleAction::drop : RuleAction::pass;
  exact.file = "flows.txt";
  std::string text;
  for (unsigned n = 0; n < shape.flows && !frames.empty(); ++n) {
    const std::string flow = flow_of(frames[random.below(static_cast<std::uint32_t>(frames.size()))]);
    if (flow.empty()) continue;
    text += line_of_flow(flow);
    set.oracle_flows.emplace_back(flow, exact.name);
  }
  auto body = rules::parse_flows(text, "flows.txt");
  if (!body) throw std::runtime_error(body.error().message);
  set.flows.push_back(
      {.rule = exact.name, .body = std::make_shared<const rules::FlowBody>(std::move(*body))});
  set.config.rules.push_back(std::move(exact));
  return set;
}

} // namespace weir::test
