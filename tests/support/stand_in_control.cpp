#include "tests/support/stand_in_control.hpp"

#include <algorithm>
#include <cstdlib>
#include <stdexcept>

#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

namespace weir::test {

StandInControl::StandInControl(std::vector<std::string> answers) : answers_(std::move(answers)) {
  std::reverse(answers_.begin(), answers_.end());
  std::string pattern = (std::filesystem::temp_directory_path() / "weir-test-XXXXXX").string();
  if (mkdtemp(pattern.data()) == nullptr) throw std::runtime_error("mkdtemp failed");
  folder_ = pattern;
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  socket().copy(address.sun_path, sizeof address.sun_path - 1);
  listener_ = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (bind(listener_, reinterpret_cast<const sockaddr *>(&address), sizeof address) != 0 ||
      listen(listener_, 8) != 0 || pipe2(stop_, O_CLOEXEC) != 0)
    throw std::runtime_error("cannot listen at " + socket());
  thread_ = std::thread([this] { serve(); });
}

StandInControl::~StandInControl() {
  close(stop_[1]);
  thread_.join();
  close(stop_[0]);
  close(listener_);
  std::error_code ignored;
  std::filesystem::remove_all(folder_, ignored);
}

std::vector<std::string> StandInControl::requests() const {
  const std::lock_guard lock(mutex_);
  return requests_;
}

void StandInControl::serve() {
  for (;;) {
    pollfd waiting[2] = {{listener_, POLLIN, 0}, {stop_[0], POLLIN, 0}};
    poll(waiting, 2, -1);
    if (waiting[1].revents != 0) return;
    const int fd = accept(listener_, nullptr, nullptr);
    if (fd < 0) continue;
    serve_one(fd);
    close(fd);
  }
}

void StandInControl::serve_one(int fd) {
  std::string pending;
  for (;;) {
    pollfd waiting[2] = {{fd, POLLIN, 0}, {stop_[0], POLLIN, 0}};
    poll(waiting, 2, -1);
    if (waiting[1].revents != 0) return;
    char buffer[4096];
    const ssize_t n = read(fd, buffer, sizeof buffer);
    if (n <= 0) return;
    pending.append(buffer, static_cast<std::size_t>(n));
    for (std::size_t end; (end = pending.find('\n')) != std::string::npos; pending.erase(0, end + 1)) {
      const std::lock_guard lock(mutex_);
      requests_.push_back(pending.substr(0, end));
      if (answers_.empty()) return;
      const std::string line = answers_.back() + '\n';
      answers_.pop_back();
      if (line.size() == 1) return;
      // in two halves: an answer may arrive in pieces
      const std::size_t half = line.size() / 2;
      if (write(fd, line.data(), half) < 0 || write(fd, line.data() + half, line.size() - half) < 0) return;
    }
  }
}

} // namespace weir::test
