// Tells a program of the operator's whether the gate is well (`health.exec`): with `up` or `down`, when that has changed and
// lasted. One run at a time; what changed meanwhile is told afterwards, and only if it is still so. A run that fails is
// repeated. The setting is that of the configuration weir-control was started with: who may apply rules may not choose
// programs.
#pragma once

#include "control/api/api.hpp"
#include "control/daemon/hook_program.hpp"
#include "weir/config/health_hook.hpp"

#include <chrono>
#include <optional>
#include <string>

namespace weir::control {

// When to tell what. Values alone, so that tests make up the time.
class HealthTeller {
public:
  using Clock = push::Clock;
  static constexpr std::chrono::seconds again_after{10}; // a run that failed

  explicit HealthTeller(std::chrono::seconds hold) : hold_(hold) {}

  // What to tell now; nothing: it is known, has not lasted yet, or is being told.
  [[nodiscard]] std::optional<bool> look(bool is_well, Clock::time_point now);
  void told(bool is_good, Clock::time_point now); // how the run that look() asked for ended

private:
  std::chrono::seconds hold_;
  std::optional<bool> seen_, known_, telling_;
  Clock::time_point since_, not_before_;
};

class HealthHook {
public:
  using Say = std::function<void(const std::string &sentence)>; // into the log
  HealthHook(push::EventLoop &loop, Api &api, config::HealthHook settings, Say say);

  void look_if_due(); // now and then

private:
  void heard(bool is_well, const std::string &why);
  void run(bool is_well, const std::string &why);

  Api &api_;
  config::HealthHook settings_;
  Say say_;
  HealthTeller teller_;
  HookProgram program_;
  push::Clock::time_point due_{};
  bool asking_ = false;
  std::string refusal_; // told once
};

} // namespace weir::control
