#include "control/watch/overlay_watch.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace weir::watch {
namespace {

constexpr auto entries_wait = std::chrono::seconds(1), saturated_wait = std::chrono::seconds(60);

double fill_of(const ImageLoad::Overlay &overlay) {
  return overlay.room == 0 ? 0 : static_cast<double>(overlay.keys) / static_cast<double>(overlay.room);
}

} // namespace

std::optional<Reason> look_at_load(const ImageLoad &load) {
  if (const auto &filter = load.allow_filter; filter && filter->saturated) {
    const std::string worn =
        filter->cells ? fmt::format(", {} of {} cells are stuck", filter->cells_stuck, *filter->cells)
                      : fmt::format(" in {} slots", filter->slots);
    return Reason{ImageCause::allow_saturated, saturated_wait,
                  fmt::format("the filter of the allow lists holds {} keys of {} planned{}", filter->keys,
                              filter->planned_keys, worn)};
  }
  if (const auto &filter = load.deny_filter; filter && filter->saturated)
    return Reason{ImageCause::entries, entries_wait,
                  fmt::format("the stacked filter of denied hosts holds {} of {} planned", filter->hosts,
                              filter->planned_hosts)};
  if (const auto &map = load.host_map; map && map->saturated)
    return Reason{ImageCause::entries, entries_wait,
                  fmt::format("the range map of {} lines had no room for {} hosts, which stand in the table",
                              map->lines, map->hosts_beside)};
  const auto fullest = std::ranges::max_element(load.overlays, {}, fill_of);
  if (fullest == load.overlays.end() || fill_of(*fullest) < fill_that_rebuilds) return std::nullopt;
  return Reason{
      ImageCause::entries, entries_wait,
      fmt::format("the overlay of {} holds {} of {} entries", fullest->name, fullest->keys, fullest->room)};
}

} // namespace weir::watch
