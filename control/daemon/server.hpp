// control.sock: lines in, lines out. Knows connections, not verbs. A connection's next line is
// handled when the one before has been answered, so answers come in order.
#pragma once

#include "control/push/event_loop.hpp"
#include "weir/base/result.hpp"

#include <filesystem>
#include <functional>
#include <map>
#include <string>

namespace weir::control {

class Server {
public:
  using Reply = std::function<void(const std::string &line)>; // once, now or later
  using Handler = std::function<void(const std::string &line, Reply reply)>;

  Server(push::EventLoop &loop, Handler handler) : loop_(loop), handler_(std::move(handler)) {}
  ~Server();
  Server(const Server &) = delete;
  Server &operator=(const Server &) = delete;

  // Removes what a killed process left; the socket is for its owner and group.
  [[nodiscard]] Status listen(const std::filesystem::path &socket);

private:
  static constexpr std::size_t line_bytes_max = 256u << 20;
  struct Connection {
    int fd = -1;
    std::string in, out;
    bool busy = false;  // a request is being answered
    bool ended = false; // the peer will send no more
  };

  void accept_all();
  void on_ready(std::uint64_t id, std::uint32_t events);
  void read_from(Connection &connection);
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
