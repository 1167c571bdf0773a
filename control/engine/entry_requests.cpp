#include "control/engine/entry_groups.hpp"

#include "p4/export/register_map.hpp"
#include "weir/key/text.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <set>
#include <tuple>
#include <utility>

namespace weir::control {

namespace {

constexpr std::size_t absent_told_max = 100;
constexpr std::uint64_t audited_entries_max = 8; // named in a record; the others are counted

} // namespace

Status EntryGroups::check_guards(const RuleSet &rules, const Work &work) {
  const RuleList *list = rules.find(work.list_name);
  if (work.kind != Work::Kind::add || list == nullptr) return {};
  if (!work.force) {
    rules::ShortEntries too_short(list->definition,
                                  config::shortest_prefix(rules.config.guard, list->definition));
    for (const NewEntry &entry : work.entries) too_short.see(entry.prefix);
    if (const Status refused = too_short.refused(); !refused) return refused;
  }
  if (list->definition.action != Side::deny) return {};
  for (const NewEntry &entry : work.entries)
    for (const Prefix &guarded : rules.config.guard.never_deny)
      if (guarded.covers(entry.prefix))
        return fail(Errc::refused,
                    fmt::format("{} lies inside {}, which guard.never_deny protects; nothing was added",
                                to_string(entry.prefix), to_string(guarded)));
  return {};
}

// The P4 program has room for a few IPv6 prefix lengths a side: an entry of one more would be stored, and
// never in force.
Status EntryGroups::check_lengths(const RuleList &list, const std::vector<NewEntry> &entries) const {
  const Side side = list.definition.action;
  std::set<unsigned> lengths, more;
  for (const NewEntry &entry : entries)
    if (entry.prefix.family() == Family::ipv6) more.insert(entry.prefix.length);
  if (around_.target != build::Target::p4 || more.empty()) return {};
  for (const rules::ListSource &source : around_.live->sources)
    if (source.side == side)
      for (const build::EntryV6 &e : source.v6) lengths.insert(e.length);
  for (const RuleList &other : around_.live->lists)
    if (other.definition.action == side)
      around_.dynamic.visit(other.number, [&lengths](const Prefix &prefix, EntryTimes) {
        if (prefix.family() == Family::ipv6) lengths.insert(prefix.length);
        return true;
      });
  std::set<unsigned> all = lengths;
  all.insert(more.begin(), more.end());
  if (all.size() <= std::max<std::size_t>(p4::limits::lengths_v6, lengths.size())) return {};
  return fail(
      Errc::refused,
      fmt::format(
          "the P4 program has room for IPv6 prefixes of {} lengths on the {} side, and these would be "
          "{}: {}; write those of rare lengths as several longer ones; nothing was added",
          p4::limits::lengths_v6, name_of(side), all.size(), fmt::join(all, ", ")));
}

// A list may change sides between the live and the staged rules: both are told then.
void EntryGroups::touch(ListId list, const Prefix &prefix, std::vector<store::Touched> &touched) const {
  std::optional<Side> said;
  const RuleSet *asked = nullptr;
  for (const RuleSet *rules : {around_.live.get(), around_.staged.get(), around_.at_hand()}) {
    if (rules == nullptr || rules == std::exchange(asked, rules)) continue;
    const RuleList *of = rules->find(list);
    if (of == nullptr || said == of->definition.action) continue;
    said = of->definition.action;
    touched.push_back({*said, prefix});
  }
}

void EntryGroups::answer_when_applied(EntriesDone result, push::Clock::time_point since, Done done) {
  const std::uint64_t sequence = result.sequence;
  around_.pusher.when_applied(
      sequence, [result = std::move(result), since, done = std::move(done)](const Status &applied) mutable {
        result.in_force = applied.has_value();
        result.in_force_ms = push::ms_since(since);
        if (!applied)
          result.note =
              "stored, and in force as soon as the dataplane takes it (" + applied.error().message + ")";
        done(std::move(result));
      });
}

void EntryGroups::add(std::string list, std::vector<NewEntry> entries, Done done, bool force,
                      push::Clock::time_point since, std::string by) {
  Work work;
  work.since = since;
  work.by = std::move(by);
  work.list_name = std::move(list);
  work.entries = std::move(entries);
  work.force = force;
  work.done = std::move(done);
  queue(std::move(work));
}

void EntryGroups::remove(std::string list, std::vector<Prefix> prefixes, Done done,
                         push::Clock::time_point since, std::string by) {
  Work work;
  work.since = since;
  work.by = std::move(by);
  work.kind = Work::Kind::remove;
  work.list_name = std::move(list);
  work.entries.reserve(prefixes.size());
  for (const Prefix &prefix : prefixes)
    work.entries.push_back({.prefix = prefix, .ttl_s = {}, .comment = {}});
  work.done = std::move(done);
  queue(std::move(work));
}

// One record for what one person did to one list within the group.
void EntryGroups::note_for_audit() {
  struct Told {
    std::string text, comment;
    std::uint64_t added = 0, refreshed = 0, deleted = 0, shown = 0;
  };
  std::map<std::tuple<std::string, Work::Kind, std::string>, Told> all;
  for (const Work &work : works_) {
    if (work.kind == Work::Kind::expire) continue;
    Told &told = all[{work.by, work.kind, work.list_name}];
    told.added += work.result.added;
    told.refreshed += work.result.refreshed;
    told.deleted += work.result.deleted;
    if (told.comment.empty()) told.comment = work.comment;
    for (const NewEntry &entry : work.entries) {
      if (told.shown == audited_entries_max) break;
      ++told.shown;
      told.text += ' ' + to_string(entry.prefix);
    }
  }
  for (auto &[who, told] : all) {
    const auto &[by, kind, list] = who;
    const std::uint64_t count = told.added + told.refreshed + told.deleted;
    std::string detail =
        kind == Work::Kind::remove
            ? fmt::format("-{}:", told.deleted)
            : fmt::format("+{}{}:", told.added,
                          told.refreshed == 0 ? "" : fmt::format(", {} refreshed", told.refreshed));
    detail += told.text;
    if (count > told.shown) detail += fmt::format(" and {} more", count - told.shown);
    if (!told.comment.empty()) detail += fmt::format(" \"{}\"", told.comment);
    change_->audit.push_back(
        {.at_ms = now_ms(),
         .by = by,
         .what = fmt::format("list {} {}", kind == Work::Kind::remove ? "del" : "add", list),
         .list = list,
         .detail = std::move(detail)});
  }
}

// What can be said before its entries are looked at one by one.
Status EntryGroups::begin_request(Work &work) const {
  work.list = around_.live ? around_.live->find(work.list_name) : nullptr;
  if (work.list == nullptr)
    return fail(Errc::not_found,
                fmt::format("no list is named {}; `weirctl list show` names them", work.list_name));
  if (work.kind == Work::Kind::add) return check_lengths(*work.list, work.entries);
  return {};
}

// The next entry of the request joins the group.
void EntryGroups::take_entry(Work &work) {
  NewEntry &entry = work.entries[work.taken++];
  store::DynamicChange &change = *change_;
  const ListId number = work.list->number;
  const bool known = around_.dynamic.contains(number, entry.prefix);
  if (work.kind == Work::Kind::remove) {
    if (!known) {
      const Side side = work.list->definition.action;
      const bool in_file = effective_list(*around_.live, {}, side, entry.prefix) == number;
      if (++work.absent_count > absent_told_max) return;
      if (!work.absent.empty()) work.absent += '\n';
      work.absent +=
          fmt::format("{} is not an entry of {}{}; nothing was deleted", to_string(entry.prefix),
                      work.list_name, in_file ? " that was added by hand: it stands in the list's file" : "");
      return;
    }
    change.erase.push_back({number, entry.prefix});
    touch(number, entry.prefix, change.touched);
    ++work.result.deleted;
    return;
  }
  const auto &list_ttl = work.list->definition.ttl;
  const std::uint64_t ttl_s =
      entry.ttl_s.value_or(list_ttl ? static_cast<std::uint64_t>(list_ttl->count()) : 0);
  const std::uint64_t now = around_.clock.now_s();
  const std::uint64_t expires_at = ttl_s == 0 ? 0 : now + ttl_s;
  known ? ++work.result.refreshed : ++work.result.added;
  if (work.comment.empty()) work.comment = entry.comment;
  work.for_ever |= expires_at == 0;
  work.result.expires_at = std::max(work.result.expires_at, expires_at);
  change.put.push_back({{number, entry.prefix}, std::move(entry.comment), now, expires_at});
  if (!known) touch(number, entry.prefix, change.touched);
}

} // namespace weir::control
