// How often images are built that nobody asked for. Traffic brings them about, and who sends it may choose it
// so that it does: each filter has an interval that doubles while its causes go on asking, and all causes
// that traffic alone brings about share a budget of an hour.
//
//   wait     of the causes of one filter, since the same traffic asks by now one and now the other: `first`
//            after an image that one brought about; twice as long, up to 64 times `first`, when one asks
//            again before twice the wait has passed; `first` again after that
//   budget   images an hour that traffic may bring about, all causes together
//
// What rules need at once (a full overlay that refuses an entry, a dataplane that was restarted) does not
// come here.
#pragma once

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>

namespace weir::watch {

enum class ImageCause : std::uint8_t {
  entries,         // so many were added that the overlay is half full or a filter fuller than planned
  deny_rate,       // the stacked filter errs more often than planned
  deny_shift,      // its traffic has shifted
  deny_learned,    // more is known of the traffic
  allow_rate,      // the filter of the allow side errs more often than planned
  allow_saturated, // it is worn by additions and removals
};

class ImageBudget {
public:
  using Clock = std::chrono::steady_clock;
  static constexpr std::size_t per_hour = 12;
  static constexpr unsigned doublings = 64;

  // From when on this cause may have an image; a time that has passed: now.
  [[nodiscard]] Clock::time_point not_before(ImageCause cause, Clock::time_point now) const {
    const Asked &asked = of_[group_of(cause)];
    Clock::time_point at = asked.begun + asked.wait;
    if (!is_of_traffic(cause) || begun_.size() < per_hour) return at;
    const Clock::time_point free = begun_.front() + std::chrono::hours(1);
    return free > now ? std::max(at, free) : at;
  }

  // An image for it has been begun; `first` is its shortest wait.
  void begin(ImageCause cause, Clock::duration first, Clock::time_point now) {
    Asked &asked = of_[group_of(cause)];
    const bool again = asked.wait > Clock::duration::zero() && now - asked.begun <= 2 * asked.wait;
    asked.wait = again ? std::clamp(2 * asked.wait, first, doublings * first) : first;
    asked.begun = now;
    if (!is_of_traffic(cause)) return;
    begun_.push_back(now);
    if (begun_.size() > per_hour) begun_.pop_front();
  }

private:
  struct Asked {
    Clock::time_point begun{};
    Clock::duration wait{};
  };
  [[nodiscard]] static bool is_of_traffic(ImageCause cause) { return cause != ImageCause::entries; }

  // Entries, the traffic of the deny filter, that of the allow filter.
  [[nodiscard]] static std::size_t group_of(ImageCause cause) {
    switch (cause) {
    case ImageCause::entries: break;
    case ImageCause::deny_rate:
    case ImageCause::deny_shift:
    case ImageCause::deny_learned: return 1;
    case ImageCause::allow_rate:
    case ImageCause::allow_saturated: return 2;
    }
    return 0;
  }

  std::array<Asked, 3> of_{};
  std::deque<Clock::time_point> begun_; // by traffic, the last ones
};

} // namespace weir::watch
