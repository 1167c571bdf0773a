// Ways back: rollbacks, and the one that an `apply --confirm` takes when nobody confirms it. That one stays
// pending until a rollback is live: whatever refuses it (a dataplane, a full disk) is tried again.
#include "control/engine/engine.hpp"
#include "control/engine/kept.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

namespace weir::control {

namespace {

constexpr auto revert_wait_first = std::chrono::seconds(1), revert_wait_most = std::chrono::seconds(60);

} // namespace

void Engine::rollback(Generation generation, OnChange done, const Asked &asked) {
  Change change;
  change.cause = generation == 0 ? std::string("rollback") : fmt::format("rollback to {}", generation);
  change.by = asked.by;
  change.is_rollback = true;
  change.to = generation;
  change.force = true; // it was in force before
  change.done = std::move(done);
  submit(std::move(change));
}

// Its turn has come: no other change can forget the generation now.
Status Engine::look_up_target() {
  Change &change = *change_;
  if (change.is_revert && revert_to_ == 0) return fail(Errc::not_found, "it was confirmed meanwhile");
  auto wanted =
      change.to == 0 ? generation_before(store_, live_record_.id) : kept_generation(store_, change.to);
  if (!wanted) return std::unexpected(std::move(wanted.error()));
  change.cause = fmt::format("rollback to {}", wanted->id);
  change.to = wanted->id;
  change.prepare = [this, record = std::move(*wanted)] {
    return restore_candidate(record, change_->rules.get(), store_, &progress_);
  };
  return {};
}

// ---- confirmation ------------------------------------------------------------------------------

std::string Engine::unconfirmed() const {
  return revert_to_ == 0 ? std::string() : fmt::format("{} {}", revert_to_, confirm_deadline_s_);
}

// What the store says was pending when the process ended.
void Engine::resume_confirm() {
  const std::string note = store_.note("unconfirmed");
  std::uint64_t revert_to = 0, deadline_s = 0;
  const char *end = note.data() + note.size();
  const auto first = std::from_chars(note.data(), end, revert_to);
  if (first.ec != std::errc() || first.ptr == end) return;
  if (std::from_chars(first.ptr + 1, end, deadline_s).ec == std::errc())
    start_confirm(Generation(revert_to), deadline_s);
}

void Engine::start_confirm(Generation revert_to, std::uint64_t deadline_s) {
  revert_to_ = revert_to;
  confirm_deadline_s_ = deadline_s;
  reverts_tried_ = 0;
  revert_error_.clear();
  const std::uint64_t now = now_s();
  wait_for_confirm(std::chrono::seconds(deadline_s > now ? deadline_s - now : 0));
}

void Engine::wait_for_confirm(push::Clock::duration wait) {
  loop_.cancel(confirm_timer_);
  confirm_timer_ = loop_.after(wait, [this] {
    confirm_timer_ = 0;
    revert();
  });
}

void Engine::revert() {
  Change change;
  change.cause = fmt::format("rollback to {}", revert_to_);
  change.is_rollback = change.is_revert = change.force = true;
  change.to = revert_to_;
  ++reverts_tried_;
  change.done = [this](const Result<ChangeDone> &done) {
    if (done || revert_to_ == 0) return;
    revert_error_ = done.error().message;
    last_error_ = fmt::format("going back to generation {} failed: {}", revert_to_, revert_error_);
    const unsigned doublings = std::min(reverts_tried_ - 1, 6u);
    wait_for_confirm(
        std::min<push::Clock::duration>(revert_wait_first * (1u << doublings), revert_wait_most));
  };
  submit(std::move(change));
}

// The store's note goes with the record of the rollback that is live, or by confirm().
void Engine::end_confirm() {
  loop_.cancel(confirm_timer_);
  confirm_timer_ = 0;
  revert_to_ = 0;
  confirm_deadline_s_ = 0;
  reverts_tried_ = 0;
  revert_error_.clear();
}

Result<Generation> Engine::confirm() {
  if (revert_to_ == 0) return fail(Errc::not_found, "no generation waits for a confirmation");
  if (change_ != nullptr && change_->is_rollback)
    return fail(Errc::refused,
                fmt::format("too late: {} is under way; `weirctl status` shows how it goes", change_->cause));
  if (const Status cleared = store_.set_note("unconfirmed", ""); !cleared)
    return fail(cleared.error().code, cleared.error().message + "; the change is still to be confirmed");
  std::erase_if(waiting_, [](const Change &change) { return change.is_revert; });
  end_confirm();
  return live_record_.id;
}

std::optional<std::uint64_t> Engine::pending_confirm_s() const {
  if (revert_to_ == 0) return std::nullopt;
  const std::uint64_t now = now_s();
  return confirm_deadline_s_ > now ? confirm_deadline_s_ - now : 0;
}

std::string Engine::taking_back() const {
  if (revert_to_ == 0 || reverts_tried_ == 0) return {};
  if (revert_error_.empty()) return fmt::format("nobody confirmed: going back to generation {}", revert_to_);
  return fmt::format("nobody confirmed: going back to generation {} failed {} times, and is tried again: {}",
                     revert_to_, reverts_tried_, revert_error_);
}

} // namespace weir::control
