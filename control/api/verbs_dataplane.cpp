// What verbs ask the dataplane. It may hang: nobody waits longer for it than `dataplane_wait`, and while a
// question is overdue no further ones are asked.
#include "control/api/api.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <utility>

namespace weir::control {

void Api::ask_dataplane(const std::string &question, std::function<void(Result<std::string>)> then) {
  push::Channel &channel = engine_.pusher().channel();
  if (!channel.connected() || silent_since_) return then(fail(Errc::unreachable, why_no_counters()));
  struct Open {
    std::function<void(Result<std::string>)> then; // none once it is answered
    push::EventLoop::TimerId deadline = 0;
  };
  auto open = std::make_shared<Open>(Open{.then = std::move(then)});
  const auto asked = push::Clock::now();
  open->deadline = engine_.loop().after(dataplane_wait, [this, open, asked] {
    silent_since_ = asked;
    const auto answer = std::exchange(open->then, nullptr);
    answer(fail(Errc::unreachable, why_no_counters()));
  });
  channel.query(question, [this, open](const Result<std::string> &said) {
    silent_since_.reset();
    if (!open->then) return; // too late
    engine_.loop().cancel(open->deadline);
    std::exchange(open->then, nullptr)(said);
  });
}

std::string Api::why_no_counters() const {
  if (!silent_since_) return "no dataplane is connected";
  const auto since = std::chrono::duration_cast<std::chrono::seconds>(push::Clock::now() - *silent_since_);
  return fmt::format("the dataplane does not answer, {}: it is stopped or hangs",
                     since.count() < 1 ? "since a moment ago" : fmt::format("for {} s", since.count()));
}

Api::Reply Api::in_time(Reply reply) {
  look_after_entries();
  return
      [reply = std::move(reply), waits = entries_waiting_](Result<Json> answer) { reply(std::move(answer)); };
}

void Api::look_after_entries() {
  if (looking_after_entries_) return;
  looking_after_entries_ = true;
  engine_.loop().after(entries_wait, [this] {
    looking_after_entries_ = false;
    if (entries_waiting_.use_count() == 1) return;
    ask_stats([this](const Json &) {
      if (silent_since_) engine_.pusher().fail_waiters({Errc::unreachable, why_no_counters()});
      look_after_entries();
    });
  });
}

} // namespace weir::control
