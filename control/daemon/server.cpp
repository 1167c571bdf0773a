#include "control/daemon/server.hpp"

#include <fmt/format.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

namespace weir::control {

Server::~Server() {
  while (!connections_.empty()) drop(connections_.begin()->first);
  if (listening_ < 0) return;
  loop_.forget(listening_);
  close(listening_);
  unlink(path_.c_str());
}

Status Server::listen(const std::filesystem::path &socket_path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  const std::string &text = socket_path.native();
  if (text.size() >= sizeof address.sun_path)
    return fail(Errc::config,
                fmt::format("{}: a socket path has at most {} characters; choose a shorter paths.run", text,
                            sizeof address.sun_path - 1));
  std::memcpy(address.sun_path, text.c_str(), text.size() + 1);
  listening_ = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  unlink(text.c_str());
  const mode_t before = umask(0117);
  const bool bound =
      listening_ >= 0 && bind(listening_, reinterpret_cast<sockaddr *>(&address), sizeof address) == 0;
  umask(before);
  if (!bound || ::listen(listening_, 64) != 0)
    return fail(Errc::io, fmt::format("{}: cannot listen: {}", text, std::strerror(errno)));
  path_ = socket_path;
  loop_.watch(listening_, EPOLLIN, [this](std::uint32_t) { accept_all(); });
  return {};
}

void Server::accept_all() {
  for (;;) {
    const int fd = accept4(listening_, nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK);
    if (fd < 0) return;
    const std::uint64_t id = next_id_++;
    connections_[id].fd = fd;
    loop_.watch(fd, EPOLLIN, [this, id](std::uint32_t events) { on_ready(id, events); });
  }
}

void Server::on_ready(std::uint64_t id, std::uint32_t events) {
  const auto found = connections_.find(id);
  if (found == connections_.end()) return;
  if (events & (EPOLLHUP | EPOLLERR)) return drop(id); // nobody is left to read an answer
  if (events & EPOLLIN) read_from(found->second);
  if (events & EPOLLOUT) flush(id);
  next_line(id);
}

void Server::read_from(Connection &connection) {
  char buffer[64 * 1024];
  for (;;) {
    const ssize_t got = read(connection.fd, buffer, sizeof buffer);
    if (got < 0 && (errno == EAGAIN || errno == EINTR)) return;
    if (got <= 0 || connection.in.size() > line_bytes_max) {
      connection.ended = true;
      loop_.change(connection.fd, connection.out.empty() ? 0u : static_cast<unsigned>(EPOLLOUT));
      return;
    }
    connection.in.append(buffer, static_cast<std::size_t>(got));
  }
}

void Server::next_line(std::uint64_t id) {
  for (;;) {
    const auto found = connections_.find(id);
    if (found == connections_.end() || found->second.busy) return;
    Connection &connection = found->second;
    const std::size_t end = connection.in.find('\n');
    if (end == std::string::npos) {
      if (connection.ended && connection.out.empty()) drop(id);
      return;
    }
    const std::string line = connection.in.substr(0, end);
    connection.in.erase(0, end + 1);
    connection.busy = true;
    handler_(line, [this, id](const std::string &answer) {
      const auto at = connections_.find(id); // gone when the peer has left meanwhile
      if (at == connections_.end()) return;
      at->second.out += answer;
      at->second.out += '\n';
      at->second.busy = false;
      flush(id);
      loop_.post([this, id] { next_line(id); });
    });
  }
}

void Server::flush(std::uint64_t id) {
  Connection &connection = connections_.at(id);
  while (!connection.out.empty()) {
    const ssize_t sent = send(connection.fd, connection.out.data(), connection.out.size(), MSG_NOSIGNAL);
    if (sent < 0 && errno == EINTR) continue;
    if (sent < 0 && errno == EAGAIN)
      return loop_.change(connection.fd, static_cast<unsigned>(EPOLLOUT) | (connection.ended ? 0u : EPOLLIN));
    if (sent < 0) {
      connection.out.clear(); // the hang-up follows
      connection.ended = true;
      break;
    }
    connection.out.erase(0, static_cast<std::size_t>(sent));
  }
  loop_.change(connection.fd, connection.ended ? 0u : static_cast<unsigned>(EPOLLIN));
}

void Server::drop(std::uint64_t id) {
  const auto found = connections_.find(id);
  loop_.forget(found->second.fd);
  close(found->second.fd);
  connections_.erase(found);
}

} // namespace weir::control
