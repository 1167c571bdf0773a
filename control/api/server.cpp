#include "control/api/server.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <new>
#include <utility>

namespace weir::control {

namespace {

constexpr std::size_t read_bytes = 64 * 1024; // at a time

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

// Whoever is not served gets a sentence, as far as its socket takes one at once.
void refuse(int fd, const Error &why) {
  const std::string line = failure_line(why) + '\n';
  (void)!send(fd, line.data(), line.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
  close(fd);
}

} // namespace

Server::~Server() {
  while (!connections_.empty()) drop(connections_.begin()->first);
  if (listening_ < 0) return;
  loop_.forget(listening_);
  close(listening_);
  loop_.cancel(idle_timer_);
  loop_.cancel(listen_timer_);
  unlink(path_.c_str());
}

Status Server::listen(const std::filesystem::path &socket_path, const SocketRights &rights) {
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
  if (bound && rights.group && chown(text.c_str(), static_cast<uid_t>(-1), *rights.group) != 0)
    return fail(Errc::io,
                fmt::format("{}: cannot be given to the group {}: {}; run weir-control as root or as a "
                            "member of that group",
                            text, rights.group_name, std::strerror(errno)));
  if (bound && chmod(text.c_str(), rights.mode) != 0)
    return fail(Errc::io, fmt::format("{}: its mode cannot be set: {}", text, std::strerror(errno)));
  if (!bound || ::listen(listening_, 64) != 0)
    return fail(Errc::io, fmt::format("{}: cannot listen: {}", text, std::strerror(errno)));
  path_ = socket_path;
  loop_.watch(listening_, EPOLLIN, [this](std::uint32_t) { accept_all(); });
  spare_ = OwnedFd(open("/dev/null", O_RDONLY | O_CLOEXEC));
  close_idle();
  return {};
}

void Server::accept_all() {
  constexpr int at_once = 64; // then others have their turn
  for (int i = 0; i < at_once; ++i) {
    const int fd = accept4(listening_, nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK);
    if (fd >= 0)
      admit(fd);
    else if (errno == EMFILE || errno == ENFILE || errno == ENOMEM || errno == ENOBUFS)
      return refuse_for_want_of_descriptors();
    else if (errno != ECONNABORTED && errno != EINTR)
      return;
  }
}

void Server::admit(int fd) {
  if (connections_.size() >= limits_.connections_max)
    return refuse(fd,
                  {Errc::refused,
                   fmt::format("weir-control serves {} connections already, and no more; close those that "
                               "are not needed",
                               connections_.size())});
  const std::uint64_t id = next_id_++;
  Connection &connection = connections_[id];
  connection.fd = fd;
  connection.peer = peer_of(fd);
  connection.active = push::Clock::now();
  connection.arrived = loop_.arrived();
  connection.admitted = loop_.woken();
  loop_.watch(fd, EPOLLIN, [this, id](std::uint32_t events) { on_ready(id, events); });
}

// A client in the queue would wake the loop for ever: the spare descriptor is used up to tell it. Should
// somebody else have taken that meanwhile, the queue waits for a second.
void Server::refuse_for_want_of_descriptors() {
  spare_ = OwnedFd();
  const int fd = accept4(listening_, nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK);
  const bool taken = fd < 0 && errno != EAGAIN;
  if (fd >= 0)
    refuse(fd, {Errc::refused,
                "weir-control has no free file descriptor; close connections that are not needed, or "
                "raise its limit (LimitNOFILE)"});
  spare_ = OwnedFd(open("/dev/null", O_RDONLY | O_CLOEXEC));
  if (!taken && spare_.get() >= 0) return;
  loop_.change(listening_, 0);
  loop_.cancel(listen_timer_);
  listen_timer_ = loop_.after(std::chrono::seconds(1), [this] {
    if (spare_.get() < 0) spare_ = OwnedFd(open("/dev/null", O_RDONLY | O_CLOEXEC));
    loop_.change(listening_, EPOLLIN);
  });
}

void Server::close_idle() {
  const auto now = push::Clock::now();
  for (auto at = connections_.begin(); at != connections_.end();) {
    const auto &[id, connection] = *at++;
    if (!connection.busy && now - connection.active >= limits_.idle_max) drop(id);
  }
  idle_timer_ = loop_.after(std::min<push::Clock::duration>(limits_.idle_max / 4, std::chrono::minutes(1)),
                            [this] { close_idle(); });
}

void Server::on_ready(std::uint64_t id, std::uint32_t events) {
  const auto found = connections_.find(id);
  if (found == connections_.end()) return;
  if (events & (EPOLLHUP | EPOLLERR)) return drop(id); // nobody is left to read an answer
  if (events & EPOLLIN) {
    try {
      read_from(found->second);
    } catch (const std::bad_alloc &) {
      give_up(found->second,
              {Errc::no_memory, "weir-control has no memory for the request; split it, or try again"});
    }
  }
  if (events & EPOLLOUT) flush(id);
  next_line(id);
}

// While a whole line waits for its turn nothing more is read.
void Server::read_from(Connection &connection) {
  constexpr std::size_t kernel_fds_max = 253; // SCM_MAX_FD: what one sendmsg() may carry
  constexpr int reads_at_once = 16;           // then others have their turn
  char buffer[read_bytes];
  alignas(cmsghdr) char control[CMSG_SPACE(kernel_fds_max * sizeof(int))];
  for (int reads = 0; wants_more(connection) && reads < reads_at_once; ++reads) {
    iovec part{buffer, sizeof buffer};
    msghdr head{};
    head.msg_iov = &part;
    head.msg_iovlen = 1;
    head.msg_control = control;
    head.msg_controllen = sizeof control;
    const ssize_t got = recvmsg(connection.fd, &head, MSG_CMSG_CLOEXEC);
    if (got < 0 && (errno == EAGAIN || errno == EINTR)) return;
    if (got <= 0) {
      connection.ended = true;
      return;
    }
    std::vector<OwnedFd> fds = descriptors_of(head);
    connection.active = push::Clock::now();
    // What could be read as soon as it was admitted waited with it.
    if (loop_.arrived() > connection.admitted) connection.arrived = loop_.arrived();
    connection.in.erase(0, std::exchange(connection.from, 0));
    const std::size_t searched = connection.in.size();
    connection.in.append(buffer, static_cast<std::size_t>(got));
    connection.line_end = connection.in.find('\n', searched);
    take_descriptors(connection, std::move(fds), (head.msg_flags & MSG_CTRUNC) != 0);
    check_size(connection);
  }
}

void Server::check_size(Connection &connection) {
  constexpr std::size_t small_bytes = 1 << 20;
  if (connection.line_end != no_line || connection.in.size() <= std::min(small_bytes, limits_.line_bytes_max))
    return;
  if (connection.in.size() > limits_.line_bytes_max)
    return give_up(
        connection,
        {Errc::usage, fmt::format("a request has at most {} bytes, and this one has more; split it. The "
                                  "connection is closed",
                                  limits_.line_bytes_max)});
  // Room for the longest at once, of which only what is written takes memory: no more copies of what has
  // come. unread_bytes_max lets so few lines become so long that addresses do not run out.
  constexpr std::size_t long_bytes = 16 << 20;
  if (connection.in.size() > long_bytes) connection.in.reserve(limits_.line_bytes_max + read_bytes);
  std::size_t unread_bytes = 0;
  for (const auto &[id, other] : connections_) unread_bytes += other.in.size();
  if (unread_bytes > limits_.unread_bytes_max)
    give_up(connection,
            {Errc::refused, fmt::format("weir-control holds {} bytes of requests that have not come to "
                                        "their end, and no more; try again later. The connection is closed",
                                        limits_.unread_bytes_max)});
}

// The next answer is this one, and the last.
void Server::give_up(Connection &connection, Error why) {
  connection.fault = std::move(why);
  connection.ended = true;
  connection.in = {};
  connection.from = 0;
  connection.line_end = no_line;
  passed_fds_ -= connection.passed_fds;
  connection.passed_fds = 0;
  connection.passed.clear();
}

void Server::take_descriptors(Connection &connection, std::vector<OwnedFd> fds, bool lost) {
  if (fds.empty() && !lost) return;
  Passed passed{.position = connection.taken_bytes + connection.in.size() - 1, .fds = {}, .lost = lost};
  // They belong to the line of the last byte; what came before that line began is another's.
  std::uint64_t line_begin = connection.taken_bytes;
  if (connection.line_end != no_line && connection.line_end + 1 < connection.in.size())
    line_begin += connection.in.rfind('\n', connection.in.size() - 2) + 1;
  std::size_t of_line = fds.size();
  for (const Passed &earlier : connection.passed)
    if (earlier.position >= line_begin) of_line += earlier.fds.size();
  if (of_line > fds_max || passed_fds_ + fds.size() > limits_.fds_max)
    passed.too_many = true;
  else
    passed.fds = std::move(fds);
  connection.passed_fds += passed.fds.size();
  passed_fds_ += passed.fds.size();
  // One that brings none is remembered once a line.
  if (passed.fds.empty() && connection.line_end == no_line && !connection.passed.empty() &&
      connection.passed.back().fds.empty())
    connection.passed.pop_back();
  connection.passed.push_back(std::move(passed));
}

std::string Server::take_text(Connection &connection) {
  constexpr std::size_t large_bytes = 64 * 1024;
  const std::size_t length = connection.line_end - connection.from;
  std::string text;
  if (length > large_bytes) { // what follows is short: it came with the newline
    std::string rest = connection.in.substr(connection.line_end + 1);
    connection.in.resize(connection.line_end);
    connection.in.erase(0, std::exchange(connection.from, 0));
    text = std::exchange(connection.in, std::move(rest));
  } else {
    text = connection.in.substr(connection.from, length);
    connection.from = connection.line_end + 1;
  }
  connection.line_end = connection.in.find('\n', connection.from);
  connection.taken_bytes += length + 1;
  return text;
}

// The first line, with what came beside it.
Status Server::take_line(Connection &connection, Request &request) {
  request.line = take_text(connection);
  request.arrived = connection.arrived;
  request.peer = connection.peer;
  Status whole;
  for (; !connection.passed.empty() && connection.passed.front().position < connection.taken_bytes;
       connection.passed.pop_front()) {
    Passed &passed = connection.passed.front();
    connection.passed_fds -= passed.fds.size();
    passed_fds_ -= passed.fds.size();
    for (OwnedFd &fd : passed.fds) request.fds.push_back(std::move(fd));
    if (passed.lost)
      whole =
          fail(Errc::io, "descriptors that were passed with the request did not arrive: weir-control has no "
                         "free descriptor; raise its limit (LimitNOFILE) or try again later");
    else if (passed.too_many)
      whole =
          fail(Errc::usage, fmt::format("a request has at most {} descriptors, and those of all clients that "
                                        "have not come to their ends {}",
                                        fds_max, limits_.fds_max));
  }
  return whole;
}

// One line a turn of the loop: others have theirs in between.
void Server::next_line(std::uint64_t id) {
  const auto found = connections_.find(id);
  if (found == connections_.end() || found->second.busy || !found->second.out.empty()) return;
  Connection &connection = found->second;
  if (connection.fault) {
    const Error why = *std::exchange(connection.fault, std::nullopt);
    return answer(id, failure_line(why));
  }
  if (connection.line_end == no_line) {
    if (connection.ended) return drop(id);
    return watch_what_matters(connection);
  }
  connection.busy = true;
  const Reply reply = reply_to(id);
  Request request;
  const Status whole = take_line(connection, request);
  watch_what_matters(connection);
  if (!whole) return reply(failure_line(whole.error()));
  handler_(std::move(request), reply);
}

// Answers once: when it is called, or when nobody is left who could call it. The latter may happen on any
// thread.
Server::Reply Server::reply_to(std::uint64_t id) {
  struct Owed {
    std::weak_ptr<Server *> server;
    push::EventLoop &loop;
    std::uint64_t id;
    bool paid = false;

    Owed(std::weak_ptr<Server *> to, push::EventLoop &on, std::uint64_t of)
        : server(std::move(to)), loop(on), id(of) {}
    Owed(const Owed &) = delete;
    Owed &operator=(const Owed &) = delete;
    void pay(const std::string &line) {
      if (std::exchange(paid, true)) return;
      if (const auto alive = server.lock()) (*alive)->answer(id, line);
    }
    ~Owed() {
      if (paid || server.expired()) return;
      try {
        loop.post([to = server, of = id] {
          if (const auto alive = to.lock())
            (*alive)->answer(
                of, failure_line({Errc::io, "the request was given up after a fault inside weir-control, "
                                            "which its log names"}));
        });
      } catch (const std::bad_alloc &) { // the connection stays busy until its peer leaves
      }
    }
  };
  return [owed = std::make_shared<Owed>(self_, loop_, id)](const std::string &line) { owed->pay(line); };
}

void Server::answer(std::uint64_t id, const std::string &line) {
  const auto found = connections_.find(id); // gone when the peer has left meanwhile
  if (found == connections_.end()) return;
  found->second.out += line;
  found->second.out += '\n';
  found->second.busy = false;
  found->second.active = push::Clock::now();
  flush(id);
  loop_.post([id, self = std::weak_ptr(self_)] {
    if (const auto alive = self.lock()) (*alive)->next_line(id);
  });
}

void Server::flush(std::uint64_t id) {
  Connection &connection = connections_.at(id);
  std::size_t &sent = connection.out_sent;
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
    connection.active = push::Clock::now();
  }
  if (sent == connection.out.size()) {
    connection.out = {};
    sent = 0;
  }
  watch_what_matters(connection);
}

// What is not watched for would only wake the loop again and again.
void Server::watch_what_matters(const Connection &connection) {
  std::uint32_t events = 0;
  if (wants_more(connection)) events |= EPOLLIN;
  if (!connection.out.empty()) events |= EPOLLOUT;
  loop_.change(connection.fd, events);
}

void Server::drop(std::uint64_t id) {
  const auto found = connections_.find(id);
  passed_fds_ -= found->second.passed_fds;
  loop_.forget(found->second.fd);
  close(found->second.fd);
  connections_.erase(found);
}

} // namespace weir::control
