// Looks at the link of each port once a second, tells what changed, and takes links down that follow another one.
#pragma once

#include "dataplane/port/link_watch.hpp"
#include "dataplane/port/port.hpp"

#include <mutex>
#include <optional>
#include <vector>

namespace weir::dataplane {

class PortLinks {
public:
  void look_if_due(const Ports &ports); // service thread
  void set_free(const Ports &ports);    // at the end: links that are held down
  // By port; empty before the first look. Any thread.
  [[nodiscard]] std::vector<LinkReport> reports() const;

private:
  LinkWatch::Clock::time_point due_{};
  std::optional<LinkWatch> watch_;
  mutable std::mutex mutex_;
  std::vector<LinkReport> reports_;
};

// Whether a port's link can be taken down; an error says that it cannot. Its link is up afterwards.
[[nodiscard]] Status check_link_follows(const Port &port, const std::string &device);

} // namespace weir::dataplane
