#include "control/daemon/notify.hpp"

#include <gtest/gtest.h>

#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <string>

namespace weir::control::notify_test {
namespace {

// A stand-in for systemd.
class Listener {
public:
  Listener() : path_(std::filesystem::temp_directory_path() / ("weir-notify-" + std::to_string(::getpid()))) {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    path_.native().copy(address.sun_path, sizeof address.sun_path - 1);
    std::filesystem::remove(path_);
    EXPECT_EQ(::bind(fd_, reinterpret_cast<const sockaddr *>(&address), sizeof address), 0);
    ::setenv("NOTIFY_SOCKET", path_.c_str(), 1);
  }
  ~Listener() {
    ::unsetenv("NOTIFY_SOCKET");
    ::close(fd_);
    std::filesystem::remove(path_);
  }
  Listener(const Listener &) = delete;
  Listener &operator=(const Listener &) = delete;

  [[nodiscard]] std::string heard() const {
    char text[256];
    const ssize_t got = ::recv(fd_, text, sizeof text, MSG_DONTWAIT);
    return {text, got < 0 ? 0 : static_cast<std::size_t>(got)};
  }

private:
  std::filesystem::path path_;
  int fd_ = ::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
};

TEST(Notify, a_large_store_asks_systemd_for_more_time_to_start) {
  const Listener systemd;
  notify_reading(0);
  EXPECT_EQ(systemd.heard(), "EXTEND_TIMEOUT_USEC=90000000\nSTATUS=reading the rules");
  notify_reading(std::uint64_t{1} << 30);
  EXPECT_EQ(systemd.heard(), "EXTEND_TIMEOUT_USEC=358435456\nSTATUS=reading the rules");
}

} // namespace
} // namespace weir::control::notify_test
