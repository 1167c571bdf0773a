#include "weir/config/sections.hpp"

#include <fmt/format.h>

#include <array>

namespace weir::config {
namespace {

constexpr std::uint64_t port_most = 65'535, vlan_most = 4'094;

// One value, or a list of such.
Reader::Read one_or_more(Reader &r, Reader::Read read) {
  return [&r, read = std::move(read)](const Node &n, const std::string &path) {
    if (n.is_list())
      r.sequence(n, path, read);
    else
      read(n, path);
  };
}

std::optional<NumberRange> parse_range(std::string_view text, std::uint64_t low, std::uint64_t high) {
  const std::size_t dash = text.find('-');
  const auto first = parse_number(text.substr(0, dash));
  const auto last = dash == text.npos ? first : parse_number(text.substr(dash + 1));
  if (!first || !last || *first < low || *last > high || *first > *last) return std::nullopt;
  return NumberRange{static_cast<std::uint16_t>(*first), static_cast<std::uint16_t>(*last)};
}

Reader::Read ports(Reader &r, std::vector<NumberRange> &out) {
  return one_or_more(r, [&r, &out](const Node &n, const std::string &path) {
    const auto s = r.scalar(n, path);
    if (!s) return;
    if (const auto range = parse_range(*s, 0, port_most)) return out.push_back(*range);
    r.fault(
        n, path,
        fmt::format("\"{}\" is not a port; write 443 or \"137-139\", from 0 to {}", shown(*s), port_most));
  });
}

Reader::Read vlans(Reader &r, std::vector<NumberRange> &out) {
  return one_or_more(r, [&r, &out](const Node &n, const std::string &path) {
    const auto s = r.scalar(n, path);
    if (!s) return;
    if (*s == "none") return out.push_back({});
    if (const auto range = parse_range(*s, 1, vlan_most)) return out.push_back(*range);
    r.fault(n, path,
            fmt::format(
                "\"{}\" is not a VLAN; write 12 or \"10-19\", from 1 to {}, or none for packets without one",
                shown(*s), vlan_most));
  });
}

Reader::Read protocols(Reader &r, std::vector<std::uint8_t> &out) {
  return one_or_more(r, [&r, &out](const Node &n, const std::string &path) {
    const auto s = r.scalar(n, path);
    if (!s) return;
    std::vector<std::string_view> known;
    for (const ProtocolName &protocol : protocol_names) {
      if (protocol.name == *s) return out.push_back(protocol.number);
      known.push_back(protocol.name);
    }
    if (const auto number = parse_number(*s); number && *number <= 255)
      return out.push_back(static_cast<std::uint8_t>(*number));
    r.fault(n, path,
            fmt::format("\"{}\" is not a protocol; write one of {} or a number from 0 to 255{}", shown(*s),
                        fmt::join(known, ", "), did_you_mean(*s, known)));
  });
}

Reader::Read addresses(Reader &r, std::vector<Prefix> &out) {
  return one_or_more(r, [&r, &out](const Node &n, const std::string &path) {
    if (const auto prefix = r.prefix(n, path)) out.push_back(*prefix);
  });
}

// Keys that say something of one action alone, or must not stand beside others.
void check_keys(Reader &r, const Node &node, const std::string &path, const PacketRule &rule) {
  if (!node.is_map()) return;
  const auto missing = [&](const char *key, const char *sentence) {
    if (!node.has(key)) r.fault(node, path + "." + key, sentence);
  };
  missing("name", "missing; every rule needs a name, under which it is counted");
  missing("action", "missing; write drop, pass, count, rate_limit or reject");
  const bool limits = rule.action == RuleAction::rate_limit;
  if (limits) missing("packets", "missing; write how many packets a second may pass");
  for (const char *key : {"packets", "burst", "per"})
    if (!limits && node.has(key))
      r.fault(node, path + "." + key,
              fmt::format("only action: rate_limit knows it; take it out of a rule that does {}",
                          name_of(rule.action)));
  if (!node.has("file")) return;
  for (const char *key : {"from", "to", "from_port", "to_port", "protocol", "vlan", "port"})
    if (node.has(key))
      r.fault(
          node, path + "." + key,
          "the flows of a file are whole; take it out, or make two rules of it, one of which has the file");
}

void read_rule(Reader &r, const Node &node, const std::string &path) {
  PacketRule rule;
  rule.line = node.line;
  r.map(node, path,
        {{"name", r.text(rule.name)},
         {"action", r.word<RuleAction>(rule.action, {{"drop", RuleAction::drop},
                                                     {"pass", RuleAction::pass},
                                                     {"count", RuleAction::count},
                                                     {"rate_limit", RuleAction::rate_limit},
                                                     {"reject", RuleAction::reject}})},
         {"from", addresses(r, rule.from)},
         {"to", addresses(r, rule.to)},
         {"from_port", ports(r, rule.from_ports)},
         {"to_port", ports(r, rule.to_ports)},
         {"protocol", protocols(r, rule.protocols)},
         {"vlan", vlans(r, rule.vlans)},
         {"port", r.text(rule.port)},
         {"file", r.file(rule.file)},
         {"packets", r.whole(rule.packets, 1, rule_rate_max)},
         {"burst", r.whole(rule.burst, 1, rule_rate_max)},
         {"per", r.word<RulePer>(rule.per, {{"rule", RulePer::rule}, {"source", RulePer::source}})}});
  check_keys(r, node, path, rule);
  if (rule.action == RuleAction::rate_limit && rule.burst == 0) rule.burst = rule.packets;
  r.config.rules.push_back(std::move(rule));
}

} // namespace

void read_rules(Reader &reader, const Node &node, const std::string &path) {
  reader.sequence(node, path,
                  [&reader](const Node &item, const std::string &where) { read_rule(reader, item, where); });
}

} // namespace weir::config
