#include "control/rules/guards.hpp"

#include "control/rules/bundled_feed.hpp"
#include "control/rules/lookup_cost.hpp"
#include "weir/key/text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <utility>

namespace weir::rules {
namespace {

// The sentence, and below it the lines that are to blame, with their numbers as far as there is a file.
std::string text_of(const Objection &objection, const ListAtHand *of, const Bundle *files) {
  std::string text = objection.sentence;
  if (of == nullptr || objection.lines.empty()) return text;
  std::vector<FeedLine> found;
  if (!of->file.empty()) found = lines_of(of->file, of->list->format, objection.lines, files);
  for (const Prefix &prefix : objection.lines) {
    const auto at = std::ranges::find(found, prefix, &FeedLine::prefix);
    const std::string where =
        at == found.end() ? "list " + of->list->name : fmt::format("{}:{}", of->file.string(), at->line);
    text += fmt::format("\n{}: \"{}\"", where, to_string(prefix));
  }
  if (objection.more > 0) text += fmt::format("\nand {} more", objection.more);
  return text;
}

// What makes a list as large as it is: what has come, or all of one that is new.
struct WidestOf {
  std::vector<Prefix> lines;
  std::uint64_t all = 0;
};

WidestOf widest_of(const ListAtHand &list) {
  if (list.change != nullptr) return {list.change->widest, list.change->added};
  ListChange change = change_of({}, {.name = {}, .v4 = list.after.v4, .v6 = list.after.v6});
  return {std::move(change.widest), change.added};
}

class Guards {
public:
  Guards(const config::Guard &guard, std::span<const ListAtHand> lists, const GuardsAsked &asked)
      : guard_(guard), asked_(asked), lists_(lists) {
    for (const ListAtHand &list : lists) named_.emplace_back(*list.list);
  }

  Result<std::vector<std::string>> run() {
    for (std::size_t i = 0; i < lists_.size(); ++i) {
      if (lists_[i].untouched) continue;
      ask_lengths(i);
      ask_lookup_cost(i);
      ask_change(lists_[i]);
      ask_covered(i);
    }
    ask_all_covered();
    if (!refusals_.empty()) return fail(Errc::refused, std::move(refusals_));
    return std::move(warnings_);
  }

private:
  void object(const std::optional<Objection> &objection, const ListAtHand *of) {
    if (!objection) return;
    std::string text = text_of(*objection, of, asked_.files);
    if (objection->accepted) return warnings_.push_back(std::move(text));
    if (asked_.force) return warnings_.push_back("forced: " + text);
    refusals_ += (refusals_.empty() ? "" : "\n") + text;
  }

  // What the configuration names itself is the operator's own words.
  [[nodiscard]] Entries unnamed(std::size_t i, Entries entries) const {
    entries.named_v4 = named_[i].v4;
    entries.named_v6 = named_[i].v6;
    return entries;
  }
  [[nodiscard]] Covered covered(std::size_t i, const Entries &entries, const Covered &with_named) const {
    return named_[i].v4.empty() && named_[i].v6.empty() ? with_named : covered_by(unnamed(i, entries));
  }

  void ask_lengths(std::size_t i) {
    const ListAtHand &l = lists_[i];
    object(
        object_to_lengths(*l.list, unnamed(i, l.after), l.before, config::shortest_prefix(guard_, *l.list)),
        &l);
  }

  // Lines that nest are told once, not as lengths again.
  void ask_lookup_cost(std::size_t i) {
    const ListAtHand &l = lists_[i];
    const Entries after = unnamed(i, l.after);
    const auto nested = object_to_nesting(*l.list, after, l.before, config::max_nested(guard_, *l.list));
    object(nested, &l);
    if (nested && !nested->accepted) return;
    const LengthsAsked lengths{.most = config::max_lengths(guard_, *l.list),
                               .set_v4 = l.list->max_lengths_v4 || guard_.max_lengths_v4,
                               .set_v6 = l.list->max_lengths_v6 || guard_.max_lengths_v6,
                               .first_load = l.change == nullptr};
    object(object_to_variety(*l.list, after, l.before, lengths), &l);
  }

  void ask_change(const ListAtHand &l) {
    if (l.change == nullptr) return;
    const Spent earlier = asked_.spent != nullptr ? asked_.spent->of(l.list->name, asked_.now_s) : Spent{};
    object(
        object_to_change(*l.list, *l.change, config::max_change(guard_, *l.list), earlier, !l.file.empty()),
        &l);
  }

  void ask_covered(std::size_t i) {
    const ListAtHand &l = lists_[i];
    const config::MaxCovered most = config::max_covered(guard_, *l.list);
    const Covered after = covered(i, l.after, l.covered_after);
    if (after.share_v4() <= most.v4 && after.share_v6() <= most.v6) return;
    const bool own = l.list->max_covered_v4 || l.list->max_covered_v6;
    WidestOf widest = widest_of(l);
    object(object_to_covered(
               "list " + l.list->name, own ? "max_covered of the list" : "guard.max_covered.allow", after,
               covered(i, l.before, l.covered_before), most, std::move(widest.lines), widest.all),
           &l);
  }

  // The sum is an upper bound that is enough for most rules; the union is counted only beyond it.
  void ask_all_covered() {
    const config::MaxCovered &most = guard_.covered_deny;
    Covered together;
    std::vector<Entries> after, before;
    for (std::size_t i = 0; i < lists_.size(); ++i) {
      const ListAtHand &l = lists_[i];
      if (l.list->action != Side::deny) continue;
      const Covered own = covered(i, l.after, l.covered_after);
      together = {together.v4 + own.v4, saturated_sum(together.v6, own.v6)};
      after.push_back(unnamed(i, l.after));
      before.push_back(unnamed(i, l.before));
    }
    if (together.share_v4() <= most.v4 && together.share_v6() <= most.v6) return;
    together = covered_by(after);
    if (together.share_v4() <= most.v4 && together.share_v6() <= most.v6) return;
    const ListAtHand *to_blame = nullptr;
    WidestOf widest;
    for (const ListAtHand &l : lists_) {
      if (l.list->action != Side::deny || l.untouched) continue;
      WidestOf own = widest_of(l);
      if (own.lines.empty() || (to_blame != nullptr && !is_wider(own.lines.front(), widest.lines.front())))
        continue;
      to_blame = &l;
      widest = std::move(own);
    }
    object(object_to_covered("all deny lists together", "guard.max_covered.deny", together,
                             covered_by(before), most, std::move(widest.lines), widest.all),
           to_blame);
  }

  const config::Guard &guard_;
  const GuardsAsked &asked_;
  std::span<const ListAtHand> lists_;
  std::vector<Named> named_;
  std::string refusals_;
  std::vector<std::string> warnings_;
};

} // namespace

Result<std::vector<std::string>> ask_guards(const config::Guard &guard, std::span<const ListAtHand> lists,
                                            const GuardsAsked &asked) {
  return Guards(guard, lists, asked).run();
}

} // namespace weir::rules
