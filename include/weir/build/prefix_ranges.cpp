#include "weir/build/prefix_ranges.hpp"

#include <algorithm>
#include <array>
#include <iterator>
#include <utility>
#include <vector>

namespace weir::build {
namespace {

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

Result<RangePlanV4> make_map(std::span<const EntryV4> some, std::span<const EntryV4> /*all*/,
                             bool /*with_hosts*/, bool points) {
  return RangePlanV4::make(some, points);
}
Result<RangePlanV6> make_map(std::span<const EntryV6> some, std::span<const EntryV6> all, bool with_hosts,
                             bool /*points*/) {
  return RangePlanV6::make(some, with_hosts ? 0 : host_nets(all));
}

// `few_may_join`: few hosts stand in the map whatever `home` is.
template <class Plan, class Entry>
void plan_map(std::span<const Entry> entries, bool few_may_join, HostHome home, std::optional<Plan> &plan,
              bool &with_hosts) {
  const auto keep = [&](std::span<const Entry> some, bool points) {
    if (auto made = make_map(some, entries, with_hosts, points)) plan = std::move(*made);
  };
  std::vector<Entry> prefixes;
  std::ranges::copy_if(entries, std::back_inserter(prefixes),
                       [](const Entry &e) { return !detail::is_host(e); });
  const std::size_t hosts = entries.size() - prefixes.size();
  const bool few = few_may_join && hosts * table::prefixes_a_host <= prefixes.size();
  with_hosts = hosts != 0 && (few || home == HostHome::ranges || home == HostHome::points);
  if (with_hosts) keep(entries, !few && home == HostHome::points);
  if (plan) return;
  with_hosts = false;
  keep(prefixes, false);
}

} // namespace

std::shared_ptr<const PrefixRanges> prefix_ranges(const BuildInput &input) {
  auto ranges = std::make_shared<PrefixRanges>();
  if (input.family == HashFamily::jhash) return ranges;
  for (const Side side : both_sides) {
    const SideInput &entries = side == Side::deny ? input.deny : input.allow;
    const bool few_may_join = side == Side::deny; // a filter before the allow tables has their hosts
    plan_map(entries.v4, few_may_join, entries.hosts_v4, ranges->v4[side], ranges->hosts_in_v4[side]);
    plan_map(entries.v6, few_may_join, HostHome::table, ranges->v6[side], ranges->hosts_in_v6[side]);
  }
  return ranges;
}

detail::HostsAlone hosts_alone(const BuildInput &input, Side side) {
  const auto ranges = input.ranges ? input.ranges : prefix_ranges(input);
  return {ranges->v4[side].has_value(), ranges->v6[side].has_value()};
}

void resolve_prefixes(BuildInput &input) { input.ranges = prefix_ranges(input); }

} // namespace weir::build
