#include "control/engine/rule_clock.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <ctime>
#include <fstream>
#include <sstream>

namespace weir::control {

namespace {

constexpr unsigned note_version = 1;
constexpr std::int64_t step_s = 2; // less is rounding

std::uint64_t system_wall_s() {
  const auto since = std::chrono::system_clock::now().time_since_epoch();
  return static_cast<std::uint64_t>(std::chrono::duration_cast<std::chrono::seconds>(since).count());
}

std::uint64_t system_boot_s() {
  timespec time{};
  clock_gettime(CLOCK_BOOTTIME, &time);
  return static_cast<std::uint64_t>(time.tv_sec);
}

std::string system_boot_id() {
  std::ifstream in("/proc/sys/kernel/random/boot_id");
  std::string id;
  return in >> id ? id : "unknown";
}

std::uint64_t plus(std::uint64_t time, std::int64_t by) {
  return by < 0 && time < static_cast<std::uint64_t>(-by) ? 0 : time + static_cast<std::uint64_t>(by);
}

} // namespace

RuleClock::RuleClock(Sources sources) : sources_(std::move(sources)) {
  if (!sources_.wall_s) sources_.wall_s = system_wall_s;
  if (!sources_.boot_s) sources_.boot_s = system_boot_s;
  if (sources_.boot_id.empty()) sources_.boot_id = system_boot_id();
  start_s_ = sources_.wall_s();
  start_boot_s_ = sources_.boot_s();
}

std::uint64_t RuleClock::now_s() const {
  const std::uint64_t boot = sources_.boot_s();
  return start_s_ + (boot - std::min(boot, start_boot_s_));
}

std::int64_t RuleClock::offset_s() const {
  return static_cast<std::int64_t>(sources_.wall_s()) - static_cast<std::int64_t>(now_s());
}

std::uint64_t RuleClock::to_wall(std::uint64_t at) const {
  const std::int64_t offset = offset_s();
  return at == 0 || std::abs(offset) < step_s ? at : plus(at, offset);
}

void RuleClock::resume(std::string_view note) {
  std::istringstream in{std::string(note)};
  unsigned version = 0;
  std::string boot_id;
  std::uint64_t boot_s = 0, rule_s = 0, wall_s = 0;
  if (!(in >> version >> boot_id >> boot_s >> rule_s >> wall_s) || version != note_version) return;
  const std::uint64_t boot_now_s = sources_.boot_s();
  noted_offset_s_ = static_cast<std::int64_t>(wall_s) - static_cast<std::int64_t>(rule_s);
  if (boot_id == sources_.boot_id && boot_now_s >= boot_s) {
    start_s_ = rule_s;
    start_boot_s_ = boot_s;
    return;
  }
  start_s_ = std::max(rule_s, plus(sources_.wall_s(), -noted_offset_s_));
  start_boot_s_ = boot_now_s;
}

std::string RuleClock::note() {
  noted_offset_s_ = offset_s();
  return fmt::format("{} {} {} {} {}", note_version, sources_.boot_id, sources_.boot_s(), now_s(),
                     sources_.wall_s());
}

bool RuleClock::has_moved() const { return std::abs(offset_s() - noted_offset_s_) >= step_s; }

} // namespace weir::control
