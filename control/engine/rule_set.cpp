#include "control/engine/rule_set.hpp"

#include <algorithm>

namespace weir::control {

namespace {

constexpr std::size_t sources_asked_max = 32; // more are merged

} // namespace

// ---- bodies and rule sets ----------------------------------------------------------------------

void ListBody::count() {
  const auto hosts =
      std::count_if(v4.begin(), v4.end(), [](const rules::EntryV4 &e) { return e.length == 32; });
  counts.v4_hosts = static_cast<std::uint64_t>(hosts);
  counts.v4_prefixes = v4.size() - counts.v4_hosts;
  counts.v6 = v6.size();
  covered = rules::covered_by(entries());
  lengths = {};
  lengths.add(entries());
}

void RuleSet::make_sources(ListId never_deny_number) {
  if (!config.guard.never_deny.empty()) {
    never_deny = std::make_unique<rules::NeverDeny>(config.guard.never_deny);
    sources.push_back(never_deny->source(never_deny_number));
  }
  for (const RuleList &list : lists) {
    sources.push_back({.name = list.definition.name,
                       .number = list.number,
                       .side = list.definition.action,
                       .v4 = list.body->v4,
                       .v6 = list.body->v6,
                       .goes_on = goes_on(list.definition.on_match)});
    if (list.definition.action == Side::deny) deny_lengths_.add(list.body->lengths);
  }
  rules::put_deciding_first(sources);
  for (std::size_t i = 0; i < lists.size(); ++i) {
    by_name_.emplace(lists[i].definition.name, i);
    by_number_.emplace(lists[i].number, i);
  }
  for (std::size_t i = 0; i < sources.size(); ++i) source_by_number_.emplace(sources[i].number, i);
  if (sources.size() <= sources_asked_max) return;
  for (const Side side : {Side::deny, Side::allow}) {
    FirstSource &first = side == Side::deny ? first_deny_ : first_allow_;
    first = {rules::first_places<rules::EntryV4>(sources, side),
             rules::first_places<rules::EntryV6>(sources, side)};
  }
}

std::uint64_t RuleSet::bytes_beside(const RuleSet *other) const {
  std::uint64_t bytes = first_deny_.bytes() + first_allow_.bytes();
  for (const RuleList &list : lists) {
    const RuleList *same = other != nullptr ? other->find(list.definition.name) : nullptr;
    if (same == nullptr || same->body != list.body) bytes += list.body->bytes();
  }
  for (const rules::RuleFlows &one : flows) {
    const rules::RuleFlows *same = other != nullptr ? other->flows_of(one.rule) : nullptr;
    if (same == nullptr || same->body != one.body) bytes += one.body->bytes();
  }
  return bytes;
}

const rules::RuleFlows *RuleSet::flows_of(std::string_view rule) const {
  const auto at = std::ranges::find(flows, rule, &rules::RuleFlows::rule);
  return at == flows.end() ? nullptr : &*at;
}

const RuleList *RuleSet::find(std::string_view name) const {
  const auto at = by_name_.find(name);
  return at == by_name_.end() ? nullptr : &lists[at->second];
}

const RuleList *RuleSet::find(ListId number) const {
  const auto at = by_number_.find(number);
  return at == by_number_.end() ? nullptr : &lists[at->second];
}

std::size_t RuleSet::source_of(ListId number) const {
  const auto at = source_by_number_.find(number);
  return at == source_by_number_.end() ? sources.size() : at->second;
}

std::size_t RuleSet::first_source(Side side, const Prefix &prefix) const {
  if (sources.size() <= sources_asked_max) {
    for (std::size_t i = 0; i < sources.size(); ++i)
      if (sources[i].side == side && rules::contains(sources[i], prefix)) return i;
    return sources.size();
  }
  const FirstSource &first = side == Side::deny ? first_deny_ : first_allow_;
  const auto in = [&](const auto &entries, const auto &wanted) {
    const auto at = std::ranges::lower_bound(
        entries, wanted, [](const auto &a, const auto &b) { return rules::before(a, b); });
    return at != entries.end() && rules::same_prefix(*at, wanted) ? rules::place_of(*at) : sources.size();
  };
  return prefix.family() == Family::ipv4 ? in(first.v4, rules::to_entry_v4(prefix))
                                         : in(first.v6, rules::to_entry_v6(prefix));
}

// ---- effective state ---------------------------------------------------------------------------

namespace {

template <class Entry> std::vector<Entry> merged(std::span<const Entry> a, const std::vector<Entry> &b) {
  std::vector<Entry> all;
  all.reserve(a.size() + b.size());
  std::ranges::set_union(a, b, std::back_inserter(all),
                         [](const Entry &x, const Entry &y) { return rules::before(x, y); });
  return all;
}

} // namespace

Snapshot take_snapshot(std::shared_ptr<const RuleSet> rules, const DynamicEntries &dynamic,
                       std::uint64_t sequence) {
  Snapshot snapshot{.rules = std::move(rules), .dynamic = {}, .sequence = sequence};
  for (const RuleList &list : snapshot.rules->lists)
    if (!dynamic.empty(list.number)) {
      ListBody &body = snapshot.dynamic[list.number];
      dynamic.append_to(list.number, body.v4, body.v6);
    }
  return snapshot;
}

Result<rules::Effective> effective_of(const Snapshot &snapshot) {
  std::vector<rules::ListSource> sources = snapshot.rules->sources;
  std::vector<ListBody> joined(sources.size()); // keeps the memory behind the spans
  for (std::size_t i = 0; i < sources.size(); ++i) {
    const auto extra = snapshot.dynamic.find(sources[i].number);
    if (extra == snapshot.dynamic.end()) continue;
    joined[i].v4 = merged(sources[i].v4, extra->second.v4);
    joined[i].v6 = merged(sources[i].v6, extra->second.v6);
    sources[i].v4 = joined[i].v4;
    sources[i].v6 = joined[i].v6;
  }
  return rules::normalise(sources);
}

std::optional<ListId> effective_list(const RuleSet &rules, const DynamicEntries &dynamic, Side side,
                                     const Prefix &prefix) {
  std::size_t first = rules.first_source(side, prefix);
  dynamic.holders(prefix, [&](ListId list) {
    const std::size_t place = rules.source_of(list);
    if (place < first && rules.sources[place].side == side) first = place;
  });
  if (first == rules.sources.size()) return std::nullopt;
  return rules.sources[first].number;
}

bool RuleSet::denies(const Address &address) const {
  return deny_lengths_.any_around(
      address, [this](const Prefix &prefix) { return first_source(Side::deny, prefix) < sources.size(); });
}

bool denies_dynamically(const RuleSet &rules, const DynamicEntries &dynamic, const Address &address) {
  return dynamic.lengths().any_around(address, [&](const Prefix &prefix) {
    bool found = false;
    dynamic.holders(prefix, [&](ListId list) {
      const std::size_t place = rules.source_of(list);
      found |= place < rules.sources.size() && rules.sources[place].side == Side::deny;
    });
    return found;
  });
}

} // namespace weir::control
