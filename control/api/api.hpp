// What weirctl asks weir-control: one JSON object a line over a SOCK_STREAM unix socket
// (<paths.run>/control.sock), one JSON line back for each, in order.
//
//   -> {"verb":"list_add","list":"bans","entries":[{"prefix":"203.0.113.9","ttl":600,"comment":"ssh"}]}
//   <- {"ok":true, ...}   or   {"ok":false,"code":"refused","message":"..."}      (code: name_of(Errc))
//
// A request is held against a table of its verb's fields (fields.cpp) before anything is done: a field of
// another type or out of its range, one that is missing and one that nobody knows are refused with a
// sentence.
//
// No file that a request names is opened here: who asks reads it with its own rights and passes what it says.
// `config` and `file` are names, for messages and for resolving the lists of a configuration; with them goes
// one descriptor (SCM_RIGHTS), a sealed memory file with the configuration and every list that it names, or
// with the one file (control/rules/bundle.hpp). Without `config` the daemon's own configuration is meant.
// list_export takes a memory file to write to.
//
// list_add, list_del, list_replace, apply, confirm, rollback, offender_mark, offender_unmark, offender_train and plan with `apply` need the right to change,
// all others the right to look (access.hpp); who has neither is `refused`. Each change is logged with uid,
// gid, pid.
//
// Fields of each verb's request (? may be left out), then of its answer besides ok:
//
// status        -
//               generation (0: none yet), previous, applied_at, digest, policy{match, default, non_ip,
//               link_local, malformed, tunnels, no_image}, mode, counts{ipv4_hosts, ipv4_prefixes, ipv6,
//               allow}, memory{image_bytes, kind, packets, resident_bytes}, plan{predictor, front_filter,
//               predicted_lines, measured_lines?, measured_hit_ratio?, trained{}?, allow_filter{chosen, why,
//               confirm, keys, planned_keys?, bytes?, predicted{weighted, plain, weighted_churned,
//               plain_churned}?, measured{rate, denied_rate, table_asked, ...}?, ...}, deny_filter{chosen,
//               why, mode, samples, base?, keys?, planned_keys?, bytes?, bits_per_key?, known_negatives?,
//               hot?, layers[]?, predicted{psi, efpr, efpb, known, single}?, built{efpr, efpb, rates[],
//               ...}?, measured{asked, denied, checked, errors, relieved, efpr?, psi?, variation?, drift?}?,
//               advice{}?}, planned_at?, built_for?}, last_swap{ns, at, lost}, dataplane{connected, in_sync,
//               pid, sequence, generation}, store{bytes, sequence, id, full, free_bytes?}, uptime_s,
//               held_back{samples, reliefs, networks[{network, samples}], image?, image_wait_s?} (within two
//               minutes; image: why one should be built),
//               pending_confirm_s (0: nothing waits), taking_back (how it goes, when nobody confirmed; or
//               null), doing (the change at hand, or empty), progress{} (as below), error (why the last change or push failed, or
//               empty).
//               dataplane.answers is false while no counters come; dataplane.silence? says that it hangs,
//               dataplane.trouble? why control cannot connect to it
// list_show     list?
//               lists[{name, action, format, v4_hosts, v4_prefixes, v6, dynamic, hits, updated_at,
//               ttl}]; with `list` also entries[{prefix, comment, added_at, expires_at}] (first 1000)
// list_add      list, entries[prefix or {prefix, ttl? (0: for ever; at most a hundred years), comment?}]
//               added, refreshed, sequence, in_force, in_force_ms (only when in force), expires_at?,
//               note?; comments have at most 255 bytes, and control characters in them become blanks
// list_del      list, entries[prefix or {prefix}]
//               deleted, sequence, in_force, in_force_ms, note?; an absent one: not_found, nothing deleted
// list_replace  list, file, force?
//               added, removed, and what apply answers
// list_export   list; a memory file goes along
//               entries, written to it as one line each
// check         config?
//               lists[{name, action, format, v4_hosts, v4_prefixes, v6}], conflicts[], warnings[];
//               or one error with every fault, one a line
// plan          config? apply? (then no config; answers what apply answers)
//               candidates[{predictor, front_filter, bytes, predictor_bytes, front_bytes, ns_per_lookup,
//               lines_per_lookup, chosen, why_not}], chosen{}, why, allow_filter{}, calibration, hit_ratio,
//               hit_ratio_measured, deny_filter{}, build_ms, build_from, tables[], memory{before_bytes,
//               after_bytes, needed_bytes, control_peak_bytes, ...}, control{v4_entry_bytes, v6_entry_bytes, entries_bytes} (of
//               what list_add added); in generations also trained{train_ms, bits_per_key, layers, exact}
// diff          config?, or from, to? (generations that are kept; without `to` the rules in force)
//               lists[{name, added, removed, examples[]}], settings[] (lines of the configuration that only one of both
//               has, "-" before the old and "+" before the new)
// apply         config?, confirm_s?, force?
//               generation, live_ms, swap_ns, lost, in_force, lists[{name, added, removed}],
//               warnings[], reverts_at?, note?, dataplane{connected}
// confirm       -
//               generation
// rollback      generation?
//               generation, from, to, live_ms, swap_ns, lost, in_force, note?
// generations   -
//               generations[{generation, applied_at, digest, cause, live, counts{}, plan{},
//               image_bytes, build_ms}]
// explain       address, or packet (hexadecimal digits of a frame, of which the first 2,048 bytes are enough) and port? (the
//               one that it enters: needed under `match: remote`); config? or generation? (what those rules would say;
//               by: which; in_force: whether packets are judged by them)
//               generation, verdict, reason, list?, entry?, comment?, added_at?, expires_at?,
//               path[{step, text}], address? (of a packet: the one that decided, or was judged first),
//               held_by[{list, action, entry, dynamic, comment?, added_at?, expires_at?}] (every
//               entry around the address, the one that decides first; at most 100), held_by_total
// log           n? (50; with since 10,000), list?, since? (seconds since the epoch)
//               changes[{at, by, what, list?, detail, generation?}], oldest first. by: "uid 1000", or "weir-control"
// stats         -
//               the dataplane's report, with verdicts[{verdict, reason, family, packets}],
//               lists[{name, hits, action?, entries?, updated_at?}], generations[{generation, packets}] as rows
// drops         -
//               reasons[{reason, packets}], lists[{name, hits}],
//               rules[{name, packets, passed, dropped}], recent[{address, list, count}]
// drops_follow  from? (0: from now on)
//               next (ask from there on; the dataplane looks for five seconds after each question), overwritten (asked for, and
//               not kept any more), packets[{number, at_ns, port, queue, generation, reason, list?, address?, entry?, comment?,
//               length, left_out (dropped before it and not seen), bytes? (hexadecimal; not for who may only look)}], at
//               most 256
// top           n?
//               addresses[{address, packets, packets_at_most, verdict, list?}], from samples, one of `sample_one_in` packets;
//               older ones count half each ten minutes. stages[{worker, receive, parse, lookup, judge, send, count}]: cycles a
//               packet since the dataplane began. While it answers also what stats answers, counted at `at_ns` of the
//               machine's monotonic clock: two answers give rates
// offenders     -
//               filter (none: nothing is remembered; then no more), element, action, gap, turn, model, cell_bits, told,
//               cleared, loaded, marks, forgotten, wanted{accepted, missed}, predicted{}, groups[{below, answer, bits, told,
//               other, in_use}], warning, learned{samples{told, others}, bans{added, left_out}, training, why_not, model{number,
//               trained_at, element, told, others, auc, bytes, looks_at[{feature, share}]}?}, counters{}?
// offender_mark, offender_unmark
//               entries[address], 1024 at most
//               done, marks
// offender_train -
//               what `learned` of offenders has
// offender_model - (a memory file comes with it, for the model: control/offenders/model_file.hpp)
//               model (its number), bytes
// ping          -
//               pid, generation
// progress      -
//               doing (the change at hand, or empty), in_line (changes behind it), phase (or empty), done, total (0: not known), unit (of
//               both: bytes of text, entries, or empty), entries (read so far), phase_ms, expected_ms (of the phase; 0: not
//               known). Costs the change nothing
//
// Times are seconds since the epoch. `lost` is rx - tx - counted drops, and is 0 or a bug. Without a
// dataplane, with one that hangs, and while no image can be brought live, changes are stored and answered
// with in_force false and a note; what only it can answer (explain, stats, drops) is `unreachable` within a
// second.
//
// A request may be answered later. handle() holds its fields against the table of fields.hpp first: a verb
// finds those that it needs, each of its type and in its range.
#pragma once

#include "control/api/access.hpp"
#include "control/api/entry_reader.hpp"
#include "control/api/log_limit.hpp"
#include "control/api/request.hpp"
#include "control/engine/engine.hpp"
#include "control/engine/samples.hpp"

#include <nlohmann/json_fwd.hpp>

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace weir::control {

using Json = nlohmann::json;

// What a request is about: for the right that it needs, and for the log.
struct Ask {
  std::string verb, list = {};
  std::size_t entries = 0;
  bool applies = false; // plan --apply
};
[[nodiscard]] Ask ask_of(const Json &fields);

class Api {
public:
  explicit Api(Engine &engine, Access access = {});

  void handle(Request request, const std::function<void(std::string)> &reply);

  // How long a question to the dataplane may stay open: what control knows by itself is answered then.
  push::Clock::duration dataplane_wait = std::chrono::milliseconds(700);
  push::Clock::duration entries_wait =
      std::chrono::seconds(3); // then the dataplane is asked whether it lives

private:
  using Reply = std::function<void(Result<Json>)>;

  [[nodiscard]] static Result<std::shared_ptr<const Json>> read(const std::string &line);
  void run(const Result<std::shared_ptr<const Json>> &fields, const Caller &caller, const Reply &answer);
  void run_entries(Result<EntryRequest> request, Caller caller, const Reply &answer); // of a long line
  // admit.cpp: how to reply to a request that may be carried out, or why it may not
  [[nodiscard]] Result<Reply> admit(const Ask &ask, Caller &caller, Reply reply);

  // verbs_status.cpp
  void status(const Json &request, const Caller &caller, const Reply &reply);
  void ping(const Json &request, const Caller &caller, const Reply &reply);
  void progress(const Json &request, const Caller &caller, const Reply &reply);
  void generations(const Json &request, const Caller &caller, const Reply &reply);

  // verbs_counters.cpp
  void stats(const Json &request, const Caller &caller, const Reply &reply);
  void drops(const Json &request, const Caller &caller, const Reply &reply);
  void top(const Json &request, const Caller &caller, const Reply &reply);

  // verbs_lists.cpp
  void list_show(const Json &request, const Caller &caller, const Reply &reply);
  void list_add(const Json &request, const Caller &caller, const Reply &reply);
  void list_del(const Json &request, const Caller &caller, const Reply &reply);
  void change_entries(EntryRequest request, const Reply &reply);
  void list_replace(const Json &request, const Caller &caller, const Reply &reply);
  void list_export(const Json &request, const Caller &caller, const Reply &reply);

  // verbs_explain.cpp
  void explain(const Json &request, const Caller &caller, const Reply &reply);
  void explain_live(const Json &request, const Caller &caller, const Reply &reply);
  void explain_others(const Json &request, const Caller &caller, const Reply &reply);

  // verbs_drops.cpp
  void drops_follow(const Json &request, const Caller &caller, const Reply &reply);

  // verbs_log.cpp
  void log(const Json &request, const Caller &caller, const Reply &reply);

  // verbs_rules.cpp
  void check(const Json &request, const Caller &caller, const Reply &reply);
  void plan(const Json &request, const Caller &caller, const Reply &reply);
  void diff(const Json &request, const Caller &caller, const Reply &reply);
  void diff_generations(const Json &request, const Caller &caller, const Reply &reply);
  void apply(const Json &request, const Caller &caller, const Reply &reply);
  void confirm(const Json &request, const Caller &caller, const Reply &reply);
  void rollback(const Json &request, const Caller &caller, const Reply &reply);

  // verbs_offenders.cpp
  void offenders(const Json &request, const Caller &caller, const Reply &reply);
  void offender_mark(const Json &request, const Caller &caller, const Reply &reply); // and unmark
  void offender_train(const Json &request, const Caller &caller, const Reply &reply);
  void offender_model(const Json &request, const Caller &caller, const Reply &reply);

  // dataplane.cpp: the dataplane's answer to {"what": ...}, or after a while that there is none.
  void ask_dataplane(const std::string &question, std::function<void(Result<std::string>)> then);
  // Its counters; null when there are none, for a reason that why_no_counters() says.
  void ask_stats(const std::function<void(const Json &)> &then);
  [[nodiscard]] std::string why_no_counters() const;
  // Around the reply to a change of entries, which comes when the dataplane has it in force: should that
  // hang, the answer is that the change is stored.
  [[nodiscard]] Reply in_time(Reply reply);
  void look_after_entries();
  [[nodiscard]] Json in_rows(const Json &report) const;
  [[nodiscard]] Json hits_of_lists(const Json &report) const;
  [[nodiscard]] std::string list_name(ListId number) const;
  [[nodiscard]] std::string list_of(const SampleTable::Row &row) const;
  [[nodiscard]] Engine::OnChange change_reply(Reply reply, std::string list = {});

  Engine &engine_;
  Access access_;
  LogLimit refusals_logged_;
  const std::shared_ptr<int> entries_waiting_ = std::make_shared<int>(); // held by replies that have not come
  bool looking_after_entries_ = false;
  std::optional<push::Clock::time_point> silent_since_; // the dataplane lets a question wait
};

} // namespace weir::control
