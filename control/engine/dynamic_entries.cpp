#include "control/engine/dynamic_entries.hpp"

#include <absl/container/btree_map.h>
#include <absl/container/btree_set.h>

#include <algorithm>
#include <limits>

namespace weir::control {

namespace {

constexpr std::size_t soon_max = 16'384; // expiries found by one walk; twice as many are kept
constexpr std::uint64_t no_horizon = std::numeric_limits<std::uint64_t>::max();

struct Times { // as they are kept
  std::uint32_t added_at = 0, expires_at = 0;
};

std::uint32_t kept(std::uint64_t at) {
  return static_cast<std::uint32_t>(std::min<std::uint64_t>(at, std::numeric_limits<std::uint32_t>::max()));
}

EntryTimes times_of(const Times &times) { return {times.added_at, times.expires_at}; }

struct Before {
  template <class Entry> bool operator()(const Entry &a, const Entry &b) const { return rules::before(a, b); }
};
template <class Entry> using Tree = absl::btree_map<Entry, Times, Before>;

} // namespace

void EntryCounts::add(const Prefix &prefix, std::int64_t by) {
  std::uint64_t &counter = prefix.family() == Family::ipv6 ? v6 : prefix.is_host() ? v4_hosts : v4_prefixes;
  counter += static_cast<std::uint64_t>(by);
}

struct DynamicEntries::List {
  Tree<rules::EntryV4> v4;
  Tree<rules::EntryV6> v6;
  EntryCounts counts;

  // Calls `with(tree, entry)` for the tree of the prefix's family.
  template <class With> auto of(const Prefix &prefix, With with) {
    return prefix.family() == Family::ipv4 ? with(v4, rules::to_entry_v4(prefix))
                                           : with(v6, rules::to_entry_v6(prefix));
  }
  [[nodiscard]] const Times *find(const Prefix &prefix) const {
    const auto in = [](const auto &tree, const auto &entry) -> const Times * {
      const auto at = tree.find(entry);
      return at == tree.end() ? nullptr : &at->second;
    };
    return prefix.family() == Family::ipv4 ? in(v4, rules::to_entry_v4(prefix))
                                           : in(v6, rules::to_entry_v6(prefix));
  }
};

// Holds every expiry before the horizon, and some at it.
struct DynamicEntries::Soon {
  absl::btree_set<Expiry> expiries;
  std::uint64_t horizon = no_horizon;

  void add(const Expiry &expiry) {
    if (expiry.at >= horizon) return;
    expiries.insert(expiry);
    if (expiries.size() >= 2 * soon_max) shrink();
  }
  void shrink() {
    while (expiries.size() > soon_max) expiries.erase(std::prev(expiries.end()));
    horizon = std::prev(expiries.end())->at;
  }
};

DynamicEntries::DynamicEntries() : soon_(std::make_unique<Soon>()) {}
DynamicEntries::~DynamicEntries() = default;

void DynamicEntries::put(ListId list, const Prefix &prefix, EntryTimes times) {
  std::unique_ptr<List> &of = lists_[list];
  if (!of) of = std::make_unique<List>();
  lengths_.add(prefix.family(), prefix.length);
  const Times now{kept(times.added_at), kept(times.expires_at)};
  const auto [before, added] = of->of(prefix, [&](auto &tree, const auto &entry) {
    const auto [at, fresh] = tree.try_emplace(entry, now);
    return std::pair{std::exchange(at->second, now), fresh};
  });
  if (added) of->counts.add(prefix, 1);
  if (!added && before.expires_at != 0) {
    --timed_;
    soon_->expiries.erase({before.expires_at, list, prefix});
  }
  if (now.expires_at == 0) return;
  ++timed_;
  soon_->add({now.expires_at, list, prefix});
}

bool DynamicEntries::erase(ListId list, const Prefix &prefix) {
  const auto known = lists_.find(list);
  if (known == lists_.end()) return false;
  List &of = *known->second;
  const std::optional<Times> gone = of.of(prefix, [](auto &tree, const auto &entry) -> std::optional<Times> {
    const auto at = tree.find(entry);
    if (at == tree.end()) return std::nullopt;
    const Times times = at->second;
    tree.erase(at);
    return times;
  });
  if (!gone) return false;
  if (gone->expires_at != 0) {
    --timed_;
    soon_->expiries.erase({gone->expires_at, list, prefix});
  }
  of.counts.add(prefix, -1);
  if (of.counts.total() == 0) lists_.erase(known);
  if (lists_.empty()) lengths_ = {};
  return true;
}

void DynamicEntries::drop(ListId list) {
  const auto known = lists_.find(list);
  if (known == lists_.end()) return;
  const auto count_timed = [this](const auto &tree) {
    for (const auto &[entry, times] : tree) timed_ -= times.expires_at != 0;
  };
  count_timed(known->second->v4);
  count_timed(known->second->v6);
  lists_.erase(known);
  if (lists_.empty()) lengths_ = {};
  for (auto at = soon_->expiries.begin(); at != soon_->expiries.end();)
    at = at->list == list ? soon_->expiries.erase(at) : std::next(at);
}

const DynamicEntries::List *DynamicEntries::list_of(ListId list) const {
  const auto at = lists_.find(list);
  return at == lists_.end() ? nullptr : at->second.get();
}

std::optional<EntryTimes> DynamicEntries::find(ListId list, const Prefix &prefix) const {
  const List *of = list_of(list);
  const Times *times = of == nullptr ? nullptr : of->find(prefix);
  if (times == nullptr) return std::nullopt;
  return times_of(*times);
}

bool DynamicEntries::contains(ListId list, const Prefix &prefix) const {
  const List *of = list_of(list);
  return of != nullptr && of->find(prefix) != nullptr;
}

const EntryCounts &DynamicEntries::counts(ListId list) const {
  static const EntryCounts none;
  const List *of = list_of(list);
  return of == nullptr ? none : of->counts;
}

EntryCounts DynamicEntries::counts() const {
  EntryCounts all;
  for (const auto &[number, list] : lists_) {
    all.v4_hosts += list->counts.v4_hosts;
    all.v4_prefixes += list->counts.v4_prefixes;
    all.v6 += list->counts.v6;
  }
  return all;
}

std::uint64_t DynamicEntries::bytes() const {
  const EntryCounts all = counts();
  return (all.v4_hosts + all.v4_prefixes) * v4_bytes + all.v6 * v6_bytes;
}

void DynamicEntries::visit(ListId list, const Each &each) const {
  const List *of = list_of(list);
  if (of == nullptr) return;
  const auto walk = [&each](const auto &tree) {
    for (const auto &[entry, times] : tree)
      if (!each(rules::to_prefix(entry), times_of(times))) return false;
    return true;
  };
  if (walk(of->v4)) walk(of->v6);
}

void DynamicEntries::append_to(ListId list, std::vector<rules::EntryV4> &v4,
                               std::vector<rules::EntryV6> &v6) const {
  const List *of = list_of(list);
  if (of == nullptr) return;
  v4.reserve(v4.size() + of->v4.size());
  v6.reserve(v6.size() + of->v6.size());
  for (const auto &[entry, times] : of->v4) v4.push_back(entry);
  for (const auto &[entry, times] : of->v6) v6.push_back(entry);
}

void DynamicEntries::holders(const Prefix &prefix, const std::function<void(ListId list)> &each) const {
  for (const auto &[number, list] : lists_)
    if (list->find(prefix) != nullptr) each(number);
}

// ---- time to live ------------------------------------------------------------------------------

// Called with nothing left at hand: whatever expires is found again.
void DynamicEntries::look_ahead() {
  soon_->horizon = no_horizon;
  if (timed_ == 0) return;
  for (const auto &[number, list] : lists_) {
    const auto walk = [this, of = number](const auto &tree) {
      for (const auto &[entry, times] : tree)
        if (times.expires_at != 0 && times.expires_at < soon_->horizon)
          soon_->add({times.expires_at, of, rules::to_prefix(entry)});
    };
    walk(list->v4);
    walk(list->v6);
  }
}

std::optional<std::uint64_t> DynamicEntries::next_expiry() {
  if (soon_->expiries.empty()) look_ahead();
  if (soon_->expiries.empty()) return std::nullopt;
  return soon_->expiries.begin()->at;
}

std::vector<DynamicEntries::Expiry> DynamicEntries::expired(std::uint64_t now, std::size_t most) {
  std::vector<Expiry> due;
  if (soon_->expiries.empty()) look_ahead();
  for (const Expiry &expiry : soon_->expiries) {
    if (expiry.at > now || due.size() == most) break;
    due.push_back(expiry);
  }
  return due;
}

} // namespace weir::control
