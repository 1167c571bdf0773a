#include "control/daemon/hook_program.hpp"

#include "weir/config/values.hpp"

#include <fmt/format.h>

#include <fcntl.h>
#include <spawn.h>
#include <sys/epoll.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>

namespace weir::control {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t said_bytes_max = 512;

std::unexpected<Error> refused(const fs::path &program, const std::string &why) {
  return fail(Errc::refused, fmt::format("health.exec: {}: {}", program.string(), why));
}

// Only root and the own user may change what stands there.
Status check_owner(const fs::path &program, const fs::path &part, bool is_folder) {
  struct stat about{};
  if (stat(part.c_str(), &about) != 0) return refused(program, part.string() + ": " + std::strerror(errno));
  const bool sticky = is_folder && (about.st_mode & S_ISVTX) != 0;
  if (about.st_uid != 0 && about.st_uid != geteuid())
    return refused(program,
                   fmt::format("{} belongs to uid {}; it has to be root's, or that of weir-control's user",
                               part.string(), about.st_uid));
  if (!sticky && (about.st_mode & (S_IWGRP | S_IWOTH)) != 0)
    return refused(program,
                   fmt::format("{} may be written by others than its owner: chmod go-w", part.string()));
  if (is_folder) return {};
  if (!S_ISREG(about.st_mode)) return refused(program, "it is no file");
  if (access(part.c_str(), X_OK) != 0) return refused(program, "it may not be executed: chmod +x");
  return {};
}

class SpawnSettings {
public:
  SpawnSettings() {
    posix_spawn_file_actions_init(&actions_);
    posix_spawnattr_init(&attributes_);
  }
  ~SpawnSettings() {
    posix_spawn_file_actions_destroy(&actions_);
    posix_spawnattr_destroy(&attributes_);
  }
  SpawnSettings(const SpawnSettings &) = delete;
  SpawnSettings &operator=(const SpawnSettings &) = delete;

  void writes_to(int fd) {
    posix_spawn_file_actions_addopen(&actions_, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_adddup2(&actions_, fd, STDOUT_FILENO);
    posix_spawn_file_actions_adddup2(&actions_, fd, STDERR_FILENO);
  }
  // A group of its own, and signals as a program expects them: weir-control blocks and ignores some.
  void begins_anew() {
    sigset_t none, usual;
    sigemptyset(&none);
    sigemptyset(&usual);
    for (const int signal : {SIGPIPE, SIGTERM, SIGINT, SIGCHLD}) sigaddset(&usual, signal);
    posix_spawnattr_setsigmask(&attributes_, &none);
    posix_spawnattr_setsigdefault(&attributes_, &usual);
    posix_spawnattr_setpgroup(&attributes_, 0);
    posix_spawnattr_setflags(&attributes_,
                             POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETPGROUP);
  }
  [[nodiscard]] int spawn(pid_t &pid, std::vector<std::string> words,
                          std::vector<std::string> variables) const {
    return posix_spawn(&pid, words.front().c_str(), &actions_, &attributes_, pointers(words).data(),
                       pointers(variables).data());
  }

private:
  static std::vector<char *> pointers(std::vector<std::string> &texts) {
    std::vector<char *> all;
    for (std::string &text : texts) all.push_back(text.data());
    all.push_back(nullptr);
    return all;
  }
  posix_spawn_file_actions_t actions_;
  posix_spawnattr_t attributes_;
};

std::string last_line(const std::string &text) {
  const auto end = text.find_last_not_of("\n\r ");
  if (end == std::string::npos) return {};
  const auto begin = text.find_last_of('\n', end);
  const std::size_t from = begin == std::string::npos ? 0 : begin + 1;
  return config::printable(std::string_view(text).substr(from, end + 1 - from));
}

} // namespace

Status check_program(const fs::path &program) {
  if (!program.is_absolute()) return refused(program, "an absolute path is wanted");
  std::error_code failed;
  const fs::path real = fs::canonical(program, failed); // where a link leads to counts as well
  if (failed) return refused(program, failed.message());
  for (const fs::path &way : {program.lexically_normal(), real})
    for (fs::path folder = way.parent_path();; folder = folder.parent_path()) {
      TRY(check_owner(program, folder, true));
      if (folder == folder.root_path()) break;
    }
  return check_owner(program, real, false);
}

HookProgram::~HookProgram() {
  if (!runs()) return;
  loop_.cancel(timer_);
  loop_.forget(process_.get());
  loop_.forget(output_.get());
  kill_all();
  waitpid(pid_, nullptr, 0);
}

void HookProgram::kill_all() const { kill(-pid_, SIGKILL); }

Status HookProgram::start(const fs::path &program, const std::string &argument, const Variables &variables,
                          std::chrono::milliseconds timeout, Then then) {
  std::array<int, 2> ends{};
  if (pipe2(ends.data(), O_CLOEXEC) != 0)
    return refused(program, std::string("no pipe: ") + std::strerror(errno));
  output_ = OwnedFd(ends[0]);
  const OwnedFd to(ends[1]);
  fcntl(output_.get(), F_SETFL, O_NONBLOCK);
  SpawnSettings settings;
  settings.writes_to(to.get());
  settings.begins_anew();
  std::vector<std::string> environment{"PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"};
  for (const auto &[name, value] : variables) environment.push_back(name + "=" + value);
  if (const int error = settings.spawn(pid_, {program.string(), argument}, std::move(environment));
      error != 0) {
    pid_ = -1;
    return refused(program, std::string("cannot be started: ") + std::strerror(error));
  }
  process_ = OwnedFd(static_cast<int>(syscall(SYS_pidfd_open, pid_, 0)));
  if (process_.get() < 0) {
    const std::string why = std::strerror(errno);
    kill_all();
    waitpid(std::exchange(pid_, -1), nullptr, 0);
    return refused(program, "its end cannot be waited for: " + why);
  }
  then_ = std::move(then);
  said_.clear();
  out_of_time_ = false;
  began_ = push::Clock::now();
  loop_.watch(process_.get(), EPOLLIN, [this](std::uint32_t) { ended(); });
  loop_.watch(output_.get(), EPOLLIN, [this](std::uint32_t) { read_output(); });
  timer_ = loop_.after(timeout, [this] {
    timer_ = 0;
    out_of_time_ = true;
    kill_all();
  });
  return {};
}

// Its last words are kept; what it started may hold the pipe open for longer than it lives.
void HookProgram::read_output() {
  std::array<char, 4096> bytes{};
  for (;;) {
    const ssize_t got = read(output_.get(), bytes.data(), bytes.size());
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) {
      if (got == 0) loop_.forget(output_.get()); // closed: it would be ready for ever
      return;
    }
    said_.append(bytes.data(), static_cast<std::size_t>(got));
    if (said_.size() > said_bytes_max) said_.erase(0, said_.size() - said_bytes_max);
  }
}

void HookProgram::ended() {
  int status = 0;
  if (waitpid(pid_, &status, WNOHANG) != pid_) return;
  read_output();
  loop_.forget(output_.get());
  loop_.forget(process_.get());
  if (timer_ != 0) loop_.cancel(std::exchange(timer_, 0));
  const double seconds = std::chrono::duration<double>(push::Clock::now() - began_).count();
  End end{WIFEXITED(status) && WEXITSTATUS(status) == 0, {}};
  if (out_of_time_)
    end.sentence = fmt::format("killed, since it was not done after {:.1f} s", seconds);
  else if (WIFSIGNALED(status))
    end.sentence = fmt::format("ended by signal {} after {:.1f} s", WTERMSIG(status), seconds);
  else
    end.sentence = fmt::format("exit code {} after {:.1f} s", WEXITSTATUS(status), seconds);
  if (const std::string line = last_line(said_); !line.empty()) end.sentence += ": " + line;
  pid_ = -1;
  process_ = OwnedFd();
  output_ = OwnedFd();
  const Then then = std::exchange(then_, {});
  then(end);
}

} // namespace weir::control
