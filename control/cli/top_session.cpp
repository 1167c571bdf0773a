#include "control/cli/top_session.hpp"

#include "control/cli/fields.hpp"
#include "control/cli/text.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace weir::cli {

namespace {

// The answer, or what it refuses.
Result<std::shared_ptr<const Json>> answer_in(const std::string &line) {
  auto answer = std::make_shared<const Json>(Json::parse(line, nullptr, false));
  if (!answer->is_object())
    return fail(Errc::parse, "weir-control answered something that is no JSON object.");
  if (flag_in(*answer, "ok")) return answer;
  const bool silent = text_in(*answer, "code", "") == name_of(Errc::unreachable);
  return fail(silent ? Errc::unreachable : Errc::refused, lines_in(*answer, "message", "refused"));
}

} // namespace

void TopSession::ask(Clock::time_point now) {
  if (asking()) return;
  reading_ = {};
  step_ = client_ ? Step::status : Step::connects;
  sent_ = false;
  wake_at_ = now;
}

Status TopSession::connect() {
  ClientWaits at_once;
  at_once.connect_max = at_once.send_max = std::chrono::milliseconds(0);
  client_.emplace(TRY(Client::connect(socket_, at_once)));
  step_ = Step::status;
  return {};
}

Status TopSession::send() {
  const Json request =
      step_ == Step::status ? Json{{"verb", "status"}} : Json{{"verb", "top"}, {"n", sources_}};
  sent_ = true;
  return client_->send(request.dump());
}

Result<std::optional<Reading>> TopSession::go_on(Clock::time_point now) {
  while (step_ != Step::rests) {
    if (step_ == Step::connects) {
      if (now < *wake_at_) return std::nullopt;
      if (auto connected = connect(); !connected) return start_over(std::move(connected.error()), now);
    }
    if (!sent_) {
      if (auto sent = send(); !sent) return start_over(std::move(sent.error()), now);
      wake_at_ = now + waits_.answer_max;
    }
    auto line = client_->receive();
    if (!line) return start_over(std::move(line.error()), now);
    if (!*line) {
      if (now < *wake_at_) return std::nullopt;
      return start_over(
          {Errc::unreachable, fmt::format("weir-control at {} takes requests and does not answer: it is "
                                          "stopped or busy. `weirctl doctor` looks further.",
                                          socket_.string())},
          now);
    }
    auto answer = answer_in(**line);
    if (!answer) return start_over(std::move(answer.error()), now);
    (step_ == Step::status ? reading_.status : reading_.top) = std::move(*answer);
    step_ = step_ == Step::status ? Step::top : Step::rests;
    sent_ = false;
  }
  if (reading_.top == nullptr) return std::nullopt;
  wake_at_.reset();
  return std::exchange(reading_, {});
}

std::unexpected<Error> TopSession::start_over(Error why, Clock::time_point now) {
  client_.reset();
  reading_ = {};
  step_ = Step::connects;
  sent_ = false;
  wake_at_ = now + waits_.retry;
  return std::unexpected(std::move(why));
}

} // namespace weir::cli
