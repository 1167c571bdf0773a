// For how long packets were not forwarded between the last run and this one.
//
// While workers run, the service thread writes the time into a small file of the run folder that it has mapped, several times a
// second and at the end; a process that is killed has written it shortly before. The next run finds it there and holds it against
// the moment at which its own workers run. Times are those of the boot clock, and say nothing of another boot.
#pragma once

#include "weir/base/result.hpp"

#include <atomic>
#include <chrono>
#include <cstdint>
#include <filesystem>
#include <optional>

namespace weir::dataplane {

class ForwardingGap {
public:
  using Nanoseconds = std::chrono::nanoseconds;

  ForwardingGap() = default; // nothing is kept
  ~ForwardingGap();
  ForwardingGap(const ForwardingGap &) = delete;
  ForwardingGap &operator=(const ForwardingGap &) = delete;

  // Takes over what the last run left in `file`, or makes the file. Errors: it cannot be kept, which hurts nothing else.
  [[nodiscard]] Status open(const std::filesystem::path &file);

  // Workers run from now on; `now` of boot_clock().
  void begin(Nanoseconds now);
  // They still do.
  void note(Nanoseconds now) noexcept;

  // Between the last run and this one; none: there was no last run since the machine started, or it is not known.
  [[nodiscard]] std::optional<Nanoseconds> gap() const noexcept;

  [[nodiscard]] static Nanoseconds boot_clock();

private:
  struct Mark;
  Mark *mark_ = nullptr;
  std::uint64_t before_ns_ = 0;       // what the last run left; 0: nothing
  std::atomic<std::int64_t> gap_{-1}; // as gap(); -1: none
};

} // namespace weir::dataplane
