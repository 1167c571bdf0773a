// One line of a terminal that says how far long work is, written over and over by a thread of its own, so that the
// work need not think of it. Nothing for the first two seconds, and nothing at all where standard error is no
// terminal; it is erased before anything else is written there.
#pragma once

#include <chrono>
#include <condition_variable>
#include <functional>
#include <iosfwd>
#include <mutex>
#include <string>
#include <thread>

namespace weir::cli {

class ProgressLine {
public:
  // Called on the thread; empty: nothing to say yet.
  using Text = std::function<std::string()>;

  struct Setup {
    int fd = 2;
    std::chrono::milliseconds first_after{2000}, every{500};
  };

  // `err` has to be std::cerr for there to be a line: tests and programs may put something else in its place.
  ProgressLine(const std::ostream &err, Text text);
  ProgressLine(const Setup &setup, Text text); // whatever `fd` is, if it is a terminal
  ~ProgressLine();                             // erases it
  ProgressLine(const ProgressLine &) = delete;
  ProgressLine &operator=(const ProgressLine &) = delete;
  [[nodiscard]] bool shows() const { return thread_.joinable(); } // there is a terminal

private:
  void run();
  void write(const std::string &text);

  Setup setup_;
  Text text_;
  std::mutex mutex_;
  std::condition_variable wake_;
  bool ends_ = false;
  std::size_t shown_ = 0; // columns that stand there
  std::chrono::steady_clock::time_point began_ = std::chrono::steady_clock::now();
  std::thread thread_;
};

} // namespace weir::cli
