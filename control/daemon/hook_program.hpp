// A program of the operator's that weir-control runs beside its loop: no shell, nothing of ours open in it, an end to its
// time. The loop only hears of its end.
#pragma once

#include "control/push/event_loop.hpp"
#include "weir/base/owned_fd.hpp"
#include "weir/base/result.hpp"

#include <sys/types.h>

#include <chrono>
#include <filesystem>
#include <functional>
#include <string>
#include <utility>
#include <vector>

namespace weir::control {

// Whether a program may be run by a daemon: an absolute path to an executable file that root or the own user owns, in
// folders of which the same is true; none may be written by anybody else. Folders with the sticky bit may, since nobody
// can take another one's files out of them.
[[nodiscard]] Status check_program(const std::filesystem::path &program);

class HookProgram {
public:
  struct End {
    bool is_good = false; // exit code 0
    std::string sentence; // "exit code 3 after 0.2 s: the last line it wrote"
  };
  using Then = std::function<void(const End &end)>;
  using Variables = std::vector<std::pair<std::string, std::string>>;

  explicit HookProgram(push::EventLoop &loop) : loop_(loop) {}
  ~HookProgram(); // kills one that runs
  HookProgram(const HookProgram &) = delete;
  HookProgram &operator=(const HookProgram &) = delete;

  [[nodiscard]] bool runs() const noexcept { return pid_ > 0; }
  // Not while one runs. After `timeout` it is killed with all that it started. `variables` and a PATH of the system's
  // folders are all its environment. An error: it could not be started, and `then` is not called.
  [[nodiscard]] Status start(const std::filesystem::path &program, const std::string &argument,
                             const Variables &variables, std::chrono::milliseconds timeout, Then then);

private:
  void kill_all() const;
  void read_output();
  void ended();

  push::EventLoop &loop_;
  pid_t pid_ = -1;
  OwnedFd process_, output_;
  push::EventLoop::TimerId timer_ = 0;
  push::Clock::time_point began_;
  bool out_of_time_ = false;
  std::string said_;
  Then then_;
};

} // namespace weir::control
