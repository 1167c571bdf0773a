// The socket to weir-control: one JSON line out, one JSON line back (control/api/api.hpp). Lines
// are opaque here. Nothing here waits for ever: a weir-control that is stopped takes a connection, or leaves
// it in the queue, and says nothing.
#pragma once

#include "weir/base/owned_fd.hpp"
#include "weir/base/result.hpp"

#include <chrono>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>

namespace weir::cli {

// How long each wait may be.
struct ClientWaits {
  using Ms = std::chrono::milliseconds;
  Ms connect_max = std::chrono::seconds(5);
  Ms send_max = std::chrono::seconds(30); // while no byte of a request is taken
  Ms answer_max = std::chrono::hours(1);  // of any request
  Ms look_every =
      std::chrono::seconds(15); // how often a long wait asks on another connection whether somebody is there
  Ms look_max = std::chrono::seconds(10); // for an answer to that
};

class Client {
public:
  // Errc::unreachable when nobody listens, or nobody takes the connection, with a remedy.
  [[nodiscard]] static Result<Client> connect(const std::filesystem::path &socket,
                                              const ClientWaits &waits = {});

  // Sends `line` (without its newline) and waits for the answer, without its newline. Building ten
  // million entries takes a while: without `wait_max` it waits as long as weir-control answers others, up to
  // answer_max.
  [[nodiscard]] Result<std::string> ask(std::string_view line,
                                        std::chrono::milliseconds wait_max = std::chrono::milliseconds::max(),
                                        std::span<const int> fds = {});

  // The halves of ask(), for callers that wait for other things at the same time: after fd() has become
  // readable, receive() takes what is there and gives a line once it is whole.
  // Descriptors go along with the beginning of the line; the peer gets copies.
  [[nodiscard]] Status send(std::string_view line, std::span<const int> fds = {});
  [[nodiscard]] Result<std::optional<std::string>> receive();
  [[nodiscard]] int fd() const { return fd_.get(); }

private:
  Client(OwnedFd fd, std::string path, const ClientWaits &waits)
      : fd_(std::move(fd)), path_(std::move(path)), waits_(waits) {}
  [[nodiscard]] Status look() const;

  OwnedFd fd_; // does not block
  std::string path_;
  ClientWaits waits_;
  std::string pending_; // bytes after the last whole line
};

} // namespace weir::cli
