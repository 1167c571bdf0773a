// The guards, asked about a candidate beside the rules in force.
#include "control/engine/candidate.hpp"

#include <set>
#include <string_view>

namespace weir::control {

Result<std::vector<std::string>> check_changes(const Candidate &candidate, const RuleSet *live,
                                               const rules::GuardsAsked &asked) {
  std::vector<rules::ListAtHand> lists;
  for (const ListDiff &diff : candidate.diffs) {
    const RuleList &list = *candidate.rules->find(diff.name);
    rules::ListAtHand at_hand{.list = &list.definition,
                              .file = diff.file,
                              .after = list.body->entries(),
                              .before = {},
                              .covered_after = list.body->covered,
                              .covered_before = {},
                              .change = diff.first_load ? nullptr : &diff.change};
    const RuleList *before = live != nullptr ? live->find(diff.name) : nullptr;
    if (before != nullptr && before->definition.action == list.definition.action) {
      at_hand.before = before->body->entries();
      at_hand.covered_before = before->body->covered;
    }
    lists.push_back(std::move(at_hand));
  }
  // A replaced list is the only one that was compared; the ceiling of all deny lists together counts the
  // others.
  std::set<std::string_view> compared;
  for (const ListDiff &diff : candidate.diffs) compared.insert(diff.name);
  for (const RuleList &list : candidate.rules->lists)
    if (!compared.contains(list.definition.name))
      lists.push_back({.list = &list.definition,
                       .file = {},
                       .after = list.body->entries(),
                       .before = list.body->entries(),
                       .covered_after = list.body->covered,
                       .covered_before = list.body->covered,
                       .untouched = true});
  return rules::ask_guards(candidate.rules->config.guard, lists, asked);
}

void account(rules::ChangeAccount &spent, const std::vector<ListDiff> &lists, bool forced,
             std::uint64_t now_s) {
  for (const ListDiff &diff : lists) {
    const rules::Spent change = rules::spent_on(diff.change);
    if (diff.first_load || change.nothing()) continue;
    if (forced)
      spent.clear(diff.name);
    else
      spent.add(diff.name, change, now_s);
  }
}

} // namespace weir::control
