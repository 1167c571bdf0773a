// A second pair of hands for the service thread: verifying, saving and unmapping images takes
// milliseconds in which the socket must still be served. Work runs on a thread of its own; what it
// returns is run by the service thread, which finds fd() readable then.
#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

namespace weir::dataplane {

class Background {
public:
  using Completion = std::move_only_function<void()>;
  using Work = std::move_only_function<Completion()>;

  Background();
  ~Background(); // finishes the work in hand and all that waits; completions not run are dropped
  Background(const Background &) = delete;
  Background &operator=(const Background &) = delete;

  void submit(Work work); // a Work may return an empty Completion
  [[nodiscard]] int fd() const noexcept { return event_fd_; }
  void run_completions(); // service thread
  void wait_idle();       // until nothing waits or is in hand; completions still need running

private:
  void loop();

  int event_fd_ = -1;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Work> waiting_;
  std::vector<Completion> done_;
  bool busy_ = false;
  bool stop_ = false;
  std::thread thread_;
};

} // namespace weir::dataplane
