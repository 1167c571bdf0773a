// Threads for what takes long: reading feeds, writing contents, building images, exporting lists.
// The work must not touch what belongs to the loop; its result comes back to the loop.
#pragma once

#include "control/push/event_loop.hpp"

#include <condition_variable>
#include <deque>
#include <memory>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

namespace weir::control {

class Background {
public:
  Background(push::EventLoop &loop, unsigned threads) : loop_(loop) {
    for (unsigned i = 0; i < threads; ++i) threads_.emplace_back([this] { work(); });
  }
  // Waits for the work at hand; what has not begun is dropped.
  ~Background() {
    {
      const std::lock_guard lock(mutex_);
      ending_ = true;
      waiting_.clear();
    }
    wake_.notify_all();
    for (std::thread &thread : threads_) thread.join();
  }
  Background(const Background &) = delete;
  Background &operator=(const Background &) = delete;

  // Calls `then(work())`, `work` on a thread and `then` on the loop.
  template <class Work, class Then> void run(Work work, Then then) {
    using Value = decltype(work());
    enqueue([this, work = std::move(work), then = std::move(then)]() mutable {
      auto value = std::make_shared<Value>(work());
      loop_.post([value, then = std::move(then)]() mutable { then(std::move(*value)); });
    });
  }

private:
  void enqueue(std::function<void()> task) {
    {
      const std::lock_guard lock(mutex_);
      waiting_.push_back(std::move(task));
    }
    wake_.notify_one();
  }
  void work() {
    std::unique_lock lock(mutex_);
    for (;;) {
      wake_.wait(lock, [this] { return ending_ || !waiting_.empty(); });
      if (waiting_.empty()) return;
      std::function<void()> task = std::move(waiting_.front());
      waiting_.pop_front();
      lock.unlock();
      task();
      task = nullptr; // what it held is freed here and not under the lock
      lock.lock();
    }
  }

  push::EventLoop &loop_;
  std::mutex mutex_;
  std::condition_variable wake_;
  std::deque<std::function<void()>> waiting_;
  bool ending_ = false;
  std::vector<std::thread> threads_;
};

} // namespace weir::control
