// What source thread, sink thread and the port's owner tell each other. Counters have one writer
// each; the rest are flags that only ever go up.
#pragma once

#include "weir/base/result.hpp"
#include "weir/image/identity.hpp"

#include <atomic>
#include <chrono>
#include <cstdint>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>

namespace weir::dataplane {

struct ReplayShared {
  using Clock = std::chrono::steady_clock;

  std::atomic<Generation> live_generation;
  std::atomic<bool> stop{false};    // no more input
  std::atomic<bool> abandon{false}; // leave everything where it is

  std::atomic<std::uint64_t> read{0}; // source
  std::atomic<bool> eof{false};
  std::atomic<bool> truncated{false};
  std::atomic<bool> source_done{false}; // `read` is final
  std::atomic<Clock::rep> first_release{0};

  std::atomic<std::uint64_t> written{0}; // sink
  std::atomic<Clock::rep> last_write{0};
  std::atomic<bool> sink_done{false};

  std::atomic<bool> failed{false};

  // Keeps the first error.
  void set_error(Error error) {
    const std::lock_guard lock(error_lock_);
    if (!error_) error_ = std::move(error);
    failed.store(true, std::memory_order_release);
  }

  [[nodiscard]] std::optional<Error> error() {
    const std::lock_guard lock(error_lock_);
    return error_;
  }

private:
  std::mutex error_lock_;
  std::optional<Error> error_;
};

// How long a side with nothing to do sleeps: a fraction of what the pool holds at full rate.
inline void replay_pause() { std::this_thread::sleep_for(std::chrono::microseconds(50)); }

} // namespace weir::dataplane
