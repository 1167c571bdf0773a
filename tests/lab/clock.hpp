#pragma once

#include <ctime>

namespace weir::lab {

// Time that this thread has spent on a processor: what else runs there takes its turns elsewhere.
[[nodiscard]] inline double cpu_ns() noexcept {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) * 1e9 + static_cast<double>(now.tv_nsec);
}

template <class Work> [[nodiscard]] double seconds(Work work) {
  const double start = cpu_ns();
  work();
  return (cpu_ns() - start) / 1e9;
}

} // namespace weir::lab
