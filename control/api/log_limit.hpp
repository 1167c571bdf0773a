// How many lines somebody may bring into the log: ten, and from then on one a second that says how many were
// left out.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <optional>
#include <utility>

namespace weir::control {

class LogLimit {
public:
  using Clock = std::chrono::steady_clock;
  static constexpr unsigned lines_at_once = 10;

  // Nothing: no line. Else a line, and so many were left out before it.
  std::optional<std::uint64_t> line(Clock::time_point now) {
    constexpr Clock::duration a_line = std::chrono::seconds(1);
    full_at_ = std::max(full_at_, now - a_line * lines_at_once);
    if (full_at_ + a_line > now) {
      ++left_out_;
      return std::nullopt;
    }
    full_at_ += a_line;
    return std::exchange(left_out_, 0);
  }

private:
  Clock::time_point full_at_{}; // lines are paid for up to here
  std::uint64_t left_out_ = 0;
};

} // namespace weir::control
