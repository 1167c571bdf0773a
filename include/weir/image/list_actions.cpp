#include "weir/image/list_actions.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

namespace weir::image {
namespace {

std::unexpected<Error> bad_actions(std::string why) { return fail(Errc::bad_image, std::move(why)); }

Status check_action(const ListActionEntry &entry, std::span<const ListEntry> lists) {
  const auto of = std::ranges::find(lists, entry.list, &ListEntry::number);
  if (of == lists.end() || of->side != static_cast<std::uint8_t>(Side::deny))
    return bad_actions(fmt::format("an action of list {}, which is no deny list", entry.list));
  const bool limits = entry.action == RuleAction::rate_limit;
  if (!limits && entry.action != RuleAction::count && entry.action != RuleAction::reject)
    return bad_actions(fmt::format("list {} has an action that there cannot be", entry.list));
  const auto in_range = [](std::uint32_t n) { return n >= 1 && n <= rule_rate_max; };
  if (limits ? !in_range(entry.packets) || !in_range(entry.burst) || entry.per > RulePer::source
             : entry.packets != 0 || entry.burst != 0 || entry.per != RulePer::rule)
    return bad_actions(fmt::format("list {} has a rate that there cannot be", entry.list));
  if (entry.reserved != decltype(entry.reserved){}) return bad_actions("reserved bytes are not zero");
  return {};
}

} // namespace

Result<ListActionsView> ListActionsView::attach(Bytes section, std::span<const ListEntry> lists) {
  if (section.size() < sizeof(ListActionsHeader)) return bad_actions("too short");
  const auto &h = *reinterpret_cast<const ListActionsHeader *>(section.data());
  if (h.reserved != decltype(h.reserved){}) return bad_actions("reserved bytes are not zero");
  if (h.lists == 0 || section.size() != sizeof h + std::uint64_t{h.lists} * sizeof(ListActionEntry))
    return bad_actions("size does not match its lists");
  ListActionsView view;
  view.entries_ = {reinterpret_cast<const ListActionEntry *>(section.data() + sizeof h), h.lists};
  std::size_t per_source = 0;
  for (std::size_t i = 0; i < view.entries_.size(); ++i) {
    TRY(check_action(view.entries_[i], lists));
    per_source += view.entries_[i].per == RulePer::source ? 1 : 0;
    if (i > 0 && view.entries_[i].list <= view.entries_[i - 1].list)
      return bad_actions("lists are not in the order of their numbers");
  }
  if (per_source > rules_per_source_max)
    return bad_actions(
        fmt::format("{} lists remember addresses, at most {} may", per_source, rules_per_source_max));
  return view;
}

const ListActionEntry *ListActionsView::of(ListId list) const noexcept {
  const auto at = std::ranges::lower_bound(entries_, list, {}, &ListActionEntry::list);
  return at != entries_.end() && at->list == list ? &*at : nullptr;
}

std::vector<std::byte> list_actions_section(std::span<const ListActionEntry> entries) {
  if (entries.empty()) return {};
  ListActionsHeader h{};
  h.lists = static_cast<std::uint32_t>(entries.size());
  std::vector<std::byte> out(sizeof h + entries.size_bytes());
  std::memcpy(out.data(), &h, sizeof h);
  std::memcpy(out.data() + sizeof h, entries.data(), entries.size_bytes());
  return out;
}

std::string text_of(const ListActionEntry &entry) {
  switch (entry.action) {
  case RuleAction::count: return "count: counted, and judged as if it were on no list";
  case RuleAction::rate_limit:
    return fmt::format("rate_limit: dropped beyond {} packets a second{}, and {} at once; below that judged "
                       "as if it were on no list",
                       entry.packets, entry.per == RulePer::source ? " of each address" : "", entry.burst);
  case RuleAction::reject: return "reject: dropped, and the sender is told";
  default: return "drop";
  }
}

} // namespace weir::image
