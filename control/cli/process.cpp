#include "control/cli/process.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <fstream>
#include <utility>

#include <fcntl.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

namespace weir::cli {

namespace {

namespace fs = std::filesystem;

sigset_t end_signals() {
  sigset_t set;
  sigemptyset(&set);
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) sigaddset(&set, signal);
  return set;
}

// Between fork and exec only calls that are safe there; what fails is said in the child's own log.
[[noreturn]] void become(char *const *arguments, char *const *environment, int log, pid_t parent) {
  setpgid(0, 0);
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != parent) _exit(127); // the parent died before prctl
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, nullptr);
  signal(SIGPIPE, SIG_DFL);
  dup2(log, STDOUT_FILENO);
  dup2(log, STDERR_FILENO);
  const int nothing = open("/dev/null", O_RDONLY);
  if (nothing >= 0) dup2(nothing, STDIN_FILENO);
  execve(arguments[0], arguments, environment);
  dprintf(STDERR_FILENO, "%s: %s\n", arguments[0], std::strerror(errno));
  _exit(127);
}

std::vector<char *> pointers(std::vector<std::string> &words) {
  std::vector<char *> out;
  for (std::string &word : words) out.push_back(word.data());
  out.push_back(nullptr);
  return out;
}

std::vector<std::string> environment_with(const std::vector<std::pair<std::string, std::string>> &changes) {
  std::vector<std::string> out;
  for (char **entry = environ; *entry != nullptr; ++entry) {
    const std::string_view text = *entry;
    const bool replaced = std::any_of(changes.begin(), changes.end(), [&](const auto &change) {
      return text.starts_with(change.first + '=');
    });
    if (!replaced) out.emplace_back(text);
  }
  for (const auto &[name, value] : changes) out.push_back(name + '=' + value);
  return out;
}

} // namespace

Result<PrivateFolder> PrivateFolder::make() {
  // A socket path has room for 107 characters, so a long $TMPDIR is passed over.
  constexpr std::size_t room = sizeof(sockaddr_un::sun_path) - sizeof("/weir-replay-XXXXXX/dataplane.sock");
  std::error_code fault;
  fs::path base = fs::temp_directory_path(fault);
  if (fault || base.string().size() >= room) base = "/tmp";
  std::string pattern = (base / "weir-replay-XXXXXX").string();
  if (mkdtemp(pattern.data()) == nullptr)
    return fail(Errc::io,
                fmt::format("cannot make a private folder in {}: {}. Set TMPDIR to a folder that can be "
                            "written.",
                            base.string(), std::strerror(errno)));
  return PrivateFolder(pattern);
}

PrivateFolder::~PrivateFolder() {
  std::error_code ignored;
  if (!path_.empty()) fs::remove_all(path_, ignored);
}

Result<Child> Child::start(std::string name, const std::vector<std::string> &command, const fs::path &log,
                           const std::vector<std::pair<std::string, std::string>> &environment) {
  std::vector<std::string> words = command;
  std::vector<std::string> variables = environment_with(environment);
  const std::vector<char *> argv = pointers(words);
  const std::vector<char *> envp = pointers(variables);
  const int log_fd = open(log.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
  if (log_fd < 0) return fail(Errc::io, fmt::format("{}: {}.", log.string(), std::strerror(errno)));
  const pid_t parent = getpid();
  const pid_t pid = fork();
  if (pid == 0) become(argv.data(), envp.data(), log_fd, parent);
  const int fault = errno;
  close(log_fd);
  if (pid < 0) return fail(Errc::io, fmt::format("cannot start {}: {}.", name, std::strerror(fault)));
  Child child;
  child.name_ = std::move(name);
  child.log_ = log;
  child.pid_ = pid;
  child.pidfd_ = static_cast<int>(syscall(SYS_pidfd_open, pid, 0));
  if (child.pidfd_ < 0)
    return fail(Errc::io, fmt::format("pidfd_open: {}. Linux 5.3 or newer is needed.", std::strerror(errno)));
  return child;
}

Child::Child(Child &&other) noexcept
    : name_(std::move(other.name_)), log_(std::move(other.log_)), pid_(std::exchange(other.pid_, -1)),
      pidfd_(std::exchange(other.pidfd_, -1)), status_(other.status_) {}

Child::~Child() {
  end();
  if (pidfd_ >= 0) close(pidfd_);
}

std::optional<int> Child::ended() {
  if (pid_ <= 0 || status_) return status_;
  int status = 0;
  if (waitpid(pid_, &status, WNOHANG) == pid_) status_ = status;
  return status_;
}

void Child::end(std::chrono::milliseconds patience) {
  if (pid_ <= 0 || ended()) return;
  kill(pid_, SIGTERM);
  pollfd waiting{pidfd_, POLLIN, 0};
  if (pidfd_ >= 0) poll(&waiting, 1, static_cast<int>(patience.count()));
  if (ended()) return;
  kill(pid_, SIGKILL);
  int status = 0;
  if (waitpid(pid_, &status, 0) == pid_) status_ = status;
}

std::string Child::obituary() const {
  std::string text = name_;
  const int status = status_.value_or(0);
  if (WIFSIGNALED(status))
    text += fmt::format(" was killed by signal {} ({})", WTERMSIG(status), strsignal(WTERMSIG(status)));
  else
    text += fmt::format(" ended with exit code {}", WEXITSTATUS(status));
  const std::string lines = last_lines(log_, 10);
  return text + (lines.empty() ? "; it logged nothing." : "; its last log lines:\n" + lines);
}

EndSignals::EndSignals() {
  const sigset_t set = end_signals();
  sigprocmask(SIG_BLOCK, &set, nullptr);
  fd_ = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
}

EndSignals::~EndSignals() {
  if (fd_ >= 0) close(fd_);
  const sigset_t set = end_signals();
  sigprocmask(SIG_UNBLOCK, &set, nullptr);
}

std::optional<int> EndSignals::take() const {
  signalfd_siginfo info{};
  if (read(fd_, &info, sizeof info) != sizeof info) return std::nullopt;
  return static_cast<int>(info.ssi_signo);
}

std::string last_lines(const fs::path &file, std::size_t count) {
  std::ifstream in(file);
  std::deque<std::string> lines;
  for (std::string line; std::getline(in, line);) {
    if (line.empty()) continue;
    lines.push_back(std::move(line));
    if (lines.size() > count) lines.pop_front();
  }
  std::string text;
  for (const std::string &line : lines) text += "  " + line + '\n';
  if (!text.empty()) text.pop_back();
  return text;
}

Result<fs::path> sibling_program(const std::string &name) {
  std::error_code fault;
  const fs::path self = fs::read_symlink("/proc/self/exe", fault);
  const fs::path here = self.parent_path();
  for (const fs::path &folder : {here, here.parent_path() / "sbin", here.parent_path() / "bin"})
    if (access((folder / name).c_str(), X_OK) == 0) return folder / name;
  return fail(Errc::not_found,
              fmt::format("{} is not beside weirctl in {}. `make all` builds the three programs together.",
                          name, here.string()));
}

} // namespace weir::cli
