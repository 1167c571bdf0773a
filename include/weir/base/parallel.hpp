// Work in equal parts, on as many threads as the caller grants. One thread: no thread is made.
#pragma once

#include <sched.h>

#include <cstdint>
#include <system_error>
#include <thread>
#include <vector>

namespace weir {

inline constexpr std::uint64_t entries_worth_a_thread = 50'000; // below, starting it costs more

struct WorkRange {
  std::uint64_t begin = 0, end = 0;
};

// Part `part` of `parts` of 0 .. count - 1.
[[nodiscard]] constexpr WorkRange part_of(std::uint64_t count, unsigned part, unsigned parts) noexcept {
  return {count * part / parts, count * (part + 1) / parts};
}

// 0: as many as this process may use, two at most: a build gains little from more, and workers want
// processors too.
[[nodiscard]] inline unsigned threads_for(unsigned asked) noexcept {
  cpu_set_t mine;
  if (asked != 0) return asked;
  return sched_getaffinity(0, sizeof mine, &mine) == 0 && CPU_COUNT(&mine) > 1 ? 2 : 1;
}

// Calls work(0) .. work(parts - 1), each on a thread of its own where one is to be had, and returns when
// all have ended. `work` must not throw.
template <class Work> void in_parallel(unsigned parts, Work work) {
  std::vector<std::jthread> others;
  for (unsigned part = 1; part < parts; ++part) {
    try {
      others.emplace_back([&work, part] { work(part); });
    } catch (const std::system_error &) {
      work(part);
    }
  }
  work(0);
}

} // namespace weir
