#include "control/rules/guard.hpp"

#include "weir/key/text.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace weir::rules {
namespace {

template <class Entry>
void compare(std::span<const Entry> before_, std::span<const Entry> after, ListChange &change) {
  const auto note = [](const Entry &e, std::uint64_t &count, std::vector<std::string> &examples) {
    if (count++; examples.size() < change_examples_max) examples.push_back(to_string(to_prefix(e)));
  };
  auto x = before_.begin(), y = after.begin();
  while (x != before_.end() || y != after.end()) {
    if (y == after.end() || (x != before_.end() && before(*x, *y)))
      note(*x++, change.removed, change.removed_examples);
    else if (x == before_.end() || before(*y, *x))
      note(*y++, change.added, change.added_examples);
    else
      ++x, ++y;
  }
  change.before += before_.size();
  change.after += after.size();
}

} // namespace

ListChange change_of(const ListSource &before, const ListSource &after) {
  ListChange change;
  compare(before.v4, after.v4, change);
  compare(before.v6, after.v6, change);
  return change;
}

Status check_change(std::string_view list, const ListChange &change, const config::Guard &guard, bool force) {
  if (force || change.before == 0) return {};
  if (change.after == 0)
    return fail(Errc::refused,
                fmt::format("list {}: all {} entries would go, none is left; an empty list is rarely "
                            "meant. If it is, repeat with --force",
                            list, change.before));
  if (guard.max_change >= 1.0 || change.before <= guarded_entries_min || change.share() <= guard.max_change)
    return {};
  return fail(
      Errc::refused,
      fmt::format("list {}: +{} -{} on {} entries is a change of {:.1f}%, more than guard.max_change: {:g}%. "
                  "If it is meant, repeat with --force",
                  list, change.added, change.removed, change.before, change.share() * 100,
                  guard.max_change * 100));
}

Status check_not_empty(const config::Config &config, const Effective &rules, bool force) {
  std::uint64_t entries = 0;
  for (const ListCounts &counts : rules.counts)
    if (counts.name != never_deny_name) entries += counts.v4_hosts + counts.v4_prefixes + counts.v6;
  const bool dynamic_alone =
      !config.lists.empty() &&
      std::ranges::all_of(config.lists, [](const config::List &l) { return l.dynamic; });
  if (force || entries != 0 || dynamic_alone) return {};
  return fail(
      Errc::refused,
      fmt::format("{}: the rule set is empty: {}. If that is meant, repeat with --force",
                  config.source.string(),
                  config.lists.empty() ? "the configuration has no lists" : "no list has a single entry"));
}

} // namespace weir::rules
