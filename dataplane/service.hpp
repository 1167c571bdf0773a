// The service thread's loop: the control socket, grace periods, background work, samples, signals,
// and in replay the question whether all packets are out. Never blocks longer than a poll.
#pragma once

#include "dataplane/channel.hpp"
#include "dataplane/gate/dataplane.hpp"
#include "weir/base/notify.hpp"
#include "weir/base/result.hpp"

#include <chrono>
#include <filesystem>

namespace weir::dataplane {

// SIGTERM and SIGINT are blocked in this and all later threads; call it before EAL starts any.
void block_stop_signals();

class Service {
public:
  explicit Service(Dataplane &dataplane);
  ~Service();
  Service(const Service &) = delete;
  Service &operator=(const Service &) = delete;

  [[nodiscard]] Status listen(const std::filesystem::path &socket) { return channel_.listen(socket); }

  // Serves until SIGTERM or SIGINT; a replay ends by itself, or at the next packet after a signal.
  void run();

  // One turn that waits at most `patience`; false when it is time to stop. run() is made of these.
  [[nodiscard]] bool turn(std::chrono::microseconds patience);

private:
  [[nodiscard]] bool stop_was_asked();
  void forward_samples();
  void look_around();

  Dataplane &dataplane_;
  Channel channel_;
  int signals_ = -1;
  bool stopping_ = false;
  Watchdog watchdog_;
  std::chrono::steady_clock::time_point samples_due_{};
};

} // namespace weir::dataplane
