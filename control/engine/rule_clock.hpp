// The clock by which entries of dynamic lists run out. It begins at the time of day and goes on with the boot
// clock, so that somebody who sets the system clock, or a clock that is right only some time after the
// machine started, takes no ban away and prolongs none.
//
//   now       seconds since the epoch, as if nobody had set the system clock since the store was made
//   offset    the system clock is so much ahead of that
//   restart   in the same boot the boot clock says how much time has passed; in another the system
//             clock does, less the offset, and time never runs backwards
//
// People are shown times of the system clock: to_wall().
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

namespace weir::control {

class RuleClock {
public:
  struct Sources {
    std::function<std::uint64_t()> wall_s, boot_s; // none: those of the system
    std::string boot_id = {};                      // empty: of this boot
  };
  RuleClock() : RuleClock(Sources{}) {}
  explicit RuleClock(Sources sources);

  // Goes on from what note() said in another life; a note that cannot be read is as good as none.
  void resume(std::string_view note);
  [[nodiscard]] std::string note();     // for the store
  [[nodiscard]] bool has_moved() const; // the system clock was set since the last note

  [[nodiscard]] std::uint64_t now_s() const;
  [[nodiscard]] std::uint64_t to_wall(std::uint64_t at) const; // 0, which is never, stays 0

private:
  [[nodiscard]] std::int64_t offset_s() const;

  Sources sources_;
  std::uint64_t start_s_ = 0, start_boot_s_ = 0;
  std::int64_t noted_offset_s_ = 0;
};

} // namespace weir::control
