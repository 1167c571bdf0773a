// The socket to weir-control: one JSON line out, one JSON line back (control/daemon/api.hpp). Lines
// are opaque here.
#pragma once

#include "weir/base/result.hpp"

#include <chrono>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace weir::cli {

class Client {
public:
  // Errc::unreachable when nobody listens, with a remedy.
  [[nodiscard]] static Result<Client> connect(const std::filesystem::path &socket);

  Client(Client &&other) noexcept;
  Client &operator=(Client &&other) noexcept;
  Client(const Client &) = delete;
  Client &operator=(const Client &) = delete;
  ~Client();

  // Sends `line` (without its newline) and waits for the answer, without its newline. Building ten
  // million entries takes a while, so a wait has no end unless one is given.
  [[nodiscard]] Result<std::string> ask(std::string_view line,
                                        std::chrono::milliseconds wait_max = std::chrono::milliseconds::max(),
                                        std::span<const int> fds = {});

  // The halves of ask(), for callers that wait for other things at the same time: after fd() has become
  // readable, receive() takes what is there and gives a line once it is whole.
  // Descriptors go along with the beginning of the line; the peer gets copies.
  [[nodiscard]] Status send(std::string_view line, std::span<const int> fds = {});
  [[nodiscard]] Result<std::optional<std::string>> receive();
  [[nodiscard]] int fd() const { return fd_; }

private:
  explicit Client(int fd) : fd_(fd) {}
  int fd_ = -1;
  std::string pending_; // bytes after the last whole line
};

} // namespace weir::cli
