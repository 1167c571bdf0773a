#include "control/cli/client.hpp"

#include "control/cli/text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <thread>
#include <utility>

#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

namespace weir::cli {

namespace {

using Clock = std::chrono::steady_clock;
using Ms = std::chrono::milliseconds;

std::string text_of(Ms wait) { return milliseconds_text(static_cast<double>(wait.count())); }

// Whether `fd` has become ready before `deadline`.
bool ready(int fd, short events, Clock::time_point deadline) {
  for (;;) {
    const auto left = std::chrono::ceil<Ms>(deadline - Clock::now()).count();
    pollfd waiting{fd, events, 0};
    const int got = ::poll(&waiting, 1, static_cast<int>(std::max<std::int64_t>(0, left)));
    if (got > 0) return true;
    if (got == 0 || errno != EINTR) return false;
  }
}

std::string remedy_for(int fault, const std::string &path) {
  switch (fault) {
  case ENOENT:
    return fmt::format("there is no socket {}. Is weir-control running? Another socket is named with -s.",
                       path);
  case ECONNREFUSED:
    return fmt::format("nobody listens at {}: weir-control has ended. Start it again.", path);
  case EACCES:
    return fmt::format("no permission to use {}. Try as root, or as a member of paths.write_group or the "
                       "group that owns it.",
                       path);
  case EAGAIN:
    return fmt::format(
        "weir-control takes no connection at {}: it is stopped (SIGSTOP, a debugger) or hangs. Look at "
        "its state with ps and at its log; starting it again helps.",
        path);
  default: return fmt::format("{}: {}.", path, std::strerror(fault));
  }
}

ssize_t send_with(int socket, std::string &bytes, std::span<const int> fds) {
  constexpr std::size_t fds_max = 16;
  alignas(cmsghdr) std::array<char, CMSG_SPACE(fds_max * sizeof(int))> control{};
  if (fds.size() > fds_max) {
    errno = EINVAL;
    return -1;
  }
  iovec part{bytes.data(), bytes.size()};
  msghdr head{};
  head.msg_iov = &part;
  head.msg_iovlen = 1;
  head.msg_control = control.data();
  head.msg_controllen = CMSG_SPACE(fds.size_bytes());
  cmsghdr *passed = CMSG_FIRSTHDR(&head);
  passed->cmsg_level = SOL_SOCKET;
  passed->cmsg_type = SCM_RIGHTS;
  passed->cmsg_len = CMSG_LEN(fds.size_bytes());
  std::memcpy(CMSG_DATA(passed), fds.data(), fds.size_bytes());
  return ::sendmsg(socket, &head, MSG_NOSIGNAL);
}

} // namespace

Result<Client> Client::connect(const std::filesystem::path &socket, const ClientWaits &waits) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  const std::string path = socket.string();
  if (path.size() >= sizeof address.sun_path)
    return fail(Errc::usage,
                fmt::format("the socket path {} is longer than the {} characters a socket may have.", path,
                            sizeof address.sun_path - 1));
  path.copy(address.sun_path, path.size());
  Client client(OwnedFd(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0)), path, waits);
  if (client.fd() < 0) return fail(Errc::io, fmt::format("socket: {}.", std::strerror(errno)));
  // With its queue full a unix socket cannot be waited for.
  const auto deadline = Clock::now() + waits.connect_max;
  while (::connect(client.fd(), reinterpret_cast<const sockaddr *>(&address), sizeof address) != 0) {
    if ((errno != EAGAIN && errno != EINTR) || Clock::now() >= deadline)
      return fail(Errc::unreachable, remedy_for(errno, path));
    std::this_thread::sleep_for(Ms(20));
  }
  return client;
}

Status Client::send(std::string_view line, std::span<const int> fds) {
  std::string out(line);
  out += '\n';
  for (std::size_t sent = 0; sent < out.size();) {
    const ssize_t n = sent == 0 && !fds.empty()
                          ? send_with(fd(), out, fds)
                          : ::send(fd(), out.data() + sent, out.size() - sent, MSG_NOSIGNAL);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0 && errno == EAGAIN) {
      if (ready(fd(), POLLOUT, Clock::now() + waits_.send_max)) continue;
      return fail(
          Errc::unreachable,
          fmt::format(
              "weir-control at {} took nothing of the request for {}: it is stopped or hangs. Nothing was "
              "changed; `weirctl doctor` looks further.",
              path_, text_of(waits_.send_max)));
    }
    if (n < 0)
      return fail(Errc::unreachable, "weir-control closed the connection before it took the request.");
    sent += static_cast<std::size_t>(n);
  }
  return {};
}

Result<std::optional<std::string>> Client::receive() {
  std::array<char, 65536> buffer;
  const ssize_t n = ::recv(fd(), buffer.data(), buffer.size(), 0);
  if (n < 0 && (errno == EINTR || errno == EAGAIN)) return std::nullopt;
  if (n <= 0)
    return fail(Errc::unreachable, "weir-control closed the connection before it answered; see its log.");
  const std::size_t searched = pending_.size();
  pending_.append(buffer.data(), static_cast<std::size_t>(n));
  const std::size_t end = pending_.find('\n', searched);
  if (end == std::string::npos) return std::nullopt;
  std::string answer = pending_.substr(0, end);
  pending_.erase(0, end + 1);
  return answer;
}

Result<std::string> Client::ask(std::string_view line, std::chrono::milliseconds wait_max,
                                std::span<const int> fds) {
  if (auto sent = send(line, fds); !sent) {
    // It may have said why before it closed: one client too many, a request beyond its limit.
    for (auto why = receive(); why && ready(fd(), POLLIN, Clock::now()); why = receive())
      if (*why) return std::move(**why);
    return std::unexpected(std::move(sent.error()));
  }
  const Ms most = std::min(wait_max, waits_.answer_max);
  const auto deadline = Clock::now() + most;
  auto next_look = Clock::now() + waits_.look_every;
  for (;;) {
    if (ready(fd(), POLLIN, std::min(deadline, next_look))) {
      auto answer = receive();
      if (!answer) return std::unexpected(std::move(answer.error()));
      if (*answer) return std::move(**answer);
    } else if (Clock::now() >= deadline) {
      return fail(Errc::unreachable,
                  fmt::format("weir-control at {} did not answer within {}: it is stopped or busy. "
                              "`weirctl doctor` looks further.",
                              path_, text_of(most)));
    } else {
      if (auto there = look(); !there) return std::unexpected(std::move(there.error()));
      next_look = Clock::now() + waits_.look_every;
    }
  }
}

// Whether somebody answers at the socket, whatever it is: to be turned away is an answer, too.
Status Client::look() const {
  if (auto other = connect(path_, waits_)) {
    (void)other->send(R"({"verb":"ping"})"); // it may be closed already
    if (ready(other->fd(), POLLIN, Clock::now() + waits_.look_max)) return {};
  }
  return fail(
      Errc::unreachable,
      fmt::format(
          "weir-control at {} has stopped answering while it was at this. Whether the change has come "
          "through shows `weirctl status` when it is back; `weirctl doctor` looks further.",
          path_));
}

} // namespace weir::cli
