#include "tests/support/process.hpp"

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <fstream>
#include <iterator>
#include <sched.h>
#include <sstream>
#include <stdexcept>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>
#include <utility>

namespace weir::test {
namespace {

[[noreturn]] void broken(const std::string &what) {
  throw std::runtime_error(what + ": " + std::strerror(errno));
}

// In the child, between fork and exec: only plain system calls.
void redirect(const std::filesystem::path &file, int to) {
  const int fd = open(file.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
  if (fd < 0 || dup2(fd, to) < 0) _exit(126);
}

// Only the network namespace changes; `ip netns exec` would also hide the control groups.
void enter(const std::string &netns) {
  const int fd = open(netns.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0 || setns(fd, CLONE_NEWNET) != 0) _exit(126);
}

long status_kib(pid_t pid, const std::string &key) {
  const std::string status = read_text("/proc/" + std::to_string(pid) + "/status");
  const auto at = status.find(key);
  return at == std::string::npos ? 0 : std::strtol(status.c_str() + at + key.size(), nullptr, 10);
}

} // namespace

TempDir::TempDir() {
  std::string name = (std::filesystem::temp_directory_path() / "weir-test-").string() + std::string(6, 'X');
  if (!mkdtemp(name.data())) broken("cannot make a temporary folder");
  path_ = name;
}

TempDir::~TempDir() {
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
}

std::filesystem::path program(const std::string &name) {
  return std::filesystem::read_symlink("/proc/self/exe").parent_path().parent_path() / name;
}

std::filesystem::path source_tree() {
  for (auto at = program("x"); at.has_relative_path(); at = at.parent_path())
    if (std::filesystem::exists(at / "Makefile") && std::filesystem::exists(at / "include/weir")) return at;
  throw std::runtime_error("this test does not stand below a source tree");
}

std::string read_text(const std::filesystem::path &file) {
  std::ifstream stream(file, std::ios::binary);
  return {std::istreambuf_iterator<char>(stream), {}};
}

std::string last_lines(const std::filesystem::path &file, unsigned lines_max) {
  const std::string text = read_text(file);
  std::size_t at = text.size();
  while (at > 0 && (text[at - 1] != '\n' || at == text.size() || lines_max-- > 1)) --at;
  return text.substr(at);
}

void write_text(const std::filesystem::path &file, const std::string &text) {
  std::ofstream stream(file, std::ios::binary);
  stream << text;
  stream.close();
  if (!stream) broken("cannot write " + file.string());
}

void sleep_a_little() { std::this_thread::sleep_for(std::chrono::milliseconds(2)); }

Child::Child(const Setup &setup) {
  std::vector<char *> arguments;
  for (const std::string &argument : setup.arguments)
    arguments.push_back(const_cast<char *>(argument.c_str()));
  arguments.push_back(nullptr);
  const std::string output = setup.output.empty() ? "/dev/null" : setup.output.string();
  const std::string netns = setup.netns.empty() ? "" : "/run/netns/" + setup.netns;
  pid_ = fork();
  if (pid_ < 0) broken("cannot fork");
  if (pid_ > 0) return;
  prctl(PR_SET_PDEATHSIG, SIGKILL); // a test that crashes leaves nothing behind
  redirect("/dev/null", STDIN_FILENO);
  redirect(output, STDOUT_FILENO);
  if (setup.errors.empty())
    dup2(STDOUT_FILENO, STDERR_FILENO);
  else
    redirect(setup.errors, STDERR_FILENO);
  if (!netns.empty()) enter(netns);
  for (const auto &[name, value] : setup.environment) setenv(name.c_str(), value.c_str(), 1);
  if (!setup.directory.empty() && chdir(setup.directory.c_str()) != 0) _exit(126);
  execvp(arguments[0], arguments.data());
  _exit(127);
}

Child::~Child() {
  if (pid_ > 0 && !code_) {
    ::kill(pid_, SIGKILL);
    int status = 0;
    waitpid(pid_, &status, 0);
  }
}

Child::Child(Child &&other) noexcept : pid_(std::exchange(other.pid_, -1)), code_(other.code_) {}
Child &Child::operator=(Child &&other) noexcept {
  std::swap(pid_, other.pid_);
  std::swap(code_, other.code_);
  return *this;
}

void Child::reap(int status) { code_ = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status); }

bool Child::running() {
  if (pid_ <= 0 || code_) return false;
  int status = 0;
  if (waitpid(pid_, &status, WNOHANG) == pid_) reap(status);
  return !code_;
}

void Child::signal(int number) const {
  if (pid_ > 0 && !code_) ::kill(pid_, number);
}

std::optional<int> Child::wait(std::chrono::milliseconds limit) {
  (void)!wait_until([&] { return !running(); }, limit);
  return code_;
}

std::optional<int> Child::stop(int number, std::chrono::milliseconds limit) {
  signal(number);
  return wait(limit);
}

std::optional<pid_t> Child::child(const std::string &program_name) const {
  const std::string self = std::to_string(pid_);
  std::istringstream children(read_text("/proc/" + self + "/task/" + self + "/children"));
  for (pid_t pid = 0; children >> pid;) {
    const std::string name = read_text("/proc/" + std::to_string(pid) + "/comm"); // at most 15 characters
    if (!name.empty() && program_name.starts_with(name.substr(0, name.size() - 1))) return pid;
  }
  return std::nullopt;
}

long Child::peak_rss_kib() const { return status_kib(pid_, "VmHWM:"); }
long Child::rss_kib() const { return status_kib(pid_, "VmRSS:"); }
long Child::data_kib() const { return status_kib(pid_, "RssAnon:") + status_kib(pid_, "RssShmem:"); }
long Child::hugetlb_kib() const { return status_kib(pid_, "HugetlbPages:"); }

Outcome run(const std::vector<std::string> &arguments, const std::string &netns,
            std::chrono::milliseconds limit) {
  const TempDir folder;
  const auto begin = std::chrono::steady_clock::now();
  Child child({.arguments = arguments, .output = folder / "out", .errors = folder / "err", .netns = netns});
  const auto code = child.wait(limit);
  if (!code) child.stop(SIGKILL, std::chrono::seconds(10));
  return {code, read_text(folder / "out"), read_text(folder / "err"),
          std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count()};
}

std::vector<pid_t> threads_named(const std::string &prefix) {
  std::vector<pid_t> threads;
  for (const auto &task : std::filesystem::directory_iterator("/proc/self/task"))
    if (read_text(task.path() / "comm").starts_with(prefix))
      threads.push_back(static_cast<pid_t>(std::strtol(task.path().filename().c_str(), nullptr, 10)));
  return threads;
}

// Fields 10 and 12 of stat; the name in field 2 may hold spaces, so counting starts behind it.
std::uint64_t page_faults_of(pid_t thread) {
  const std::string text = read_text("/proc/self/task/" + std::to_string(thread) + "/stat");
  std::istringstream fields(text.substr(std::min(text.rfind(')') + 1, text.size())));
  std::string skipped;
  std::uint64_t minor = 0, minor_of_children = 0, major = 0;
  for (unsigned field = 3; field < 10; ++field) fields >> skipped;
  if (!(fields >> minor >> minor_of_children >> major)) broken("cannot read a thread's page faults");
  return minor + major;
}

} // namespace weir::test
