// Where something without a password may listen: loopback, or a unix socket.
#pragma once

#include "weir/base/result.hpp"

#include <cstdint>
#include <string>

namespace weir::config {

struct HostAndPort {
  std::string path;     // of a unix socket; empty: the others count
  bool is_v6 = false;   // ::1
  std::uint32_t v4 = 0; // of 127.0.0.0/8, host order
  std::uint16_t port = 0;
};

// "127.0.0.1:9273", "[::1]:9273", "localhost:9273", "/run/weir/metrics.sock" or "unix:" before such a path. Errors: config, with
// what would be right.
[[nodiscard]] Result<HostAndPort> parse_listen(const std::string &text);

} // namespace weir::config
