// One receive queue of a port, and the way that its packets take when they pass.
#pragma once

#include "weir/key/verdict.hpp"

#include <cstdint>

namespace weir::dataplane {

// Where a worker takes packets from and where they go to when they pass.
struct RxQueue {
  std::uint16_t port = 0; // ethdev port
  std::uint16_t queue = 0;
  std::uint16_t port_index = 0; // in the configuration, for counters
  PortSide side = PortSide::none;
  std::uint16_t tx_port = 0;
  std::uint16_t tx_queue = 0;
  std::uint16_t tx_port_index = 0;
};

} // namespace weir::dataplane
