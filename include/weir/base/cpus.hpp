// CPUs by number: lists such as "2-5,7" as people write them, and which of them this process may use.
#pragma once

#include "weir/base/result.hpp"

#include <sched.h>

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace weir {

// "2-4,7" -> {2, 3, 4, 7}; parse error for anything else and for numbers of `limit` and above.
[[nodiscard]] inline Result<std::vector<unsigned>> cpu_list(std::string_view text,
                                                            unsigned limit = CPU_SETSIZE) {
  std::vector<unsigned> cpus;
  const char *at = text.data();
  const char *const end = at + text.size();
  const auto number = [&](unsigned &out) {
    const auto read = std::from_chars(at, end, out);
    at = read.ptr;
    return read.ec == std::errc() && out < limit;
  };
  for (;;) {
    unsigned first = 0;
    bool good = number(first);
    unsigned last = first;
    if (good && at != end && *at == '-') good = (++at, number(last)) && last >= first;
    if (!good || (at != end && *at != ','))
      return fail(Errc::parse, "\"" + std::string(text) + "\" is not a core list such as 2-5 or 2,4 (up to " +
                                   std::to_string(limit - 1) + ")");
    for (unsigned cpu = first; cpu <= last; ++cpu) cpus.push_back(cpu);
    if (at == end) return cpus;
    ++at;
  }
}

// Those of `all` on which no worker polls; all of them when workers take every one.
[[nodiscard]] inline std::vector<unsigned> cpus_beside(std::vector<unsigned> all,
                                                       const std::vector<unsigned> &workers) {
  std::vector<unsigned> rest;
  std::ranges::copy_if(all, std::back_inserter(rest),
                       [&](unsigned cpu) { return std::ranges::find(workers, cpu) == workers.end(); });
  return rest.empty() ? all : rest;
}

// What the calling thread may run on.
[[nodiscard]] inline std::vector<unsigned> cpus_allowed() {
  cpu_set_t set;
  CPU_ZERO(&set);
  sched_getaffinity(0, sizeof set, &set);
  std::vector<unsigned> cpus;
  for (unsigned cpu = 0; cpu < CPU_SETSIZE; ++cpu)
    if (CPU_ISSET(cpu, &set)) cpus.push_back(cpu);
  return cpus;
}

// Lets every thread that the process has now run on these alone; threads to come inherit it. A thread
// that ends meanwhile, or a CPU that the system withholds, is nothing to complain of.
inline void run_on(const std::vector<unsigned> &cpus) {
  cpu_set_t set;
  CPU_ZERO(&set);
  for (const unsigned cpu : cpus) CPU_SET(cpu, &set);
  std::error_code gone;
  for (const auto &thread : std::filesystem::directory_iterator("/proc/self/task", gone)) {
    const std::string name = thread.path().filename().string();
    pid_t id = 0;
    std::from_chars(name.data(), name.data() + name.size(), id);
    if (id > 0) sched_setaffinity(id, sizeof set, &set);
  }
}

} // namespace weir
