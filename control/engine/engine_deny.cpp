// Looks after the stacked filter of the deny side while it is in force.
//
// Samples say what nothing denies, which is what the next plan rests on. What a judge (compact mode) has
// denied is held against the rules as soon as a sample names it: a source that no rule denies is told to the
// dataplane, which lets it through from then on, and it is known to the next image.
//
// A host that is added to a judge sets bits of its odd layers, and known negatives that only the old bits
// kept out of layer 1 are in no layer that would save them (build/stacked_drift.hpp). So
// they are asked again after additions, and those that it has come to deny are let through: next to nothing
// of memory, where every addition in the overlay would take a slot each and fill it at one host in 128.
//
// And it is held against its plan (watch/deny_filter_watch.hpp): a rate beyond the band, traffic that has
// shifted, or much more that is known of it lead to a new image, with the reason in `weirctl generations`, no
// sooner than `replan.interval` after the last one. A cause that goes on asking waits twice as long each
// time, and what traffic brings about has a budget an hour (watch/image_budget.hpp).
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

void Engine::ask_known_again() {
  const plan::DenyPromise &forecast = deny_watch_.forecast();
  const bool judges_with_layers = forecast.stacks && forecast.compact && forecast.rates.size() > 1;
  if (asking_known_ || !judges_with_layers || pusher_.state() != push::Pusher::State::live) return;
  const std::pair now{live_record_.id, store_.sequence()};
  if (now == known_asked_at_) return;
  asking_known_ = true;
  pusher_.when_applied(now.second, [this, now](const Status &applied) {
    if (!applied) {
      asking_known_ = false;
      return;
    }
    ask_known_from(std::make_shared<const KnownSources>(KnownSources{now, deny_watch_.known()}), 0);
  });
}

// One message after the other: the loop has others to serve.
void Engine::ask_known_from(std::shared_ptr<const KnownSources> known, std::size_t from) {
  std::vector<wire::RelievedAddress> told;
  for (; from < known->sources.size() && told.size() < wire::relieve_max; ++from)
    if (const Address &address = known->sources[from]; !is_denied(address))
      told.push_back({.family = address.family, .address = address.bytes});
  if (told.empty()) known_asked_at_ = known->at;
  if (told.empty() || pusher_.state() != push::Pusher::State::live) {
    asking_known_ = false; // and once more, from the beginning, if it was not the end
    return;
  }
  tell_to_let_through(told, [this, known = std::move(known), from](std::optional<std::uint64_t> let_through) {
    if (let_through)
      ask_known_from(known, from);
    else
      asking_known_ = false; // another generation has come, and is asked in its turn, or this one again
  });
}

// How many the filter had denied until now; nothing: it is not in force any more.
void Engine::tell_to_let_through(std::span<const wire::RelievedAddress> told,
                                 std::function<void(std::optional<std::uint64_t>)> done) {
  const wire::Relieve head{.store_id = store_.id(),
                           .generation = live_record_.id,
                           .count = static_cast<std::uint32_t>(told.size())};
  std::vector<std::byte> payload = push::pack(head);
  const auto bytes = std::as_bytes(told);
  payload.insert(payload.end(), bytes.begin(), bytes.end());
  pusher_.channel().request(wire::Type::relieve, std::move(payload),
                            [this, done = std::move(done), told = std::vector(told.begin(), told.end())](
                                const Result<push::Message> &answer) {
                              if (!answer || !answer->holds<wire::Relieved>(wire::Type::relieved))
                                return done(std::nullopt);
                              const auto relieved = answer->as<wire::Relieved>();
                              note_no_place(told, relieved.no_room);
                              done(relieved.relieved);
                            });
}

// They are found again when they go on sending. Which of those told they were is not known: the last ones.
void Engine::note_no_place(std::span<const wire::RelievedAddress> told, std::uint64_t count) {
  const auto now = push::Clock::now();
  for (const wire::RelievedAddress &one : told.last(std::min<std::uint64_t>(count, told.size())))
    no_place_.add({one.family, one.address}, now);
}

void Engine::watch_deny_filter() {
  const auto wait = std::min<push::Clock::duration>(options_.filter_look_wait, std::chrono::seconds(1));
  loop_.after(wait, [this] {
    ask_known_again();
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
    const Json counters = child(Json::parse(*text, nullptr, false), "stack_generation");
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

void Engine::replan(OnChange done) {
  if (live_ == nullptr)
    return done(fail(Errc::not_found, "there is no generation yet that could be planned anew"));
  Change change;
  change.cause = "plan: asked for";
  change.force = true;
  change.done = std::move(done);
  submit(std::move(change));
}

} // namespace weir::control
