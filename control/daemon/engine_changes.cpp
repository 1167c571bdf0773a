#include "control/daemon/engine.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace weir::control {

namespace {

constexpr unsigned builds_max = 5; // of one change, when the log or the overlay outruns it
constexpr auto push_retry_first = std::chrono::milliseconds(500);
constexpr push::Clock::duration push_retry_most = std::chrono::seconds(30);

double ms_since(push::Clock::time_point start) {
  return std::chrono::duration<double, std::milli>(push::Clock::now() - start).count();
}

std::string counts_json_of(const rules::Effective &rules) {
  std::uint64_t hosts = 0;
  for (const rules::EntryV4 &entry : rules.deny.v4) hosts += entry.length == 32;
  return fmt::format(R"({{"ipv4_hosts":{},"ipv4_prefixes":{},"ipv6":{},"allow":{}}})", hosts,
                     rules.deny.v4.size() - hosts, rules.deny.v6.size(),
                     rules.allow.v4.size() + rules.allow.v6.size());
}

std::vector<store::ListMeta> metas_of(const RuleSet &rules) {
  std::vector<store::ListMeta> metas;
  for (const RuleList &list : rules.lists)
    metas.push_back({.number = list.number,
                     .name = list.definition.name,
                     .action = list.definition.action,
                     .content_version = list.content_version,
                     .fingerprint = list.fingerprint,
                     .updated_at = list.updated_at,
                     .format = list.format});
  return metas;
}

} // namespace

// ---- what people ask for -----------------------------------------------------------------------

void Engine::apply(const std::filesystem::path &config_file, std::uint64_t confirm_s, bool force,
                   OnChange done) {
  Change change;
  change.cause = "apply";
  change.force = force;
  change.confirm_s = confirm_s;
  if (confirm_s > 0 && live_ == nullptr)
    return done(fail(Errc::usage, "there is no generation to go back to: apply without --confirm"));
  change.prepare = [this, file = config_file.empty() ? options_.config_file : config_file,
                    force]() -> Result<Candidate> {
    auto text = read_text(file);
    if (!text) return std::unexpected(text.error());
    const auto config = config::parse(*text, file);
    if (!config) return std::unexpected(config.error());
    auto candidate = read_candidate(*config, std::move(*text), change_->rules.get(), store_);
    if (!candidate) return candidate;
    if (const Status allowed = check_changes(*candidate, force); !allowed)
      return std::unexpected(allowed.error());
    return candidate;
  };
  change.done = std::move(done);
  submit(std::move(change));
}

void Engine::replace(const std::string &list, const std::filesystem::path &file, bool force, OnChange done) {
  if (live_ == nullptr || live_->find(list) == nullptr)
    return done(
        fail(Errc::not_found, fmt::format("no list is named {}; `weirctl list show` names them", list)));
  Change change;
  change.cause = "replace " + list;
  change.force = force;
  change.prepare = [this, list, file, force]() -> Result<Candidate> {
    auto candidate = replace_candidate(*change_->rules, list, file, store_);
    if (!candidate) return candidate;
    if (const Status allowed = check_changes(*candidate, force); !allowed)
      return std::unexpected(allowed.error());
    return candidate;
  };
  change.done = std::move(done);
  submit(std::move(change));
}

void Engine::rollback(std::uint64_t generation, OnChange done) {
  const auto kept = store_.generations();
  if (!kept) return done(std::unexpected(kept.error()));
  auto wanted = std::ranges::find(*kept, generation, &store::GenerationRecord::id);
  if (generation == 0) {
    wanted = std::ranges::find(*kept, live_record_.id, &store::GenerationRecord::id);
    wanted = wanted == kept->begin() ? kept->end() : std::prev(wanted);
  }
  if (wanted == kept->end())
    return done(fail(Errc::not_found,
                     generation == 0
                         ? std::string("there is no earlier generation to go back to")
                         : fmt::format("generation {} is not kept; `weirctl generations` shows those "
                                       "that are",
                                       generation)));
  end_confirm();
  Change change;
  change.cause = fmt::format("rollback to {}", wanted->id);
  change.to = wanted->id;
  change.force = true; // it was in force before
  change.prepare = [this, record = *wanted] {
    return restore_candidate(record, change_->rules.get(), store_);
  };
  change.done = std::move(done);
  submit(std::move(change));
}

// The dataplane lacks what it should run: after a restart, a trimmed log, a full overlay.
void Engine::want_image(const std::string &why) {
  if (live_ == nullptr || change_ != nullptr || !waiting_.empty()) return; // finish() asks again
  const wire::Hello &hello = pusher_.channel().hello();
  if (hello.store_id == store_.id() && hello.sequence > store_.sequence()) {
    if (const Status skipped = store_.skip_to(hello.sequence); !skipped)
      last_error_ = skipped.error().message;
    log_.clear();
    log_first_ = store_.sequence() + 1;
  }
  Change change;
  change.cause = "push: " + why;
  change.force = true;
  const bool usable =
      ready_ && ready_->generation == live_record_.id && ready_->base_sequence + 1 >= log_first_;
  if (usable) change.image = std::move(ready_);
  ready_.reset();
  submit(std::move(change));
}

// ---- one change after the other ----------------------------------------------------------------

void Engine::submit(Change change) {
  waiting_.push_back(std::move(change));
  next();
}

void Engine::next() {
  if (change_ != nullptr || waiting_.empty()) return;
  change_ = std::make_unique<Change>(std::move(waiting_.front()));
  waiting_.pop_front();
  change_->started = push::Clock::now();
  change_->rules = live_;
  if (change_->confirm_s > 0 && revert_to_ != 0)
    return finish(
        Error{Errc::refused, "an earlier apply waits for its confirmation: confirm it or roll back first"});
  if (!change_->prepare) {
    // After a new dataplane's hello the live number serves; an image beside a live one needs a new one.
    change_->generation = live_record_.id;
    if (change_->image && pusher_.dataplane_generation() < live_record_.id) return swap();
    change_->image.reset();
    return build();
  }
  background_.run(change_->prepare, [this](Result<Candidate> candidate) { prepared(std::move(candidate)); });
}

void Engine::prepared(Result<Candidate> candidate) {
  if (!candidate) return finish(candidate.error());
  change_->candidate = std::move(*candidate);
  change_->rules = change_->candidate.rules;
  build();
}

// A number that the dataplane has not seen: what it runs may come from a store that is gone, or from
// a commit that was never recorded.
Status Engine::take_number() {
  const std::uint64_t seen = pusher_.dataplane_generation();
  if (change_->generation > seen) return {};
  const auto number = store_.take_generation_number(seen);
  if (!number) return std::unexpected(number.error());
  change_->generation = *number;
  if (!change_->prepare) change_->replaces = live_record_.id;
  return {};
}

struct Engine::Joint { // image and contents are made side by side
  std::optional<Built> image;
  std::optional<Status> contents;
};

void Engine::build() {
  if (const Status taken = take_number(); !taken) return finish(taken.error());
  ++change_->builds;
  auto joint = std::make_shared<Joint>();
  const Snapshot snapshot = take_snapshot(change_->rules, dynamic_, log_first_ + log_.size() - 1);
  const build::ImageRequest request{.generation = change_->generation,
                                    .store_id = store_.id(),
                                    .sequence = snapshot.sequence,
                                    .target = options_.target,
                                    .running_bytes = live_record_.image_bytes,
                                    .state = options_.state,
                                    .workload = hits_.workload(),
                                    .build_ns_per_key = build_ns_per_key_,
                                    .hot = hot_denied ? hot_denied() : std::vector<plan::HotAddress>{},
                                    .negatives = deny_watch_.look()};
  const bool force = change_->force;
  background_.run(
      [snapshot, request, force]() -> std::shared_ptr<Built> {
        auto built = std::make_shared<Built>(Built{fail(Errc::io, ""), {}, {}});
        const auto effective = effective_of(snapshot);
        if (!effective) {
          built->image = std::unexpected(effective.error());
          return built;
        }
        const Status filled = rules::check_not_empty(snapshot.rules->config, *effective, force);
        if (!filled) {
          built->image = std::unexpected(filled.error());
          return built;
        }
        built->counts_json = counts_json_of(*effective);
        for (const rules::Conflict &conflict : effective->conflicts)
          built->warnings.push_back(conflict.text());
        built->image = build::build_sealed(*effective, snapshot.rules->config, request);
        if (built->image && !built->image->plan.deny_filter.keeps_budget())
          built->warnings.push_back("mode.compact: " + built->image->plan.deny_filter.why);
        return built;
      },
      [this, joint](const std::shared_ptr<Built> &image) {
        joint->image.emplace(std::move(*image));
        built(*joint);
      });
  if (change_->written || change_->candidate.unwritten.empty()) {
    joint->contents = Status{};
    return;
  }
  background_.run([this] { return write_contents(change_->candidate, store_); },
                  [this, joint](Status written) {
                    joint->contents = std::move(written);
                    built(*joint);
                  });
}

void Engine::built(Joint &joint) {
  if (!joint.image || !joint.contents) return;
  if (!*joint.contents) return finish(joint.contents->error());
  change_->written = true;
  if (!joint.image->image) return finish(joint.image->image.error());
  change_->image = std::move(*joint.image->image);
  change_->counts_json = std::move(joint.image->counts_json);
  change_->result.warnings = std::move(joint.image->warnings);
  pages_ = build::name_of(change_->image->pages);
  swap();
}

void Engine::swap() {
  if (pusher_.state() == push::Pusher::State::absent) {
    change_->result.note =
        "no dataplane is connected: the generation is stored and will be pushed when one is";
    return record(false);
  }
  staged_ = change_->rules;
  build::SealedImage &image = *change_->image;
  pusher_.swap(
      {.fd = image.fd.release(),
       .generation = image.generation,
       .base_sequence = image.base_sequence,
       .image_bytes = image.image_bytes},
      [this](const Result<push::Swapped> &swapped) {
        if (swapped) {
          change_->result.swap_ns = swapped->swap_ns;
          last_swap_ = {swapped->swap_ns, now_s(), swapped->verify_us};
          return record(true);
        }
        staged_.reset();
        const Errc code = swapped.error().code;
        if ((code == Errc::needs_rebuild || code == Errc::bad_sequence) && change_->builds < builds_max)
          return build();
        if (code == Errc::unreachable && change_->prepare) {
          change_->image.reset(); // the dataplane may have changed it
          change_->result.note = swapped.error().message + "; the generation is stored and will be pushed "
                                                           "when the dataplane is back";
          return record(false);
        }
        finish(swapped.error());
      });
}

// What is live is so before it is written: a store that cannot be written must not make deltas lie.
void Engine::record(bool in_force) {
  Change &change = *change_;
  const bool new_rules = static_cast<bool>(change.prepare);
  const std::uint64_t before = live_record_.id;
  live_ = change.rules;
  if (new_rules) keep_off_workers();
  staged_.reset();
  store::GenerationRecord record = live_record_;
  if (change.image) {
    record.digest = change.image->digest;
    if (change.replaces != 0) change.image->plan.built_for = change.cause;
    change.image->plan.planned_at = now_s();
    record.plan_json = plan::to_json(change.image->plan);
    record.image_bytes = change.image->image_bytes;
    const build::BuildReport &report = change.image->report;
    record.build_ms = report.build_ms + report.verify_ms;
    constexpr std::uint64_t keys_that_tell = 10'000;
    if (report.keys_verified >= keys_that_tell)
      build_ns_per_key_ = record.build_ms * 1e6 / static_cast<double>(report.keys_verified);
  }
  if (!change.counts_json.empty()) record.counts_json = change.counts_json;
  record.id = change.generation;
  if (new_rules) filter_rebuild_wait_ = deny_replan_wait_ = {};
  if (new_rules) {
    record.applied_at = now_s();
    record.cause = change.cause;
    record.config_text = live_->config_text;
    record.config_source = live_->config.source.string();
    record.lists = metas_of(*live_);
  }
  live_record_ = std::move(record);
  if (change.image) begin_deny_watch(change.image->plan.deny_filter);
  change.result.generation = live_record_.id;
  if (change.to != 0) {
    change.result.from = before;
    change.result.to = change.to;
  }
  change.result.in_force = in_force;
  change.result.live_ms = ms_since(change.started);
  // What an unconfirmed apply goes back to must be there.
  const unsigned keep = std::max(live_->config.generations_kept, change.confirm_s > 0 ? 2u : 1u);
  const Status written = store_.make_live(live_record_, keep, change.replaces);
  if (!written) return finish(written.error());
  pusher_.expect(store_.id(), live_record_.id);
  ready_.reset();
  if (!in_force && change.image && change.image->fd.get() >= 0) ready_ = std::move(change.image);
  if (change.confirm_s > 0) {
    const std::uint64_t deadline = now_s() + change.confirm_s;
    const Status noted = store_.set_note("unconfirmed", fmt::format("{} {}", before, deadline));
    if (!noted) last_error_ = noted.error().message;
    start_confirm(before, deadline);
    change.result.reverts_at = deadline;
  }
  finish(std::nullopt);
}

void Engine::finish(std::optional<Error> error) {
  const std::unique_ptr<Change> change = std::move(change_);
  const bool new_rules = static_cast<bool>(change->prepare);
  if (error)
    say(fmt::format("{}: {}", change->cause, error->message));
  else
    say(fmt::format("{}: generation {} {}, {:.0f} ms", change->cause, live_record_.id,
                    change->result.in_force ? "live" : "stored", change->result.live_ms));
  if (error) {
    last_error_ = fmt::format("{}: {}", change->cause, error->message);
    if (live_ != change->rules)
      for (const Candidate::Unwritten &unwritten : change->candidate.unwritten)
        store_.drop_content(change->candidate.rules->lists[unwritten.list].content_version);
    if (change->done) change->done(std::unexpected(std::move(*error)));
  } else {
    last_error_.clear();
    push_retry_wait_ = push_retry_first;
    change->result.lists = std::move(change->candidate.diffs);
    auto &warnings = change->result.warnings;
    warnings.insert(warnings.begin(), change->candidate.warnings.begin(), change->candidate.warnings.end());
    if (change->done) change->done(std::move(change->result));
  }
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
