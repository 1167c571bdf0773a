// Tells systemd how a service is doing: datagrams to the socket that $NOTIFY_SOCKET names (sd_notify(3)). Without that
// variable, which systemd sets for units of Type=notify, nothing is said.
#pragma once

#include <chrono>
#include <optional>
#include <string_view>

namespace weir {

// Assignments such as READY=1, one a line. A message that cannot be sent is lost: no service ends because of it.
void notify(std::string_view state);

// systemd kills a service from which it hears nothing for $WATCHDOG_USEC (WatchdogSec= of the unit). This says when the
// next sign of life is due: four of them fit that time, so that one late look costs nothing.
class Watchdog {
public:
  using Clock = std::chrono::steady_clock;

  Watchdog(); // of this process's environment; nothing is ever due where nobody waits
  explicit Watchdog(std::optional<std::chrono::microseconds> patience);

  [[nodiscard]] bool due(Clock::time_point now) const { return patience_ && now - fed_ >= *patience_ / 4; }
  void feed(Clock::time_point now);

private:
  std::optional<std::chrono::microseconds> patience_;
  Clock::time_point fed_ = Clock::now();
};

} // namespace weir
