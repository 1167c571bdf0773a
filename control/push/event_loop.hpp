// One thread, one epoll: sockets, timers and work handed in by other threads. Everything but post()
// and stop() belongs to the thread that runs the loop.
//
// What a function of the loop throws ends that function and nothing else: it is told to `on_fault`, and the
// loop goes on.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>
#include <utility>

namespace weir::push {

using Clock = std::chrono::steady_clock;

[[nodiscard]] inline double ms_since(Clock::time_point start) {
  return std::chrono::duration<double, std::milli>(Clock::now() - start).count();
}

class EventLoop {
public:
  using Task = std::function<void()>;
  using OnReady = std::function<void(std::uint32_t epoll_events)>;
  using TimerId = std::uint64_t; // 0 is no timer

  EventLoop();
  ~EventLoop();
  EventLoop(const EventLoop &) = delete;
  EventLoop &operator=(const EventLoop &) = delete;

  void watch(int fd, std::uint32_t events, OnReady on_ready); // again for the same fd: changes both
  void change(int fd, std::uint32_t events);                  // keeps the function
  void forget(int fd);                                        // before closing it

  TimerId after(Clock::duration delay, Task task);
  void cancel(TimerId id);

  void post(Task task);             // from any thread: runs on the loop
  void post(std::list<Task> tasks); // the same, and needs no memory
  void run();                       // until stop()
  void stop();                      // from any thread

  // Runs what is ready now, waiting at most `wait`: for tests and start-up.
  void turn(Clock::duration wait);

  // When what is being handled came, at the earliest: while a round works, others wait for it.
  [[nodiscard]] Clock::time_point arrived() const noexcept { return arrived_; }
  [[nodiscard]] Clock::time_point woken() const noexcept { return woken_; } // this round began

  // Gets what was thrown; without it, stderr does.
  std::function<void(const std::string &what)> on_fault;

private:
  template <class Function, class... Arguments>
  void call(const Function &function, Arguments... arguments) noexcept;
  void report(const char *what) noexcept;
  [[nodiscard]] bool tell_kernel(int fd, std::uint32_t events) noexcept;
  void run_posted();
  void run_timers();
  void ring();

  int epoll_ = -1, bell_ = -1;
  bool stopped_ = false;
  Clock::time_point arrived_ = Clock::now(), woken_ = arrived_;
  std::unordered_map<int, std::shared_ptr<OnReady>> watched_;
  std::map<int, std::uint32_t> not_told_; // what the kernel had no room for: told again until it has
  std::map<std::pair<Clock::time_point, TimerId>, Task> timers_;
  std::unordered_map<TimerId, Clock::time_point> timer_times_;
  TimerId next_timer_ = 1;
  std::mutex mutex_;
  std::list<Task> posted_;
};

} // namespace weir::push
