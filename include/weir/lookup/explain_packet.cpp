#include "weir/lookup/explain_packet.hpp"

#include "weir/key/text.hpp"
#include "weir/key/tunnel.hpp"

#include <fmt/format.h>

namespace weir::lookup {
namespace {

std::string header_text(const ParsedPacket &parsed, std::span<const std::uint8_t> frame) {
  std::string text(name_of(parsed.kind));
  if (parsed.is_ip())
    text += fmt::format(" from {} to {}", to_string(address_at(parsed, frame.data(), parsed.source_offset)),
                        to_string(address_at(parsed, frame.data(), parsed.destination_offset)));
  return text;
}

std::string frame_text(const ParsedPacket &parsed, std::size_t bytes) {
  std::string text = fmt::format("{} bytes", bytes);
  if (parsed.tags > 0) text += fmt::format(", {} VLAN tag{}", parsed.tags, parsed.tags == 1 ? "" : "s");
  if (parsed.header_offset > 0)
    text += fmt::format(", EtherType {:#06x} before byte {}", parsed.ethertype, parsed.header_offset);
  return text;
}

std::string tuple_text(const PacketTuple &tuple, std::span<const std::uint8_t> frame, std::string_view port) {
  const std::string_view name = name_of_protocol(tuple.protocol);
  std::string text = name.empty() ? fmt::format("protocol {}", tuple.protocol) : std::string(name);
  if (tuple.has_ports())
    text += fmt::format(" from port {} to {}", detail::load_be16(frame.data() + tuple.ports_offset),
                        detail::load_be16(frame.data() + tuple.ports_offset + 2));
  else
    text += ", no ports";
  if (tuple.vlan != 0) text += fmt::format(", VLAN {}", tuple.vlan);
  if (!port.empty()) text += fmt::format(", enters {}", port);
  return text;
}

class Judge {
public:
  Judge(const Policy &policy, std::span<const std::uint8_t> frame, PortSide side,
        const std::function<Explanation(const Address &)> &ask, const RulesAsked &rules)
      : policy_(policy), frame_(frame), side_(side), ask_(ask), rules_(rules) {}

  PacketExplanation run() {
    ParsedPacket outer = parse_packet(frame_.data(), frame_.size());
    out_.path.push_back({"frame", frame_text(outer, frame_.size())});
    out_.path.push_back({"parse", header_text(outer, frame_)});
    const ParsedPacket outermost = outer;
    std::optional<ParsedPacket> beside;
    if (policy_.tunnels != Tunnels::outer) look(outer, beside);
    if (!has_address(outer)) return std::move(out_);
    if (outer.link_local) {
      decide(policy_.link_local, Reason::link_local, "policy.link_local");
      return std::move(out_);
    }
    if (beside && !has_address(*beside)) return std::move(out_);
    if (ask_rules(outermost)) return std::move(out_);
    judge(outer);
    if (beside && beside->is_judged()) judge(*beside);
    return std::move(out_);
  }

private:
  void look(ParsedPacket &outer, std::optional<ParsedPacket> &beside) {
    const ParsedPacket inside = look_inside(frame_.data(), frame_.size(), outer);
    const bool says = has_a_say(inside, policy_);
    if (inside.kind != PacketKind::non_ip)
      out_.path.push_back({"inside", header_text(inside, frame_) + (says ? "" : ": has no say")});
    if (!says) return;
    policy_.tunnels == Tunnels::inner ? outer = inside : beside.emplace(inside);
  }

  void decide(Verdict verdict, Reason reason, std::string_view key) {
    out_.verdict = verdict;
    out_.reason = reason;
    out_.path.push_back({std::string(name_of(reason)), fmt::format("{} is {}", key, name_of(verdict))});
  }

  // False: what the packet is has decided.
  bool has_address(const ParsedPacket &parsed) {
    switch (parsed.kind) {
    case PacketKind::malformed:
      decide(policy_.malformed, Reason::malformed, "policy.malformed");
      return false;
    case PacketKind::non_ip: decide(policy_.non_ip, Reason::non_ip, "policy.non_ip"); return false;
    case PacketKind::too_many_tags:
      decide(policy_.too_many_tags, Reason::too_many_tags, "policy.too_many_tags");
      return false;
    case PacketKind::ipv4:
    case PacketKind::ipv6: break;
    }
    return true;
  }

  // True: one has decided.
  bool ask_rules(const ParsedPacket &outermost) {
    if (rules_.rules == nullptr || rules_.rules->empty()) return false;
    const PacketTuple tuple = tuple_of(frame_.data(), frame_.size(), outermost);
    out_.path.push_back({"tuple", tuple_text(tuple, frame_, rules_.port)});
    RuleId id = rules_.flows != nullptr ? rules_.flows->find(tuple, frame_.data()) : no_rule;
    const bool of_a_flow = id != no_rule;
    if (!of_a_flow) id = rules_.rules->first_match(tuple, frame_.data(), rules_.port);
    if (id == no_rule) {
      out_.path.push_back({"rules", fmt::format("none of {} matches", rules_.rules->rules().size())});
      return false;
    }
    const image::RuleEntry &rule = rules_.rules->rule(id);
    const std::string text = fmt::format("{} {}: {}", rule.name_text(),
                                         of_a_flow ? "has this flow" : "matches", name_of(rule.action));
    const bool decides = rule.action == RuleAction::drop || rule.action == RuleAction::pass ||
                         rule.action == RuleAction::reject;
    std::string then = decides ? "" : "; the lists decide";
    if (rule.action == RuleAction::rate_limit)
      then = fmt::format(" beyond {} packets a second{}, and {} at once; below that the lists decide",
                         rule.packets, rule.per == RulePer::source ? " of each source" : "", rule.burst);
    out_.path.push_back({"rules", text + then});
    if (!decides) return false;
    out_.verdict = rule.action == RuleAction::pass ? Verdict::pass : Verdict::drop;
    out_.reason = Reason::rule;
    out_.rule = rule.name_text();
    return true;
  }

  void judge(const ParsedPacket &parsed) {
    if (policy_.match == Match::either) {
      judge(parsed, parsed.source_offset, "source");
      judge(parsed, parsed.destination_offset, "destination");
    } else if (judges_destination(policy_.match, side_)) {
      judge(parsed, parsed.destination_offset, "destination");
    } else {
      judge(parsed, parsed.source_offset, "source");
    }
  }

  void judge(const ParsedPacket &parsed, std::uint16_t offset, std::string_view which) {
    const Address address = address_at(parsed, frame_.data(), offset);
    std::string text =
        fmt::format("{} {}: policy.match is {}", which, to_string(address), name_of(policy_.match));
    if (policy_.match == Match::remote) text += fmt::format(", and the port's side {}", name_of(side_));
    if (out_.address && out_.reason == Reason::deny) {
      out_.path.push_back({"judged", text + "; not asked: denied already"});
      return;
    }
    out_.path.push_back({"judged", std::move(text)});
    Explanation said = ask_(address);
    for (Explanation::Step &step : said.path) out_.path.push_back(std::move(step));
    const bool first = !out_.address;
    if (!first && said.reason != Reason::deny && out_.reason == Reason::allow) return;
    const bool decides = first || said.reason != Reason::fallthrough;
    if (decides) out_.address = address;
    out_.verdict = said.verdict;
    out_.reason = said.reason;
    out_.list = std::move(said.list);
    out_.entry = std::move(said.entry);
    out_.judged = said.judged;
  }

  const Policy &policy_;
  std::span<const std::uint8_t> frame_;
  PortSide side_;
  const std::function<Explanation(const Address &)> &ask_;
  const RulesAsked &rules_;
  PacketExplanation out_;
};

} // namespace

Explanation::Step step_before_lists(std::size_t rules) {
  return {"rules", fmt::format("{} packet rule{} asked before the lists: explain --packet says which matches",
                               rules, rules == 1 ? " is" : "s are")};
}

PacketExplanation explain_packet(const Policy &policy, std::span<const std::uint8_t> frame, PortSide side,
                                 const std::function<Explanation(const Address &)> &ask,
                                 const RulesAsked &rules) {
  return Judge(policy, frame, side, ask, rules).run();
}

} // namespace weir::lookup
