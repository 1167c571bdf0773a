#include "control/daemon/run_lock.hpp"

#include <fmt/format.h>

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <string>

namespace weir::control {
namespace {

// What the holder wrote: "pid 4711, state /var/lib/weir". Empty while it is about to.
std::string holder_of(int fd) {
  std::array<char, 4096> text{};
  const ssize_t got = pread(fd, text.data(), text.size(), 0);
  std::string line(text.data(), got > 0 ? static_cast<std::size_t>(got) : 0);
  line.resize(std::min(line.size(), line.find('\n')));
  return line.empty() ? "another process" : "weir-control with " + line;
}

} // namespace

Result<RunLock> RunLock::take(const std::filesystem::path &run, const std::filesystem::path &state) {
  const std::filesystem::path file = run / "control.lock";
  RunLock lock(OwnedFd(open(file.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600)));
  const int fd = lock.fd_.get();
  if (fd < 0)
    return fail(Errc::io, fmt::format("{}: {}: the folder paths.run must be writable", file.string(),
                                      std::strerror(errno)));
  int locked = -1;
  while ((locked = flock(fd, LOCK_EX | LOCK_NB)) != 0 && errno == EINTR) continue;
  if (locked != 0 && errno != EWOULDBLOCK)
    return fail(Errc::io, fmt::format("{}: cannot be locked: {}", file.string(), std::strerror(errno)));
  if (locked != 0)
    return fail(Errc::refused, fmt::format("{}: held by {}; a run folder belongs to one weir-control: stop "
                                           "that one, or choose another folder with --run-dir or paths.run",
                                           file.string(), holder_of(fd)));
  // For people alone: a full disk does not keep anybody from holding the lock.
  const std::string line =
      fmt::format("pid {}, state {}\n", getpid(), std::filesystem::absolute(state).string());
  if (ftruncate(fd, 0) == 0) (void)!pwrite(fd, line.data(), line.size(), 0);
  return lock;
}

} // namespace weir::control
