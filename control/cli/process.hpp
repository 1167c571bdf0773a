// What a replay starts and must not leave behind: child processes, a private folder, and the signals
// that ask weirctl to end.
#pragma once

#include "weir/base/result.hpp"

#include <chrono>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include <sys/types.h>

namespace weir::cli {

// A folder of mode 0700 under $TMPDIR or /tmp, removed with its content.
class PrivateFolder {
public:
  [[nodiscard]] static Result<PrivateFolder> make();
  PrivateFolder(PrivateFolder &&other) noexcept : path_(std::move(other.path_)) { other.path_.clear(); }
  PrivateFolder &operator=(PrivateFolder &&) = delete;
  ~PrivateFolder();
  [[nodiscard]] const std::filesystem::path &path() const { return path_; }

private:
  explicit PrivateFolder(std::filesystem::path path) : path_(std::move(path)) {}
  std::filesystem::path path_;
};

// A child whose output goes to a log file. It dies with weirctl, even when that is killed.
class Child {
public:
  // `name` is for messages. The child leads a process group of its own, so that an interrupt from
  // the terminal reaches weirctl alone, which then ends its children in order.
  [[nodiscard]] static Result<Child>
  start(std::string name, const std::vector<std::string> &command, const std::filesystem::path &log,
        const std::vector<std::pair<std::string, std::string>> &environment);
  Child(Child &&other) noexcept;
  Child &operator=(Child &&) = delete;
  ~Child(); // ends it as end() does

  // Readable when the child has ended.
  [[nodiscard]] int fd() const { return pidfd_; }
  // Collects the child if it has ended; wait status as of waitpid().
  [[nodiscard]] std::optional<int> ended();
  // SIGTERM, and SIGKILL when that is not enough within `patience`.
  void end(std::chrono::milliseconds patience = std::chrono::seconds(3));
  // "weir-dataplane was killed by signal 9 (Killed)" with its last log lines.
  [[nodiscard]] std::string obituary() const;

private:
  Child() = default;
  std::string name_;
  std::filesystem::path log_;
  pid_t pid_ = -1;
  int pidfd_ = -1;
  std::optional<int> status_;
};

// While it lives, SIGINT, SIGTERM and SIGHUP do not end the process but make fd() readable.
class EndSignals {
public:
  EndSignals();
  EndSignals(const EndSignals &) = delete;
  EndSignals &operator=(const EndSignals &) = delete;
  ~EndSignals();
  [[nodiscard]] int fd() const { return fd_; }
  // The signal that came, if one did.
  [[nodiscard]] std::optional<int> take() const;

private:
  int fd_ = -1;
};

// The last `count` lines of a file, each indented by two spaces; empty when there are none.
[[nodiscard]] std::string last_lines(const std::filesystem::path &file, std::size_t count);

// `name` beside the running program, else in ../sbin or ../bin from there.
[[nodiscard]] Result<std::filesystem::path> sibling_program(const std::string &name);

} // namespace weir::cli
