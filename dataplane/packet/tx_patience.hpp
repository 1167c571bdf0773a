// How long a worker goes on asking a transmit queue that did not take all of a burst. A queue that is full for a moment has room
// again within microseconds, and what does not fit meanwhile waits where the next packets wait, in the receive queue. But a
// worker that waits for one queue reads none, so it waits within three bounds:
//
//   one burst        asks_max times, and wait_us_max altogether
//   one queue        one part in share of the time, of which it may save up save_us_max while there is room, so that an output
//                    for which there is simply too much takes no more from the others
//   one that stands  not at all: after a wait in which a queue took nothing, until it takes something at the first try
//
// Nobody comes here whose first try sent everything.
#pragma once

#include "dataplane/count/counters.hpp"

#include <algorithm>
#include <array>
#include <cstdint>

namespace weir::dataplane {

class TxPatience {
public:
  static constexpr unsigned asks_max = 8, share = 16;
  static constexpr std::uint64_t wait_us_max = 10, save_us_max = 100;

  explicit TxPatience(std::uint64_t cycles_a_second) noexcept
      : a_wait_(cycles_a_second / 1'000'000 * wait_us_max / asks_max),
        save_max_(cycles_a_second / 1'000'000 * save_us_max) {}

  // `port` (its index) took `first` packets at the first try, and `left` are left. `take(n)` offers the last n of them once
  // more and says how many were taken; `pause()` passes a moment; `clock()` counts cycles. Returns how many were taken.
  template <class Take, class Pause, class Clock>
  [[gnu::noinline]] unsigned ask_again(std::size_t port, unsigned first, unsigned left, Take take,
                                       Pause pause, Clock clock) noexcept {
    Queue &queue = queues_[port];
    const std::uint64_t began = clock();
    queue.saved = std::min(save_max_, queue.saved + (began - queue.then) / share);
    queue.then = began;
    if (queue.stands && first == 0) return 0;
    unsigned taken = 0;
    std::uint64_t waited = 0;
    for (unsigned asked = 0; asked < asks_max && taken < left; ++asked) {
      const std::uint64_t until = (asked + 1) * a_wait_;
      if (until > queue.saved) break;
      while (waited < until) {
        pause();
        waited = clock() - began;
      }
      taken += take(left - taken);
    }
    queue.stands = taken == 0 && waited > 0;
    queue.saved -= std::min(queue.saved, waited);
    queue.then += waited;
    return taken;
  }

private:
  struct Queue {
    std::uint64_t saved = 0, then = 0; // cycles that it may be waited for, as of when
    bool stands = false;
  };

  std::uint64_t a_wait_, save_max_; // cycles
  std::array<Queue, ports_max> queues_{};
};

} // namespace weir::dataplane
