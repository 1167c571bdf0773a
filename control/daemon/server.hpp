// control.sock: lines in, lines out. Knows connections, not verbs. A connection's next line is
// handled when the one before has been answered, so answers come in order.
//
// Descriptors travel beside the bytes (SCM_RIGHTS). The kernel hands them out with the bytes of the sendmsg()
// that carried them and never joins later bytes to those, so they belong to the line in which that read
// ended: a sendmsg() with descriptors carries one line, or the beginning of one. A request has at most
// `fds_max`; one with more, or whose descriptors could not be received, is refused and none of them stays
// open.
#pragma once

#include "control/daemon/request.hpp"
#include "control/push/event_loop.hpp"
#include "weir/base/result.hpp"

#include <deque>
#include <filesystem>
#include <functional>
#include <map>
#include <string>

namespace weir::control {

class Server {
public:
  using Reply = std::function<void(const std::string &line)>; // once, now or later
  using Handler = std::function<void(Request request, Reply reply)>;
  static constexpr std::size_t fds_max = 16; // of one request

  Server(push::EventLoop &loop, Handler handler) : loop_(loop), handler_(std::move(handler)) {}
  ~Server();
  Server(const Server &) = delete;
  Server &operator=(const Server &) = delete;

  // Removes what a killed process left; the socket is for its owner and group.
  [[nodiscard]] Status listen(const std::filesystem::path &socket);

private:
  static constexpr std::size_t line_bytes_max = 256u << 20;
  static constexpr std::size_t no_line = std::string::npos;
  // What came beside the byte at `position` of a connection.
  struct Passed {
    std::uint64_t position = 0;
    std::vector<OwnedFd> fds;
    bool lost = false;     // the kernel could not hand them all over
    bool too_many = false; // they are closed again
  };
  struct Connection {
    int fd = -1;
    Peer peer;
    std::string in, out;
    std::uint64_t taken_bytes = 0;  // of all that came, before in.front()
    std::size_t line_end = no_line; // where in `in` the first newline is
    std::size_t passed_fds = 0;     // in `passed`
    std::deque<Passed> passed;
    bool busy = false;  // a request is being answered
    bool ended = false; // the peer will send no more
  };

  void accept_all();
  void on_ready(std::uint64_t id, std::uint32_t events);
  void read_from(Connection &connection);
  void take_descriptors(Connection &connection, std::vector<OwnedFd> fds, bool lost);
  [[nodiscard]] static Status take_line(Connection &connection, Request &request);
  void watch_what_matters(const Connection &connection);
  void next_line(std::uint64_t id);
  void flush(std::uint64_t id);
  void drop(std::uint64_t id);

  push::EventLoop &loop_;
  Handler handler_;
  std::filesystem::path path_;
  int listening_ = -1;
  std::uint64_t next_id_ = 1;
  std::map<std::uint64_t, Connection> connections_;
};

} // namespace weir::control
