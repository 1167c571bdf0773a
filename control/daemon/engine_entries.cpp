#include "control/daemon/engine.hpp"

#include "p4/export/register_map.hpp"
#include "weir/key/text.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <set>

namespace weir::control {

namespace {

double ms_since(push::Clock::time_point start) {
  return std::chrono::duration<double, std::milli>(push::Clock::now() - start).count();
}

} // namespace

Status Engine::check_never_deny(const RuleList &list, const std::vector<NewEntry> &entries) const {
  if (list.definition.action != image::Side::deny) return {};
  for (const NewEntry &entry : entries)
    for (const Prefix &guarded : live_->config.guard.never_deny)
      if (guarded.covers(entry.prefix))
        return fail(Errc::refused,
                    fmt::format("{} lies inside {}, which guard.never_deny protects; nothing was added",
                                to_string(entry.prefix), to_string(guarded)));
  return {};
}

// The P4 program has room for a few IPv6 prefix lengths a side: an entry of one more would be stored, and
// never in force.
Status Engine::check_lengths(const RuleList &list, const std::vector<NewEntry> &entries) const {
  const image::Side side = list.definition.action;
  std::set<unsigned> lengths, more;
  for (const NewEntry &entry : entries)
    if (entry.prefix.family() == Family::ipv6) more.insert(entry.prefix.length);
  if (options_.target != build::Target::p4 || more.empty()) return {};
  for (const rules::ListSource &source : live_->sources)
    if (source.side == side)
      for (const build::EntryV6 &e : source.v6) lengths.insert(e.length);
  for (const RuleList &other : live_->lists)
    if (other.definition.action == side)
      for (const auto &[prefix, times] : dynamic_.of(other.number))
        if (prefix.family() == Family::ipv6) lengths.insert(prefix.length);
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
void Engine::touch(std::uint16_t list, const Prefix &prefix, std::vector<store::Touched> &touched) const {
  std::optional<image::Side> said;
  for (const auto &rules : {live_, staged_, change_ ? change_->rules : nullptr}) {
    const RuleList *of = rules ? rules->find(list) : nullptr;
    if (of == nullptr || said == of->definition.action) continue;
    said = of->definition.action;
    touched.push_back({*said, prefix});
  }
}

// Store first, then memory: the log never holds what a restart would not find.
Result<std::uint64_t> Engine::write(const store::DynamicChange &change) {
  const auto sequence = store_.write(change);
  if (!sequence) return sequence;
  for (const store::DynamicKey &key : change.erase) dynamic_.erase(key.list, key.prefix);
  for (const store::DynamicEntry &entry : change.put)
    dynamic_.put(entry.key.list, entry.key.prefix, {entry.added_at, entry.expires_at});
  log_.insert(log_.end(), change.touched.begin(), change.touched.end());
  pusher_.pump();
  trim_log();
  return sequence;
}

void Engine::answer_when_applied(EntriesDone result, push::Clock::time_point since, OnEntries done) {
  const std::uint64_t sequence = result.sequence;
  pusher_.when_applied(sequence, [result = std::move(result), since,
                                  done = std::move(done)](const Status &applied) mutable {
    result.in_force = applied.has_value();
    result.in_force_ms = ms_since(since);
    if (!applied)
      result.note = "stored; in force as soon as a dataplane is connected (" + applied.error().message + ")";
    done(std::move(result));
  });
}

void Engine::add(const std::string &list_name, const std::vector<NewEntry> &entries, OnEntries done) {
  const auto since = push::Clock::now();
  const RuleList *list = live_ ? live_->find(list_name) : nullptr;
  if (list == nullptr)
    return done(
        fail(Errc::not_found, fmt::format("no list is named {}; `weirctl list show` names them", list_name)));
  if (const Status allowed = check_never_deny(*list, entries); !allowed)
    return done(std::unexpected(allowed.error()));
  if (const Status room = check_lengths(*list, entries); !room) return done(std::unexpected(room.error()));
  EntriesDone result;
  store::DynamicChange change;
  const std::uint64_t now = now_s();
  const std::uint64_t list_ttl_s =
      list->definition.ttl ? static_cast<std::uint64_t>(list->definition.ttl->count()) : 0;
  std::set<Prefix> seen;
  bool for_ever = false;
  for (const NewEntry &entry : entries) {
    if (!seen.insert(entry.prefix).second) continue;
    const std::uint64_t ttl_s = entry.ttl_s.value_or(list_ttl_s);
    const std::uint64_t expires_at = ttl_s == 0 ? 0 : now + ttl_s;
    const bool known = dynamic_.find(list->number, entry.prefix) != nullptr;
    known ? ++result.refreshed : ++result.added;
    for_ever |= expires_at == 0;
    result.expires_at = std::max(result.expires_at, expires_at);
    change.put.push_back({{list->number, entry.prefix}, entry.comment, now, expires_at});
    if (!known) touch(list->number, entry.prefix, change.touched);
  }
  if (for_ever) result.expires_at = 0;
  const auto sequence = write(change);
  if (!sequence) return done(std::unexpected(sequence.error()));
  schedule_expiry();
  result.sequence = *sequence;
  answer_when_applied(std::move(result), since, std::move(done));
}

void Engine::remove(const std::string &list_name, const std::vector<Prefix> &prefixes, OnEntries done) {
  const auto since = push::Clock::now();
  const RuleList *list = live_ ? live_->find(list_name) : nullptr;
  if (list == nullptr)
    return done(
        fail(Errc::not_found, fmt::format("no list is named {}; `weirctl list show` names them", list_name)));
  EntriesDone result;
  store::DynamicChange change;
  std::string absent;
  std::set<Prefix> seen;
  for (const Prefix &prefix : prefixes) {
    if (!seen.insert(prefix).second) continue;
    if (dynamic_.find(list->number, prefix) == nullptr) {
      if (!absent.empty()) absent += '\n';
      const bool in_file = effective_list(*live_, {}, list->definition.action, prefix) == list->number;
      absent += fmt::format("{} is not an entry of {}{}; nothing was deleted", to_string(prefix), list_name,
                            in_file ? " that was added by hand: it stands in the list's file" : "");
      continue;
    }
    change.erase.push_back({list->number, prefix});
    touch(list->number, prefix, change.touched);
  }
  if (!absent.empty()) return done(fail(Errc::not_found, absent));
  result.deleted = change.erase.size();
  const auto sequence = write(change);
  if (!sequence) return done(std::unexpected(sequence.error()));
  schedule_expiry();
  result.sequence = *sequence;
  answer_when_applied(std::move(result), since, std::move(done));
}

} // namespace weir::control
