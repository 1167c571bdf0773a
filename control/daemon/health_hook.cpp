#include "control/daemon/health_hook.hpp"

#include "control/daemon/ask.hpp"

#include <fmt/format.h>

#include <utility>

namespace weir::control {
namespace {

constexpr std::chrono::seconds look_every{1};

} // namespace

std::optional<bool> HealthTeller::look(bool is_well, Clock::time_point now) {
  if (seen_ != is_well) {
    seen_ = is_well;
    since_ = now;
  }
  if (telling_ || known_ == seen_ || now - since_ < hold_ || now < not_before_) return std::nullopt;
  telling_ = is_well;
  return telling_;
}

void HealthTeller::told(bool is_good, Clock::time_point now) {
  const auto what = std::exchange(telling_, std::nullopt);
  known_ = is_good ? what : std::nullopt; // after a failure nobody knows what the program did
  not_before_ = is_good ? now : now + again_after;
}

HealthHook::HealthHook(push::EventLoop &loop, Api &api, config::HealthHook settings, Say say)
    : api_(api), settings_(std::move(settings)), say_(std::move(say)), teller_(settings_.hold),
      program_(loop) {}

void HealthHook::look_if_due() {
  const auto now = push::Clock::now();
  if (settings_.exec.empty() || asking_ || now < due_) return;
  due_ = now + look_every;
  asking_ = true;
  ask_health(api_, [this](const Told &told) {
    asking_ = false;
    heard(told.is_well, told.sentence);
  });
}

void HealthHook::heard(bool is_well, const std::string &why) {
  if (const auto what = teller_.look(is_well, push::Clock::now())) run(*what, why);
}

void HealthHook::run(bool is_well, const std::string &why) {
  const std::string word = is_well ? "up" : "down";
  const auto then = [this, word](const HookProgram::End &end) {
    say_(fmt::format("health: {} {}: {}", settings_.exec.string(), word, end.sentence));
    teller_.told(end.is_good, push::Clock::now());
  };
  Status started = check_program(settings_.exec);
  if (started)
    started = program_.start(settings_.exec, word, {{"WEIR_REASON", why}}, settings_.timeout, then);
  if (started) return refusal_.clear();
  if (std::exchange(refusal_, started.error().message) != started.error().message)
    say_(fmt::format("{}; tried again every {} s", refusal_, HealthTeller::again_after.count()));
  teller_.told(false, push::Clock::now());
}

} // namespace weir::control
