// Requests for dynamic entries on their way through the engine. Private to engine_entries.cpp and
// engine_groups.cpp.
#pragma once

#include "control/engine/engine.hpp"

#include <absl/container/btree_set.h>

namespace weir::control {

// One request: entries to add, to delete, or those that have run out.
struct Engine::EntryWork {
  enum class Kind : std::uint8_t { add, remove, expire } kind = Kind::add;
  std::string list_name;
  std::vector<NewEntry> entries; // of a removal only their prefixes
  bool force = false;            // even beyond shortest_prefix
  OnEntries done;
  push::Clock::time_point since = push::Clock::now();

  std::shared_ptr<const RuleSet> checked; // against which the guards were asked, and the entries are sorted
  const RuleList *list = nullptr;         // of `checked`, while its entries are taken
  std::size_t taken = 0;
  EntriesDone result;
  bool for_ever = false;
  std::string absent; // what a removal did not find: a sentence for each of the first
  std::size_t absent_count = 0;
};

struct Engine::Entries {
  explicit Entries(push::EventLoop &loop) : writer(loop, 1) {}

  std::deque<EntryWork> waiting;
  bool checking = false; // the large request in front is with the writer; nothing is under way
  bool busy = false;     // a group is under way, from its first entry to the last answer

  [[nodiscard]] EntryWork take_first() {
    EntryWork first = std::move(waiting.front());
    waiting.pop_front();
    return first;
  }

  // The group.
  std::vector<EntryWork> works; // result.sequence: how many records of the log come before its end
  std::shared_ptr<store::DynamicChange> change;
  absl::btree_set<store::DynamicKey> keys; // of small requests: the same key twice belongs to two groups
  std::uint64_t sequence = 0;              // as written
  std::size_t applied = 0;                 // of change->put
  bool logged = false;                     // what it touched stands in the log of deltas
  std::vector<std::pair<EntryWork, Error>> refused; // not yet answered
  std::vector<std::function<void()>> at_rest;

  Background writer; // last: it ends first
};

} // namespace weir::control
