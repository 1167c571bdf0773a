#include "control/watch/image_load.hpp"

#include "control/base/answers.hpp"

#include <nlohmann/json.hpp>

namespace weir::watch {

using Json = nlohmann::json;
using push::child, push::count_in;

ImageLoad decode_image_load(const std::string &info_json) {
  const Json info = Json::parse(info_json, nullptr, false);
  ImageLoad load;
  for (const Json &one : child(info, "overlays")) {
    const Json &name = child(one, "name");
    load.overlays.push_back(
        {name.is_string() ? name.get<std::string>() : "", count_in(one, "keys"), count_in(one, "room")});
  }
  if (const Json &filter = child(info, "allow_filter"); filter.is_object()) {
    load.allow_filter = {.keys = count_in(filter, "keys"),
                         .planned_keys = count_in(filter, "planned_keys"),
                         .cells = std::nullopt,
                         .cells_stuck = count_in(filter, "cells_stuck"),
                         .slots = count_in(filter, "slots"),
                         .saturated = child(filter, "saturated") == true};
    if (filter.contains("cells")) load.allow_filter->cells = count_in(filter, "cells");
  }
  if (const Json &filter = child(info, "deny_filter"); filter.is_object())
    load.deny_filter = {.hosts = count_in(filter, "hosts"),
                        .planned_hosts = count_in(filter, "planned_hosts"),
                        .saturated = child(filter, "saturated") == true};
  if (const Json &map = child(info, "host_map"); map.is_object())
    load.host_map = {.lines = count_in(map, "lines"),
                     .hosts_beside = count_in(map, "hosts_beside"),
                     .saturated = child(map, "saturated") == true};
  return load;
}

} // namespace weir::watch
