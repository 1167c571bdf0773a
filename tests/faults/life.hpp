// A scripted life of a pair, in a folder of its own: steps that change the rules or restart a process,
// and a model that knows what was acknowledged. A life can begin before any step, from a copy of what a
// quiet life had left there.
//
// The law that it checks: whatever failed in a step, the rules in force, the store and the kept image are
// those of one acknowledged state, completely.
#pragma once

#include "tests/faults/faults.hpp"
#include "tests/faults/power_cut.hpp"
#include "tests/support/process.hpp"

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace weir::fault {

// List by name -> its entries.
using Rules = std::map<std::string, std::set<std::string>>;
[[nodiscard]] bool denies(const Rules &rules, const std::string &address);

struct Answer {
  std::optional<int> status; // of weirctl; nothing: it had no answer in time
  std::string out, err;
  double seconds = 0;
  [[nodiscard]] bool ok() const { return status == 0; }
};

class Life;

// One request and what it means for the rules. `settled` is what has to become true by itself after
// the answer (a rebuild, a revert, an expiry), with its own meaning.
struct Request {
  std::vector<std::string> words;
  std::function<void(Rules &)> effect = {};
  std::function<bool(Life &)> settled = {};
  std::function<void(Rules &)> settled_effect = {};
};

enum class Restart : std::uint8_t { none, control, dataplane, first };

struct Step {
  std::string name;
  Restart restart = Restart::none; // with the fault armed; before the requests
  std::function<void(const Life &)> prepare = {};
  std::vector<Request> requests = {};
};
[[nodiscard]] const std::vector<Step> &script();

class Life {
public:
  Life();
  ~Life();
  Life(const Life &) = delete;
  Life &operator=(const Life &) = delete;

  struct Quiet {
    bool record = false; // what both processes do to files
    std::size_t steps_max = SIZE_MAX;
  };
  // Lives through the steps without a fault and without a restart in between, keeps a copy before each, and
  // counts the calls. A sentence when something is wrong.
  std::string live_quietly(const Quiet &quiet);
  [[nodiscard]] std::uint64_t calls_in(std::size_t step, Process process, Kind kind) const;

  // One step under a fault, and everything that has to hold afterwards. Empty: it holds.
  std::string run(std::size_t step, const Fault &fault);
  // The same with control under strace and what it injects ("fdatasync:error=EIO:when=2").
  std::string run_traced(std::size_t step, const std::vector<std::string> &strace);
  [[nodiscard]] std::uint64_t calls_since_start(Kind kind) const { // of control, in the last of these
    return traced_calls_.at(static_cast<std::size_t>(kind));
  }
  [[nodiscard]] bool hit() const { return hit_; } // the fault of the last run was given
  [[nodiscard]] const std::string &story() const { return story_; }

  // ---- power cuts
  [[nodiscard]] std::filesystem::path record(Process process) const;
  void forget_processes() { end_both(); }
  // The process alone, on what was kept of the first `count` events.
  std::string come_up(Process process, const std::vector<Event> &events, std::size_t count);

  // ---- for steps
  [[nodiscard]] const std::filesystem::path &folder() const { return folder_.path(); }
  [[nodiscard]] std::filesystem::path file_of(unsigned version) const; // a content of the list "drop"
  [[nodiscard]] std::filesystem::path
  flows_of(unsigned version) const; // that belong to a packet rule beside it
  void write_config(unsigned version, const std::string &more_lists = {}) const;
  Answer ctl(std::vector<std::string> words, std::chrono::milliseconds time_max = std::chrono::seconds(20));
  [[nodiscard]] std::optional<Rules> exported(); // what control says is in its lists
  [[nodiscard]] std::uint64_t generation();
  [[nodiscard]] std::uint64_t generation_before() const { return generation_before_; } // the step
  [[nodiscard]] bool pending();

private:
  struct Before { // a step
    std::filesystem::path copy;
    Rules rules;
    std::vector<Rules> history;                          // acknowledged so far, and what was in between
    std::vector<std::array<std::uint64_t, kinds>> calls; // by process
  };

  void start(Process process);
  void end(Process process, int signal);
  void end_both();
  [[nodiscard]] test::Child &child(Process process) {
    return process == Process::control ? control_ : dataplane_;
  }
  [[nodiscard]] FaultBlock &block(Process process) {
    return process == Process::control ? *of_control_ : *of_dataplane_;
  }
  [[nodiscard]] std::filesystem::path log(Process process) const;
  void keep_copy(std::size_t step);
  void restore(std::size_t step);
  [[nodiscard]] bool ready(std::chrono::milliseconds time_max);
  std::string perform(const Step &step, const Fault *fault);
  std::string after_the_fault(std::size_t step, const Fault &fault);
  std::string look(const std::string &when);
  std::string look_at_kept_image();
  std::string start_anew();
  std::string change_again(const std::string &when);
  std::string crashed(const Fault *fault);
  [[nodiscard]] bool given(Process process) { return !tracer_.empty() || block(process).given() > 0; }
  [[nodiscard]] std::set<std::string> addresses() const;
  // What the dataplane does with each: "pass", "drop", or "no_image". Nothing: it does not answer.
  using Verdicts = std::map<std::string, std::string>;
  [[nodiscard]] std::optional<Verdicts> verdicts(std::set<std::string> of) const;

  test::TempDir folder_;
  std::unique_ptr<FaultBlock> of_control_, of_dataplane_;
  test::Child control_, dataplane_;
  std::vector<Before> before_;
  std::vector<Rules> allowed_; // any of these may be in force now
  std::vector<Rules> history_;
  std::function<void(Rules &)> may_still_; // happen by itself
  bool in_doubt_ = false; // control said of the last change that only its next start shows whether it is kept
  std::array<std::uint64_t, kinds> traced_calls_{};
  std::vector<std::string> tracer_; // in front of weir-control
  bool kept_image_ = false, hit_ = false, recording_ = false;
  std::vector<std::vector<Rules>> at_mark_; // what may be in force, by the step number of records
  std::uint64_t generation_before_ = 0;
  unsigned probes_ = 0;
  std::string story_;
};

} // namespace weir::fault
