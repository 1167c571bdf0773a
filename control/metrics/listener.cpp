#include "control/metrics/listener.hpp"

#include "control/metrics/exposition.hpp"
#include "weir/base/loaded_library.hpp"
#include "weir/base/owned_fd.hpp"
#include "weir/config/listen_address.hpp"

#include <fmt/format.h>

#include <arpa/inet.h>
#include <microhttpd.h>
#include <netinet/in.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <optional>
#include <set>
#include <string_view>
#include <utility>
#include <vector>

namespace weir::metrics {
namespace {

constexpr unsigned connections_max = 32, idle_seconds_max = 30;
constexpr auto look_every = std::chrono::seconds(1); // at connections that have been idle too long

// libmicrohttpd, loaded with the first listener: with the TLS that it brings and nobody asks for here it takes four megabytes.
struct Http {
  decltype(&::MHD_add_response_header) add_header = nullptr;
  decltype(&::MHD_create_response_from_buffer) response_of = nullptr;
  decltype(&::MHD_destroy_response) destroy = nullptr;
  decltype(&::MHD_get_daemon_info) info = nullptr;
  decltype(&::MHD_queue_response) queue = nullptr;
  decltype(&::MHD_resume_connection) resume = nullptr;
  decltype(&::MHD_run) run = nullptr;
  decltype(&::MHD_start_daemon) start = nullptr;
  decltype(&::MHD_stop_daemon) stop = nullptr;
  decltype(&::MHD_suspend_connection) suspend = nullptr;
};

Result<Http> load() {
  LoadedLibrary library("libmicrohttpd.so.12", "libmicrohttpd12");
  Http http;
  library.take(http.add_header, "MHD_add_response_header");
  library.take(http.response_of, "MHD_create_response_from_buffer");
  library.take(http.destroy, "MHD_destroy_response");
  library.take(http.info, "MHD_get_daemon_info");
  library.take(http.queue, "MHD_queue_response");
  library.take(http.resume, "MHD_resume_connection");
  library.take(http.run, "MHD_run");
  library.take(http.start, "MHD_start_daemon");
  library.take(http.stop, "MHD_stop_daemon");
  library.take(http.suspend, "MHD_suspend_connection");
  TRY(library.status());
  return http;
}
const Result<Http> &loaded() {
  static const Result<Http> http = load();
  return http;
}
// Once loaded() has been found to be.
const Http &http() { return *loaded(); }

std::unexpected<Error> io_error(const std::string &where, const char *what) {
  return fail(Errc::io, fmt::format("metrics.listen: {}: {}: {}", where, what, std::strerror(errno)));
}

Result<OwnedFd> listen_on(const std::string &where, int family, const sockaddr *address, socklen_t bytes) {
  OwnedFd fd(socket(family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (fd.get() < 0) return io_error(where, "no socket");
  const int on = 1;
  if (family != AF_UNIX) setsockopt(fd.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  const mode_t before = umask(0117); // rw for the group
  const bool bound = bind(fd.get(), address, bytes) == 0;
  umask(before);
  if (!bound) return io_error(where, "cannot be had");
  if (listen(fd.get(), connections_max) != 0) return io_error(where, "cannot be listened on");
  return fd;
}

Result<OwnedFd> listen_on_path(const std::string &path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path.size() >= sizeof address.sun_path)
    return fail(Errc::config, fmt::format("metrics.listen: {}: a socket's path may have {} characters", path,
                                          sizeof address.sun_path - 1));
  std::memcpy(address.sun_path, path.c_str(), path.size());
  struct stat about{};
  if (lstat(path.c_str(), &about) == 0 && S_ISSOCK(about.st_mode))
    unlink(path.c_str()); // of one that was killed
  return listen_on(path, AF_UNIX, reinterpret_cast<const sockaddr *>(&address), sizeof address);
}

Result<OwnedFd> listen_on_loopback(const std::string &where, const config::HostAndPort &at) {
  if (at.is_v6) {
    sockaddr_in6 address{};
    address.sin6_family = AF_INET6;
    address.sin6_port = htons(at.port);
    address.sin6_addr = in6addr_loopback;
    return listen_on(where, AF_INET6, reinterpret_cast<const sockaddr *>(&address), sizeof address);
  }
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(at.port);
  address.sin_addr.s_addr = htonl(at.v4);
  return listen_on(where, AF_INET, reinterpret_cast<const sockaddr *>(&address), sizeof address);
}

std::string resolved(const std::string &where, int fd) {
  sockaddr_storage at{};
  socklen_t bytes = sizeof at;
  if (getsockname(fd, reinterpret_cast<sockaddr *>(&at), &bytes) != 0 || at.ss_family == AF_UNIX)
    return where;
  const std::uint16_t port = at.ss_family == AF_INET6 ? reinterpret_cast<const sockaddr_in6 &>(at).sin6_port
                                                      : reinterpret_cast<const sockaddr_in &>(at).sin_port;
  return where.substr(0, where.rfind(':') + 1) + std::to_string(ntohs(port));
}

} // namespace

struct Listener::Daemon {
  // A request whose page is being gathered.
  struct Waiting {
    MHD_Connection *connection;
    Path path;
    Answer answer;
    bool has_answer = false;
  };

  Daemon(push::EventLoop &l, Gather g) : loop(l), gather(std::move(g)) {}
  Daemon(const Daemon &) = delete;
  Daemon &operator=(const Daemon &) = delete;
  ~Daemon() {
    *alive = false;
    if (timer != 0) loop.cancel(timer);
    if (daemon == nullptr) return;
    loop.forget(epoll());
    for (const auto &of_path : waiting)
      for (Waiting *one : of_path) http().resume(one->connection); // or it may not be stopped
    http().stop(daemon);
  }

  [[nodiscard]] int epoll() const { return http().info(daemon, MHD_DAEMON_INFO_EPOLL_FD)->epoll_fd; }

  [[nodiscard]] bool start(int fd) {
    daemon = http().start(MHD_USE_EPOLL | MHD_ALLOW_SUSPEND_RESUME, 0, nullptr, nullptr, &answer, this,
                          MHD_OPTION_LISTEN_SOCKET, fd, MHD_OPTION_CONNECTION_LIMIT, connections_max,
                          MHD_OPTION_CONNECTION_TIMEOUT, idle_seconds_max, MHD_OPTION_NOTIFY_COMPLETED,
                          &completed, this, MHD_OPTION_END);
    if (daemon == nullptr) return false;
    loop.watch(epoll(), EPOLLIN, [this](std::uint32_t) { http().run(daemon); });
    look_later();
    return true;
  }
  void look_later() {
    timer = loop.after(look_every, [this] {
      http().run(daemon);
      look_later();
    });
  }

  static MHD_Result reply(MHD_Connection *connection, unsigned code, const std::string &text,
                          const char *type) {
    MHD_Response *response =
        http().response_of(text.size(), const_cast<char *>(text.data()), MHD_RESPMEM_MUST_COPY);
    if (response == nullptr) return MHD_NO;
    http().add_header(response, MHD_HTTP_HEADER_CONTENT_TYPE, type);
    if (code == MHD_HTTP_METHOD_NOT_ALLOWED) http().add_header(response, MHD_HTTP_HEADER_ALLOW, "GET, HEAD");
    const MHD_Result done = http().queue(connection, code, response);
    http().destroy(response);
    return done;
  }

  static MHD_Result answer(void *self, MHD_Connection *connection, const char *url, const char *method,
                           const char *, const char *, std::size_t *upload_bytes, void **request) {
    auto &daemon = *static_cast<Daemon *>(self);
    constexpr const char *plain = "text/plain; charset=utf-8";
    if (const auto *one = static_cast<const Waiting *>(*request); one != nullptr && one->has_answer)
      return reply(connection, one->answer.is_well ? MHD_HTTP_OK : MHD_HTTP_SERVICE_UNAVAILABLE,
                   one->answer.text, one->path == Path::metrics ? content_type : plain);
    if (*upload_bytes != 0) return *upload_bytes = 0, MHD_YES; // nobody reads it
    if (std::string_view(method) != "GET" && std::string_view(method) != "HEAD")
      return reply(connection, MHD_HTTP_METHOD_NOT_ALLOWED, "GET /metrics, /health\n", plain);
    const std::optional<Path> path = path_of(url);
    if (!path) return reply(connection, MHD_HTTP_NOT_FOUND, "there are /metrics and /health\n", plain);
    auto *one = new Waiting{.connection = connection, .path = *path, .answer = {}};
    *request = one;
    http().suspend(connection);
    daemon.wait_for_page(one);
    return MHD_YES;
  }
  static void completed(void *self, MHD_Connection *, void **request, MHD_RequestTerminationCode) {
    auto *one = static_cast<Waiting *>(*request);
    if (one != nullptr) static_cast<Daemon *>(self)->waiting_for(one->path).erase(one);
    delete one;
    *request = nullptr;
  }

  static std::optional<Path> path_of(std::string_view url) {
    if (url == "/metrics") return Path::metrics;
    if (url == "/health") return Path::health;
    return std::nullopt;
  }
  std::set<Waiting *> &waiting_for(Path path) { return waiting[static_cast<std::size_t>(path)]; }
  void wait_for_page(Waiting *one) {
    waiting_for(one->path).insert(one);
    if (std::exchange(gathering[static_cast<std::size_t>(one->path)], true)) return;
    // Outside of libmicrohttpd's own turn, which must not be entered twice.
    loop.after({}, [this, lives = alive, path = one->path] {
      if (!*lives) return;
      gather(path, [this, lives, path](const Answer &answer) {
        if (*lives) hand_out(path, answer);
      });
    });
  }
  void hand_out(Path path, const Answer &answer) {
    gathering[static_cast<std::size_t>(path)] = false;
    for (Waiting *one : std::exchange(waiting_for(path), {})) {
      one->answer = answer;
      one->has_answer = true;
      http().resume(one->connection);
    }
    loop.after({}, [this, lives = alive] {
      if (*lives) http().run(daemon);
    });
  }

  push::EventLoop &loop;
  Gather gather;
  MHD_Daemon *daemon = nullptr;
  push::EventLoop::TimerId timer = 0;
  std::shared_ptr<bool> alive = std::make_shared<bool>(true);
  std::array<std::set<Waiting *>, path_count> waiting; // by path
  std::array<bool, path_count> gathering{};
};

Listener::Listener(push::EventLoop &loop, Gather gather) : loop_(loop), gather_(std::move(gather)) {}
Listener::~Listener() { stop(); }

void Listener::stop() {
  daemon_.reset();
  if (where_.starts_with('/')) unlink(where_.c_str());
  where_.clear();
}

Status Listener::listen(const std::string &where) {
  stop();
  if (where.empty()) return {};
  const auto at = config::parse_listen(where);
  if (!at) return fail(Errc::config, "metrics.listen: " + at.error().message);
  OwnedFd fd = at->path.empty() ? TRY(listen_on_loopback(where, *at)) : TRY(listen_on_path(at->path));
  if (!loaded()) return fail(loaded().error().code, "metrics.listen: " + loaded().error().message);
  auto daemon = std::make_unique<Daemon>(loop_, gather_);
  const std::string name = at->path.empty() ? resolved(where, fd.get()) : at->path;
  if (!daemon->start(fd.get()))
    return fail(Errc::io, "metrics.listen: " + where + ": libmicrohttpd cannot begin");
  (void)fd.release(); // the daemon closes it
  daemon_ = std::move(daemon);
  where_ = name;
  return {};
}

} // namespace weir::metrics
