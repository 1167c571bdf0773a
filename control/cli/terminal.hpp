// The terminal that weirctl runs in, by ncurses: a screen of its own for as long as one of these lives.
// terminal.cpp is the only file that knows ncurses.
//
// However the process ends, the terminal gets back what it was: by the destructor, and for a signal that kills
// by a handler that writes what ends the screen and lets the signal through. SIGKILL alone cannot be helped.
#pragma once

#include "control/cli/frame.hpp"
#include "control/cli/top_screen.hpp"
#include "weir/base/result.hpp"

#include <chrono>
#include <optional>

namespace weir::cli {

// Standard input and output are one.
[[nodiscard]] bool at_terminal();
// Of the terminal that standard output is; nothing: it is none.
[[nodiscard]] Size terminal_size();

class Terminal {
public:
  // Errc::usage when TERM names nothing that has a screen. Colours unless NO_COLOR is set, or it has none.
  [[nodiscard]] static Result<Terminal> open();
  Terminal(Terminal &&other) noexcept : open_(std::exchange(other.open_, false)) {}
  Terminal &operator=(Terminal &&) = delete;
  ~Terminal();

  [[nodiscard]] static Size size();
  static void draw(const Frame &frame);
  // A key that was pressed; nothing: none waits.
  [[nodiscard]] static std::optional<Key> key();

  enum class Event : std::uint8_t {
    input,   // a key waits, or `fd` is readable
    time,    // nothing happened until then
    resized, // the screen has another size, or came back after a stop
    ended,   // interrupted, hung up, told to end
  };
  // Until something happens; `fd` may be -1.
  [[nodiscard]] static Event wait(int fd, std::chrono::steady_clock::time_point until);

private:
  Terminal() = default;
  bool open_ = true;
};

} // namespace weir::cli
