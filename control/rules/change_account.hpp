// What of each list has changed within the last day, so that guard.max_change holds for many small changes
// as for a large one.
//
//   list -> hours in which something changed, each with the sum of its changes and the time of the last
//
// An hour counts until a day after its last change, so a sum is never too small, and a list has at most 25
// of them. Times are those of the clock that no setting of the system clock moves (engine/rule_clock.hpp);
// one that lies in the future counts as now.
#pragma once

#include "control/rules/guard.hpp"

#include <cstdint>
#include <deque>
#include <map>
#include <string>
#include <string_view>

namespace weir::rules {

class ChangeAccount {
public:
  static constexpr std::uint64_t day_s = 86'400;

  void add(const std::string &list, const Spent &spent, std::uint64_t now_s);
  void clear(const std::string &list); // somebody has forced a change: the next day begins with it
  [[nodiscard]] Spent of(std::string_view list, std::uint64_t now_s) const;

  // For the store. One that cannot be read is as good as none; lines that can are taken up.
  [[nodiscard]] std::string note(std::uint64_t now_s); // forgets what is over
  [[nodiscard]] static ChangeAccount resume(std::string_view note, std::uint64_t now_s);

private:
  struct Hour {
    std::uint64_t last_s = 0; // of its changes
    Spent spent;
  };
  std::map<std::string, std::deque<Hour>, std::less<>> lists_;
};

} // namespace weir::rules
