// What weir-control does, without its socket: holds the rules, keeps the store and the dataplane at
// them, and carries out what people ask for. Everything runs on the loop; what takes long is handed
// to Background and comes back.
//
// Entries that people add and delete go in groups (entry_groups.hpp).
//
// Changes (engine_changes.cpp), one at a time, others wait in line:
//
//   prepare   read files or the store, guard       thread
//   build     snapshot at sequence s               loop
//             normalise, plan, image | contents    two threads, side by side
//   record    one atomic write: what goes live     loop
//   swap      stage, stream s+1.., commit          loop, see push/pusher.hpp
//   prune     what no kept generation needs        loop
//
// An overlay that is half full, or a filter in front of the allow tables that has outgrown its plan
// (engine_overlay.cpp), begins a change without new rules: an image built in the background takes up what
// the overlay holds, before it is full, with a filter that suits the entries there are now. A filter that
// errs more often than planned (engine_filter.cpp) does the same, and a stacked filter of the deny side that
// does, or whose traffic has shifted (engine_deny.cpp).
//
// Any failure leaves everything as it was: the record is written before the dataplane is asked to commit,
// and taken back when it does not. Without a dataplane the image is kept and the generation recorded; it is
// pushed when one connects.
//
// An `apply --confirm` (engine_confirm.cpp) is pending until it is confirmed or a rollback is live. What it
// goes back to, and what rollbacks in line go back to, is pinned: no change in between forgets it.
#pragma once

#include "control/base/change_tally.hpp"
#include "control/base/progress.hpp"
#include "control/build/sealed_image.hpp"
#include "control/engine/background.hpp"
#include "control/engine/candidate.hpp"
#include "control/engine/entry_groups.hpp"
#include "control/engine/last_error.hpp"
#include "control/engine/offenders.hpp"
#include "control/engine/outcome.hpp"
#include "control/engine/relief.hpp"
#include "control/engine/rule_clock.hpp"
#include "control/engine/rule_set.hpp"
#include "control/engine/traffic.hpp"
#include "control/push/pusher.hpp"
#include "control/store/store.hpp"
#include "control/watch/allow_filter_watch.hpp"
#include "control/watch/deny_filter_watch.hpp"
#include "weir/base/cpus.hpp"

#include <deque>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace weir::control {

struct EngineOptions {
  std::filesystem::path config_file;
  std::filesystem::path run;   // where dataplane.sock is
  std::filesystem::path state; // store/ lies in it
  store::Options store;
  build::Target target = build::Target::cpp;                        // of every image
  bool log = false;                                                 // say on stderr what happens
  push::Clock::duration retry_wait = std::chrono::milliseconds(50); // for the dataplane's socket
  push::Clock::duration first_load_wait =
      std::chrono::seconds(10); // after one that failed; then twice as long
  push::Clock::duration filter_look_wait =
      std::chrono::seconds(5); // how often its counters are read, and its filter is held against the plan
  push::Clock::duration traffic_save_wait =
      std::chrono::minutes(1); // how often what samples say is kept for the next life
  RuleClock::Sources clock = {};
};

inline constexpr const char *changes_note =
    "changes"; // in the store: what each list has changed within a day

class Engine {
public:
  using OnEntries = EntryGroups::Done;
  using OnChange = std::function<void(Result<ChangeDone>)>;

  Engine(push::EventLoop &loop, store::Store store, EngineOptions options);
  Engine(const Engine &) = delete;
  Engine &operator=(const Engine &) = delete;
  ~Engine() = default;

  // Takes up what the store says, or loads the configuration when it says nothing yet.
  [[nodiscard]] Status start(OnChange first_load = {});

  // ---- dynamic entries
  // `since`: from when on the time counts until they are in force.
  // `by`: who asks, for the audit log; empty: weir-control itself.
  void add(std::string list, std::vector<NewEntry> entries, OnEntries done, bool force = false,
           push::Clock::time_point since = push::Clock::now(), std::string by = {});
  void remove(std::string list, std::vector<Prefix> prefixes, OnEntries done,
              push::Clock::time_point since = push::Clock::now(), std::string by = {});

  // ---- changes
  void apply(const std::filesystem::path &config_file, std::uint64_t confirm_s, bool force, OnChange done,
             const Asked &asked = {});
  void replace(const std::string &list, const std::filesystem::path &file, bool force, OnChange done,
               const Asked &asked = {});
  void rollback(Generation generation, OnChange done, const Asked &asked = {}); // 0: the one before
  void replan(OnChange done, std::string by = {}); // the live rules once more, by what is known now
  [[nodiscard]] Result<Generation> confirm();

  // ---- what is
  [[nodiscard]] const std::shared_ptr<const RuleSet> &rules() const { return live_; } // null: nothing yet
  [[nodiscard]] const DynamicEntries &dynamic() const { return dynamic_; }
  [[nodiscard]] const store::GenerationRecord &live_record() const { return live_record_; }
  [[nodiscard]] const EngineOptions &options() const { return options_; }
  [[nodiscard]] std::optional<std::uint64_t> pending_confirm_s() const;
  // While an apply that nobody confirmed is being taken back: how that goes. Empty: it is not.
  [[nodiscard]] std::string taking_back() const;
  [[nodiscard]] Generation revert_to() const { return revert_to_; } // 0: nothing is pending
  [[nodiscard]] const LastError &last_error() const {
    return last_error_;
  } // nothing: the last change went well
  [[nodiscard]] const ChangeTally &changes() const { return changes_; }
  [[nodiscard]] const SwapNote &last_swap() const { return last_swap_; }
  [[nodiscard]] std::string pages() const { return pages_; }            // of the last image built here
  [[nodiscard]] std::string doing() const;                              // the change at hand; empty: none
  [[nodiscard]] Progress::Now progress() const;                         // of the change at hand
  [[nodiscard]] std::size_t in_line() const { return waiting_.size(); } // changes behind it
  [[nodiscard]] std::uint64_t started_at() const { return started_at_; }
  [[nodiscard]] Traffic &traffic() { return traffic_; }
  // What of each list has changed within the day; another object after each change.
  [[nodiscard]] std::shared_ptr<const rules::ChangeAccount> spent() const { return spent_; }
  [[nodiscard]] const RuleClock &clock() const { return clock_; }
  [[nodiscard]] std::uint64_t entry_writes() const { return entries_.writes(); } // groups written so far
  [[nodiscard]] const watch::DenyFilterWatch &deny_watch() const { return deny_watch_; }
  [[nodiscard]] const Relief &relief() const { return relief_; }
  [[nodiscard]] Offenders &offenders() { return offenders_; }
  [[nodiscard]] double build_ns_per_key() const {
    return build_ns_per_key_;
  } // of the last build; 0: none yet
  // What has to wait for more than weir does for traffic, in the last minute or two.
  struct HeldBack {
    std::uint64_t samples = 0; // not held against the rules
    std::uint64_t reliefs = 0; // sources denied in error without a place in the overlay
    std::vector<workload::BusyNetworks::Row> networks; // where both came from, at most three
    std::string image;                                 // why one should be built; empty: none waits
    std::uint64_t image_wait_s = 0;
  };
  [[nodiscard]] HeldBack held_back();
  void say(const std::string &sentence) const; // in the log
  // Notes in the audit log what somebody did beside rules and entries, which are noted with what they change.
  void audit(std::string by, std::string what, std::string detail = {});
  store::Store &store() { return store_; }
  push::Pusher &pusher() { return pusher_; }
  Background &background() { return background_; }
  push::EventLoop &loop() { return loop_; }

  void save_traffic() { traffic_.save(deny_watch_); } // at a clean end, and now and then

private:
  struct Change {
    std::string cause;
    std::string by;                             // who asked, beside the cause of the generation
    std::function<Result<Candidate>()> prepare; // none: the live rules once more
    bool force = false;
    bool is_rollback = false; // to `to`, or the one before (0): looked up when its turn comes
    bool is_revert = false;   // of an apply that was not confirmed in time
    std::uint64_t confirm_s = 0;
    Generation to;
    OnChange done;
    bool is_prepared = false; // and prepare, with the files that came with the request, is gone
    [[nodiscard]] bool has_new_rules() const { return is_rollback || is_prepared || prepare; }

    push::Clock::time_point started;
    Candidate candidate;
    std::shared_ptr<const RuleSet> rules;
    Generation generation, replaces;
    unsigned builds = 0;
    std::optional<std::vector<std::uint64_t>> versions; // of contents that it wrote
    std::optional<build::SealedImage> image;
    std::string counts_json;
    store::GenerationRecord record; // what is in the store when the swap begins
    bool recorded = false;
    std::uint64_t confirm_deadline_s = 0;
    ChangeDone result;
  };
  struct Built {
    build::SealedImage image;
    std::string counts_json;
    std::vector<std::string> warnings;
  };
  using BuiltPtr = std::shared_ptr<Built>;
  struct Joint;

  // engine.cpp
  [[nodiscard]] Status load_store();
  void load_first(OnChange done);
  void load_first_again();
  void keep_off_workers();
  void watch_traffic();
  [[nodiscard]] image::Delta delta(std::uint64_t sequence, wire::Target target) const;

  // engine.cpp
  void watch_offenders();
  void build_for_offenders(std::string why);
  void ban(const std::string &list, NewEntry entry);

  // engine_overlay.cpp
  void image_fills();
  void look_at_image();

  // engine_filter.cpp
  void watch_filter();
  void look_at_filter();
  void look_at_counters(const std::string &report);
  void tell_of_hot_addresses();

  // engine_deny.cpp
  void begin_watches();
  void begin_watches(const plan::Plan &plan);
  void watch_deny_filter();
  void watch_intervals();
  void look_at_deny_filter();
  void replan_for(const watch::DenyFilterWatch::Reason &reason);

  // engine_changes.cpp
  void submit(Change change);
  [[nodiscard]] Result<Candidate> guarded(Result<Candidate> candidate, const rules::Bundle *files);
  void next();
  void begin_change();
  void prepared(Result<Candidate> candidate);
  [[nodiscard]] Status check_left_lists();
  [[nodiscard]] Status take_number();
  void build();
  void build_now();
  void built(Joint &joint);
  void swap();
  void swapped(const Result<push::Swapped> &swapped);
  void finish(std::optional<Error> error);
  void want_image(const std::string &why);
  void ask_for_image(const std::optional<watch::Reason> &reason);
  template <class Step> void in_change(Step step); // what it throws ends the change with an error

  // engine_record.cpp
  [[nodiscard]] store::GenerationRecord record_of(const Change &change) const;
  [[nodiscard]] std::optional<store::AuditRecord> audit_of(const Change &change) const;
  [[nodiscard]] Status record();
  void take_back();
  void take_back_undone();
  void go_live(bool in_force);
  void account_for_change();
  void prune();
  [[nodiscard]] std::set<Generation> pinned() const;
  void forget_left_lists();

  // engine_confirm.cpp
  [[nodiscard]] Status look_up_target();
  [[nodiscard]] std::string unconfirmed() const; // the note in the store
  void resume_confirm();
  void start_confirm(Generation revert_to, std::uint64_t deadline_s);
  void wait_for_confirm(push::Clock::duration wait);
  void revert();
  void end_confirm();

  push::EventLoop &loop_;
  store::Store store_;
  EngineOptions options_;
  push::Pusher pusher_;

  const std::vector<unsigned> cpus_ = cpus_allowed(); // when the program started
  std::vector<unsigned> cpus_now_ = cpus_;
  std::shared_ptr<const RuleSet> live_, staged_;
  store::GenerationRecord live_record_;
  RuleClock clock_;
  std::shared_ptr<const rules::ChangeAccount> spent_ = std::make_shared<const rules::ChangeAccount>();
  DynamicEntries dynamic_;
  TouchedLog log_;

  std::deque<Change> waiting_;
  Progress progress_;                       // of the one at hand
  std::unique_ptr<Change> change_;          // the one at hand
  std::optional<build::SealedImage> ready_; // of the live generation, built while no dataplane was there
  push::EventLoop::TimerId retry_timer_ = 0, confirm_timer_ = 0, first_load_timer_ = 0;
  push::Clock::duration push_retry_wait_ = std::chrono::milliseconds(500);
  Generation revert_to_;
  std::uint64_t confirm_deadline_s_ = 0;
  unsigned reverts_tried_ = 0;
  std::string revert_error_;
  std::set<Generation> undone_; // generations that the store still has to forget
  push::EventLoop::TimerId undo_timer_ = 0;

  LastError last_error_;
  std::string pages_;
  ChangeTally changes_;
  SwapNote last_swap_;
  Traffic traffic_{store_};
  bool looking_at_image_ = false, reading_counters_ = false;
  std::set<Address> told_late_; // in generation told_generation_
  Generation told_generation_;
  watch::ImageBudget image_budget_;
  push::EventLoop::TimerId image_timer_ = 0; // looks again when the budget allows
  struct Waiting {
    std::string why;
    push::Clock::time_point until{};
  } image_waits_;
  watch::AllowFilterWatch allow_watch_;
  watch::DenyFilterWatch deny_watch_;
  push::Clock::time_point deny_replan_not_before_{};
  double build_ns_per_key_ = 0;
  std::uint64_t started_at_ = 0;
  EntryGroups entries_;
  Relief relief_{{loop_, pusher_, store_, live_, staged_, live_record_, dynamic_, deny_watch_}};
  Offenders offenders_{
      {.loop = loop_,
       .pusher = pusher_,
       .store = store_,
       .background = background_,
       .live = live_,
       .now_s = [this] { return clock_.now_s(); },
       .build_image = [this](std::string why) { build_for_offenders(std::move(why)); },
       .add = [this](const std::string &list, NewEntry entry) { ban(list, std::move(entry)); },
       .say = [this](const std::string &sentence) { say(sentence); }}};
  Background background_; // these three last, so that their threads have ended before anything else goes
};

} // namespace weir::control
