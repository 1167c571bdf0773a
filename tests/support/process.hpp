// Child processes, temporary folders and where the built programs stand.
#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <sys/types.h>
#include <utility>
#include <vector>

namespace weir::test {

// A folder of its own that goes away with everything in it.
class TempDir {
public:
  TempDir();
  ~TempDir();
  TempDir(const TempDir &) = delete;
  TempDir &operator=(const TempDir &) = delete;
  [[nodiscard]] const std::filesystem::path &path() const noexcept { return path_; }
  [[nodiscard]] std::filesystem::path operator/(const std::string &name) const { return path_ / name; }

private:
  std::filesystem::path path_;
};

// The program `name` that was built together with this test.
[[nodiscard]] std::filesystem::path program(const std::string &name);
// The top of the source tree this test was built from.
[[nodiscard]] std::filesystem::path source_tree();

[[nodiscard]] std::string read_text(const std::filesystem::path &file); // empty when there is none
[[nodiscard]] std::string last_lines(const std::filesystem::path &file, unsigned lines_max);
void write_text(const std::filesystem::path &file, const std::string &text);

// A child process; its output goes to files. Killed and reaped by the destructor.
class Child {
public:
  struct Setup {
    std::vector<std::string> arguments;   // the program first
    std::filesystem::path output = {};    // stdout; empty: nowhere
    std::filesystem::path errors = {};    // stderr; empty: with stdout
    std::filesystem::path directory = {}; // to run in; empty: this one
    std::string netns = {};               // network namespace to run in; empty: this one
    std::vector<std::pair<std::string, std::string>> environment = {}; // on top of this process's
  };
  Child() = default;
  explicit Child(const Setup &setup);
  ~Child();
  Child(Child &&other) noexcept;
  Child &operator=(Child &&other) noexcept;

  [[nodiscard]] pid_t pid() const noexcept { return pid_; }
  [[nodiscard]] bool running(); // reaps when it ended
  void signal(int number) const;
  // Exit status, 128 + signal number when it was killed; nothing when time is up.
  [[nodiscard]] std::optional<int> wait(std::chrono::milliseconds limit);
  // Sends a signal and waits for the end that it should bring.
  std::optional<int> stop(int number, std::chrono::milliseconds limit);
  // Its children by the name of the program.
  [[nodiscard]] std::optional<pid_t> child(const std::string &program_name) const;
  // Highest resident set so far, and the present one, in KiB; read while it runs.
  [[nodiscard]] long peak_rss_kib() const;
  [[nodiscard]] long rss_kib() const;
  [[nodiscard]] long data_kib() const;    // resident, without programs and libraries
  [[nodiscard]] long hugetlb_kib() const; // hugepages mapped; not part of the resident set

private:
  void reap(int status);
  pid_t pid_ = -1;
  std::optional<int> code_;
};

struct Outcome {
  std::optional<int> code; // as Child::wait(); nothing when it did not end in time, and was killed
  std::string out, err;
  double seconds = 0;
  [[nodiscard]] bool ok() const { return code == 0; }
};

// Runs a command to its end and keeps what it said.
Outcome run(const std::vector<std::string> &arguments, const std::string &netns = {},
            std::chrono::milliseconds limit = std::chrono::seconds(60));

// Threads of this process whose name starts so, and the page faults, minor and major, that one took.
[[nodiscard]] std::vector<pid_t> threads_named(const std::string &prefix);
[[nodiscard]] std::uint64_t page_faults_of(pid_t thread);

// Polls `condition` until it holds; false when time is up.
template <class Condition>
[[nodiscard]] bool wait_until(Condition condition, std::chrono::milliseconds limit);

void sleep_a_little();

template <class Condition> bool wait_until(Condition condition, std::chrono::milliseconds limit) {
  const auto end = std::chrono::steady_clock::now() + limit;
  while (!condition()) {
    if (std::chrono::steady_clock::now() >= end) return false;
    sleep_a_little();
  }
  return true;
}

} // namespace weir::test
