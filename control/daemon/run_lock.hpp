// One weir-control a run folder: two that serve one dataplane from two stores would put each other's rules
// out of force without a word. The lock is a file of its own, control.lock, held by flock() for as long as
// the process lives, however it ends; it says in one line who holds it.
#pragma once

#include "weir/base/owned_fd.hpp"
#include "weir/base/result.hpp"

#include <filesystem>
#include <utility>

namespace weir::control {

class RunLock {
public:
  // Takes the lock of `run`, whose folder exists, before any socket in it is touched. refused: another
  // process holds it; the sentence says which, with which state folder, and what to do.
  [[nodiscard]] static Result<RunLock> take(const std::filesystem::path &run,
                                            const std::filesystem::path &state);

private:
  explicit RunLock(OwnedFd fd) noexcept : fd_(std::move(fd)) {}
  OwnedFd fd_; // closing it lets go; the file stays, since removing it would race with the next one's open
};

} // namespace weir::control
