#include "weir/base/notify.hpp"

#include <gtest/gtest.h>

#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstddef>
#include <cstdlib>
#include <string>

namespace weir::notify_test {
namespace {

using namespace std::chrono_literals;

TEST(Notify, a_watchdog_is_due_after_a_quarter_of_its_time) {
  Watchdog watchdog(20s);
  const auto begin = Watchdog::Clock::now();
  watchdog.feed(begin);
  EXPECT_FALSE(watchdog.due(begin + 4s));
  EXPECT_TRUE(watchdog.due(begin + 5s));
}

TEST(Notify, nothing_is_due_where_nobody_waits_or_another_process_was_meant) {
  const auto later = Watchdog::Clock::now() + 1h;
  EXPECT_FALSE(Watchdog(std::nullopt).due(later));
  ::setenv("WATCHDOG_USEC", "1000000", 1);
  EXPECT_TRUE(Watchdog().due(later));
  ::setenv("WATCHDOG_PID", "1", 1);
  EXPECT_FALSE(Watchdog().due(later));
  ::unsetenv("WATCHDOG_PID");
  ::setenv("WATCHDOG_USEC", "soon", 1);
  EXPECT_FALSE(Watchdog().due(later));
  ::unsetenv("WATCHDOG_USEC");
}

TEST(Notify, an_abstract_socket_hears_the_sign_of_life) {
  const std::string name = "@weir-notify-" + std::to_string(::getpid());
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  name.copy(address.sun_path, sizeof address.sun_path - 1);
  address.sun_path[0] = '\0';
  const int heard = ::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  ASSERT_EQ(::bind(heard, reinterpret_cast<const sockaddr *>(&address),
                   static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + name.size())),
            0);
  ::setenv("NOTIFY_SOCKET", name.c_str(), 1);
  Watchdog(1s).feed(Watchdog::Clock::now());
  ::unsetenv("NOTIFY_SOCKET");
  char text[64];
  const ssize_t got = ::recv(heard, text, sizeof text, MSG_DONTWAIT);
  ::close(heard);
  EXPECT_EQ(std::string(text, got < 0 ? 0 : static_cast<std::size_t>(got)), "WATCHDOG=1");
}

} // namespace
} // namespace weir::notify_test
