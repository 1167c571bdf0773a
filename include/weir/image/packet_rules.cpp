#include "weir/image/packet_rules.hpp"

#include <algorithm>
#include <cstring>
#include <set>
#include <string>

namespace weir::image {
namespace {

std::unexpected<Error> bad_rules(std::string why) { return fail(Errc::bad_image, std::move(why)); }

struct RulePlaces {
  std::uint64_t ports, rules, patterns, end;
};
RulePlaces places_of(const RulesHeader &h) noexcept {
  RulePlaces p{};
  p.ports = sizeof h;
  p.rules = p.ports + std::uint64_t{h.ports} * sizeof(RulePort);
  p.patterns = round_up(p.rules + std::uint64_t{h.rules} * sizeof(RuleEntry), cache_line_bytes);
  p.end = p.patterns + std::uint64_t{h.patterns} * sizeof(RulePattern);
  return p;
}

template <std::size_t bytes> [[nodiscard]] bool is_name(const std::array<char, bytes> &name) noexcept {
  if (name.front() == '\0' || name.back() != '\0') return false;
  const auto end = std::ranges::find(name, '\0');
  return std::all_of(end, name.end(), [](char c) { return c == '\0'; });
}

Status check_rule(const RuleEntry &rule) {
  if (static_cast<std::size_t>(rule.action) >= rule_actions.size() || rule.per > RulePer::source)
    return bad_rules("an action that this program does not know");
  if (!is_name(rule.name)) return bad_rules("a rule without a name");
  if (rule.reserved != decltype(rule.reserved){}) return bad_rules("reserved bytes are not zero");
  const bool limits = rule.action == RuleAction::rate_limit;
  const auto in_range = [](std::uint32_t n) { return n >= 1 && n <= rule_rate_max; };
  if (limits ? !in_range(rule.packets) || !in_range(rule.burst)
             : rule.packets != 0 || rule.burst != 0 || rule.per != RulePer::rule)
    return bad_rules("rule " + std::string(rule.name_text()) + " has a rate that there cannot be");
  return {};
}

[[nodiscard]] bool is_prefix(const std::array<std::uint8_t, 16> &bytes, unsigned length,
                             std::uint8_t family) noexcept {
  const unsigned most = family == 4 ? 32 : family == 6 ? 128 : 0;
  return length <= most && masked(Address{Family::ipv6, bytes}, length).bytes == bytes;
}

Status check_pattern(const RulePattern &p, const RulesHeader &h) {
  if (p.rule >= h.rules) return bad_rules("a pattern of a rule that is not there");
  if (p.family != 0 && p.family != 4 && p.family != 6) return bad_rules("a pattern of an unknown family");
  if (!is_prefix(p.from, p.from_length, p.family) || !is_prefix(p.to, p.to_length, p.family))
    return bad_rules("a pattern with a prefix that is none");
  if (p.names_protocol > 1 || p.names_ports > 1 || (p.names_protocol == 0 && p.protocol != 0))
    return bad_rules("a pattern with a flag that is none");
  const bool ports_zero = (p.from_port_first | p.from_port_last | p.to_port_first | p.to_port_last) == 0;
  if (p.names_ports == 0 ? !ports_zero
                         : p.from_port_first > p.from_port_last || p.to_port_first > p.to_port_last)
    return bad_rules("a pattern with ports that are no range");
  if (p.vlan_first > p.vlan_last || p.vlan_last > vlan_max)
    return bad_rules("a pattern with VLANs that are none");
  if (p.port != RulePattern::any_port && p.port >= h.ports)
    return bad_rules("a pattern of a port that has no name");
  if (p.reserved != decltype(p.reserved){}) return bad_rules("reserved bytes are not zero");
  return {};
}

[[nodiscard]] bool lies_in(const std::array<std::uint8_t, 16> &prefix, unsigned length,
                           const std::uint8_t *address) noexcept {
  const unsigned whole = length / 8, rest = length % 8;
  if (std::memcmp(prefix.data(), address, whole) != 0) return false;
  return rest == 0 || ((prefix[whole] ^ address[whole]) & (0xFF00u >> rest) & 0xFF) == 0;
}

[[nodiscard]] bool between(unsigned first, unsigned value, unsigned last) noexcept {
  return first <= value && value <= last;
}

[[nodiscard]] bool matches(const RulePattern &p, const PacketTuple &t, const std::uint8_t *frame) noexcept {
  if (!p.is_for(t.is_v6 ? Family::ipv6 : Family::ipv4)) return false;
  if (p.names_protocol != 0 && p.protocol != t.protocol) return false;
  if (!between(p.vlan_first, t.vlan, p.vlan_last)) return false;
  if (p.names_ports != 0) {
    if (!t.has_ports()) return false;
    const std::uint8_t *const ports = frame + t.ports_offset;
    if (!between(p.from_port_first, detail::load_be16(ports), p.from_port_last) ||
        !between(p.to_port_first, detail::load_be16(ports + 2), p.to_port_last))
      return false;
  }
  return lies_in(p.from, p.from_length, frame + t.source_offset) &&
         lies_in(p.to, p.to_length, frame + t.destination_offset);
}

} // namespace

Result<PacketRulesView> PacketRulesView::attach(Bytes section) {
  if (section.size() < sizeof(RulesHeader)) return bad_rules("too short");
  const auto &h = *reinterpret_cast<const RulesHeader *>(section.data());
  if (h.rules == 0 || h.rules > rules_max || h.patterns > rule_patterns_max || h.ports > rule_ports_max)
    return bad_rules(std::to_string(h.rules) + " rules with " + std::to_string(h.patterns) +
                     " patterns and " + std::to_string(h.ports) + " ports, at most " +
                     std::to_string(rules_max) + ", " + std::to_string(rule_patterns_max) + " and " +
                     std::to_string(rule_ports_max) + " are possible");
  if (h.reserved != decltype(h.reserved){}) return bad_rules("reserved bytes are not zero");
  const RulePlaces at = places_of(h);
  if (at.end != section.size()) return bad_rules("size does not match its parts");

  PacketRulesView view;
  view.ports_ = {reinterpret_cast<const RulePort *>(section.data() + at.ports), h.ports};
  view.rules_ = {reinterpret_cast<const RuleEntry *>(section.data() + at.rules), h.rules};
  view.patterns_ = {reinterpret_cast<const RulePattern *>(section.data() + at.patterns), h.patterns};
  if (!std::ranges::all_of(view.ports_, [](const RulePort &port) { return is_name(port.name); }))
    return bad_rules("a port without a name");
  std::set<std::string_view> names;
  std::size_t per_source = 0;
  for (const RuleEntry &rule : view.rules_) {
    TRY(check_rule(rule));
    per_source += rule.per == RulePer::source ? 1 : 0;
    if (!names.insert(rule.name_text()).second)
      return bad_rules("two rules have the name " + std::string(rule.name_text()));
  }
  if (per_source > rules_per_source_max)
    return bad_rules(std::to_string(per_source) + " rules remember sources, at most " +
                     std::to_string(rules_per_source_max) + " may");
  std::uint16_t before = 0;
  for (const RulePattern &pattern : view.patterns_) {
    TRY(check_pattern(pattern, h));
    if (pattern.rule < before) return bad_rules("patterns are not in the order of their rules");
    before = pattern.rule;
  }
  return view;
}

RuleId PacketRulesView::first_match(const PacketTuple &tuple, const std::uint8_t *frame,
                                    std::string_view port) const noexcept {
  for (const RulePattern &pattern : patterns_) {
    if (pattern.port != RulePattern::any_port && port != ports_[pattern.port].name.data()) continue;
    if (matches(pattern, tuple, frame)) return RuleId(pattern.rule);
  }
  return no_rule;
}

} // namespace weir::image
