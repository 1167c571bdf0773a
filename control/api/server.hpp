// control.sock: lines in, lines out. Knows connections, not verbs. A connection's next line is
// handled when the one before has been answered and the answer is on its way, so answers come in order, and a
// client that does not take its answers is not read from: it fills its own socket and not our memory. A
// handler that lets its reply go without having called it has failed, and the request is answered with that.
//
// What clients may take is limited (ServerLimits). Whoever goes beyond is told so in an answer, and the
// connection is closed where nothing after it could be understood. Nobody who waits for an answer is closed
// for being idle.
//
// Descriptors travel beside the bytes (SCM_RIGHTS). The kernel hands them out with the bytes of the
// sendmsg() that carried them and never joins later bytes to those, so they belong to the line in which that
// read ended: a sendmsg() with descriptors carries one line, or the beginning of one. A request has at most
// `fds_max`; one with more, or whose descriptors could not be received, is refused and none of them stays
// open.
#pragma once

#include "control/api/request.hpp"
#include "control/push/event_loop.hpp"
#include "weir/base/result.hpp"

#include <cstddef>
#include <deque>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <sys/types.h>

namespace weir::control {

struct ServerLimits {
  std::size_t connections_max = 256;
  std::size_t line_bytes_max = 256u << 20;
  std::size_t unread_bytes_max = 512u
                                 << 20; // of lines that have not come to their end, of all clients together
  std::size_t fds_max = 256;            // that wait for the end of their lines, of all clients together
  push::Clock::duration idle_max = std::chrono::minutes(10);
};

class Server {
public:
  using Reply = std::function<void(const std::string &line)>; // once, now or later
  using Handler = std::function<void(Request request, Reply reply)>;
  static constexpr std::size_t fds_max = 16; // of one request

  Server(push::EventLoop &loop, Handler handler, ServerLimits limits = {})
      : loop_(loop), handler_(std::move(handler)), limits_(limits) {}
  ~Server();
  Server(const Server &) = delete;
  Server &operator=(const Server &) = delete;

  // Who may connect; who may ask for what is settled later (access.hpp).
  struct SocketRights {
    mode_t mode = 0660;
    std::optional<gid_t> group = {}; // none: that of the process
    std::string group_name = {};
  };
  // Removes what a killed process left.
  [[nodiscard]] Status listen(const std::filesystem::path &socket, const SocketRights &rights);
  [[nodiscard]] Status listen(const std::filesystem::path &socket) { return listen(socket, SocketRights{}); }

private:
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
    std::size_t from = 0;           // `in` was handled up to here
    std::size_t line_end = no_line; // where in `in` the first newline after that is
    std::size_t out_sent = 0;       // of `out`
    std::uint64_t taken_bytes = 0;  // of all that came, before in[from]
    std::deque<Passed> passed;
    std::size_t passed_fds = 0;       // in `passed`
    push::Clock::time_point active;   // when bytes came or went
    push::Clock::time_point arrived;  // the last that came, at the earliest
    push::Clock::time_point admitted; // the round in which it was
    std::optional<Error> fault;       // why nothing more is taken from it; not answered yet
    bool busy = false;                // a request is being answered
    bool ended = false;               // the peer will send no more, or nothing more is wanted from it
  };

  void accept_all();
  void admit(int fd);
  void refuse_for_want_of_descriptors();
  void close_idle();
  void on_ready(std::uint64_t id, std::uint32_t events);
  void read_from(Connection &connection);
  void check_size(Connection &connection);
  void give_up(Connection &connection, Error why);
  [[nodiscard]] static bool wants_more(const Connection &connection) {
    return !connection.ended && connection.line_end == no_line;
  }
  void take_descriptors(Connection &connection, std::vector<OwnedFd> fds, bool lost);
  [[nodiscard]] static std::string take_text(Connection &connection);
  [[nodiscard]] Status take_line(Connection &connection, Request &request);
  void watch_what_matters(const Connection &connection);
  void next_line(std::uint64_t id);
  [[nodiscard]] Reply reply_to(std::uint64_t id);
  void answer(std::uint64_t id, const std::string &line);
  void flush(std::uint64_t id);
  void drop(std::uint64_t id);

  push::EventLoop &loop_;
  Handler handler_;
  ServerLimits limits_;
  std::filesystem::path path_;
  int listening_ = -1;
  OwnedFd spare_; // given up to answer a client when there is no other
  push::EventLoop::TimerId idle_timer_ = 0, listen_timer_ = 0;
  std::uint64_t next_id_ = 1;
  std::map<std::uint64_t, Connection> connections_;
  std::size_t passed_fds_ = 0;                                              // of all connections
  const std::shared_ptr<Server *> self_ = std::make_shared<Server *>(this); // replies may outlive it
};

} // namespace weir::control
