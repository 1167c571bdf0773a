#include "control/build/deny_filter.hpp"

#include "control/rules/entry.hpp"
#include "weir/build/deny_filter_builder.hpp"

#include <algorithm>
#include <chrono>
#include <iterator>
#include <utility>

namespace weir::build {

namespace {

// Do both ends lie in the same of the ascending ranges?
template <class Range, class Number>
bool within_one(const std::vector<Range> &ranges, const Number &first, const Number &last) {
  const auto next = std::ranges::upper_bound(ranges, first, {}, &Range::first);
  return next != ranges.begin() && last <= std::prev(next)->last;
}

} // namespace

Result<StackSection> make_deny_filter(const BuildInput &input, const plan::DenyFilterPlan &plan) {
  const auto start = std::chrono::steady_clock::now();
  DenyFilterSizes wanted;
  wanted.role = plan.compact ? image::DenyFilterRole::judge : image::DenyFilterRole::front;
  wanted.base = plan::facts_of(plan.form).kind;
  wanted.layers = plan.stack.layers;
  wanted.room = std::max(1.0, static_cast<double>(plan.planned_keys) /
                                  static_cast<double>(std::max<std::uint64_t>(plan.keys, 1)));
  wanted.psi = plan.stack.psi;
  wanted.known = plan.known;
  wanted.family = input.family;
  if (plan.compact) wanted.spared = plan.spared;
  auto stack = TRY(build_deny_filter(input.deny, wanted, input.seed));
  StackSection section;
  section.role = stack.role;
  section.built = {
      .bytes = stack.section.size(),
      .rates = std::move(stack.rates),
      .efpr = stack.efpr,
      .efpb = stack.efpb,
      .known_accepted = stack.counts.known_left,
      .ms = std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count()};
  section.bytes = std::move(stack.section);
  return section;
}

SparedSide without_spared(const SideInput &deny, std::span<const Prefix> spared) {
  const detail::SparedRanges ranges = detail::spared_ranges(spared);
  SparedSide kept;
  for (const EntryV4 &e : deny.v4)
    if (!within_one(ranges.v4, e.host, detail::last_of(rules::to_prefix(e)).host())) kept.v4.push_back(e);
  for (const EntryV6 &e : deny.v6)
    if (!within_one(ranges.v6, e.address, detail::last_of(rules::to_prefix(e)).bytes)) kept.v6.push_back(e);
  return kept;
}

} // namespace weir::build
