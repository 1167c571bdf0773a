// Threads for what takes long: reading feeds, writing contents, building images, exporting lists.
// The work must not touch what belongs to the loop; its result comes back to the loop, and so does what it
// throws, as an error: whoever waits for a result gets one.
#pragma once

#include "control/push/event_loop.hpp"
#include "weir/base/result.hpp"

#include <condition_variable>
#include <deque>
#include <exception>
#include <functional>
#include <list>
#include <memory>
#include <mutex>
#include <new>
#include <optional>
#include <thread>
#include <type_traits>
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

  // Calls `then(work())`, `work` on a thread and `then` on the loop. `work` returns a Result or Status.
  template <class Work, class Then> void run(Work work, Then then) {
    using Outcome = std::invoke_result_t<Work &>;
    static_assert(std::is_constructible_v<Outcome, std::unexpected<Error>>,
                  "what is thrown must have a place in what work() returns");
    struct Job {
      std::optional<Work> work;
      Then then;
      std::optional<Outcome> outcome;
    };
    auto job = std::make_shared<Job>(Job{std::move(work), std::move(then), std::nullopt});
    // Everything that the way back needs is there before the work begins: it may end for want of memory.
    auto back = std::make_shared<std::list<push::EventLoop::Task>>();
    back->push_back([job] { job->then(std::move(*job->outcome)); });
    enqueue([this, job = std::move(job), back = std::move(back)] {
      job->outcome.emplace(outcome_of<Outcome>(*job->work));
      job->work.reset(); // what it held is freed here and not on the loop
      loop_.post(std::move(*back));
    });
  }

private:
  template <class Outcome, class Work> static Outcome outcome_of(Work &work) noexcept {
    try {
      return work();
    } catch (const std::bad_alloc &) {
      return fail(Errc::no_memory, "out of memory"); // short enough to need none
    } catch (const std::exception &thrown) {
      return fault(thrown.what());
    } catch (...) {
      return fail(Errc::io, "unknown fault");
    }
  }
  static std::unexpected<Error> fault(const char *what) noexcept {
    try {
      return fail(Errc::io, std::string("a fault inside weir-control, please report it: ") + what);
    } catch (...) {
      return fail(Errc::no_memory, "out of memory");
    }
  }
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
      task = nullptr; // not under the lock
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
