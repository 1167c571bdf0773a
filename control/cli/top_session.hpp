// Asks weir-control again and again, without ever waiting: whoever has the loop polls fd() until wake_at() and calls
// go_on(). A weir-control that ends, hangs or is replaced by another one is asked again as soon as one is there.
#pragma once

#include "control/cli/client.hpp"
#include "control/cli/top_readings.hpp"

#include <chrono>
#include <filesystem>
#include <optional>
#include <string>
#include <utility>

namespace weir::cli {

class TopSession {
public:
  using Clock = std::chrono::steady_clock;

  struct Waits {
    Clock::duration answer_max =
        std::chrono::seconds(3); // then silence is told of, and the connection made anew
    Clock::duration retry = std::chrono::milliseconds(500);
  };

  TopSession(std::filesystem::path socket, std::size_t sources)
      : TopSession(std::move(socket), sources, Waits()) {}
  TopSession(std::filesystem::path socket, std::size_t sources, const Waits &waits)
      : socket_(std::move(socket)), sources_(sources), waits_(waits) {}

  // -1: there is nothing to poll.
  [[nodiscard]] int fd() const { return client_ ? client_->fd() : -1; }
  // When go_on() wants to be called at the latest; none: nothing is asked.
  [[nodiscard]] std::optional<Clock::time_point> wake_at() const { return wake_at_; }

  // Begins with the next reading, at once; nothing while one is under way.
  void ask(Clock::time_point now);
  [[nodiscard]] bool asking() const { return step_ != Step::rests; }
  // A reading, once it is whole. An error is why there is none for now, and it is tried again.
  [[nodiscard]] Result<std::optional<Reading>> go_on(Clock::time_point now);

private:
  enum class Step : std::uint8_t { rests, connects, status, top };

  [[nodiscard]] Status connect();
  [[nodiscard]] Status send();
  std::unexpected<Error> start_over(Error why, Clock::time_point now);

  std::filesystem::path socket_;
  std::size_t sources_ = 0;
  Waits waits_;
  std::optional<Client> client_;
  Step step_ = Step::rests;
  bool sent_ = false; // the request of this step
  Reading reading_;
  std::optional<Clock::time_point> wake_at_;
};

} // namespace weir::cli
