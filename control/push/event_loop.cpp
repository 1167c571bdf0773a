#include "control/push/event_loop.hpp"

#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdio>
#include <exception>
#include <system_error>

namespace weir::push {

EventLoop::EventLoop() : epoll_(epoll_create1(EPOLL_CLOEXEC)), bell_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
  if (epoll_ < 0 || bell_ < 0) throw std::system_error(errno, std::generic_category(), "event loop");
  watch(bell_, EPOLLIN, [this](std::uint32_t) {
    std::uint64_t count = 0;
    (void)!read(bell_, &count, sizeof count);
  });
}

EventLoop::~EventLoop() {
  close(epoll_);
  close(bell_);
}

void EventLoop::watch(int fd, std::uint32_t events, OnReady on_ready) {
  watched_[fd] = std::make_shared<OnReady>(std::move(on_ready));
  change(fd, events);
}

void EventLoop::change(int fd, std::uint32_t events) {
  not_told_.erase(fd);
  if (!tell_kernel(fd, events)) not_told_.emplace(fd, events);
}

void EventLoop::forget(int fd) {
  not_told_.erase(fd);
  if (watched_.erase(fd) > 0) epoll_ctl(epoll_, EPOLL_CTL_DEL, fd, nullptr); // close() does it otherwise
}

bool EventLoop::tell_kernel(int fd, std::uint32_t events) noexcept {
  epoll_event event{};
  event.events = events;
  event.data.fd = fd;
  if (epoll_ctl(epoll_, EPOLL_CTL_MOD, fd, &event) == 0) return true;
  return errno == ENOENT && epoll_ctl(epoll_, EPOLL_CTL_ADD, fd, &event) == 0;
}

EventLoop::TimerId EventLoop::after(Clock::duration delay, Task task) {
  const TimerId id = next_timer_++;
  const Clock::time_point when = Clock::now() + delay;
  timers_.emplace(std::pair{when, id}, std::move(task));
  timer_times_.emplace(id, when);
  return id;
}

void EventLoop::cancel(TimerId id) {
  const auto known = timer_times_.find(id);
  if (known == timer_times_.end()) return;
  timers_.erase({known->second, id});
  timer_times_.erase(known);
}

void EventLoop::ring() {
  const std::uint64_t one = 1;
  (void)!write(bell_, &one, sizeof one);
}

void EventLoop::post(Task task) {
  std::list<Task> tasks;
  tasks.push_back(std::move(task));
  post(std::move(tasks));
}

void EventLoop::post(std::list<Task> tasks) {
  {
    const std::lock_guard lock(mutex_);
    posted_.splice(posted_.end(), tasks);
  }
  ring();
}

void EventLoop::stop() {
  post([this] { stopped_ = true; });
}

void EventLoop::run() {
  stopped_ = false;
  while (!stopped_) turn(std::chrono::hours(1));
}

void EventLoop::turn(Clock::duration wait) {
  if (!timers_.empty()) wait = std::min(wait, timers_.begin()->first.first - Clock::now());
  std::erase_if(not_told_, [this](const auto &one) { return tell_kernel(one.first, one.second); });
  constexpr Clock::duration tell_again = std::chrono::milliseconds(10);
  if (!not_told_.empty()) wait = std::min(wait, tell_again);
  // Rounded up: waking before the timer is due would spin.
  const auto wait_ms = std::chrono::ceil<std::chrono::milliseconds>(std::max(wait, Clock::duration::zero()));
  std::array<epoll_event, 64> events;
  const Clock::time_point before = Clock::now();
  const int ready = epoll_wait(epoll_, events.data(), events.size(), static_cast<int>(wait_ms.count()));
  const Clock::time_point now = Clock::now();
  constexpr auto at_once = std::chrono::microseconds(100); // nothing was waited for
  arrived_ = now - before < at_once ? woken_ : now;
  woken_ = now;
  for (int i = 0; i < ready; ++i) {
    // An earlier function of this round may have forgotten the fd; the copy keeps a function alive
    // that forgets itself.
    const auto known = watched_.find(events[static_cast<std::size_t>(i)].data.fd);
    if (known == watched_.end()) continue;
    const std::shared_ptr<OnReady> on_ready = known->second;
    call(*on_ready, events[static_cast<std::size_t>(i)].events);
  }
  run_posted();
  run_timers();
}

void EventLoop::run_posted() {
  std::list<Task> tasks;
  {
    const std::lock_guard lock(mutex_);
    tasks.swap(posted_);
  }
  for (; !tasks.empty(); tasks.pop_front()) call(tasks.front());
}

void EventLoop::run_timers() {
  const Clock::time_point now = Clock::now();
  while (!timers_.empty() && timers_.begin()->first.first <= now) {
    const auto first = timers_.extract(timers_.begin());
    timer_times_.erase(first.key().second);
    call(first.mapped());
  }
}

// ---- what is thrown ----------------------------------------------------------------------------

template <class Function, class... Arguments>
void EventLoop::call(const Function &function, Arguments... arguments) noexcept {
  try {
    function(arguments...);
  } catch (const std::exception &thrown) {
    report(thrown.what());
  } catch (...) {
    report("something that is no exception");
  }
}

void EventLoop::report(const char *what) noexcept {
  try {
    if (on_fault) return on_fault(what);
  } catch (...) { // no memory for a sentence
  }
  std::fprintf(stderr, "a fault was caught, and what it interrupted is given up: %s\n", what);
}

} // namespace weir::push
