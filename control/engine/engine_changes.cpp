#include "control/engine/engine.hpp"

#include "control/engine/give_back.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <exception>

namespace weir::control {

namespace {

constexpr unsigned builds_max = 5; // of one change, when the log or the overlay outruns it
constexpr auto push_retry_first = std::chrono::milliseconds(500);
constexpr push::Clock::duration push_retry_most = std::chrono::seconds(30);

std::string counts_json_of(const rules::Effective &rules) {
  std::uint64_t hosts = 0;
  for (const rules::EntryV4 &entry : rules.deny.v4) hosts += entry.length == 32;
  return fmt::format(R"({{"ipv4_hosts":{},"ipv4_prefixes":{},"ipv6":{},"allow":{}}})", hosts,
                     rules.deny.v4.size() - hosts, rules.deny.v6.size(),
                     rules.allow.v4.size() + rules.allow.v6.size());
}

} // namespace

// ---- what people ask for -----------------------------------------------------------------------

void Engine::apply(const std::filesystem::path &config_file, std::uint64_t confirm_s, bool force,
                   OnChange done, const Asked &asked) {
  Change change;
  change.cause = "apply";
  change.by = asked.by;
  change.force = force;
  change.confirm_s = confirm_s;
  if (confirm_s > 0 && live_ == nullptr)
    return done(fail(Errc::usage, "there is no generation to go back to: apply without --confirm"));
  change.prepare = [this, file = config_file.empty() ? options_.config_file : config_file,
                    files = asked.files]() -> Result<Candidate> {
    auto text = TRY(read_text(file, files.get()));
    const auto config = TRY(config::parse(text, file));
    return guarded(
        read_candidate(config, std::move(text), change_->rules.get(), store_, files.get(), &progress_),
        files.get());
  };
  change.done = std::move(done);
  submit(std::move(change));
}

void Engine::replace(const std::string &list, const std::filesystem::path &file, bool force, OnChange done,
                     const Asked &asked) {
  if (live_ == nullptr || live_->find(list) == nullptr)
    return done(
        fail(Errc::not_found, fmt::format("no list is named {}; `weirctl list show` names them", list)));
  Change change;
  change.cause = "replace " + list;
  change.by = asked.by;
  change.force = force;
  change.prepare = [this, list, file, files = asked.files]() -> Result<Candidate> {
    return guarded(replace_candidate(*change_->rules, list, file, store_, files.get(), &progress_),
                   files.get());
  };
  change.done = std::move(done);
  submit(std::move(change));
}

// Of the change at hand, which is the only one that may look at the account or enter something there.
Result<Candidate> Engine::guarded(Result<Candidate> candidate, const rules::Bundle *files) {
  if (!candidate) return candidate;
  progress_.begin(Progress::Phase::checking);
  auto warnings = check_changes(
      *candidate, change_->rules.get(),
      {.files = files, .spent = spent_.get(), .now_s = clock_.now_s(), .force = change_->force});
  if (!warnings) return std::unexpected(std::move(warnings.error()));
  candidate->warnings.insert(candidate->warnings.end(), warnings->begin(), warnings->end());
  return candidate;
}

// The dataplane lacks what it should run: after a restart, a trimmed log, a full overlay.
void Engine::want_image(const std::string &why) {
  if (live_ == nullptr || change_ != nullptr || !waiting_.empty()) return; // finish() asks again
  const wire::Hello &hello = pusher_.channel().hello();
  if (hello.live.store_id == store_.id() && hello.live.sequence > store_.sequence()) {
    if (const Status skipped = store_.skip_to(hello.live.sequence); !skipped)
      last_error_ = skipped.error().message;
    log_.restart(store_.sequence() + 1);
  }
  Change change;
  change.cause = "push: " + why;
  change.force = true;
  const bool usable = ready_ && ready_->identity.generation == live_record_.id &&
                      ready_->identity.sequence + 1 >= log_.first();
  if (usable) change.image = std::move(ready_);
  ready_.reset();
  submit(std::move(change));
}

// The dataplane does without, though worse; the cause is looked at again later.
void Engine::ask_for_image(const std::optional<watch::Reason> &reason) {
  if (!reason || live_ == nullptr || change_ != nullptr || !waiting_.empty()) return;
  const auto now = push::Clock::now(), at = image_budget_.not_before(reason->cause, now);
  if (at > now) {
    image_waits_ = {reason->words, at};
    loop_.cancel(image_timer_);
    image_timer_ = loop_.after(at - now, [this] {
      image_timer_ = 0;
      image_fills();
    });
    return;
  }
  image_waits_ = {};
  image_budget_.begin(reason->cause, reason->first_wait, now);
  want_image(reason->words);
}

// ---- one change after the other ----------------------------------------------------------------

void Engine::submit(Change change) {
  waiting_.push_back(std::move(change));
  next();
}

// Callbacks of a change: what they throw (memory that is not there) must end it, or all others wait for ever.
template <class Step> void Engine::in_change(Step step) {
  try {
    step();
  } catch (const std::exception &thrown) {
    if (change_ == nullptr) throw;
    finish(Error{Errc::io, fmt::format("{}: {}; nothing was changed", change_->cause, thrown.what())});
  }
}

void Engine::next() {
  if (change_ != nullptr || waiting_.empty()) return;
  change_ = std::make_unique<Change>(std::move(waiting_.front()));
  waiting_.pop_front();
  change_->started = push::Clock::now();
  change_->rules = live_;
  progress_.begin(Progress::Phase::none);
  in_change([this] { begin_change(); });
}

void Engine::begin_change() {
  if (change_->confirm_s > 0 && revert_to_ != 0)
    return finish(
        Error{Errc::refused, "an earlier apply waits for its confirmation: confirm it or roll back first"});
  if (change_->is_rollback)
    if (const Status found = look_up_target(); !found) return finish(found.error());
  if (!change_->prepare) {
    // After a new dataplane's hello the live number serves; an image beside a live one needs a new one.
    change_->generation = live_record_.id;
    if (change_->image && pusher_.dataplane_generation() < live_record_.id) return swap();
    change_->image.reset();
    return build();
  }
  background_.run(change_->prepare, [this](Result<Candidate> candidate) {
    in_change([&] { prepared(std::move(candidate)); });
  });
}

void Engine::prepared(Result<Candidate> candidate) {
  if (!candidate) return finish(candidate.error());
  change_->is_prepared = true;
  change_->prepare = nullptr;
  change_->candidate = std::move(*candidate);
  change_->rules = change_->candidate.rules;
  if (const Status checked = check_left_lists(); !checked) return finish(checked.error());
  build();
}

// Entries may come until the swap: asked once more before it.
Status Engine::check_left_lists() {
  auto warnings = TRY(check_left(
      change_->candidate, [this](ListId list) { return dynamic_.counts(list).total(); }, change_->force));
  change_->result.warnings = std::move(warnings);
  return {};
}

// A number that the dataplane has not seen: what it runs may come from a store that is gone, or from
// a commit that was never recorded.
Status Engine::take_number() {
  const Generation seen = pusher_.dataplane_generation();
  if (change_->generation > seen) return {};
  const auto number = store_.take_generation_number(seen);
  // The rules in force reach a dataplane even if nothing can be written; the number is above all it has seen.
  if (!number && change_->has_new_rules()) return std::unexpected(number.error());
  change_->generation = number ? *number : std::max(seen, live_record_.id).next();
  if (!change_->has_new_rules()) change_->replaces = live_record_.id;
  return {};
}

struct Engine::Joint { // image and contents are made side by side
  std::optional<Result<BuiltPtr>> image;
  std::optional<Result<std::vector<std::uint64_t>>> contents;
};

// Entries that are being written would be missing from the snapshot, and were told to the rules before.
void Engine::build() {
  progress_.begin(Progress::Phase::waiting);
  entries_.at_rest([this] { in_change([this] { build_now(); }); });
}

void Engine::build_now() {
  if (const Status taken = take_number(); !taken) return finish(taken.error());
  ++change_->builds;
  auto joint = std::make_shared<Joint>();
  const Snapshot snapshot = take_snapshot(change_->rules, dynamic_, log_.last());
  const build::ImageRequest request{
      .identity = {.store_id = store_.id(), .generation = change_->generation, .sequence = snapshot.sequence},
      .target = options_.target,
      .running_bytes = live_record_.image_bytes,
      .state = options_.state,
      .workload = traffic_.workload(),
      .build_ns_per_key = build_ns_per_key_,
      .hot = traffic_.hot_denied(),
      .negatives = deny_watch_.look(),
      .lists =
          change_->candidate.rules
              ? memory_of(change_->candidate, live_.get(), dynamic_.bytes(), false)
              : plan::ListsMemory{.lists_bytes = change_->rules->bytes_beside(nullptr) + dynamic_.bytes()},
      .offender_model = offenders_.at_hand().with(change_->candidate.offender_model.get()),
      .flows = change_->rules->flows,
      .offender_seed = offenders_.seed_for(change_->rules->config),
      .progress = &progress_};
  const bool force = change_->force;
  const bool unwritten = !change_->versions && !change_->candidate.is_written();
  if (!unwritten) joint->contents = std::vector<std::uint64_t>{};
  background_.run(
      [snapshot, request, force]() -> Result<BuiltPtr> {
        const auto effective = TRY(effective_of(snapshot));
        TRY(rules::check_not_empty(snapshot.rules->config, effective, force));
        auto image = TRY(build::build_sealed(effective, snapshot.rules->config, request));
        auto built = std::make_shared<Built>(Built{std::move(image), counts_json_of(effective), {}});
        for (const rules::Conflict &conflict : effective.conflicts)
          built->warnings.push_back(conflict.text());
        if (!built->image.plan.deny_filter.keeps_budget())
          built->warnings.push_back("mode.compact: " + built->image.plan.deny_filter.why);
        return built;
      },
      [this, joint](Result<BuiltPtr> image) {
        joint->image.emplace(std::move(image));
        in_change([&] { built(*joint); });
      });
  if (unwritten)
    background_.run([this] { return write_contents(change_->candidate, store_); },
                    [this, joint](Result<std::vector<std::uint64_t>> versions) {
                      joint->contents.emplace(std::move(versions));
                      in_change([&] { built(*joint); });
                    });
}

void Engine::built(Joint &joint) {
  if (!joint.image || !joint.contents) return;
  if (*joint.contents && !(*joint.contents)->empty()) {
    change_->versions = **joint.contents;
    enter_versions(change_->candidate, *change_->versions);
  }
  if (!*joint.contents) return finish(joint.contents->error());
  if (!*joint.image) return finish(joint.image->error());
  Built &built = ***joint.image;
  if (const Status checked = check_left_lists(); !checked) return finish(checked.error());
  change_->image = std::move(built.image);
  offenders_.note_neighbours(std::move(change_->image->neighbours));
  change_->counts_json = std::move(built.counts_json);
  auto &warnings = change_->result.warnings;
  warnings.insert(warnings.end(), built.warnings.begin(), built.warnings.end());
  pages_ = image::name_of(change_->image->pages);
  if (const Status recorded = record(); !recorded) return finish(recorded.error());
  swap();
}

void Engine::swap() {
  if (pusher_.state() == push::Pusher::State::absent) {
    change_->result.note =
        "no dataplane is connected: the generation is stored and will be pushed when one is";
    return go_live(false);
  }
  progress_.begin(Progress::Phase::pushing);
  staged_ = change_->rules;
  build::SealedImage &image = *change_->image;
  pusher_.swap({.fd = image.fd.release(), .identity = image.identity},
               [this](const Result<push::Swapped> &swapped) { in_change([&] { this->swapped(swapped); }); });
}

void Engine::swapped(const Result<push::Swapped> &swapped) {
  if (swapped) {
    change_->result.swap_ns = swapped->swap_ns;
    last_swap_ = {swapped->swap_ns, now_s(), swapped->verify_us};
    return go_live(true);
  }
  staged_.reset();
  const Errc code = swapped.error().code;
  if ((code == Errc::needs_rebuild || code == Errc::bad_sequence) && change_->builds < builds_max)
    return build();
  if (code == Errc::unreachable && change_->has_new_rules()) {
    change_->image.reset(); // the dataplane may have changed it
    change_->result.note = swapped.error().message + "; the generation is stored and will be pushed "
                                                     "when the dataplane is back";
    return go_live(false);
  }
  finish(swapped.error());
}

void Engine::finish(std::optional<Error> error) {
  if (error && change_->recorded) take_back();
  std::shared_ptr<Change> change = std::move(change_);
  const bool new_rules = change->has_new_rules();
  if (error)
    say(fmt::format("{}: {}", change->cause, error->message));
  else
    say(fmt::format("{}: generation {} {}, {:.0f} ms", change->cause, live_record_.id,
                    change->result.in_force ? "live" : "stored", change->result.live_ms));
  if (error) {
    last_error_.of_change(change->cause, error->message);
    ++changes_.failed;
    if (!new_rules)
      pusher_.give_up({error->code, "no image with it can be brought to the dataplane: " + error->message});
    if (change->versions) store_.drop_contents(*change->versions);
    if (change->done) change->done(std::unexpected(std::move(*error)));
  } else {
    last_error_.clear();
    changes_.seconds.observe(change->result.live_ms / 1e3);
    push_retry_wait_ = push_retry_first;
    change->result.lists = std::move(change->candidate.diffs);
    auto &warnings = change->result.warnings;
    warnings.insert(warnings.begin(), change->candidate.warnings.begin(), change->candidate.warnings.end());
    if (change->done) change->done(std::move(change->result));
  }
  change->done = nullptr;
  if (new_rules) // to forget the text of a large configuration takes a while
    background_.run(
        [old = std::move(change)]() mutable -> Status {
          old.reset();
          give_memory_back();
          return {};
        },
        [](const Status &) {});
  next();
  if (change_ != nullptr || live_ == nullptr || pusher_.state() != push::Pusher::State::stale) return;
  // Still not what it should be: at once after somebody's change, later after a failed push.
  loop_.cancel(retry_timer_);
  const auto wait = error && !new_rules ? push_retry_wait_ : push::Clock::duration::zero();
  push_retry_wait_ =
      std::clamp<push::Clock::duration>(push_retry_wait_ * 2, push_retry_first, push_retry_most);
  retry_timer_ = loop_.after(wait, [this] {
    retry_timer_ = 0;
    if (pusher_.state() == push::Pusher::State::stale) want_image("the dataplane is not up to date");
  });
}

} // namespace weir::control
