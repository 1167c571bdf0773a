// The prefixes of an input as range maps (table/range_map_v4.hpp), resolved once for all that ask how large an
// image will be, and for the build.
#pragma once

#include "weir/build/input.hpp"
#include "weir/build/keys.hpp"
#include "weir/build/range_builder.hpp"
#include "weir/key/side.hpp"

#include <memory>
#include <optional>

namespace weir::build {

struct PrefixRanges {
  // None: prefixes stand in the tables, and the image says at which lengths to ask for them. So it is for hash
  // family jhash, whose readers know no ranges, and where there are more pairs of list and length than a range map
  // holds.
  PerSide<std::optional<RangePlanV4>> v4;
  PerSide<std::optional<RangePlanV6>> v6;

  // The map has the side's hosts too and its table nothing: so it is on the deny side where hosts are few beside the
  // prefixes, as ranges of one address, or where the input says so (HostHome).
  // A burst then asks no table, but for hosts that come later: these stand in the table, which has room for a sixteenth
  // more.
  PerSide<bool> hosts_in_v4{}, hosts_in_v6{};
};

// Whether the deny side's IPv4 hosts stand in words (HostHome), once all is known that may speak against it.
[[nodiscard]] inline bool hosts_in_words(const BuildInput &input, const PrefixRanges &ranges) noexcept {
  return input.deny.hosts_v4 == HostHome::words && ranges.v4[Side::deny].has_value() &&
         !ranges.hosts_in_v4[Side::deny];
}

// Of which families a side's table has hosts alone. `input` may not have been resolved: then it is asked now.
[[nodiscard]] detail::HostsAlone hosts_alone(const BuildInput &input, Side side);

// Of entries that are sorted and masked; of others no ranges, since the build refuses them.
[[nodiscard]] std::shared_ptr<const PrefixRanges> prefix_ranges(const BuildInput &input);

// Sets input.ranges. To be called again when entries change.
void resolve_prefixes(BuildInput &input);

} // namespace weir::build
