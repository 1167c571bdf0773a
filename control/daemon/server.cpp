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

namespace {

Peer peer_of(int fd) {
  Peer peer;
  ucred who{};
  socklen_t bytes = sizeof who;
  if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &who, &bytes) == 0) {
    peer.pid = who.pid;
    peer.uid = who.uid;
    peer.gid = who.gid;
  }
  bytes = 0; // the kernel answers with the size it wants
  if (getsockopt(fd, SOL_SOCKET, SO_PEERGROUPS, nullptr, &bytes) == 0 || errno != ERANGE) return peer;
  peer.groups.resize(bytes / sizeof(gid_t));
  if (getsockopt(fd, SOL_SOCKET, SO_PEERGROUPS, peer.groups.data(), &bytes) != 0) peer.groups.clear();
  return peer;
}

// Every descriptor that came with a message gets an owner, wanted or not.
std::vector<OwnedFd> descriptors_of(msghdr &head) {
  std::vector<OwnedFd> fds;
  for (cmsghdr *part = CMSG_FIRSTHDR(&head); part != nullptr; part = CMSG_NXTHDR(&head, part)) {
    if (part->cmsg_level != SOL_SOCKET || part->cmsg_type != SCM_RIGHTS) continue;
    const std::size_t count = (part->cmsg_len - CMSG_LEN(0)) / sizeof(int);
    for (std::size_t i = 0; i < count; ++i) {
      int fd = -1;
      std::memcpy(&fd, CMSG_DATA(part) + i * sizeof fd, sizeof fd);
      fds.emplace_back(fd);
    }
  }
  return fds;
}

} // namespace

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
    connections_[id].peer = peer_of(fd);
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

// While a whole line waits for its turn nothing more is read: a client that does not wait for answers fills
// its own socket and not our memory.
void Server::read_from(Connection &connection) {
  constexpr std::size_t kernel_fds_max = 253;    // SCM_MAX_FD: what one sendmsg() may carry
  constexpr std::size_t bytes_at_once = 1 << 20; // then others have their turn
  char buffer[64 * 1024];
  alignas(cmsghdr) char control[CMSG_SPACE(kernel_fds_max * sizeof(int))];
  for (std::size_t read_bytes = 0; connection.line_end == no_line && read_bytes < bytes_at_once;) {
    iovec part{buffer, sizeof buffer};
    msghdr head{};
    head.msg_iov = &part;
    head.msg_iovlen = 1;
    head.msg_control = control;
    head.msg_controllen = sizeof control;
    const ssize_t got = recvmsg(connection.fd, &head, MSG_CMSG_CLOEXEC);
    if (got < 0 && (errno == EAGAIN || errno == EINTR)) return;
    if (got <= 0 || connection.in.size() > line_bytes_max) {
      connection.ended = true;
      return;
    }
    read_bytes += static_cast<std::size_t>(got);
    const std::size_t searched = connection.in.size();
    connection.in.append(buffer, static_cast<std::size_t>(got));
    connection.line_end = connection.in.find('\n', searched);
    take_descriptors(connection, descriptors_of(head), (head.msg_flags & MSG_CTRUNC) != 0);
  }
}

void Server::take_descriptors(Connection &connection, std::vector<OwnedFd> fds, bool lost) {
  if (fds.empty() && !lost) return;
  Passed passed{.position = connection.taken_bytes + connection.in.size() - 1, .fds = {}, .lost = lost};
  if (connection.passed_fds + fds.size() > fds_max)
    passed.too_many = true;
  else
    passed.fds = std::move(fds);
  connection.passed_fds += passed.fds.size();
  connection.passed.push_back(std::move(passed));
}

// The first line, with what came beside it.
Status Server::take_line(Connection &connection, Request &request) {
  const std::uint64_t last = connection.taken_bytes + connection.line_end;
  request.line = connection.in.substr(0, connection.line_end);
  request.peer = connection.peer;
  connection.in.erase(0, connection.line_end + 1);
  connection.taken_bytes = last + 1;
  connection.line_end = connection.in.find('\n');
  Status whole;
  for (; !connection.passed.empty() && connection.passed.front().position <= last;
       connection.passed.pop_front()) {
    Passed &passed = connection.passed.front();
    connection.passed_fds -= passed.fds.size();
    for (OwnedFd &fd : passed.fds) request.fds.push_back(std::move(fd));
    if (passed.lost)
      whole =
          fail(Errc::io, "descriptors that were passed with the request did not arrive: weir-control has no "
                         "free descriptor; raise its limit (LimitNOFILE) or try again later");
    else if (passed.too_many)
      whole = fail(Errc::usage, fmt::format("a request has at most {} descriptors", fds_max));
  }
  return whole;
}

// One line a turn of the loop: others have theirs in between.
void Server::next_line(std::uint64_t id) {
  const auto found = connections_.find(id);
  if (found == connections_.end() || found->second.busy) return;
  Connection &connection = found->second;
  if (connection.line_end == no_line) {
    if (connection.ended && connection.out.empty()) return drop(id);
    return watch_what_matters(connection);
  }
  connection.busy = true;
  const Reply reply = [this, id](const std::string &answer) {
    const auto at = connections_.find(id); // gone when the peer has left meanwhile
    if (at == connections_.end()) return;
    at->second.out += answer;
    at->second.out += '\n';
    at->second.busy = false;
    flush(id);
    loop_.post([this, id] { next_line(id); });
  };
  Request request;
  const Status whole = take_line(connection, request);
  watch_what_matters(connection);
  if (!whole) return reply(failure_line(whole.error()));
  handler_(std::move(request), reply);
}

void Server::flush(std::uint64_t id) {
  Connection &connection = connections_.at(id);
  std::size_t sent = 0;
  while (sent < connection.out.size()) {
    const ssize_t some =
        send(connection.fd, connection.out.data() + sent, connection.out.size() - sent, MSG_NOSIGNAL);
    if (some < 0 && errno == EINTR) continue;
    if (some < 0 && errno == EAGAIN) break;
    if (some < 0) {
      sent = connection.out.size(); // the hang-up follows
      connection.ended = true;
      break;
    }
    sent += static_cast<std::size_t>(some);
  }
  connection.out.erase(0, sent);
  watch_what_matters(connection);
}

// What is not watched for would only wake the loop again and again.
void Server::watch_what_matters(const Connection &connection) {
  std::uint32_t events = 0;
  if (!connection.ended && connection.line_end == no_line) events |= EPOLLIN;
  if (!connection.out.empty()) events |= EPOLLOUT;
  loop_.change(connection.fd, events);
}

void Server::drop(std::uint64_t id) {
  const auto found = connections_.find(id);
  loop_.forget(found->second.fd);
  close(found->second.fd);
  connections_.erase(found);
}

} // namespace weir::control
