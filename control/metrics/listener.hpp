// GET /metrics and /health over HTTP, on loopback or a unix socket: libmicrohttpd on weir-control's own event loop. No page is
// gathered twice at a time: who asks while one is under way gets the same. There is no password and no TLS; whoever may connect may
// read, and nothing can be changed.
//
//   /metrics    200, text format 0.0.4
//   /health     200 or 503, and one line that says why
//   all else    404; other methods than GET and HEAD: 405
#pragma once

#include "control/push/event_loop.hpp"
#include "weir/base/result.hpp"

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

namespace weir::metrics {

enum class Path : std::uint8_t { metrics, health };
inline constexpr std::size_t path_count = 2;

struct Answer {
  std::string text;
  bool is_well = true; // else 503
};

class Listener {
public:
  using Then = std::function<void(Answer answer)>;
  using Gather = std::function<void(Path path, Then then)>; // calls `then` once, now or later

  Listener(push::EventLoop &loop, Gather gather);
  ~Listener();
  Listener(const Listener &) = delete;
  Listener &operator=(const Listener &) = delete;

  // HOST:PORT of loopback, or the path of a unix socket, which is made for the own user and group; empty: nowhere. What was
  // listened on before is let go first. Errors: config, for an address that is none or not of loopback; io, where it cannot be had; not_found, without libmicrohttpd.
  [[nodiscard]] Status listen(const std::string &where);
  // As it came to be, port 0 resolved; empty: it does not listen.
  [[nodiscard]] const std::string &where() const noexcept { return where_; }

private:
  struct Daemon;
  void stop();

  push::EventLoop &loop_;
  Gather gather_;
  std::unique_ptr<Daemon> daemon_;
  std::string where_;
};

} // namespace weir::metrics
