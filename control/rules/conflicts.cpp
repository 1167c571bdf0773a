#include "control/rules/conflicts.hpp"

#include "weir/key/text.hpp"

#include <fmt/format.h>

namespace weir::rules {
namespace {

template <class Entry> void close_above(std::vector<Entry> &open, const Entry &next) {
  while (!open.empty() && !covers(open.back(), next)) open.pop_back();
}

} // namespace

// Of the allow prefixes around a deny entry: never_deny if it is among them, else the innermost.
template <class Entry> const Entry &ConflictFinder::telling(const std::vector<Entry> &open) const {
  for (const Entry &entry : open)
    if (sources_[place_of(entry)].name == never_deny_name) return entry;
  return open.back();
}

// `deny_outside`: the deny entry covers the allow entry, else it is covered by it or equal.
template <class Entry> void ConflictFinder::judge(const Entry &deny, const Entry &allow, bool deny_outside) {
  const ListSource &allow_list = sources_[place_of(allow)];
  const bool never_deny = allow_list.name == never_deny_name;
  if (deny_outside && !never_deny) return; // an exception to a wide entry is what allow lists are for
  const ConflictKind kind = deny_outside               ? ConflictKind::covers_never_deny
                            : never_deny               ? ConflictKind::inside_never_deny
                            : same_prefix(deny, allow) ? ConflictKind::same_prefix
                                                       : ConflictKind::inside_allow;
  add(kind, deny, allow, same_prefix(deny, allow) ? "" : deny_outside ? "over" : "inside");
}

// `how` the first lies to the second; empty: they are equal.
template <class Entry>
void ConflictFinder::add(ConflictKind kind, const Entry &deny, const Entry &other, std::string_view how) {
  Conflict &conflict = found_[{kind, place_of(deny), place_of(other)}];
  if (conflict.count++ == 0) {
    conflict.kind = kind;
    conflict.deny_list = sources_[place_of(deny)].name;
    conflict.allow_list = sources_[place_of(other)].name;
  }
  if (conflict.examples.size() >= conflict_examples_max) return;
  const std::string text = to_string(to_prefix(deny));
  conflict.examples.push_back(how.empty() ? text
                                          : fmt::format("{} {} {}", text, how, to_string(to_prefix(other))));
}

template <class Entry> void ConflictFinder::find(std::span<const Entry> deny, std::span<const Entry> allow) {
  std::vector<Entry> open_allow, open_deny;
  std::size_t a = 0;
  const auto take_allow = [&](const Entry &entry) {
    close_above(open_allow, entry);
    close_above(open_deny, entry);
    if (!open_deny.empty()) judge(open_deny.back(), entry, true);
    open_allow.push_back(entry);
  };
  for (const Entry &entry : deny) {
    if (a == allow.size() && open_allow.empty()) return;
    while (a < allow.size() && !before(entry, allow[a])) {
      // Of equal prefixes only the pair itself is told, not a wider deny entry around both.
      if (same_prefix(entry, allow[a])) {
        close_above(open_allow, entry);
        open_allow.push_back(allow[a++]);
      } else {
        take_allow(allow[a++]);
      }
    }
    close_above(open_allow, entry);
    close_above(open_deny, entry);
    open_deny.push_back(entry);
    if (!open_allow.empty()) judge(entry, telling(open_allow), false);
  }
  while (a < allow.size()) take_allow(allow[a++]);
}

template void ConflictFinder::find(std::span<const EntryV4>, std::span<const EntryV4>);
template void ConflictFinder::find(std::span<const EntryV6>, std::span<const EntryV6>);

template <class Entry> void ConflictFinder::find_going_on(std::span<const Entry> deny) {
  if (std::ranges::none_of(sources_, &ListSource::goes_on)) return;
  std::vector<Entry> deciding; // around the entry at hand
  for (const Entry &entry : deny) {
    close_above(deciding, entry);
    if (!sources_[place_of(entry)].goes_on)
      deciding.push_back(entry);
    else if (!deciding.empty())
      add(ConflictKind::goes_on_inside, entry, deciding.back(), "inside");
  }
}

template void ConflictFinder::find_going_on(std::span<const EntryV4>);
template void ConflictFinder::find_going_on(std::span<const EntryV6>);

std::vector<Conflict> ConflictFinder::take() {
  std::vector<Conflict> all;
  all.reserve(found_.size());
  for (auto &[key, conflict] : found_) all.push_back(std::move(conflict));
  found_.clear();
  return all;
}

std::string Conflict::text() const {
  const bool one = count == 1;
  const std::string entries =
      fmt::format("{} {} of deny list {} {}", count, one ? "entry" : "entries", deny_list,
                  kind == ConflictKind::same_prefix ? one ? "is" : "are"
                  : one                             ? "lies"
                                                    : "lie");
  std::string sentence;
  switch (kind) {
  case ConflictKind::same_prefix:
    sentence = fmt::format("{} on allow list {} too, and allow wins", entries, allow_list);
    break;
  case ConflictKind::inside_allow:
    sentence = fmt::format("{} inside prefixes of allow list {}, and allow wins", entries, allow_list);
    break;
  case ConflictKind::inside_never_deny:
    sentence = fmt::format("{} inside guard.never_deny without effect", entries);
    break;
  case ConflictKind::goes_on_inside:
    sentence = fmt::format("{} inside prefixes of deny list {}, and the longer prefix wins: on_match of {} "
                           "drops nothing of them below a rate",
                           entries, allow_list, deny_list);
    break;
  case ConflictKind::covers_never_deny:
    sentence = fmt::format("{} {} of guard.never_deny {} under deny list {}, exempt all the same", count,
                           one ? "prefix" : "prefixes", one ? "lies" : "lie", deny_list);
    break;
  }
  for (std::size_t i = 0; i < examples.size(); ++i) sentence += (i == 0 ? ": " : ", ") + examples[i];
  if (count > examples.size()) sentence += ", ...";
  return sentence;
}

} // namespace weir::rules
