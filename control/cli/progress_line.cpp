#include "control/cli/progress_line.hpp"

#include "control/cli/frame.hpp"
#include "control/cli/text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <csignal>
#include <iostream>
#include <utility>

#include <sys/ioctl.h>
#include <unistd.h>

namespace weir::cli {

namespace {

std::size_t columns_of(int fd) {
  winsize window{};
  return ioctl(fd, TIOCGWINSZ, &window) == 0 && window.ws_col > 1 ? window.ws_col : 80;
}

} // namespace

ProgressLine::ProgressLine(const std::ostream &err, Text text)
    : ProgressLine(Setup{.fd = &err == &std::cerr ? STDERR_FILENO : -1}, std::move(text)) {}

ProgressLine::ProgressLine(const Setup &setup, Text text) : setup_(setup), text_(std::move(text)) {
  if (setup_.fd < 0 || isatty(setup_.fd) != 1) return;
  // Signals are for the thread that works.
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  thread_ = std::thread([this] { run(); });
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

ProgressLine::~ProgressLine() {
  if (!thread_.joinable()) return;
  {
    const std::lock_guard lock(mutex_);
    ends_ = true;
  }
  wake_.notify_all();
  thread_.join();
  write("");
}

void ProgressLine::run() {
  std::unique_lock lock(mutex_);
  for (auto wait = setup_.first_after; !wake_.wait_for(lock, wait, [this] { return ends_; });
       wait = setup_.every) {
    lock.unlock(); // the text may take a moment
    std::string text = text_();
    if (!text.empty()) {
      const auto since = std::chrono::steady_clock::now() - began_;
      text += fmt::format("  {}", duration_text(static_cast<std::uint64_t>(
                                      std::chrono::duration_cast<std::chrono::seconds>(since).count())));
    }
    lock.lock();
    if (!ends_) write(text);
  }
}

// What stood there before is written over with blanks: no terminal is too simple for that.
void ProgressLine::write(const std::string &text) {
  if (text.empty() && shown_ == 0) return;
  Line line(text);
  line.cut(columns_of(setup_.fd) - 1); // the cursor stands behind it
  const std::size_t width = line.columns();
  std::string out = "\r" + line.text();
  out.append(shown_ > width ? shown_ - width : 0, ' ');
  out.append(width == 0 ? "\r" : "");
  (void)!::write(setup_.fd, out.data(), out.size());
  shown_ = width;
}

} // namespace weir::cli
