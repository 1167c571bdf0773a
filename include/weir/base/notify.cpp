#include "weir/base/notify.hpp"

#include "weir/base/owned_fd.hpp"

#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

#include <charconv>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>

namespace weir {
namespace {

std::optional<std::uint64_t> number_in(const char *variable) {
  const char *const text = std::getenv(variable);
  if (text == nullptr) return std::nullopt;
  const char *const end = text + std::strlen(text);
  std::uint64_t number = 0;
  const auto [stop, error] = std::from_chars(text, end, number);
  if (error != std::errc{} || stop != end) return std::nullopt;
  return number;
}

// $WATCHDOG_PID is not ours where a parent's environment was inherited.
std::optional<std::chrono::microseconds> patience_of_systemd() {
  const auto usec = number_in("WATCHDOG_USEC");
  const auto pid = number_in("WATCHDOG_PID");
  if (!usec || *usec == 0 || (pid && *pid != static_cast<std::uint64_t>(getpid()))) return std::nullopt;
  return std::chrono::microseconds(*usec);
}

} // namespace

void notify(std::string_view state) {
  const char *const name = std::getenv("NOTIFY_SOCKET");
  if (name == nullptr || (name[0] != '/' && name[0] != '@')) return;
  sockaddr_un to{};
  to.sun_family = AF_UNIX;
  const std::size_t length = std::strlen(name);
  if (length >= sizeof to.sun_path) return;
  std::memcpy(to.sun_path, name, length);
  if (name[0] == '@') to.sun_path[0] = '\0'; // an abstract name ends where its length says
  const auto size =
      static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + length + (name[0] == '@' ? 0 : 1));
  const OwnedFd socket(::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  if (socket.get() < 0) return;
  const timeval patience{
      1, 0}; // a full queue: systemd waits for READY=1, and nobody may wait for systemd for long
  (void)setsockopt(socket.get(), SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof patience);
  (void)sendto(socket.get(), state.data(), state.size(), MSG_NOSIGNAL,
               reinterpret_cast<const sockaddr *>(&to), size);
}

Watchdog::Watchdog() : Watchdog(patience_of_systemd()) {}

Watchdog::Watchdog(std::optional<std::chrono::microseconds> patience) : patience_(patience) {}

void Watchdog::feed(Clock::time_point now) {
  fed_ = now;
  notify("WATCHDOG=1");
}

} // namespace weir
