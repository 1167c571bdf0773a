// DPDK telemetry: /weir/info, /weir/generation, /weir/workers, /weir/lists[,first], /weir/drops,
// /weir/swap, /weir/explain,<address>. Callbacks run on EAL's telemetry thread.
#pragma once

#include "dataplane/gate/dataplane.hpp"

namespace weir::dataplane {

// Telemetry answers about `dataplane` while this lives. One at a time.
class Telemetry {
public:
  explicit Telemetry(const Dataplane &dataplane);
  ~Telemetry();
  Telemetry(const Telemetry &) = delete;
  Telemetry &operator=(const Telemetry &) = delete;
};

} // namespace weir::dataplane
