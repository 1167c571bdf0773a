// The socket to the dataplane: connects, and connects again for as long as it takes; sends requests
// and brings each answer to whoever asked. Knows messages, not what they mean (see pusher.hpp).
//
// A request that is still open when the connection goes is answered with Errc::unreachable, and so
// is everything else when the oldest request stays unanswered for `answer_wait`: a frozen dataplane
// is one that is not there.
#pragma once

#include "control/push/event_loop.hpp"
#include "weir/base/result.hpp"
#include "weir/wire/messages.hpp"

#include <deque>
#include <filesystem>
#include <functional>
#include <map>
#include <span>
#include <string>
#include <vector>

namespace weir::push {

struct Message {
  wire::Type type{};
  std::vector<std::byte> payload;

  template <class T> [[nodiscard]] bool holds(wire::Type wanted) const {
    return type == wanted && payload.size() >= sizeof(T);
  }
  template <class T> [[nodiscard]] T as() const { return load_unaligned<T>(payload.data()); }
};

class Channel {
public:
  using OnAnswer = std::function<void(Result<Message>)>;
  struct Events {
    std::function<void(const wire::Hello &)> hello; // the connection stands
    std::function<void(const std::string &why)> lost;
    std::function<void(std::span<const wire::Sample>)> samples;
  };

  Channel(EventLoop &loop, std::filesystem::path socket, Events events);
  ~Channel();
  Channel(const Channel &) = delete;
  Channel &operator=(const Channel &) = delete;

  void start();
  [[nodiscard]] bool connected() const { return greeted_; }
  [[nodiscard]] const wire::Hello &hello() const { return hello_; }

  // `fd` is taken over and closed once it is sent or cannot be any more.
  void request(wire::Type type, std::vector<std::byte> payload, OnAnswer on_answer, int fd = -1);
  void query(const std::string &json, std::function<void(Result<std::string>)> on_answer);
  void reconnect(const std::string &why); // drops the connection and starts over

  Clock::duration retry_wait = std::chrono::milliseconds(50);
  Clock::duration answer_wait = std::chrono::seconds(60);

private:
  struct Outgoing {
    std::vector<std::byte> bytes;
    int fd = -1;
  };
  struct Open {
    OnAnswer on_answer;
    Clock::time_point since;
    std::string text; // of an answer that spans messages
  };

  void connect_now();
  void retry_later();
  void on_ready(std::uint32_t events);
  void receive();
  void flush();
  void take(const wire::Header &header, std::span<const std::byte> payload);
  void take_answer(const wire::Header &header, std::span<const std::byte> payload);
  void check_age();
  void drop(const std::string &why);
  bool send_one(const Outgoing &message);

  EventLoop &loop_;
  std::filesystem::path socket_path_;
  Events events_;
  int socket_ = -1;
  bool greeted_ = false;
  wire::Hello hello_;
  std::uint32_t next_request_ = 1;
  std::deque<Outgoing> outgoing_;
  std::map<std::uint32_t, Open> open_;
  std::vector<std::byte> buffer_;
  EventLoop::TimerId retry_ = 0, age_check_ = 0;
};

// Bytes of plain structs one after the other.
template <class... Parts> [[nodiscard]] std::vector<std::byte> pack(const Parts &...parts) {
  std::vector<std::byte> bytes;
  bytes.reserve((sizeof(Parts) + ...));
  const auto append = [&](const auto &part) {
    const auto *from = reinterpret_cast<const std::byte *>(&part);
    bytes.insert(bytes.end(), from, from + sizeof part);
  };
  (append(parts), ...);
  return bytes;
}

} // namespace weir::push
