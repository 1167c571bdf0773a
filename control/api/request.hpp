// What comes over control.sock: one line, the descriptors that were passed with it, and who sent it.
#pragma once

#include "control/push/event_loop.hpp"
#include "weir/base/owned_fd.hpp"
#include "weir/base/result.hpp"

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace weir::control {

// The process at the other end as the kernel knew it when it connected (SO_PEERCRED, SO_PEERGROUPS).
struct Peer {
  static constexpr std::uint32_t nobody_known = ~std::uint32_t{0};

  std::int32_t pid = 0; // 0: unknown
  std::uint32_t uid = nobody_known, gid = nobody_known;
  std::vector<std::uint32_t> groups; // the supplementary ones
};

struct Request {
  std::string line;         // without its newline
  std::vector<OwnedFd> fds; // in the order of sending; closed with the request unless they are taken
  Peer peer;
  push::Clock::time_point arrived = push::Clock::now(); // at the earliest
};

// Who asks, for verbs: copies share the descriptors, and the last one closes them.
struct Caller {
  Peer peer;
  std::vector<std::shared_ptr<OwnedFd>> fds;
  bool may_change = true; // and so may see what stands in the daemon's own files
  push::Clock::time_point arrived = push::Clock::now(); // of the request
};

// The answer to a request that failed, one JSON line without its newline.
[[nodiscard]] std::string failure_line(const Error &error);

} // namespace weir::control
