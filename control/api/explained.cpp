#include "control/api/explained.hpp"

#include "control/build/list_actions.hpp"
#include "control/build/packet_rules.hpp"
#include "weir/base/hex.hpp"
#include "weir/key/text.hpp"
#include "weir/key/tunnel.hpp"
#include "weir/lookup/explain_packet.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>

namespace weir::control {

using Json = nlohmann::json;

namespace {

std::string comment_of(const RuleList &list, const Holder &holder, const Candidate *candidate,
                       const store::Store &store) {
  if (holder.dynamic) {
    const auto entry = store.dynamic_entry({list.number, holder.prefix});
    return entry && *entry ? (*entry)->comment : std::string();
  }
  if (list.content_version != 0) {
    const auto comment = store.content_comment(list.content_version, holder.prefix);
    return comment && *comment ? **comment : std::string();
  }
  if (candidate == nullptr) return {};
  const auto index = static_cast<std::size_t>(&list - candidate->rules->lists.data());
  const auto read = std::ranges::find(candidate->unwritten, index, &Candidate::Unwritten::list);
  return read == candidate->unwritten.end() ? std::string()
                                            : std::string(read->notes->note_of(holder.prefix).comment);
}

Json holder_json(const Holder &holder, const RuleSet &rules, const Candidate *candidate,
                 const store::Store &store) {
  const rules::ListSource &source = rules.sources[holder.source];
  Json json{{"list", source.name},
            {"action", name_of(source.side)},
            {"entry", to_string(holder.prefix)},
            {"dynamic", holder.dynamic}};
  const RuleList *list = rules.find(source.number);
  if (list == nullptr) return json; // never_deny
  if (list->definition.on_match != RuleAction::drop) json["on_match"] = name_of(list->definition.on_match);
  if (std::string comment = comment_of(*list, holder, candidate, store); !comment.empty())
    json["comment"] = std::move(comment);
  const std::uint64_t added = holder.dynamic ? holder.times.added_at : list->updated_at;
  if (added != 0) json["added_at"] = added;
  if (holder.times.expires_at != 0) json["expires_at"] = holder.times.expires_at;
  return json;
}

} // namespace

std::vector<DynamicHolder> dynamic_holders_at(const Engine &engine, const Address &address) {
  std::vector<DynamicHolder> holders = dynamic_holders(engine.dynamic(), address);
  for (DynamicHolder &holder : holders)
    holder.times = {engine.clock().to_wall(holder.times.added_at),
                    engine.clock().to_wall(holder.times.expires_at)};
  return holders;
}

void add_holders(Json &answer, const RuleVerdict &said, const RuleSet &rules, const Candidate *candidate,
                 const store::Store &store) {
  answer["held_by"] = Json::array();
  for (const Holder &holder : said.holders) {
    if (answer["held_by"].size() == holders_shown_max) break;
    answer["held_by"].push_back(holder_json(holder, rules, candidate, store));
  }
  answer["held_by_total"] = said.holders.size();
}

void add_entry(Json &answer) {
  const auto list = answer.find("list");
  if (list == answer.end() || !list->is_string()) return;
  for (const Json &holder : answer["held_by"]) {
    if (holder["list"] != *list) continue;
    for (const char *field : {"entry", "comment", "added_at", "expires_at"})
      if (holder.contains(field)) answer[field] = holder[field];
    return;
  }
}

namespace {

// Around one address, of those around several.
std::vector<DynamicHolder> around(const std::vector<DynamicHolder> &dynamic, const Address &address) {
  const Prefix host{address, static_cast<std::uint8_t>(address_bits(address.family))};
  std::vector<DynamicHolder> holders;
  for (const DynamicHolder &holder : dynamic)
    if (holder.prefix.covers(host)) holders.push_back(holder);
  return holders;
}

lookup::Explanation explanation_of(const RuleVerdict &said, const RuleSet &rules, const Address &address) {
  lookup::Explanation why;
  why.verdict = said.verdict;
  why.reason = said.reason;
  std::string text = to_string(address) + ": ";
  if (said.holders.empty()) {
    text += fmt::format("no list holds it; policy.default is {}", name_of(said.verdict));
  } else {
    const Holder &decides = said.holders.front();
    const rules::ListSource &source = rules.sources[decides.source];
    why.list = source.name;
    why.entry = to_string(decides.prefix);
    text += fmt::format("{} list {} has {}", name_of(source.side), why.list, why.entry);
  }
  why.path.push_back({"lists", std::move(text)});
  if (why.list.empty()) return why;
  const RuleList *const list = rules.find(why.list);
  if (list == nullptr || list->definition.on_match == RuleAction::drop) return why;
  why.path.push_back({"on_match", image::text_of(build::action_of(list->definition, list->number))});
  if (goes_on(list->definition.on_match))
    why.path.push_back({"default", fmt::format("policy.default is {}", name_of(why.verdict))});
  return why;
}

} // namespace

namespace {

// Views of sections, which must outlive them.
struct PacketRules {
  image::PacketRulesView rules;
  image::FlowTableView flows;

  static Result<PacketRules> of(const build::PacketRuleSections &sections) {
    PacketRules out;
    if (!sections.rules.empty()) out.rules = TRY(image::PacketRulesView::attach(sections.rules));
    if (!sections.flows.empty())
      out.flows = TRY(image::FlowTableView::attach(sections.flows, out.rules.rules().size()));
    return out;
  }
};

} // namespace

Result<Question> question_of(const Json &request) {
  const std::string address = request.value("address", ""), packet = request.value("packet", "");
  if (address.empty() == packet.empty())
    return fail(Errc::usage, "explain needs an address or a packet, and not both");
  Question question{.address = {}, .frame = {}, .port = request.value("port", "")};
  if (!packet.empty()) {
    auto frame = bytes_of_hex(packet);
    if (!frame) return fail(Errc::parse, fmt::format("packet: {}", frame.error().message));
    if (frame->size() > lookup::explained_bytes_max) frame->resize(lookup::explained_bytes_max);
    question.frame = std::move(*frame);
    return question;
  }
  if (!question.port.empty())
    return fail(Errc::usage, "explain: a port is about a packet, not about an address");
  const auto parsed = parse_address(address);
  if (!parsed) return fail(Errc::parse, fmt::format("{}: {}", address, parsed.error()));
  question.address = *parsed;
  return question;
}

std::vector<Address> addresses_of(const Question &question) {
  if (question.address) return {*question.address};
  std::vector<Address> addresses;
  const auto add = [&](const ParsedPacket &packet) {
    if (!packet.is_ip()) return;
    for (const std::uint16_t offset : {packet.source_offset, packet.destination_offset})
      addresses.push_back(address_at(packet, question.frame.data(), offset));
  };
  const ParsedPacket outer = parse_packet(question.frame.data(), question.frame.size());
  add(outer);
  add(look_inside(question.frame.data(), question.frame.size(), outer));
  return addresses;
}

Result<Json> explain_by_rules(const Candidate &candidate, const std::vector<DynamicHolder> &dynamic,
                              const Question &question, const store::Store &store) {
  const RuleSet &rules = *candidate.rules;
  const auto ask = [&](const Address &address) {
    return explanation_of(judge(rules, around(dynamic, address), address), rules, address);
  };
  lookup::PacketExplanation why;
  if (question.address) {
    static_cast<lookup::Explanation &>(why) = ask(*question.address);
    why.address = question.address;
    if (const auto &asked = rules.config.rules; !asked.empty())
      why.path.insert(why.path.begin(), lookup::step_before_lists(asked.size()));
  } else {
    const PortSide side =
        TRY(lookup::side_entered(rules.config.ports, question.port, rules.config.policy.match));
    const auto sections = TRY(build::packet_rule_sections(rules.config, rules.flows, 0));
    const PacketRules packet_rules = TRY(PacketRules::of(sections));
    why = lookup::explain_packet(rules.config.policy, question.frame, side, ask,
                                 {&packet_rules.rules, &packet_rules.flows, question.port});
  }
  Json answer{{"verdict", name_of(why.verdict)}, {"reason", name_of(why.reason)}, {"list", nullptr}};
  if (!why.rule.empty()) answer["rule"] = why.rule;
  answer["path"] = Json::array();
  for (const auto &[step, text] : why.path) answer["path"].push_back({{"step", step}, {"text", text}});
  if (!why.address) return answer;
  answer["address"] = to_string(*why.address);
  add_holders(answer, judge(rules, around(dynamic, *why.address), *why.address), rules, &candidate, store);
  if (!why.list.empty()) answer["list"] = why.list;
  add_entry(answer);
  return answer;
}

} // namespace weir::control
