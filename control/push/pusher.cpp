#include "control/push/pusher.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <unistd.h>

namespace weir::push {

Pusher::Pusher(EventLoop &loop, std::filesystem::path socket, LogSource log, Events events)
    : loop_(loop), channel_(loop, std::move(socket),
                            {.hello = [this](const wire::Hello &hello) { on_hello(hello); },
                             .lost = [this](const std::string &why) { on_lost(why); },
                             .samples =
                                 [this](std::span<const wire::Sample> samples) {
                                   if (events_.samples) events_.samples(samples);
                                 }}),
      log_(std::move(log)), events_(std::move(events)) {}

void Pusher::expect(image::StoreId store, Generation generation) {
  store_ = store;
  generation_ = generation;
}

// ---- connection --------------------------------------------------------------------------------

void Pusher::on_hello(const wire::Hello &hello) {
  const bool again = state_ != State::absent; // another peer has committed
  if (again && generation_ != 0 && (hello.live.store_id != store_ || hello.live.generation != generation_))
    return be_displaced(hello);
  ++live_epoch_;
  displaced_.clear();
  given_up_.reset();
  live_ = {.sent = hello.live.sequence, .applied = hello.live.sequence};
  state_ = State::stale;
  dataplane_generation_ = hello.live.generation;
  if (events_.connected) events_.connected();
  if (generation_ == 0) return; // the owner has nothing yet and will swap() when it does
  if (hello.live.generation == 0) return go_stale("the dataplane has no image");
  if (hello.live.store_id != store_) return go_stale("the dataplane runs an image of another store");
  if (hello.live.generation != generation_)
    return go_stale(
        fmt::format("the dataplane runs generation {}, not {}", hello.live.generation, generation_));
  if (hello.live.sequence > log_.last_sequence()) return go_stale("the dataplane is ahead of the store");
  if (hello.live.sequence + 1 < log_.first_sequence())
    return go_stale(fmt::format("the dataplane is at sequence {} and the log begins at {}",
                                hello.live.sequence, log_.first_sequence()));
  state_ = State::live;
  wake_waiters();
  pump();
}

void Pusher::on_lost(const std::string &why) {
  state_ = State::absent;
  dataplane_generation_ = 0;
  ++live_epoch_;
  fail_stage({Errc::unreachable, "the dataplane went away: " + why});
  displaced_.clear();
  fail_waiters({Errc::unreachable, "the dataplane went away: " + why});
  if (events_.lost) events_.lost(why);
}

void Pusher::be_displaced(const wire::Hello &hello) {
  state_ = State::stale;
  ++live_epoch_;
  dataplane_generation_ = hello.live.generation;
  displaced_ = fmt::format("another weir-control has put its generation {} in force on this dataplane: stop "
                           "that one, then apply here",
                           hello.live.generation);
  if (events_.displaced) events_.displaced(displaced_);
  fail_waiters({Errc::refused, displaced_});
}

void Pusher::go_stale(const std::string &why) {
  state_ = State::stale;
  ++live_epoch_;
  if (!stage_ && events_.needs_image) events_.needs_image(why);
}

// ---- the two streams ---------------------------------------------------------------------------

void Pusher::pump() {
  if (stage_ && stage_->closing) return try_commit();
  if (stage_ && stage_->attached) send_from(stage_->cursor, wire::Target::staged);
  if (state_ == State::live) send_from(live_, wire::Target::live);
  if (stage_ && stage_->attached && stage_->cursor.sent == log_.last_sequence()) {
    stage_->closing = true;
    try_commit();
  }
}

void Pusher::send_from(Cursor &cursor, wire::Target target) {
  const std::uint64_t last = log_.last_sequence();
  if (cursor.sent + 1 < log_.first_sequence()) {
    const std::string why =
        fmt::format("it is at sequence {} and the log begins at {}", cursor.sent, log_.first_sequence());
    if (target == wire::Target::staged) return fail_stage({Errc::bad_sequence, why});
    return go_stale(why);
  }
  while (cursor.sent < last && cursor.open < open_messages_max) {
    const std::uint64_t count = std::min<std::uint64_t>(last - cursor.sent, wire::deltas_max);
    try {
      send_deltas(cursor, count, target);
    } catch (const std::bad_alloc &) { // it is in the log, and sent when there is memory
      loop_.after(std::chrono::milliseconds(50), [this] { pump(); });
      return;
    }
  }
}

void Pusher::send_deltas(Cursor &cursor, std::uint64_t count, wire::Target target) {
  wire::Deltas head;
  head.store_id = store_;
  head.first_sequence = cursor.sent + 1;
  head.target = target;
  head.count = static_cast<std::uint32_t>(count);
  std::vector<std::byte> payload = pack(head);
  payload.resize(sizeof head + count * sizeof(image::Delta));
  for (std::uint64_t i = 0; i < count; ++i) {
    const image::Delta delta = log_.delta(head.first_sequence + i, target);
    std::memcpy(payload.data() + sizeof head + i * sizeof delta, &delta, sizeof delta);
  }
  const std::uint64_t epoch = target == wire::Target::live ? live_epoch_ : stage_epoch_;
  cursor.sent += count;
  ++cursor.open;
  try {
    channel_.request(wire::Type::deltas, std::move(payload),
                     [this, target, sent = cursor.sent, epoch](const Result<Message> &answer) {
                       on_applied(target, sent, answer, epoch);
                     });
  } catch (...) {
    cursor.sent -= count;
    --cursor.open;
    throw;
  }
}

void Pusher::on_applied(wire::Target target, std::uint64_t last, const Result<Message> &answer,
                        std::uint64_t epoch) {
  const bool to_live = target == wire::Target::live;
  if (epoch != (to_live ? live_epoch_ : stage_epoch_) || (!to_live && !stage_)) return;
  Cursor &cursor = to_live ? live_ : stage_->cursor;
  --cursor.open;
  if (!answer && answer.error().code == Errc::unreachable) return; // on_lost() has dealt with it
  if (!answer) {
    if (!to_live) return fail_stage(answer.error());
    if (answer.error().code == Errc::needs_rebuild)
      return go_stale("the live image is full: " + answer.error().message);
    return go_stale("the dataplane refused a change: " + answer.error().message);
  }
  if (!answer->holds<wire::Applied>(wire::Type::applied))
    return channel_.reconnect("it answered changes with another message");
  cursor.applied = std::max(cursor.applied, last);
  const auto applied = answer->as<wire::Applied>();
  const bool saturated =
      applied.filter_saturated != 0 || applied.stack_saturated != 0 || applied.map_saturated != 0;
  if (to_live && (applied.in_overlay > 0 || saturated) && events_.filling) events_.filling();
  if (to_live) wake_waiters();
  pump();
}

// ---- swaps -------------------------------------------------------------------------------------

void Pusher::swap(StagedImage image, std::function<void(Result<Swapped>)> done) {
  if (state_ == State::absent || stage_) {
    close(image.fd);
    return done(stage_ ? fail(Errc::refused, "another image is being staged")
                       : fail(Errc::unreachable, "no dataplane is connected"));
  }
  const wire::Stage &stage = image.identity;
  const int fd = std::exchange(image.fd, -1);
  const std::uint64_t epoch = ++stage_epoch_;
  stage_.emplace(Stage{.image = image, .done = std::move(done), .cursor = {}});
  stage_->cursor.sent = stage_->cursor.applied = image.identity.sequence;
  channel_.request(
      wire::Type::stage, pack(stage),
      [this, epoch](const Result<Message> &answer) {
        if (stage_ && epoch == stage_epoch_) on_staged(answer);
      },
      fd);
}

void Pusher::on_staged(const Result<Message> &answer) {
  if (!answer) return fail_stage(answer.error());
  if (!answer->holds<wire::Staged>(wire::Type::staged))
    return channel_.reconnect("it answered an image with another message");
  stage_->attached = true;
  stage_->verify_us = answer->as<wire::Staged>().verify_us;
  pump();
}

// Both streams stand still from the moment that the staged image has been sent everything there is,
// for as long as it takes the dataplane to apply that and to publish: otherwise a steady flow of
// changes could put the commit off for ever.
void Pusher::try_commit() {
  if (stage_->cursor.open > 0 || stage_->committing) return;
  stage_->committing = true;
  const std::uint64_t epoch = stage_epoch_, sequence = stage_->cursor.sent;
  channel_.request(wire::Type::commit, pack(wire::Commit{stage_->image.identity.generation, sequence}),
                   [this, epoch, sequence](const Result<Message> &answer) {
                     if (stage_ && epoch == stage_epoch_) on_committed(answer, sequence);
                   });
}

void Pusher::on_committed(const Result<Message> &answer, std::uint64_t sequence) {
  if (!answer) return fail_stage(answer.error());
  if (!answer->holds<wire::Committed>(wire::Type::committed))
    return channel_.reconnect("it answered a commit with another message");
  Stage stage = std::move(*stage_);
  stage_.reset();
  ++live_epoch_;
  generation_ = dataplane_generation_ = stage.image.identity.generation;
  state_ = State::live;
  displaced_.clear();
  given_up_.reset();
  live_ = {.sent = sequence, .applied = sequence};
  // The owner's rules become the live ones before anything more is sent.
  stage.done(Swapped{generation_, sequence, answer->as<wire::Committed>().swap_ns, stage.verify_us});
  wake_waiters();
  pump();
}

void Pusher::fail_stage(const Error &error) {
  if (!stage_) return;
  Stage stage = std::move(*stage_);
  stage_.reset();
  ++stage_epoch_;
  if (error.code != Errc::unreachable)
    channel_.request(wire::Type::discard, {}, [](const Result<Message> &) {});
  stage.done(std::unexpected(error));
  pump();
}

// ---- waiting for sequences ---------------------------------------------------------------------

void Pusher::when_applied(std::uint64_t sequence, std::function<void(Status)> done) {
  if (state_ == State::absent) return done(fail(Errc::unreachable, "no dataplane is connected"));
  if (!displaced_.empty()) return done(fail(Errc::refused, displaced_));
  if (state_ == State::stale && given_up_) return done(std::unexpected(*given_up_));
  if (state_ == State::live && live_.applied >= sequence) return done({});
  waiters_.emplace(sequence, std::move(done));
}

void Pusher::give_up(const Error &why) {
  if (state_ != State::stale) return;
  given_up_ = why;
  fail_waiters(why);
}

void Pusher::fail_waiters(const Error &error) {
  const auto waiters = std::exchange(waiters_, {});
  for (const auto &[sequence, done] : waiters) done(std::unexpected(error));
}

void Pusher::wake_waiters() {
  if (state_ != State::live) return;
  while (!waiters_.empty() && waiters_.begin()->first <= live_.applied) {
    const auto first = waiters_.extract(waiters_.begin());
    first.mapped()({});
  }
}

} // namespace weir::push
