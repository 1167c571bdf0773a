// Requests for dynamic entries: they wait in a line and are taken in groups, one group at a time.
//
//   take     small requests together, until two of them mean the same entry; a large one alone    loop
//   write    one synced write with all of their log records: all of it or nothing                 writer
//   apply    entries and log in memory, the stream to the dataplane                               loop
//   answer   each as soon as its own last record is in force
//
// What comes in during a write is the next group, so that many clients share what a synced write costs. A
// large request is sorted, and held against never_deny, by the writer before its turn. It is taken and
// applied in slices, with a turn of the loop for others in between. What they see of it meanwhile does no
// harm: its records are in no log yet, so the dataplane hears of all of it afterwards, and an image waits
// (at_rest) until it is there as a whole.
//
// Entries that run out are requests, too.
#pragma once

#include "control/engine/background.hpp"
#include "control/engine/dynamic_entries.hpp"
#include "control/engine/entry_request.hpp"
#include "control/engine/last_error.hpp"
#include "control/engine/outcome.hpp"
#include "control/engine/rule_clock.hpp"
#include "control/engine/rule_set.hpp"
#include "control/engine/touched_log.hpp"
#include "control/push/pusher.hpp"
#include "control/store/store.hpp"
#include "weir/build/input.hpp"

#include <absl/container/btree_set.h>

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace weir::control {

class EntryGroups {
public:
  using Done = std::function<void(Result<EntriesDone>)>;

  // What it sees of the engine, which outlives it.
  struct Around {
    push::EventLoop &loop;
    push::Pusher &pusher;
    store::Store &store;
    RuleClock &clock;
    DynamicEntries &dynamic;
    TouchedLog &log;
    LastError &last_error;
    const std::shared_ptr<const RuleSet> &live, &staged; // null: none
    std::function<const RuleSet *()> at_hand;            // the rules of the change under way; null: none
    build::Target target = build::Target::cpp;
    std::size_t log_entries_max = 0;
  };
  explicit EntryGroups(Around around) : around_(std::move(around)), writer_(around_.loop, 1) {}

  // Errors: not_found, for lists and entries that are not there; refused, by a guard; those of the store.
  // Nothing was changed then.
  void add(std::string list, std::vector<NewEntry> entries, Done done, bool force,
           push::Clock::time_point since, std::string by);
  void remove(std::string list, std::vector<Prefix> prefixes, Done done, push::Clock::time_point since,
              std::string by);
  void expire(); // what has run out by now; sets the timer for what does next

  // Calls `then` while no group is under way: now, or before the next one begins.
  void at_rest(std::function<void()> then);

  [[nodiscard]] std::uint64_t writes() const noexcept { return writes_; } // groups written so far

private:
  // One request: entries to add, to delete, or those that have run out.
  struct Work {
    enum class Kind : std::uint8_t { add, remove, expire } kind = Kind::add;
    std::string list_name;
    std::string by;                // who asks; empty: weir-control itself
    std::vector<NewEntry> entries; // of a removal only their prefixes
    bool force = false;            // even beyond shortest_prefix
    Done done;
    push::Clock::time_point since = push::Clock::now();

    std::shared_ptr<const RuleSet> checked; // against which the guards were asked, and the entries are sorted
    const RuleList *list = nullptr;         // of `checked`, while its entries are taken
    std::size_t taken = 0;
    EntriesDone result;
    bool for_ever = false;
    std::string comment; // of the first entry that has one
    std::string absent;  // what a removal did not find: a sentence for each of the first
    std::size_t absent_count = 0;
  };

  // entry_requests.cpp: what a request means
  [[nodiscard]] Status begin_request(Work &work) const;
  [[nodiscard]] static Status check_guards(const RuleSet &rules, const Work &work); // any thread
  [[nodiscard]] Status check_lengths(const RuleList &list, const std::vector<NewEntry> &entries) const;
  void take_entry(Work &work);
  void note_for_audit();
  void touch(ListId list, const Prefix &prefix, std::vector<store::Touched> &touched) const;
  void answer_when_applied(EntriesDone result, push::Clock::time_point since, Done done);

  // entry_groups.cpp: when its turn comes
  void queue(Work work);
  [[nodiscard]] Work take_first();
  void next_group();
  void run_step(void (EntryGroups::*step)());
  void abandon_group(const std::string &why);
  void gather_small();
  [[nodiscard]] Status take_small(Work &work);
  void gather_large();
  void check_large(const std::shared_ptr<Work> &work);
  void take_slice();
  void gather_expired();
  void write_group();
  void group_written(const Result<std::uint64_t> &sequence);
  void apply_slice();
  void put_slice();
  void tell_dataplane();
  void answer_group(std::vector<Work> answered);
  void answer_refused();
  void end_group();
  void schedule_expiry();
  void expire_again();

  Around around_;
  std::deque<Work> waiting_;
  bool checking_ = false; // the large request in front is with the writer; nothing is under way
  bool busy_ = false;     // a group is under way, from its first entry to the last answer
  std::vector<std::pair<Work, Error>> refused_; // not yet answered
  std::vector<std::function<void()>> at_rest_;
  std::uint64_t writes_ = 0;
  push::EventLoop::TimerId expiry_timer_ = 0;

  // The group under way.
  std::vector<Work> works_; // result.sequence: how many records of the log come before its end
  std::shared_ptr<store::DynamicChange> change_;
  absl::btree_set<store::DynamicKey> keys_; // of small requests: the same key twice belongs to two groups
  std::uint64_t sequence_ = 0;              // as written
  std::size_t applied_ = 0;                 // of what change_ erases and puts
  bool logged_ = false;                     // what it touched stands in the log of deltas

  Background writer_; // last: it ends first
};

} // namespace weir::control
