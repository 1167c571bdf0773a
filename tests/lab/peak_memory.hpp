// The most memory that a piece of work has at a time, measured in a process of its own.
#pragma once

#include "weir/base/result.hpp"

#include <fstream>
#include <functional>
#include <malloc.h>
#include <string>
#include <sys/wait.h>
#include <unistd.h>

namespace weir::lab {

// Of this process, from its status: `field` is VmRSS or VmHWM. 0 where there is none.
[[nodiscard]] inline std::uint64_t bytes_of_status(const std::string &field) {
  std::ifstream status("/proc/self/status");
  for (std::string name; status >> name;) {
    std::uint64_t kib = 0;
    if (name == field + ":" && status >> kib) return kib * 1024;
    status.ignore(4096, '\n');
  }
  return 0;
}

// Bytes beyond what there was when `work` began. Errors: io, without a process, and where `work` is false.
[[nodiscard]] inline Result<std::uint64_t> peak_memory_of(const std::function<bool()> &work) {
  int ends[2];
  if (pipe(ends) != 0) return fail(Errc::io, "no pipe to measure memory with");
  const pid_t child = fork();
  if (child == 0) {
    mallopt(M_MMAP_THRESHOLD, 1 << 16); // what the parent gave back does not count as there
    malloc_trim(0);
    std::ofstream("/proc/self/clear_refs") << 5; // the peak begins anew, at what there is
    const std::uint64_t before = bytes_of_status("VmRSS");
    std::uint64_t more = 0;
    if (work()) more = bytes_of_status("VmHWM") - before;
    const bool told = write(ends[1], &more, sizeof more) == sizeof more;
    _exit(told ? 0 : 1);
  }
  close(ends[1]);
  std::uint64_t more = 0;
  const bool told = child > 0 && read(ends[0], &more, sizeof more) == sizeof more && more != 0;
  close(ends[0]);
  if (child > 0) waitpid(child, nullptr, 0);
  if (!told) return fail(Errc::io, "the process that measures memory ended without a figure");
  return more;
}

} // namespace weir::lab
