#include "control/engine/holders.hpp"

#include <algorithm>
#include <tuple>

namespace weir::control {

namespace {

// Calls `each` for the prefixes around the address that have one of these lengths, hosts first.
void for_each_around(const rules::Lengths &lengths, const Address &address, const auto &each) {
  (void)lengths.any_around(address, [&](const Prefix &prefix) {
    each(prefix);
    return false;
  });
}

rules::Lengths lengths_of(const rules::ListSource &source) {
  rules::Lengths lengths;
  lengths.add(rules::Entries{.v4 = source.v4, .v6 = source.v6});
  return lengths;
}

} // namespace

std::vector<DynamicHolder> dynamic_holders(const DynamicEntries &dynamic, const Address &address) {
  std::vector<DynamicHolder> holders;
  for_each_around(dynamic.lengths(), address, [&](const Prefix &prefix) {
    dynamic.holders(prefix,
                    [&](ListId list) { holders.push_back({list, prefix, *dynamic.find(list, prefix)}); });
  });
  return holders;
}

RuleVerdict judge(const RuleSet &rules, const std::vector<DynamicHolder> &dynamic, const Address &address) {
  RuleVerdict said{.verdict = rules.config.policy.fallthrough, .holders = {}};
  for (std::size_t i = 0; i < rules.sources.size(); ++i) {
    const rules::ListSource &source = rules.sources[i];
    const RuleList *list = rules.find(source.number); // null: never_deny
    for_each_around(list != nullptr ? list->body->lengths : lengths_of(source), address,
                    [&](const Prefix &prefix) {
                      if (rules::contains(source, prefix))
                        said.holders.push_back({.source = i, .prefix = prefix, .times = {}});
                    });
  }
  for (const auto &[list, prefix, times] : dynamic)
    if (const std::size_t place = rules.source_of(list); place < rules.sources.size())
      said.holders.push_back({place, prefix, true, times});
  std::ranges::stable_sort(said.holders, {}, [&](const Holder &holder) {
    return std::tuple(rules.sources[holder.source].side != Side::allow,
                      -static_cast<int>(holder.prefix.length), holder.source);
  });
  if (said.holders.empty()) return said;
  const rules::ListSource &first = rules.sources[said.holders.front().source];
  if (first.goes_on) return said;
  const bool allows = first.side == Side::allow;
  said.verdict = allows ? Verdict::pass : Verdict::drop;
  said.reason = allows ? Reason::allow : Reason::deny;
  return said;
}

} // namespace weir::control
