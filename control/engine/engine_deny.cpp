// Looks after the stacked filter of the deny side while it is in force.
//
// Samples say what nothing denies, which is what the next plan rests on. Sources that a judge (compact mode)
// denies in error are let through by relief.hpp. And the filter is held against its plan
// (watch/deny_filter_watch.hpp): a rate beyond the band, traffic that has shifted, or much more that is known
// of it lead to a new image, with the reason in `weirctl generations`, no sooner than `replan.interval` after
// the last one. A cause that goes on asking waits twice as long each time, and what traffic brings about has
// a budget an hour (watch/image_budget.hpp).
#include "control/base/answers.hpp"
#include "control/engine/engine.hpp"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <span>
#include <utility>

namespace weir::control {

using Json = nlohmann::json;
using push::child, push::count_in;

// After a restart.
void Engine::begin_watches() {
  const plan::Promise promise = plan::decode_promise(live_record_.plan_json);
  allow_watch_.begin(promise.allow);
  deny_watch_.begin(promise.deny, {});
}

// An image is in force whose plan has more to say than its record.
void Engine::begin_watches(const plan::Plan &plan) {
  const plan::Promise promise = plan::promise_of(plan);
  allow_watch_.begin(promise.allow);
  deny_watch_.begin(promise.deny, plan.deny_filter.known_cost, plan.deny_filter.asked_cells);
  deny_replan_not_before_ =
      std::max(deny_replan_not_before_, push::Clock::now() + live_->config.replan_interval);
}

void Engine::watch_deny_filter() {
  const auto wait = std::min<push::Clock::duration>(options_.filter_look_wait, std::chrono::seconds(1));
  loop_.after(wait, [this] {
    relief_.ask_known_again();
    look_at_deny_filter();
    watch_deny_filter();
  });
}

// A burst of spoofed packets is over by then, or lasts.
void Engine::watch_intervals() {
  loop_.after(std::chrono::seconds(10), [this] {
    deny_watch_.next_interval();
    watch_intervals();
  });
}

void Engine::look_at_deny_filter() {
  const bool busy = change_ != nullptr || !waiting_.empty();
  if (busy || !deny_watch_.forecast().stacks || pusher_.state() != push::Pusher::State::live ||
      push::Clock::now() < deny_replan_not_before_)
    return;
  pusher_.channel().query(R"({"what":"stats"})", [this](const Result<std::string> &text) {
    if (!text || pusher_.state() != push::Pusher::State::live || change_ != nullptr) return;
    const Json counters = child(Json::parse(*text, nullptr, false), "deny_filter_generation");
    if (count_in(counters, "generation") != live_record_.id) return;
    replan_for(deny_watch_.why_replan(push::counters_in(counters, wire::CounterGroup::deny_filter)));
  });
}

void Engine::replan_for(const watch::DenyFilterWatch::Reason &reason) {
  using Kind = watch::DenyFilterWatch::Reason::Kind;
  if (reason.kind == Kind::none) return;
  const watch::ImageCause cause = reason.kind == Kind::shift  ? watch::ImageCause::deny_shift
                                  : reason.kind == Kind::rate ? watch::ImageCause::deny_rate
                                                              : watch::ImageCause::deny_learned;
  const bool now = image_budget_.not_before(cause, push::Clock::now()) <= push::Clock::now();
  if (now && reason.kind == Kind::shift) deny_watch_.forget_what_was_before_the_shift();
  ask_for_image(watch::Reason{cause, live_->config.replan_interval, reason.words});
}

void Engine::replan(OnChange done, std::string by) {
  if (live_ == nullptr)
    return done(fail(Errc::not_found, "there is no generation yet that could be planned anew"));
  Change change;
  change.cause = "plan: asked for";
  change.by = std::move(by);
  change.force = true;
  change.done = std::move(done);
  submit(std::move(change));
}

Engine::HeldBack Engine::held_back() {
  const auto now = push::Clock::now();
  workload::BusyNetworks &left_out = relief_.left_out(), &no_place = relief_.no_place();
  HeldBack held{.samples = left_out.total(now),
                .reliefs = no_place.total(now),
                .networks = (left_out.total(now) > 0 ? left_out : no_place).top(3, now),
                .image = {}};
  if (image_waits_.until > now) {
    held.image = image_waits_.why;
    held.image_wait_s =
        static_cast<std::uint64_t>(std::chrono::ceil<std::chrono::seconds>(image_waits_.until - now).count());
  }
  return held;
}

} // namespace weir::control
