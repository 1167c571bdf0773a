#include "dataplane/image/background.hpp"

#include <sys/eventfd.h>
#include <unistd.h>

#include <cstdint>

namespace weir::dataplane {

Background::Background() : event_fd_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)), thread_([this] { loop(); }) {}

Background::~Background() {
  {
    const std::lock_guard lock(mutex_);
    stop_ = true;
  }
  changed_.notify_all();
  thread_.join();
  close(event_fd_);
}

void Background::submit(Work work) {
  {
    const std::lock_guard lock(mutex_);
    waiting_.push_back(std::move(work));
  }
  changed_.notify_all();
}

void Background::run_completions() {
  std::uint64_t ignored = 0;
  while (read(event_fd_, &ignored, sizeof ignored) > 0) continue;
  std::vector<Completion> done;
  {
    const std::lock_guard lock(mutex_);
    done.swap(done_);
  }
  for (Completion &completion : done) completion();
}

void Background::wait_idle() {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [this] { return waiting_.empty() && !busy_; });
}

void Background::loop() {
  std::unique_lock lock(mutex_);
  for (;;) {
    changed_.wait(lock, [this] { return stop_ || !waiting_.empty(); });
    if (waiting_.empty()) return;
    Work work = std::move(waiting_.front());
    waiting_.pop_front();
    busy_ = true;
    lock.unlock();
    Completion completion = work();
    work = nullptr; // what it captured is freed here, not under the lock
    lock.lock();
    busy_ = false;
    if (completion) {
      done_.push_back(std::move(completion));
      const std::uint64_t one = 1;
      [[maybe_unused]] const ssize_t woken = write(event_fd_, &one, sizeof one);
    }
    changed_.notify_all();
  }
}

} // namespace weir::dataplane
