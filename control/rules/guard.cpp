#include "control/rules/guard.hpp"

#include "control/rules/sink.hpp"
#include "weir/key/text.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace weir::rules {
namespace {

// Keeps the widest few of what it is told.
class Widest {
public:
  void see(const Prefix &prefix) {
    if (prefixes_.size() == change_examples_max && !is_wider(prefix, prefixes_.back())) return;
    prefixes_.insert(std::ranges::upper_bound(prefixes_, prefix, is_wider), prefix);
    if (prefixes_.size() > change_examples_max) prefixes_.pop_back();
  }
  [[nodiscard]] std::vector<Prefix> take() { return std::move(prefixes_); }

private:
  std::vector<Prefix> prefixes_;
};

template <class Entry>
void compare(std::span<const Entry> before_, std::span<const Entry> after, ListChange &change,
             Widest &widest) {
  const auto note = [](const Entry &e, std::uint64_t &count, std::vector<std::string> &examples) {
    if (count++; examples.size() < change_examples_max) examples.push_back(to_string(to_prefix(e)));
  };
  auto x = before_.begin(), y = after.begin();
  while (x != before_.end() || y != after.end()) {
    if (y == after.end() || (x != before_.end() && before(*x, *y))) {
      note(*x++, change.removed, change.removed_examples);
    } else if (x == before_.end() || before(*y, *x)) {
      widest.see(to_prefix(*y));
      note(*y++, change.added, change.added_examples);
    } else {
      ++x, ++y;
    }
  }
  change.before += before_.size();
  change.after += after.size();
}

// Of what was covered before; a family that had nothing is held by the number of addresses alone.
double share_of(double addresses, double before) { return before == 0 ? 0 : addresses / before; }

std::string percent(double share) { return fmt::format("{:.1f}%", share * 100); }

std::string earlier_text(double share) {
  return share <= 0 ? std::string() : fmt::format(" and with {} within the day before it", percent(share));
}

constexpr std::string_view let_through = "repeat with --force";

} // namespace

bool is_wider(const Prefix &a, const Prefix &b) noexcept {
  const auto length = [](const Prefix &p) { return p.length * (128 / address_bits(p.family())); };
  return length(a) != length(b) ? length(a) < length(b) : a < b;
}

Named::Named(const config::List &list) {
  for (const std::string &text : list.entries) {
    const auto prefix = parse_prefix(text);
    if (!prefix) continue; // the configuration would not have been read
    if (prefix->family() == Family::ipv4)
      v4.push_back(to_entry_v4(*prefix));
    else
      v6.push_back(to_entry_v6(*prefix));
  }
  sort_entries(v4);
  sort_entries(v6);
}

ListChange change_of(const ListSource &before, const ListSource &after) {
  ListChange change;
  Widest widest;
  compare(before.v4, after.v4, change, widest);
  compare(before.v6, after.v6, change, widest);
  change.widest = widest.take();
  const Entries both[] = {{.v4 = before.v4, .v6 = before.v6}, {.v4 = after.v4, .v6 = after.v6}};
  change.covered_before = covered_by(both[0]);
  change.covered_after = covered_by(both[1]);
  if (change.added + change.removed == 0) return change;
  const Covered all = covered_by(both);
  change.gained = {all.v4 - change.covered_before.v4, all.v6 - change.covered_before.v6};
  change.lost = {all.v4 - change.covered_after.v4, all.v6 - change.covered_after.v6};
  return change;
}

Moved &Moved::operator+=(const Moved &other) noexcept {
  gained += other.gained;
  lost += other.lost;
  gained_share += other.gained_share;
  lost_share += other.lost_share;
  return *this;
}

Spent &Spent::operator+=(const Spent &other) noexcept {
  lines += other.lines;
  v4 += other.v4;
  v6 += other.v6;
  return *this;
}

Spent spent_on(const ListChange &change) {
  const auto moved = [](double gained, double lost, double before) {
    return Moved{gained, lost, share_of(gained, before), share_of(lost, before)};
  };
  return {.lines = change.share(),
          .v4 = moved(static_cast<double>(change.gained.v4), static_cast<double>(change.lost.v4),
                      static_cast<double>(change.covered_before.v4)),
          .v6 = moved(static_cast<double>(change.gained.v6), static_cast<double>(change.lost.v6),
                      static_cast<double>(change.covered_before.v6))};
}

std::optional<Objection> object_to_change(const config::List &list, const ListChange &change,
                                          double max_change, const Spent &earlier, bool fed) {
  if (change.before == 0 || change.added + change.removed == 0) return std::nullopt;
  const std::string key = list.max_change ? "max_change of the list" : "guard.max_change";
  const auto objection = [&](std::string sentence) {
    return Objection{
        .sentence = std::move(sentence), .lines = change.widest, .more = change.added - change.widest.size()};
  };
  if (change.after == 0)
    return objection(fmt::format("list {}: all {} entries would go, none is left; an empty list is rarely "
                                 "meant. If it is, {}",
                                 list.name, change.before, let_through));
  if (max_change >= 1.0) return std::nullopt;
  const bool any_size = fed && list.action == Side::allow;
  const bool small = !any_size && std::max(change.before, change.after) <= guarded_entries_min;
  const Spent now = spent_on(change);
  Spent day = now;
  day += earlier;
  const auto beyond = [&](std::string_view what, double share, double before) {
    return objection(fmt::format("list {}: {} is a change of {},{} more than {}: {:g}%. If it is meant, {}",
                                 list.name, what, percent(share), earlier_text(before), key, max_change * 100,
                                 let_through));
  };
  if (!small && day.lines > max_change && now.lines > 0)
    return beyond(fmt::format("+{} -{} on {} entries", change.added, change.removed, change.before),
                  now.lines, earlier.lines);
  const auto by_addresses = [&](std::string (*text)(double), const Moved &at_once, const Moved &before,
                                const Moved &in_all, double was, double free) -> std::optional<Objection> {
    const auto counted = [small](double gained, double lost) { return small ? gained : gained + lost; };
    if (counted(at_once.gained, at_once.lost) == 0) return std::nullopt;
    if ((was == 0 || !any_size) && counted(in_all.gained, in_all.lost) <= free) return std::nullopt;
    if (was == 0)
      return objection(fmt::format("list {}: {} more are covered where none was, more than {}: {:g}% lets "
                                   "through. If it is meant, {}",
                                   list.name, text(at_once.gained), key, max_change * 100, let_through));
    if (counted(in_all.gained_share, in_all.lost_share) <= max_change) return std::nullopt;
    return beyond(
        fmt::format("{} more and {} less on {}", text(at_once.gained), text(at_once.lost), text(was)),
        counted(at_once.gained_share, at_once.lost_share), counted(before.gained_share, before.lost_share));
  };
  if (auto v4 = by_addresses(covered_text_v4, now.v4, earlier.v4, day.v4,
                             static_cast<double>(change.covered_before.v4), guarded_v4_min))
    return v4;
  return by_addresses(covered_text_v6, now.v6, earlier.v6, day.v6,
                      static_cast<double>(change.covered_before.v6), guarded_v6_min);
}

namespace {

// Calls `each` with the entries of fewer bits that the configuration does not name.
template <class Entry, class Each>
void each_short(std::span<const Entry> entries, std::span<const Entry> named, unsigned shortest, Each each) {
  for (const Entry &e : entries)
    if (e.length < shortest && !contains<Entry>(named, e)) each(e);
}

std::string lengths_text(const config::List &list, const config::ShortestPrefix &shortest) {
  return fmt::format("shortest_prefix for {} list {}, /{} for IPv4 and /{} for IPv6", name_of(list.action),
                     list.name, shortest.v4, shortest.v6);
}

} // namespace

std::optional<Objection> object_to_lengths(const config::List &list, const Entries &after,
                                           const Entries &before, const config::ShortestPrefix &shortest) {
  Widest fresh, old;
  std::uint64_t fresh_count = 0, old_count = 0;
  const auto sort_out = [&](const auto &e, const auto &in_force) {
    const bool accepted = contains(in_force, e);
    ++(accepted ? old_count : fresh_count);
    (accepted ? old : fresh).see(to_prefix(e));
  };
  each_short(after.v4, after.named_v4, shortest.v4, [&](const EntryV4 &e) { sort_out(e, before.v4); });
  each_short(after.v6, after.named_v6, shortest.v6, [&](const EntryV6 &e) { sort_out(e, before.v6); });
  const std::uint64_t count = fresh_count != 0 ? fresh_count : old_count;
  if (count == 0) return std::nullopt;
  const std::string subject = count == 1 ? "1 prefix is" : fmt::format("{} prefixes are", count);
  Objection objection{.sentence = fmt::format("list {}: {} shorter than {}", list.name, subject,
                                              lengths_text(list, shortest)),
                      .lines = fresh_count != 0 ? fresh.take() : old.take(),
                      .accepted = fresh_count == 0};
  objection.more = count - objection.lines.size();
  objection.sentence += objection.accepted
                            ? ". They were accepted before and stay"
                            : fmt::format("; nothing of it was used. If they are meant, write them under "
                                          "entries of the list, set its shortest_prefix, or {}",
                                          let_through);
  return objection;
}

std::optional<Objection> object_to_covered(std::string_view whose, std::string_view key, const Covered &after,
                                           const Covered &before, const config::MaxCovered &most,
                                           std::vector<Prefix> widest, std::uint64_t added) {
  const bool v4 = after.share_v4() > most.v4;
  if (!v4 && after.share_v6() <= most.v6) return std::nullopt;
  const bool grown = (v4 && after.v4 > before.v4) || (after.share_v6() > most.v6 && after.v6 > before.v6);
  Objection objection{
      .sentence = fmt::format(
          "{} more than {}: {}",
          v4 ? fmt::format("{}: {} would be covered,", whose, covered_text_v4(static_cast<double>(after.v4)))
             : fmt::format("{}: {} would be covered,", whose, covered_text_v6(static_cast<double>(after.v6))),
          key,
          v4 ? fmt::format("{{ipv4: {:g}%}}", most.v4 * 100) : fmt::format("{{ipv6: {:g}%}}", most.v6 * 100)),
      .accepted = !grown};
  if (!grown) {
    objection.sentence += ". It was accepted before and stays";
    return objection;
  }
  objection.sentence += fmt::format(". If it is meant, raise {}, or {}", key, let_through);
  objection.more = added - widest.size();
  objection.lines = std::move(widest);
  return objection;
}

void ShortEntries::take(const Prefix &prefix) {
  if (!named_) named_.emplace(list_);
  if (prefix.family() == Family::ipv4 ? contains<EntryV4>(named_->v4, to_entry_v4(prefix))
                                      : contains<EntryV6>(named_->v6, to_entry_v6(prefix)))
    return;
  ++count_;
  if (first_.size() < change_examples_max) first_.push_back(prefix);
}

Status ShortEntries::refused() const {
  if (count_ == 0) return {};
  std::string names;
  for (const Prefix &p : first_) names += (names.empty() ? "" : ", ") + to_string(p);
  if (count_ > first_.size()) names += fmt::format(" and {} more", count_ - first_.size());
  return fail(Errc::refused, fmt::format("{}: shorter than {}; nothing was added. If it is meant, {}, or set "
                                         "shortest_prefix of the list",
                                         names, lengths_text(list_, shortest_), let_through));
}

Status check_not_empty(const config::Config &config, const Effective &rules, bool force) {
  std::uint64_t entries = 0;
  for (const ListCounts &counts : rules.counts)
    if (counts.name != never_deny_name) entries += counts.v4_hosts + counts.v4_prefixes + counts.v6;
  const bool dynamic_alone =
      !config.lists.empty() &&
      std::ranges::all_of(config.lists, [](const config::List &l) { return l.dynamic; });
  if (force || entries != 0 || dynamic_alone || !config.rules.empty()) return {};
  return fail(Errc::refused,
              fmt::format("{}: the rule set is empty: {}. If that is meant, repeat with --force",
                          config.source.string(),
                          config.lists.empty() ? "the configuration has neither lists nor packet rules"
                                               : "no list has a single entry"));
}

} // namespace weir::rules
