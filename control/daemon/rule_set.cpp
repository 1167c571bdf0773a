#include "control/daemon/rule_set.hpp"

#include <algorithm>

namespace weir::control {

// ---- bodies and rule sets ----------------------------------------------------------------------

void EntryCounts::add(const Prefix &prefix, std::int64_t by) {
  std::uint64_t &counter = prefix.family() == Family::ipv6 ? v6 : prefix.is_host() ? v4_hosts : v4_prefixes;
  counter += static_cast<std::uint64_t>(by);
}

void ListBody::count() {
  const auto hosts =
      std::count_if(v4.begin(), v4.end(), [](const rules::EntryV4 &e) { return e.length == 32; });
  counts.v4_hosts = static_cast<std::uint64_t>(hosts);
  counts.v4_prefixes = v4.size() - counts.v4_hosts;
  counts.v6 = v6.size();
}

void RuleSet::make_sources(std::uint16_t never_deny_number) {
  if (!config.guard.never_deny.empty()) {
    never_deny = std::make_unique<rules::NeverDeny>(config.guard.never_deny);
    sources.push_back(never_deny->source(never_deny_number));
  }
  for (const RuleList &list : lists)
    sources.push_back({.name = list.definition.name,
                       .number = list.number,
                       .side = list.definition.action,
                       .v4 = list.body->v4,
                       .v6 = list.body->v6});
}

const RuleList *RuleSet::find(std::string_view name) const {
  const auto at = std::ranges::find_if(lists, [&](const RuleList &l) { return l.definition.name == name; });
  return at == lists.end() ? nullptr : &*at;
}

const RuleList *RuleSet::find(std::uint16_t number) const {
  const auto at = std::ranges::find_if(lists, [&](const RuleList &l) { return l.number == number; });
  return at == lists.end() ? nullptr : &*at;
}

// ---- dynamic entries ---------------------------------------------------------------------------

void DynamicEntries::put(std::uint16_t list, const Prefix &prefix, EntryTimes times) {
  List &of = lists_[list];
  const auto [at, added] = of.entries.try_emplace(prefix, times);
  if (added) of.counts.add(prefix, 1);
  if (!added && at->second.expires_at != 0) expiries_.erase({at->second.expires_at, list, prefix});
  at->second = times;
  if (times.expires_at != 0) expiries_.insert({times.expires_at, list, prefix});
}

bool DynamicEntries::erase(std::uint16_t list, const Prefix &prefix) {
  List &of = lists_[list];
  const auto at = of.entries.find(prefix);
  if (at == of.entries.end()) return false;
  if (at->second.expires_at != 0) expiries_.erase({at->second.expires_at, list, prefix});
  of.entries.erase(at);
  of.counts.add(prefix, -1);
  return true;
}

void DynamicEntries::drop(std::uint16_t list) {
  const auto at = lists_.find(list);
  if (at == lists_.end()) return;
  for (const auto &[prefix, times] : at->second.entries)
    if (times.expires_at != 0) expiries_.erase({times.expires_at, list, prefix});
  lists_.erase(at);
}

const EntryTimes *DynamicEntries::find(std::uint16_t list, const Prefix &prefix) const {
  const OfList &entries = of(list);
  const auto at = entries.find(prefix);
  return at == entries.end() ? nullptr : &at->second;
}

const DynamicEntries::OfList &DynamicEntries::of(std::uint16_t list) const {
  static const OfList none;
  const auto at = lists_.find(list);
  return at == lists_.end() ? none : at->second.entries;
}

const EntryCounts &DynamicEntries::counts(std::uint16_t list) const {
  static const EntryCounts none;
  const auto at = lists_.find(list);
  return at == lists_.end() ? none : at->second.counts;
}

std::optional<std::uint64_t> DynamicEntries::next_expiry() const {
  if (expiries_.empty()) return std::nullopt;
  return expiries_.begin()->at;
}

std::vector<DynamicEntries::Expiry> DynamicEntries::expired(std::uint64_t now, std::size_t most) const {
  std::vector<Expiry> due;
  for (auto at = expiries_.begin(); at != expiries_.end() && at->at <= now && due.size() < most; ++at)
    due.push_back(*at);
  return due;
}

// ---- effective state ---------------------------------------------------------------------------

namespace {

ListBody body_of(const DynamicEntries::OfList &entries) {
  ListBody body;
  for (const auto &[prefix, times] : entries) { // Prefix order is entry order
    if (prefix.family() == Family::ipv4)
      body.v4.push_back(rules::to_entry_v4(prefix));
    else
      body.v6.push_back(rules::to_entry_v6(prefix));
  }
  return body;
}

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
    if (!dynamic.of(list.number).empty())
      snapshot.dynamic.emplace(list.number, body_of(dynamic.of(list.number)));
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

std::optional<std::uint16_t> effective_list(const RuleSet &rules, const DynamicEntries &dynamic,
                                            image::Side side, const Prefix &prefix) {
  return rules::effective_list(std::span<const rules::ListSource>(rules.sources), side, [&](std::size_t i) {
    return rules::contains(rules.sources[i], prefix) ||
           dynamic.find(rules.sources[i].number, prefix) != nullptr;
  });
}

} // namespace weir::control
