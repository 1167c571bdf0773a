// How full the image in force is, from the dataplane's answer to {"what":"info"}.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace weir::watch {

struct ImageLoad {
  struct Overlay {
    std::string name; // "deny ipv4"
    std::uint64_t keys = 0, room = 0;
  };
  struct AllowFilter {
    std::uint64_t keys = 0, planned_keys = 0;
    std::optional<std::uint64_t> cells; // of a filter that counts
    std::uint64_t cells_stuck = 0, slots = 0;
    bool saturated = false;
  };
  struct DenyFilter {
    std::uint64_t hosts = 0, planned_hosts = 0;
    bool saturated = false;
  };
  struct HostMap {
    std::uint64_t lines = 0, hosts_beside = 0;
    bool saturated = false;
  };
  std::vector<Overlay> overlays;
  std::optional<AllowFilter> allow_filter; // none: there is no such filter
  std::optional<DenyFilter> deny_filter;
  std::optional<HostMap> host_map; // the range map of denied IPv4 hosts
};

// What is missing there, or of another type, is 0 or none.
[[nodiscard]] ImageLoad decode_image_load(const std::string &info_json);

} // namespace weir::watch
