#include "weir/build/prefix_ranges.hpp"

#include <algorithm>
#include <array>
#include <iterator>
#include <type_traits>
#include <utility>
#include <vector>

namespace weir::build {
namespace {

constexpr std::uint64_t prefixes_a_host = 8; // at least so many, where a map has hosts

template <class Entry> bool has_few_hosts(std::span<const Entry> entries) {
  const auto hosts = static_cast<std::uint64_t>(
      std::ranges::count_if(entries, [](const Entry &e) { return detail::is_host(e); }));
  return hosts != 0 && hosts * prefixes_a_host <= entries.size() - hosts;
}

// /48s with hosts below them.
std::uint64_t host_nets(std::span<const EntryV6> entries) {
  std::uint64_t nets = 0;
  const std::array<std::uint8_t, 16> *last = nullptr;
  for (const EntryV6 &e : entries) {
    if (!detail::is_host(e)) continue;
    nets += last == nullptr || !std::equal(last->begin(), last->begin() + 6, e.address.begin());
    last = &e.address;
  }
  return nets;
}

template <class Plan, class Entry>
void plan_map(std::span<const Entry> entries, bool hosts_may_join, std::optional<Plan> &plan,
              bool &with_hosts) {
  const auto keep = [&](std::span<const Entry> some) {
    auto made = [&] {
      if constexpr (std::is_same_v<Plan, RangePlanV6>)
        return Plan::make(some, with_hosts ? 0 : host_nets(entries));
      else
        return Plan::make(some);
    }();
    if (made) plan = std::move(*made);
  };
  with_hosts = hosts_may_join && has_few_hosts(entries);
  if (with_hosts) keep(entries);
  if (plan) return;
  with_hosts = false;
  std::vector<Entry> prefixes;
  std::ranges::copy_if(entries, std::back_inserter(prefixes),
                       [](const Entry &e) { return !detail::is_host(e); });
  keep(prefixes);
}

} // namespace

std::shared_ptr<const PrefixRanges> prefix_ranges(const BuildInput &input) {
  auto ranges = std::make_shared<PrefixRanges>();
  if (input.family == HashFamily::jhash) return ranges;
  for (const Side side : both_sides) {
    const SideInput &entries = side == Side::deny ? input.deny : input.allow;
    const bool hosts_may_join = side == Side::deny; // a filter before the allow tables has their hosts
    plan_map(entries.v4, hosts_may_join, ranges->v4[side], ranges->hosts_in_v4[side]);
    plan_map(entries.v6, hosts_may_join, ranges->v6[side], ranges->hosts_in_v6[side]);
  }
  return ranges;
}

detail::HostsAlone hosts_alone(const BuildInput &input, Side side) {
  const auto ranges = input.ranges ? input.ranges : prefix_ranges(input);
  return {ranges->v4[side].has_value(), ranges->v6[side].has_value()};
}

void resolve_prefixes(BuildInput &input) { input.ranges = prefix_ranges(input); }

} // namespace weir::build
