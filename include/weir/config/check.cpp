#include "weir/config/check.hpp"

#include "weir/config/values.hpp"
#include "weir/image/allow_filter_kinds.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace weir::config {
namespace {

constexpr std::size_t port_name_bytes_max = 31;

// "seesaw, cuckoo or stacked"
std::string one_of(std::span<const std::string_view> words) {
  if (words.size() < 2) return fmt::format("{}", fmt::join(words, ""));
  return fmt::format("{} or {}", fmt::join(words.first(words.size() - 1), ", "), words.back());
}

void check_port_names(const Config &config, const Places &places, Faults &faults) {
  std::unordered_map<std::string_view, std::size_t> names, devices;
  for (std::size_t i = 0; i < config.ports.size(); ++i) {
    const Port &p = config.ports[i];
    const auto add = [&](const char *key, std::string_view sentence) {
      faults.add(places.ports[i], fmt::format("ports[{}].{}", i, key), sentence);
    };
    if (p.name.empty())
      add("name", "missing; every port needs a name");
    else if (const auto why = name_fault(p.name, port_name_bytes_max))
      add("name", fmt::format("\"{}\": {}", shown(p.name), *why));
    else if (!names.emplace(p.name, i).second)
      add("name", fmt::format("\"{}\" names two ports; give each its own", p.name));
    if (p.device.empty())
      add("device", "missing; give a PCI address or a virtual device's name");
    else if (const auto [other, fresh] = devices.emplace(p.device, i); !fresh)
      add("device", fmt::format("\"{}\" is already port \"{}\"", shown(p.device),
                                shown(config.ports[other->second].name)));
  }
}

std::string unknown_peer(const Config &config, const Port &p) {
  std::vector<std::string_view> names;
  for (const Port &other : config.ports)
    if (&other != &p) names.push_back(other.name);
  if (names.empty()) return fmt::format("no port is named \"{}\"; add it", shown(p.peer));
  return fmt::format("no port is named \"{}\"{}", shown(p.peer), did_you_mean(p.peer, names));
}

void check_peers(const Config &config, const Places &places, Faults &faults) {
  for (std::size_t i = 0; i < config.ports.size(); ++i) {
    const Port &p = config.ports[i];
    const auto add = [&](std::string_view sentence) {
      faults.add(places.ports[i], fmt::format("ports[{}].peer", i), sentence);
    };
    const auto peer = std::ranges::find(config.ports, p.peer, &Port::name);
    if (p.peer.empty())
      add("missing; name the port that receives what this one passes");
    else if (peer == config.ports.end())
      add(unknown_peer(config, p));
    else if (&*peer == &p)
      add(fmt::format("\"{}\" is this port itself; name the other one", shown(p.peer)));
    else if (!peer->peer.empty() && peer->peer != p.name)
      add(fmt::format("\"{}\" has the peer \"{}\"; two peers name each other", shown(p.peer),
                      shown(peer->peer)));
  }
}

// Only a port's side says which address is the remote one.
void settle_match(Config &config, const Places &places, Faults &faults) {
  if (std::ranges::any_of(config.ports, [](const Port &p) { return p.side != PortSide::none; })) return;
  if (!places.match_given)
    config.policy.match = Match::source;
  else if (places.remote && !config.ports.empty())
    faults.add(*places.remote, "policy.match",
               "\"remote\" needs ports with side: outside or inside; give them sides or write source");
}

// Under on_conflict an allowed address that nothing denies leaves by policy.default.
void settle_confirm(Config &config, const Places &places, Faults &faults) {
  Policy &policy = config.policy;
  const bool drops = policy.fallthrough == Verdict::drop;
  if (!places.confirm)
    policy.confirm = drops ? Confirm::exact : Confirm::on_conflict;
  else if (policy.confirm == Confirm::on_conflict && drops)
    faults.add(*places.confirm, "allow.confirm",
               "\"on_conflict\" asks the allow lists about denied addresses alone, and policy.default: drop "
               "would drop all other allowed ones; write exact or policy.default: pass");
  std::vector<std::string_view> kinds, learning, learning_words;
  for (const image::AllowFilterOps &kind : image::allow_filter_kinds()) {
    kinds.push_back(kind.name);
    if (!kind.learns) continue;
    learning.push_back(filter::name_of(kind.kind));
    learning_words.push_back(kind.name);
  }
  if (config.allow.bits_per_key && config.allow.filter == allow_filter_none)
    faults.add(
        places.bits_per_key, "allow.bits_per_key",
        fmt::format("there is no filter to give bits to; take it out or write filter: {}", one_of(kinds)));
  if (config.allow.adaptive && std::ranges::find(learning_words, config.allow.filter) == learning_words.end())
    faults.add(places.adaptive, "allow.adaptive",
               fmt::format("only a {} can learn addresses late; take it out or write filter: {}",
                           one_of(learning), one_of(learning_words)));
}

// What compact mode leaves no room for.
void check_mode(const Config &config, const Places &places, Faults &faults) {
  if (!config.compact) return;
  const Compact &c = *config.compact;
  for (std::size_t i = 0; i < config.lists.size(); ++i)
    if (config.lists[i].name == image::compact_list_name)
      faults.add(
          places.lists[i], fmt::format("lists[{}].name", i),
          "\"compact\" names what a filter without tables denies under mode: compact; take another name");
  for (std::size_t i = 0; i < config.lists.size(); ++i)
    if (config.lists[i].on_match != RuleAction::drop)
      faults.add(places.lists[i], fmt::format("lists[{}].on_match", i),
                 "mode: compact denies some hosts in error and drops what it denies; write mode: exact, or "
                 "give the addresses a rule under rules");
  if (c.unknown_budget < c.false_positive_budget)
    faults.add(
        places.unknown_budget, "mode.compact.unknown_budget",
        fmt::format("{:g} is less than false_positive_budget: {:g}, and a source that nobody knew is hit "
                    "at least as often as others; write {:g} or more",
                    c.unknown_budget, c.false_positive_budget, c.false_positive_budget));
  if (config.front_filter == FrontFilter::split_block_bloom || config.front_filter == FrontFilter::stacked)
    faults.add(
        places.front_filter, "front_filter",
        "mode: compact has no tables of hosts that a filter could stand in front of; take it out or write "
        "mode: exact");
}

void check_list(const List &l, bool action_given, const auto &add) {
  if (l.name.empty())
    add(".name", "missing; every list needs a name");
  else if (const auto why = name_fault(l.name, image::list_name_bytes_max))
    add(".name", fmt::format("\"{}\": {}", shown(l.name), *why));
  else if (l.name == "never_deny")
    add(".name", "\"never_deny\" is the list made from guard.never_deny; take another name");
  if (!action_given) add(".action", "missing; write deny or allow");
  const bool has_static = !l.file.empty() || !l.entries.empty();
  if (has_static && l.dynamic)
    add(".dynamic", "a list is dynamic or has a file or entries; make two lists of it with the same action");
  if (l.ttl && !l.dynamic) add(".ttl", "only entries of a list with dynamic: true expire; take it out");
}

void check_lists(const Config &config, const Places &places, Faults &faults) {
  std::unordered_map<std::string_view, std::size_t> names;
  for (std::size_t i = 0; i < config.lists.size(); ++i) {
    const auto add = [&](std::string_view key, std::string_view sentence) {
      faults.add(places.lists[i], fmt::format("lists[{}]{}", i, key), sentence);
    };
    const List &l = config.lists[i];
    check_list(l, places.actions[i], add);
    if (const auto [other, fresh] = names.emplace(l.name, i); !fresh && !l.name.empty())
      add(".name", fmt::format("\"{}\" is already the list of line {}; give each its own name", shown(l.name),
                               places.lists[other->second]));
  }
  const auto per_address = std::ranges::count(config.lists, RulePer::source, &List::limit_per);
  if (std::cmp_greater(per_address, rules_per_source_max))
    faults.add(places.last_list, "lists",
               fmt::format("{} lists with per: address; at most {} are possible, each remembers its "
                           "addresses in a megabyte",
                           per_address, rules_per_source_max));
  if (config.lists.size() >= image::lists_max)
    faults.add(places.last_list, "lists",
               fmt::format("{} lists; at most {} are possible", config.lists.size(), image::lists_max - 1));
}

// What bans goes on a list that `weirctl list add` could fill.
void check_offenders(const Config &config, Faults &faults) {
  if (!config.offenders) return;
  const Offenders &o = *config.offenders;
  if (!o.tells_denied && o.tells_above == 0)
    faults.add(o.line, "offenders.tell",
               "nobody would ever be told: write denied: true, or above: with a rate");
  if (o.action != OffenderAction::ban) return;
  if (o.ban_list.empty())
    return faults.add(o.line, "offenders.ban.list",
                      "missing; action ban needs the name of a dynamic deny list");
  const auto list = std::ranges::find(config.lists, o.ban_list, &List::name);
  if (list == config.lists.end())
    return faults.add(
        o.line, "offenders.ban.list",
        fmt::format("no list is named \"{}\"; add it with action: deny, dynamic: true", shown(o.ban_list)));
  if (list->action != Side::deny || !list->dynamic)
    faults.add(o.line, "offenders.ban.list",
               fmt::format("list \"{}\" is not one that bans can go on; it needs action: deny, dynamic: true",
                           shown(o.ban_list)));
}

} // namespace

void Faults::add(int line, std::string_view key, std::string_view sentence) {
  line = std::max(line, 1);
  lines_.emplace_back(line, fmt::format("{}:{}: {}: {}", file_, line, printable(key), printable(sentence)));
}

std::string Faults::text() const {
  auto sorted = lines_;
  std::ranges::stable_sort(sorted, {}, &std::pair<int, std::string>::first);
  std::string text;
  for (const auto &[line, sentence] : sorted) {
    if (!text.empty()) text += '\n';
    text += sentence;
  }
  return text;
}

void check(Config &config, const Places &places, Faults &faults) {
  check_port_names(config, places, faults);
  check_peers(config, places, faults);
  check_pairs(config, places, faults);
  settle_match(config, places, faults);
  settle_confirm(config, places, faults);
  check_mode(config, places, faults);
  check_lists(config, places, faults);
  check_rules(config, faults);
  check_offenders(config, faults);
}

} // namespace weir::config
