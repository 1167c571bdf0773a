// Looks at all ports once a second, for warnings about packets that a card lost or nobody read.
#pragma once

#include "dataplane/count/counters.hpp"
#include "dataplane/port/port.hpp"
#include "dataplane/port/port_watch.hpp"

#include <chrono>
#include <mutex>
#include <string>
#include <vector>

namespace weir::dataplane {

class PortLooks {
public:
  void look_if_due(const Ports &ports, const Counters &counters); // service thread
  [[nodiscard]] std::vector<std::string> warnings() const;        // any thread

private:
  std::chrono::steady_clock::time_point due_{};
  std::vector<PortWatch> watches_; // by port
  mutable std::mutex mutex_;
  std::vector<std::string> warnings_;
};

} // namespace weir::dataplane
