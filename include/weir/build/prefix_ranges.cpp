#include "weir/build/prefix_ranges.hpp"

#include <algorithm>
#include <iterator>
#include <utility>
#include <vector>

namespace weir::build {
namespace {

template <class Plan, class Entry> std::optional<Plan> plan_of(std::span<const Entry> entries) {
  std::vector<Entry> prefixes;
  std::ranges::copy_if(entries, std::back_inserter(prefixes),
                       [](const Entry &e) { return !detail::is_host(e); });
  auto plan = Plan::make(prefixes);
  if (!plan) return std::nullopt;
  return std::move(*plan);
}

} // namespace

std::shared_ptr<const PrefixRanges> prefix_ranges(const BuildInput &input) {
  auto ranges = std::make_shared<PrefixRanges>();
  if (input.family == HashFamily::jhash) return ranges;
  for (const Side side : both_sides) {
    const SideInput &entries = side == Side::deny ? input.deny : input.allow;
    ranges->v4[side] = plan_of<RangePlanV4>(entries.v4);
    ranges->v6[side] = plan_of<RangePlanV6>(entries.v6);
  }
  return ranges;
}

detail::HostsAlone hosts_alone(const BuildInput &input, Side side) {
  const auto ranges = input.ranges ? input.ranges : prefix_ranges(input);
  return {ranges->v4[side].has_value(), ranges->v6[side].has_value()};
}

void resolve_prefixes(BuildInput &input) { input.ranges = prefix_ranges(input); }

} // namespace weir::build
