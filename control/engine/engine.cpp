#include "control/engine/engine.hpp"

#include "weir/base/say.hpp"
#include "weir/key/text.hpp"
#include "weir/wire/sockets.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace weir::control {

Engine::Engine(push::EventLoop &loop, store::Store store, EngineOptions options)
    : loop_(loop), store_(std::move(store)), options_(std::move(options)),
      pusher_(
          loop, options_.run / wire::dataplane_socket_name,
          {.first_sequence = [this] { return log_.first(); },
           .last_sequence = [this] { return log_.last(); },
           .delta = [this](std::uint64_t sequence, wire::Target target) { return delta(sequence, target); }},
          {.needs_image = [this](const std::string &why) { want_image(why); },
           .connected = {},
           .lost = {},
           .samples =
               [this](std::span<const wire::Sample> samples) {
                 // Kinds of samples come in messages of their own.
                 if (!samples.empty() && Offenders::concerns(samples.front())) {
                   for (const wire::Sample &sample : samples) offenders_.take(sample);
                   return;
                 }
                 relief_.take(samples);
                 traffic_.take(samples);
               },
           .displaced = [this](const std::string &why) { say(why); },
           .filling = [this] { image_fills(); }}),
      clock_(options_.clock), started_at_(now_s()),
      entries_({.loop = loop_,
                .pusher = pusher_,
                .store = store_,
                .clock = clock_,
                .dynamic = dynamic_,
                .log = log_,
                .last_error = last_error_,
                .live = live_,
                .staged = staged_,
                .at_hand = [this] { return change_ ? change_->rules.get() : nullptr; },
                .target = options_.target,
                .log_entries_max = options_.store.log_entries_max}),
      background_(loop, 2) {
  pusher_.channel().retry_wait = options_.retry_wait;
}

Status Engine::start(OnChange first_load) {
  TRY(load_store());
  clock_.resume(store_.note("clock"));
  if (const Status noted = store_.set_note("clock", clock_.note()); !noted)
    last_error_ = noted.error().message;
  spent_ = std::make_shared<const rules::ChangeAccount>(
      rules::ChangeAccount::resume(store_.note(changes_note), clock_.now_s()));
  pusher_.expect(store_.id(), live_record_.id);
  TRY(offenders_.resume());
  if (live_ == nullptr) load_first(std::move(first_load));
  traffic_.resume(deny_watch_);
  entries_.expire(); // what ran out while nobody looked
  pusher_.start();
  watch_filter();
  watch_deny_filter();
  watch_intervals();
  watch_traffic();
  watch_offenders();
  resume_confirm();
  return {};
}

// Again after a while when it fails: a feed that comes late, a disk that was full. What an apply puts in
// force meanwhile ends it.
void Engine::load_first(OnChange done) {
  Change change;
  change.cause = "first load";
  change.prepare = [this]() -> Result<Candidate> {
    auto text = TRY(read_text(options_.config_file));
    const auto config = TRY(config::parse(text, options_.config_file));
    return guarded(read_candidate(config, std::move(text), nullptr, store_, nullptr, &progress_), nullptr);
  };
  change.done = [this, done = std::move(done)](Result<ChangeDone> result) {
    if (!result) load_first_again();
    if (done) done(std::move(result));
  };
  submit(std::move(change));
}

void Engine::load_first_again() {
  constexpr auto wait_max = std::chrono::minutes(5);
  const auto wait = options_.first_load_wait;
  options_.first_load_wait = std::min<push::Clock::duration>(2 * wait, wait_max);
  last_error_.add(
      fmt::format("; tried again in {} s", std::chrono::ceil<std::chrono::seconds>(wait).count()));
  loop_.cancel(first_load_timer_);
  first_load_timer_ = loop_.after(wait, [this] {
    first_load_timer_ = 0;
    if (live_ != nullptr) return;
    if (change_ == nullptr && waiting_.empty()) return load_first({});
    load_first_again(); // somebody else's change is at hand
  });
}

// A worker polls without a pause: a thread woken on its CPU waits milliseconds for its turn, and takes that
// turn from packets.
void Engine::keep_off_workers() {
  const auto workers = cpu_list(live_->config.eal.lcores);
  const auto wanted = workers ? cpus_beside(cpus_, *workers) : cpus_;
  if (wanted == cpus_now_) return;
  run_on(wanted);
  cpus_now_ = wanted;
}

Status Engine::load_store() {
  const auto generations = TRY(store_.generations());
  const auto live = std::ranges::find(generations, store_.live(), &store::GenerationRecord::id);
  if (live != generations.end()) {
    auto restored = restore_candidate(*live, nullptr, store_);
    if (!restored)
      return fail(
          restored.error().code,
          fmt::format("generation {}: {}\nNothing was changed, and a dataplane enforces what it has. Put a "
                      "copy of {} back; or move that folder away and start again, which loads {} anew "
                      "and knows no entries that were added by hand",
                      live->id, restored.error().message, (options_.state / "store").string(),
                      options_.config_file.string()));
    live_ = std::move(restored->rules);
    live_record_ = *live;
    keep_off_workers();
    begin_watches();
  }
  if (const Status forgotten = store_.forget_dynamic(store_.numbers_to_forget()); !forgotten)
    last_error_ = forgotten.error().message;
  const Status read = store_.read_dynamic([this](const store::DynamicEntry &entry) {
    dynamic_.put(entry.key.list, entry.key.prefix, {entry.added_at, entry.expires_at});
  });
  if (!read) return read;
  std::vector<store::Touched> touched;
  TRY(store_.read_log([&](std::uint64_t sequence, const store::Touched &one) {
    if (touched.empty()) log_.restart(sequence);
    touched.push_back(one);
  }));
  if (!touched.empty()) log_.append(log_.first() + touched.size() - 1, touched);
  if (log_.last() != store_.sequence()) log_.restart(store_.sequence() + 1); // holes would make deltas lie
  return {};
}

image::Delta Engine::delta(std::uint64_t sequence, wire::Target target) const {
  const store::Touched &touched = log_.at(sequence);
  const RuleSet &rules = target == wire::Target::staged && staged_ ? *staged_ : *live_;
  return rules::make_delta(touched.side, touched.prefix,
                           effective_list(rules, dynamic_, touched.side, touched.prefix));
}

void Engine::say(const std::string &sentence) const {
  if (options_.log) say_sentence("weir-control", sentence);
}

void Engine::watch_traffic() {
  loop_.after(options_.traffic_save_wait, [this] {
    save_traffic();
    watch_traffic();
  });
}

void Engine::add(std::string list, std::vector<NewEntry> entries, OnEntries done, bool force,
                 push::Clock::time_point since, std::string by) {
  entries_.add(std::move(list), std::move(entries), std::move(done), force, since, std::move(by));
}

void Engine::remove(std::string list, std::vector<Prefix> prefixes, OnEntries done,
                    push::Clock::time_point since, std::string by) {
  entries_.remove(std::move(list), std::move(prefixes), std::move(done), since, std::move(by));
}

void Engine::audit(std::string by, std::string what, std::string detail) {
  const Status noted = store_.audit({.at_ms = now_ms(),
                                     .by = std::move(by),
                                     .what = std::move(what),
                                     .list = {},
                                     .detail = std::move(detail)});
  if (!noted) last_error_ = "the audit log cannot be written: " + noted.error().message;
}

void Engine::watch_offenders() {
  loop_.after(std::chrono::seconds(1), [this] {
    offenders_.look();
    watch_offenders();
  });
}

void Engine::build_for_offenders(std::string why) {
  if (live_ == nullptr) return;
  Change change;
  change.cause = std::move(why);
  change.force = true;
  submit(std::move(change));
}

void Engine::ban(const std::string &list, NewEntry entry) {
  const std::string text = to_string(entry.prefix);
  add(list, {std::move(entry)}, [this, list, text](const Result<EntriesDone> &done) {
    if (!done) say(fmt::format("{} is not banned on {}: {}", text, list, done.error().message));
  });
}

std::string Engine::doing() const { return change_ ? change_->cause : std::string(); }

Progress::Now Engine::progress() const { return change_ ? progress_.now() : Progress::Now(); }

} // namespace weir::control
