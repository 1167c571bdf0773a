// Looks once a second whether each worker still comes round its loop, with packets or without. One that does not for
// `patience` is a warning, and the service manager's watchdog is not fed while there is one (weir/base/notify.hpp).
#pragma once

#include "dataplane/count/counters.hpp"

#include <chrono>
#include <cstdint>
#include <mutex>
#include <string>
#include <vector>

namespace weir::dataplane {

class WorkerLooks {
public:
  using Time = std::chrono::steady_clock::time_point;
  static constexpr std::chrono::seconds patience{3};

  // Service thread. A worker counts as started by the first look at it. True: it was time for a look.
  bool look_if_due(const Counters &counters, Time now);

  // Service thread: by the last look no worker had been standing for `patience`.
  [[nodiscard]] bool all_come_round() const noexcept { return all_come_round_; }

  [[nodiscard]] std::vector<std::string> warnings() const; // any thread

private:
  struct Seen {
    std::uint64_t cycles = 0; // busy and idle: each round adds to one of both
    Time moved;
    bool standing = false;
  };

  Time due_{};
  std::vector<Seen> seen_; // by worker
  bool all_come_round_ = true;
  mutable std::mutex mutex_;
  std::vector<std::string> warnings_;
};

} // namespace weir::dataplane
