#include "control/engine/entry_groups.hpp"

#include "control/engine/give_back.hpp"

#include <algorithm>
#include <chrono>
#include <functional>
#include <memory>
#include <set>
#include <utility>

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

void EntryGroups::at_rest(std::function<void()> then) {
  if (!busy_) return then();
  at_rest_.push_back(std::move(then));
}

void EntryGroups::queue(Work work) {
  waiting_.push_back(std::move(work));
  next_group();
}

EntryGroups::Work EntryGroups::take_first() {
  Work first = std::move(waiting_.front());
  waiting_.pop_front();
  return first;
}

void EntryGroups::next_group() {
  if (busy_ || checking_ || waiting_.empty()) return;
  busy_ = true;
  change_ = std::make_shared<store::DynamicChange>();
  keys_.clear();
  const Work &first = waiting_.front();
  if (first.kind == Work::Kind::expire) return run_step(&EntryGroups::gather_expired);
  if (first.entries.size() > small_max) return run_step(&EntryGroups::gather_large);
  run_step(&EntryGroups::gather_small);
}

// Of the steps before a group is written: what they throw, for want of memory, is its error.
void EntryGroups::run_step(void (EntryGroups::*step)()) {
  try {
    (this->*step)();
  } catch (const std::exception &thrown) {
    abandon_group(thrown.what());
  }
}

void EntryGroups::abandon_group(const std::string &why) {
  for (Work &work : std::exchange(works_, {}))
    refused_.emplace_back(
        std::move(work), Error{Errc::io, "the entries could not be taken: " + why + "; nothing was changed"});
  expire_again();
  end_group();
}

// ---- taking ------------------------------------------------------------------------------------

void EntryGroups::gather_small() {
  for (std::size_t taken = 0; !waiting_.empty() && taken < group_max;) {
    Work &next = waiting_.front();
    if (next.kind == Work::Kind::expire || next.entries.size() > small_max) break;
    drop_repeated(next.entries);
    if (const Status begun = begin_request(next); !begun) {
      refused_.emplace_back(take_first(), begun.error());
      continue;
    }
    const auto in_group = [&](const NewEntry &entry) {
      return keys_.contains({next.list->number, entry.prefix});
    };
    if (std::ranges::any_of(next.entries, in_group)) break;
    works_.push_back(take_first());
    taken += works_.back().entries.size();
    if (const Status allowed = take_small(works_.back()); !allowed) {
      refused_.emplace_back(std::move(works_.back()), allowed.error());
      works_.pop_back();
    }
  }
  write_group();
}

// All of its entries, or none.
Status EntryGroups::take_small(Work &work) {
  TRY(check_guards(*around_.live, work));
  const std::size_t erased = change_->erase.size(), touched = change_->touched.size();
  while (work.taken < work.entries.size()) take_entry(work);
  if (!work.absent.empty()) {
    change_->erase.resize(erased);
    change_->touched.resize(touched);
    return fail(Errc::not_found, work.absent);
  }
  for (const NewEntry &entry : work.entries) keys_.insert({work.list->number, entry.prefix});
  work.result.sequence = change_->touched.size();
  return {};
}

void EntryGroups::gather_large() {
  works_.push_back(take_first());
  Work &work = works_.back();
  if (const Status begun = begin_request(work); !begun) {
    refused_.emplace_back(std::move(work), begun.error());
    works_.clear();
    return end_group();
  }
  if (work.checked == around_.live) return take_slice();
  const auto to_check = std::make_shared<Work>(std::move(work));
  works_.clear();
  busy_ = false;
  checking_ = true;
  check_large(to_check);
}

void EntryGroups::check_large(const std::shared_ptr<Work> &work) {
  writer_.run(
      [work, rules = around_.live] {
        if (work->checked == nullptr) sort_and_drop_repeated(work->entries);
        work->checked = rules;
        return check_guards(*rules, *work);
      },
      [this, work](const Status &allowed) {
        checking_ = false;
        if (allowed) {
          waiting_.push_front(std::move(*work));
          return next_group();
        }
        next_group();
        work->done(std::unexpected(allowed.error()));
      });
}

void EntryGroups::take_slice() {
  Work &work = works_.front();
  if (work.checked != around_.live) { // other rules have come into force: from the beginning
    for (std::size_t i = 0; i < change_->put.size(); ++i)
      work.entries[i].comment = std::move(change_->put[i].comment);
    work.taken = 0;
    work.result = {};
    work.for_ever = false;
    work.absent.clear();
    work.absent_count = 0;
    waiting_.push_front(std::move(work));
    works_.clear();
    return end_group();
  }
  const std::size_t end = std::min(work.taken + slice_entries, work.entries.size());
  while (work.taken < end) take_entry(work);
  if (work.taken < work.entries.size())
    return around_.loop.post([this] { run_step(&EntryGroups::take_slice); });
  work.result.sequence = change_->touched.size();
  if (work.absent.empty()) return write_group();
  refused_.emplace_back(std::move(work), Error{Errc::not_found, work.absent});
  works_.clear();
  end_group();
}

void EntryGroups::gather_expired() {
  works_.push_back(take_first());
  for (const DynamicEntries::Expiry &due : around_.dynamic.expired(around_.clock.now_s(), expire_at_once)) {
    change_->erase.push_back({due.list, due.prefix});
    touch(due.list, due.prefix, change_->touched);
  }
  if (!change_->erase.empty()) return write_group();
  works_.clear();
  schedule_expiry();
  end_group();
}

// ---- writing and applying ----------------------------------------------------------------------

void EntryGroups::write_group() {
  if (works_.empty()) return end_group();
  note_for_audit();
  writer_.run([change = change_, &store = around_.store] { return store.write(*change); },
              [this](const Result<std::uint64_t> &sequence) { group_written(sequence); });
  if (!refused_.empty()) around_.loop.post([this] { answer_refused(); });
}

// Store first, then memory: the log never holds what a restart would not find.
void EntryGroups::group_written(const Result<std::uint64_t> &sequence) {
  if (sequence) {
    ++writes_;
    sequence_ = *sequence;
    applied_ = 0;
    logged_ = false;
    return apply_slice();
  }
  for (Work &work : std::exchange(works_, {})) {
    if (work.kind != Work::Kind::expire) {
      refused_.emplace_back(std::move(work), sequence.error());
      continue;
    }
    around_.last_error = sequence.error().message;
    expire_again();
  }
  end_group();
}

// What is written must get into memory, sooner or later.
void EntryGroups::apply_slice() {
  std::vector<Work> answered;
  try {
    put_slice();
    if (applied_ < change_->erase.size() + change_->put.size())
      return around_.loop.post([this] { apply_slice(); });
    answered.reserve(works_.size());
    tell_dataplane();
  } catch (const std::bad_alloc &) { // each step goes on where it was
    around_.last_error =
        "memory has run out while entries were added: they are stored, and in force when some is free";
    around_.loop.after(std::chrono::milliseconds(200), [this] { apply_slice(); });
    return;
  }
  answer_group(std::move(answered));
}

void EntryGroups::put_slice() {
  const store::DynamicChange &change = *change_;
  const std::size_t erased = change.erase.size(), all = erased + change.put.size();
  const std::size_t end = std::min(applied_ + slice_entries, all);
  for (; applied_ < end; ++applied_) {
    if (applied_ < erased) {
      const store::DynamicKey &key = change.erase[applied_];
      around_.dynamic.erase(key.list, key.prefix);
      continue;
    }
    const store::DynamicEntry &entry = change.put[applied_ - erased];
    around_.dynamic.put(entry.key.list, entry.key.prefix, {entry.added_at, entry.expires_at});
  }
}

// All of the group is in memory.
void EntryGroups::tell_dataplane() {
  if (!logged_) around_.log.append(sequence_, change_->touched);
  logged_ = true;
  around_.pusher.pump();
  around_.log.trim(around_.log_entries_max);
  schedule_expiry();
}

// `answered` has room for each.
void EntryGroups::answer_group(std::vector<Work> answered) {
  const std::uint64_t before = sequence_ - change_->touched.size();
  for (Work &work : works_) {
    if (!work.done) continue;
    work.result.sequence += before;
    work.result.expires_at = work.for_ever ? 0 : around_.clock.to_wall(work.result.expires_at);
    Work &answer = answered.emplace_back();
    answer.result = std::move(work.result);
    answer.since = work.since;
    answer.done = std::move(work.done);
  }
  end_group();
  for (Work &work : answered) answer_when_applied(std::move(work.result), work.since, std::move(work.done));
}

void EntryGroups::answer_refused() {
  for (auto &[work, error] : std::exchange(refused_, {}))
    if (work.done) work.done(std::unexpected(std::move(error)));
}

void EntryGroups::end_group() {
  const bool large = change_ != nullptr && change_->put.size() + change_->erase.size() > small_max;
  if (large) // to forget it takes a while, too
    writer_.run(
        [works = std::make_shared<std::vector<Work>>(std::move(works_)),
         change = std::move(change_)]() mutable -> Status {
          works.reset();
          change.reset();
          give_memory_back();
          return {};
        },
        [this](const Status &) { // once more when the store has written out what it holds
          around_.loop.after(std::chrono::seconds(2), [this] {
            writer_.run(
                []() -> Status {
                  give_memory_back();
                  return {};
                },
                [](const Status &) {});
          });
        });
  works_.clear();
  change_.reset();
  around_.loop.post([this] {
    busy_ = false;
    for (const std::function<void()> &then : std::exchange(at_rest_, {})) then();
    answer_refused();
    next_group();
  });
}

// ---- time to live ------------------------------------------------------------------------------

void EntryGroups::expire() {
  Work work;
  work.kind = Work::Kind::expire;
  queue(std::move(work));
}

void EntryGroups::expire_again() {
  around_.loop.cancel(expiry_timer_);
  expiry_timer_ = around_.loop.after(std::chrono::seconds(1), [this] { expire(); });
}

void EntryGroups::schedule_expiry() {
  around_.loop.cancel(expiry_timer_);
  expiry_timer_ = 0;
  if (around_.clock.has_moved())
    if (const Status noted = around_.store.set_note("clock", around_.clock.note()); !noted)
      around_.last_error = noted.error().message;
  const auto next = around_.dynamic.next_expiry();
  if (!next) return;
  const std::uint64_t now = around_.clock.now_s();
  // The loop's own clock stands still while the machine sleeps: look again at least every minute.
  constexpr std::uint64_t wait_s_max = 60;
  const std::chrono::seconds wait(*next > now ? std::min(*next - now, wait_s_max) : 0);
  expiry_timer_ =
      around_.loop.after(std::max<push::Clock::duration>(wait, std::chrono::milliseconds(1)), [this] {
        expiry_timer_ = 0;
        expire();
      });
}

} // namespace weir::control
