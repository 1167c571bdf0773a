// Requests for dynamic entries, in groups. One group at a time:
//
//   take     small requests together, until two of them mean the same entry; a large one alone    loop
//   write    one synced write with all of their log records: all of it or nothing                 writer
//   apply    entries and log in memory, the stream to the dataplane                               loop
//   answer   each as soon as its own last record is in force
//
// A large request is sorted, and held against never_deny, by the writer before its turn. It is taken and
// applied in slices, with a turn of the loop for others in between. What they see of it meanwhile does no
// harm: its records are in no log yet, so the dataplane hears of all of it afterwards, and an image waits
// (at_rest) until it is there as a whole.
#include "control/engine/engine_entries.hpp"
#include "control/engine/give_back.hpp"

#include <algorithm>
#include <set>

namespace weir::control {

namespace {

constexpr std::size_t small_max = 1024;     // entries of a request that shares its group with others
constexpr std::size_t group_max = 16'384;   // entries, before a group is closed
constexpr std::size_t slice_entries = 2048; // a millisecond or two
constexpr std::size_t expire_at_once = 4096;

void drop_repeated(std::vector<NewEntry> &entries) {
  if (entries.size() < 2) return;
  std::set<Prefix> seen;
  std::erase_if(entries, [&seen](const NewEntry &entry) { return !seen.insert(entry.prefix).second; });
}

// Of the same prefix the first stays, as above.
void sort_and_drop_repeated(std::vector<NewEntry> &entries) {
  const auto prefix = &NewEntry::prefix;
  if (!std::ranges::is_sorted(entries, {}, prefix)) std::ranges::stable_sort(entries, {}, prefix);
  const auto rest = std::ranges::unique(entries, {}, prefix);
  entries.erase(rest.begin(), rest.end());
}

} // namespace

Engine::~Engine() = default;

void Engine::at_rest(std::function<void()> then) {
  if (!entries_->busy) return then();
  entries_->at_rest.push_back(std::move(then));
}

void Engine::queue_entries(EntryWork work) {
  entries_->waiting.push_back(std::move(work));
  next_group();
}

void Engine::next_group() {
  Entries &e = *entries_;
  if (e.busy || e.checking || e.waiting.empty()) return;
  e.busy = true;
  e.change = std::make_shared<store::DynamicChange>();
  e.keys.clear();
  const EntryWork &first = e.waiting.front();
  if (first.kind == EntryWork::Kind::expire) return run_step(&Engine::gather_expired);
  if (first.entries.size() > small_max) return run_step(&Engine::gather_large);
  run_step(&Engine::gather_small);
}

// Of the steps before a group is written: what they throw, for want of memory, is its error.
void Engine::run_step(void (Engine::*step)()) {
  try {
    (this->*step)();
  } catch (const std::exception &thrown) {
    abandon_group(thrown.what());
  }
}

void Engine::abandon_group(const std::string &why) {
  Entries &e = *entries_;
  for (EntryWork &work : std::exchange(e.works, {}))
    e.refused.emplace_back(
        std::move(work), Error{Errc::io, "the entries could not be taken: " + why + "; nothing was changed"});
  loop_.cancel(expiry_timer_);
  expiry_timer_ = loop_.after(std::chrono::seconds(1), [this] { expire(); });
  end_group();
}

// ---- taking ------------------------------------------------------------------------------------

void Engine::gather_small() {
  Entries &e = *entries_;
  for (std::size_t taken = 0; !e.waiting.empty() && taken < group_max;) {
    EntryWork &next = e.waiting.front();
    if (next.kind == EntryWork::Kind::expire || next.entries.size() > small_max) break;
    drop_repeated(next.entries);
    if (const Status begun = begin_request(next); !begun) {
      e.refused.emplace_back(e.take_first(), begun.error());
      continue;
    }
    const auto in_group = [&](const NewEntry &entry) {
      return e.keys.contains({next.list->number, entry.prefix});
    };
    if (std::ranges::any_of(next.entries, in_group)) break;
    e.works.push_back(e.take_first());
    taken += e.works.back().entries.size();
    if (const Status allowed = take_small(e.works.back()); !allowed) {
      e.refused.emplace_back(std::move(e.works.back()), allowed.error());
      e.works.pop_back();
    }
  }
  write_group();
}

// All of its entries, or none.
Status Engine::take_small(EntryWork &work) {
  Entries &e = *entries_;
  TRY(check_guards(*live_, work));
  const std::size_t erased = e.change->erase.size(), touched = e.change->touched.size();
  while (work.taken < work.entries.size()) take_entry(work);
  if (!work.absent.empty()) {
    e.change->erase.resize(erased);
    e.change->touched.resize(touched);
    return fail(Errc::not_found, work.absent);
  }
  for (const NewEntry &entry : work.entries) e.keys.insert({work.list->number, entry.prefix});
  work.result.sequence = e.change->touched.size();
  return {};
}

void Engine::gather_large() {
  Entries &e = *entries_;
  e.works.push_back(e.take_first());
  EntryWork &work = e.works.back();
  if (const Status begun = begin_request(work); !begun) {
    e.refused.emplace_back(std::move(work), begun.error());
    e.works.clear();
    return end_group();
  }
  if (work.checked == live_) return take_slice();
  const auto to_check = std::make_shared<EntryWork>(std::move(work));
  e.works.clear();
  e.busy = false;
  e.checking = true;
  check_large(to_check);
}

void Engine::check_large(const std::shared_ptr<EntryWork> &work) {
  entries_->writer.run(
      [work, rules = live_] {
        if (work->checked == nullptr) sort_and_drop_repeated(work->entries);
        work->checked = rules;
        return check_guards(*rules, *work);
      },
      [this, work](const Status &allowed) {
        Entries &e = *entries_;
        e.checking = false;
        if (allowed) {
          e.waiting.push_front(std::move(*work));
          return next_group();
        }
        next_group();
        work->done(std::unexpected(allowed.error()));
      });
}

void Engine::take_slice() {
  Entries &e = *entries_;
  EntryWork &work = e.works.front();
  if (work.checked != live_) { // other rules have come into force: from the beginning
    for (std::size_t i = 0; i < e.change->put.size(); ++i)
      work.entries[i].comment = std::move(e.change->put[i].comment);
    work.taken = 0;
    work.result = {};
    work.for_ever = false;
    work.absent.clear();
    work.absent_count = 0;
    e.waiting.push_front(std::move(work));
    e.works.clear();
    return end_group();
  }
  const std::size_t end = std::min(work.taken + slice_entries, work.entries.size());
  while (work.taken < end) take_entry(work);
  if (work.taken < work.entries.size()) return loop_.post([this] { run_step(&Engine::take_slice); });
  work.result.sequence = e.change->touched.size();
  if (work.absent.empty()) return write_group();
  e.refused.emplace_back(std::move(work), Error{Errc::not_found, work.absent});
  e.works.clear();
  end_group();
}

void Engine::gather_expired() {
  Entries &e = *entries_;
  e.works.push_back(e.take_first());
  for (const DynamicEntries::Expiry &due : dynamic_.expired(clock_.now_s(), expire_at_once)) {
    e.change->erase.push_back({due.list, due.prefix});
    touch(due.list, due.prefix, e.change->touched);
  }
  if (!e.change->erase.empty()) return write_group();
  e.works.clear();
  schedule_expiry();
  end_group();
}

// ---- writing and applying ----------------------------------------------------------------------

void Engine::write_group() {
  Entries &e = *entries_;
  if (e.works.empty()) return end_group();
  e.writer.run([change = e.change, &store = store_] { return store.write(*change); },
               [this](const Result<std::uint64_t> &sequence) { group_written(sequence); });
  if (!e.refused.empty()) loop_.post([this] { answer_refused(); });
}

// Store first, then memory: the log never holds what a restart would not find.
void Engine::group_written(const Result<std::uint64_t> &sequence) {
  Entries &e = *entries_;
  if (sequence) {
    ++entry_writes_;
    e.sequence = *sequence;
    e.applied = 0;
    e.logged = false;
    return apply_slice();
  }
  for (EntryWork &work : std::exchange(e.works, {})) {
    if (work.kind != EntryWork::Kind::expire) {
      e.refused.emplace_back(std::move(work), sequence.error());
      continue;
    }
    last_error_ = sequence.error().message;
    loop_.cancel(expiry_timer_);
    expiry_timer_ = loop_.after(std::chrono::seconds(1), [this] { expire(); });
  }
  end_group();
}

// What is written must get into memory, sooner or later.
void Engine::apply_slice() {
  std::vector<EntryWork> answered;
  try {
    put_slice();
    if (entries_->applied < entries_->change->erase.size() + entries_->change->put.size())
      return loop_.post([this] { apply_slice(); });
    answered.reserve(entries_->works.size());
    tell_dataplane();
  } catch (const std::bad_alloc &) { // each step goes on where it was
    last_error_ =
        "memory has run out while entries were added: they are stored, and in force when some is free";
    loop_.after(std::chrono::milliseconds(200), [this] { apply_slice(); });
    return;
  }
  answer_group(std::move(answered));
}

void Engine::put_slice() {
  Entries &e = *entries_;
  const store::DynamicChange &change = *e.change;
  const std::size_t erased = change.erase.size(), all = erased + change.put.size();
  const std::size_t end = std::min(e.applied + slice_entries, all);
  for (; e.applied < end; ++e.applied) {
    if (e.applied < erased) {
      const store::DynamicKey &key = change.erase[e.applied];
      dynamic_.erase(key.list, key.prefix);
      continue;
    }
    const store::DynamicEntry &entry = change.put[e.applied - erased];
    dynamic_.put(entry.key.list, entry.key.prefix, {entry.added_at, entry.expires_at});
  }
}

// All of the group is in memory.
void Engine::tell_dataplane() {
  Entries &e = *entries_;
  if (!e.logged) log_touched(e.sequence, e.change->touched);
  e.logged = true;
  pusher_.pump();
  trim_log();
  schedule_expiry();
}

// `answered` has room for each.
void Engine::answer_group(std::vector<EntryWork> answered) {
  Entries &e = *entries_;
  const std::uint64_t before = e.sequence - e.change->touched.size();
  for (EntryWork &work : e.works) {
    if (!work.done) continue;
    work.result.sequence += before;
    work.result.expires_at = work.for_ever ? 0 : clock_.to_wall(work.result.expires_at);
    EntryWork &answer = answered.emplace_back();
    answer.result = std::move(work.result);
    answer.since = work.since;
    answer.done = std::move(work.done);
  }
  end_group();
  for (EntryWork &work : answered)
    answer_when_applied(std::move(work.result), work.since, std::move(work.done));
}

// Somebody may have seen sequences that this store had not given yet, and it has skipped them meanwhile
// (want_image): what is older than the log is in the image that follows.
void Engine::log_touched(std::uint64_t last, const std::vector<store::Touched> &touched) {
  if (touched.empty() || last < log_first_) return;
  const std::uint64_t first = last - touched.size() + 1;
  if (first != log_first_ + log_.size()) {
    log_.clear();
    log_first_ = first;
  }
  log_.insert(log_.end(), touched.begin(), touched.end());
}

void Engine::answer_refused() {
  for (auto &[work, error] : std::exchange(entries_->refused, {}))
    if (work.done) work.done(std::unexpected(std::move(error)));
}

void Engine::end_group() {
  Entries &e = *entries_;
  const bool large = e.change != nullptr && e.change->put.size() + e.change->erase.size() > small_max;
  if (large) // to forget it takes a while, too
    e.writer.run(
        [works = std::make_shared<std::vector<EntryWork>>(std::move(e.works)),
         change = std::move(e.change)]() mutable -> Status {
          works.reset();
          change.reset();
          give_memory_back();
          return {};
        },
        [this](const Status &) { // once more when the store has written out what it holds
          loop_.after(std::chrono::seconds(2), [this] {
            entries_->writer.run(
                []() -> Status {
                  give_memory_back();
                  return {};
                },
                [](const Status &) {});
          });
        });
  e.works.clear();
  e.change.reset();
  loop_.post([this] {
    Entries &ended = *entries_;
    ended.busy = false;
    for (const std::function<void()> &then : std::exchange(ended.at_rest, {})) then();
    answer_refused();
    next_group();
  });
}

} // namespace weir::control
