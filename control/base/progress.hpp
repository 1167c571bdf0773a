// How far long work is: written by the threads that do it, read by anybody at any moment. What is read may be of
// two moments, since nothing waits for anything here.
#pragma once

#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <string_view>

namespace weir::control {

class Progress {
public:
  enum class Phase : std::uint8_t {
    none,
    waiting,
    reading,
    restoring,
    checking,
    planning,
    building,
    pushing
  };
  [[nodiscard]] static constexpr std::string_view name_of(Phase phase) noexcept {
    constexpr std::array<std::string_view, 8> names{"",
                                                    "waiting for entries that are being written",
                                                    "reading lists",
                                                    "reading lists from the store",
                                                    "checking",
                                                    "planning",
                                                    "building the image",
                                                    "bringing it to the dataplane"};
    return names[static_cast<std::size_t>(phase)];
  }
  // Of what is done and of all of it.
  [[nodiscard]] static constexpr std::string_view unit_of(Phase phase) noexcept {
    switch (phase) {
    case Phase::reading: return "bytes";
    case Phase::restoring:
    case Phase::planning:
    case Phase::building: return "entries";
    default: return "";
    }
  }

  // `total` is what add() will have been told at the end of the phase; 0: nobody knows. Of reading it is bytes of
  // text, of restoring entries, and of building entries, which are not counted one by one.
  void begin(Phase phase, std::uint64_t total = 0) noexcept {
    total_.store(total, relaxed);
    done_.store(0, relaxed);
    entries_.store(0, relaxed);
    expected_ms_.store(0, relaxed);
    began_ns_.store(now_ns(), relaxed);
    phase_.store(phase, relaxed);
  }
  void add(std::uint64_t done, std::uint64_t entries) noexcept {
    done_.fetch_add(done, relaxed);
    entries_.fetch_add(entries, relaxed);
  }
  // How long the phase should take.
  void expect(std::chrono::milliseconds time) noexcept {
    expected_ms_.store(static_cast<std::uint64_t>(time.count()), relaxed);
  }

  struct Now {
    Phase phase = Phase::none;
    std::uint64_t done = 0, total = 0;
    std::uint64_t entries = 0; // read so far
    std::uint64_t phase_ms = 0, expected_ms = 0;
  };
  [[nodiscard]] Now now() const noexcept {
    Now now{.phase = phase_.load(relaxed),
            .done = done_.load(relaxed),
            .total = total_.load(relaxed),
            .entries = entries_.load(relaxed),
            .expected_ms = expected_ms_.load(relaxed)};
    if (now.phase != Phase::none)
      now.phase_ms = static_cast<std::uint64_t>(now_ns() - began_ns_.load(relaxed)) / 1'000'000;
    return now;
  }

private:
  static constexpr auto relaxed = std::memory_order_relaxed;
  [[nodiscard]] static std::int64_t now_ns() noexcept {
    return std::chrono::steady_clock::now().time_since_epoch() / std::chrono::nanoseconds(1);
  }

  std::atomic<Phase> phase_ = Phase::none;
  std::atomic<std::uint64_t> done_ = 0, total_ = 0, entries_ = 0, expected_ms_ = 0;
  std::atomic<std::int64_t> began_ns_ = 0;
};

} // namespace weir::control
