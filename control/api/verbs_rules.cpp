#include "control/api/api.hpp"
#include "control/api/request_files.hpp"
#include "control/base/line_diff.hpp"
#include "control/build/list_actions.hpp"
#include "control/build/packet_rules.hpp"
#include "control/engine/kept.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <map>

namespace weir::control {

namespace {

// Rules read from a configuration to look at them, with what the store holds beside them. Nothing
// is written, and no list number is used up.
struct Preview {
  Candidate candidate;
  rules::Effective effective;
  std::map<ListId, std::uint64_t> dynamic; // entries added by hand, by number of the live list
  Result<std::vector<std::string>> guards; // their warnings, or why apply will refuse this

  [[nodiscard]] std::uint64_t dynamic_of(ListId list) const {
    const auto at = dynamic.find(list);
    return at == dynamic.end() ? 0 : at->second;
  }
};
using PreviewPtr = std::shared_ptr<Preview>;

Result<PreviewPtr> preview(const std::filesystem::path &file, const rules::Bundle *files, Snapshot snapshot,
                           const std::shared_ptr<const RuleSet> &live, store::Store &store,
                           const rules::ChangeAccount &spent, std::uint64_t now_s) {
  auto text = TRY(read_text(file, files));
  const auto config = TRY(config::parse(text, file));
  auto candidate = TRY(read_candidate(config, std::move(text), live.get(), store, files));
  snapshot.rules = candidate.rules;
  auto effective = TRY(effective_of(snapshot));
  auto guards = check_changes(candidate, live.get(), {.files = files, .spent = &spent, .now_s = now_s});
  return std::make_shared<Preview>(
      Preview{std::move(candidate), std::move(effective), {}, std::move(guards)});
}

void show_guards(Json &answer, const Preview &seen) {
  Json &warnings = answer["warnings"];
  if (!seen.guards) warnings.push_back("apply will refuse this: " + seen.guards.error().message);
  if (seen.guards)
    for (const std::string &warning : *seen.guards) warnings.push_back(warning);
}

Json diff_json(const ListDiff &diff) {
  Json examples = Json::array();
  for (const std::string &text : diff.change.added_examples) examples.push_back("+" + text);
  for (const std::string &text : diff.change.removed_examples) examples.push_back("-" + text);
  return {{"name", diff.name},          {"before", diff.change.before},   {"after", diff.change.after},
          {"added", diff.change.added}, {"removed", diff.change.removed}, {"examples", std::move(examples)}};
}

// Flows of the files of packet rules, of those that differ: one without a file has none.
Json flow_diffs(const RuleSet *before, const RuleSet &after) {
  Json rules = Json::array();
  const rules::FlowBody none;
  const auto add = [&](const std::string &rule, const rules::RuleFlows *was, const rules::RuleFlows *is) {
    if (was != nullptr && is != nullptr && was->body == is->body) return;
    const rules::FlowChange change =
        rules::flow_change(was != nullptr ? *was->body : none, is != nullptr ? *is->body : none);
    if (change.added + change.removed == 0) return;
    Json examples = Json::array();
    for (const std::string &text : change.added_examples) examples.push_back("+" + text);
    for (const std::string &text : change.removed_examples) examples.push_back("-" + text);
    rules.push_back({{"name", rule},
                     {"before", change.before},
                     {"after", change.after},
                     {"added", change.added},
                     {"removed", change.removed},
                     {"examples", std::move(examples)}});
  };
  for (const rules::RuleFlows &one : after.flows)
    add(one.rule, before != nullptr ? before->flows_of(one.rule) : nullptr, &one);
  if (before != nullptr)
    for (const rules::RuleFlows &one : before->flows)
      if (after.flows_of(one.rule) == nullptr) add(one.rule, &one, nullptr);
  return rules;
}

// What reading the daemon's own files says of them is not for everybody who may ask.
Result<Json> without_lines(Result<Json> answer, const Engine &engine) {
  if (answer) {
    if (const auto warnings = answer->find("warnings"); warnings != answer->end())
      for (Json &warning : *warnings) // below its sentence stand lines of files
        if (const auto &text = warning.get_ref<const std::string &>(); text.contains('\n'))
          warning = text.substr(0, text.find('\n'));
    return answer;
  }
  const Errc code = answer.error().code;
  if (code != Errc::parse && code != Errc::config && code != Errc::io) return answer;
  engine.say("asked for by somebody who may not change anything: " + answer.error().message);
  return fail(code,
              fmt::format("{}: weir-control's own configuration or a list of it cannot be read; its log "
                          "says why, and so it does to those who may change it",
                          engine.options().config_file.string()));
}

// Runs `work(preview)` on a background thread and answers with its JSON.
template <class Work>
void run_preview(Engine &engine, const Json &request, const Caller &caller,
                 std::function<void(Result<Json>)> reply, Work work) {
  const std::string named = request.value("config", "");
  auto files = files_of(caller, named);
  if (!files) return reply(std::unexpected(std::move(files.error())));
  const bool all_is_said = !named.empty() || caller.may_change;
  const std::filesystem::path file =
      named.empty() ? engine.options().config_file : std::filesystem::path(named);
  const std::shared_ptr<const RuleSet> live = engine.rules();
  Snapshot snapshot;
  std::map<ListId, std::uint64_t> dynamic;
  if (live) {
    snapshot = take_snapshot(live, engine.dynamic(), 0);
    for (const RuleList &list : live->lists)
      if (const std::uint64_t entries = engine.dynamic().counts(list.number).total(); entries > 0)
        dynamic.emplace(list.number, entries);
  }
  engine.background().run(
      [file, files = std::move(*files), snapshot = std::move(snapshot), live, &store = engine.store(),
       spent = engine.spent(), now = engine.clock().now_s(), dynamic = std::move(dynamic),
       work = std::move(work)]() mutable -> Result<Json> {
        const auto seen = preview(file, files.get(), std::move(snapshot), live, store, *spent, now);
        if (!seen) return std::unexpected(seen.error());
        (*seen)->dynamic = std::move(dynamic);
        return work(**seen);
      },
      [reply = std::move(reply), all_is_said, &engine](Result<Json> answer) {
        reply(all_is_said ? std::move(answer) : without_lines(std::move(answer), engine));
      });
}

} // namespace

Engine::OnChange Api::change_reply(Reply reply, std::string list) {
  return [this, reply = std::move(reply), list = std::move(list)](Result<ChangeDone> done) {
    if (!done) return reply(std::unexpected(done.error()));
    Json answer{{"generation", done->generation}, {"live_ms", done->live_ms},
                {"in_force", done->in_force},     {"lost", 0},
                {"warnings", done->warnings},     {"lists", Json::array()}};
    for (const ListDiff &diff : done->lists) {
      answer["lists"].push_back(diff_json(diff));
      if (diff.name == list) {
        answer["added"] = diff.change.added;
        answer["removed"] = diff.change.removed;
      }
    }
    if (done->from != 0) answer["from"] = done->from;
    if (done->to != 0) answer["to"] = done->to;
    if (done->in_force) answer["swap_ns"] = done->swap_ns;
    if (done->reverts_at != 0) answer["reverts_at"] = done->reverts_at;
    if (!done->note.empty()) answer["note"] = done->note;
    answer["dataplane"] = {{"connected", engine_.pusher().channel().connected()}};
    if (!done->in_force) return reply(std::move(answer));
    ask_stats([answer = std::move(answer), reply](const Json &report) mutable {
      if (report.is_object()) answer["lost"] = report.value("lost", Json(0));
      reply(std::move(answer));
    });
  };
}

void Api::check(const Json &request, const Caller &caller, const Reply &reply) {
  run_preview(engine_, request, caller, reply, [](const Preview &seen) -> Result<Json> {
    const RuleSet &rules = *seen.candidate.rules;
    TRY(rules::check_not_empty(rules.config, seen.effective, false));
    Json answer{
        {"lists", Json::array()}, {"conflicts", Json::array()}, {"warnings", seen.candidate.warnings}};
    for (const RuleList &list : rules.lists) {
      answer["lists"].push_back(
          {{"name", list.definition.name},
           {"action", name_of(list.definition.action)},
           {"format", list.format.empty() ? (list.definition.dynamic ? "dynamic" : "inline") : list.format},
           {"v4_hosts", list.body->counts.v4_hosts},
           {"v4_prefixes", list.body->counts.v4_prefixes},
           {"v6", list.body->counts.v6}});
      if (list.definition.on_match != RuleAction::drop)
        answer["lists"].back()["on_match"] = name_of(list.definition.on_match);
    }
    for (const rules::Conflict &conflict : seen.effective.conflicts)
      answer["conflicts"].push_back(conflict.text());
    show_guards(answer, seen);
    const auto left =
        check_left(seen.candidate, [&seen](ListId list) { return seen.dynamic_of(list); }, false);
    if (!left) answer["warnings"].push_back("apply will refuse this: " + left.error().message);
    for (const std::string &warning : left ? *left : std::vector<std::string>{})
      answer["warnings"].push_back(warning);
    return answer;
  });
}

namespace {

// What the new rules do to lists themselves: gone, or on the other side; and to entries added by hand.
void show_left(Json &lists, const Preview &seen, const RuleSet &live) {
  for (const LeftList &left : seen.candidate.left) {
    Json *shown = nullptr;
    for (Json &list : lists)
      if (list["name"] == left.name) shown = &list;
    if (shown == nullptr) {
      const RuleList *list = live.find(left.name);
      const std::uint64_t size = list != nullptr ? list->body->size() : 0;
      lists.push_back({{"name", left.name},
                       {"before", size},
                       {"after", 0},
                       {"added", 0},
                       {"removed", size},
                       {"examples", Json::array({"the list itself is gone"})}});
      shown = &lists.back();
    }
    Json &examples = (*shown)["examples"];
    if (left.turned) {
      const auto now = left.action == Side::deny ? Side::allow : Side::deny;
      (*shown)["action_before"] = name_of(left.action);
      (*shown)["action"] = name_of(now);
      examples.insert(examples.begin(),
                      fmt::format("turns from {} to {}", name_of(left.action), name_of(now)));
    }
    if (const std::uint64_t dynamic = seen.dynamic_of(left.number); dynamic > 0) {
      (*shown)["dynamic_left"] = dynamic;
      examples.push_back(fmt::format("{} entries added by hand go with it{}", dynamic,
                                     left.turned && left.action == Side::deny ? ": needs --force" : ""));
    }
  }
}

} // namespace

void Api::diff(const Json &request, const Caller &caller, const Reply &reply) {
  const bool of_file = !request.value("config", "").empty();
  if (of_file && (request.contains("from") || request.contains("to")))
    return reply(fail(Errc::usage, "diff: give it a configuration or generations, not both"));
  if (request.contains("from")) return diff_generations(request, caller, reply);
  if (request.contains("to")) return reply(fail(Errc::usage, "diff: `to` needs `from`"));
  const bool whole = of_file || caller.may_change;
  run_preview(engine_, request, caller, reply,
              [live = engine_.rules(), whole](const Preview &seen) -> Result<Json> {
                Json lists = Json::array();
                for (const ListDiff &diff : seen.candidate.diffs) lists.push_back(diff_json(diff));
                if (live) show_left(lists, seen, *live);
                Json answer{{"lists", std::move(lists)}, {"warnings", Json::array()}};
                answer["rules"] = flow_diffs(live.get(), *seen.candidate.rules);
                if (live && whole)
                  answer["settings"] = line_diff(live->config_text, seen.candidate.rules->config_text);
                show_guards(answer, seen);
                return answer;
              });
}

// Of files alone: entries that were added by hand belong to no generation.
void Api::diff_generations(const Json &request, const Caller &caller, const Reply &reply) {
  const Generation from(request.at("from").get<Generation::rep>());
  const Generation to(request.value("to", engine_.live_record().id.value()));
  engine_.background().run(
      [from, to, whole = caller.may_change, live = engine_.rules(),
       &store = engine_.store()]() -> Result<Json> {
        const Candidate before = TRY(restore_candidate(TRY(kept_generation(store, from)), live.get(), store));
        const Candidate after =
            TRY(restore_candidate(TRY(kept_generation(store, to)), before.rules.get(), store));
        Json lists = Json::array();
        for (const ListDiff &diff : after.diffs) lists.push_back(diff_json(diff));
        show_left(lists, Preview{.candidate = after, .effective = {}, .dynamic = {}, .guards = {}},
                  *before.rules);
        Json answer{{"from", from}, {"to", to}, {"lists", std::move(lists)}, {"warnings", Json::array()}};
        answer["rules"] = flow_diffs(before.rules.get(), *after.rules);
        if (whole) answer["settings"] = line_diff(before.rules->config_text, after.rules->config_text);
        return answer;
      },
      reply);
}

// The counters first: a plan rests on the share of hits that they show.
void Api::plan(const Json &request, const Caller &caller, const Reply &reply) {
  if (request.value("apply", false)) {
    if (!request.value("config", "").empty())
      return reply(fail(Errc::usage,
                        "plan --apply is about the rules in force: give it no configuration, or take "
                        "`weirctl apply` for another one"));
    return ask_stats([this, reply, by = user_text(caller.peer)](const Json &) {
      engine_.replan(change_reply(reply), by);
    });
  }
  ask_stats([this, request, caller, reply](const Json &) {
    plan::Circumstances now{.before_bytes = engine_.live_record().image_bytes,
                            .memory = {},
                            .workload = engine_.traffic().workload(),
                            .build_ns_per_key = engine_.build_ns_per_key(),
                            .hot = engine_.traffic().hot_denied(),
                            .negatives = engine_.deny_watch().look(),
                            .offender_model = nullptr};
    // What weir-control itself holds for entries that were added by hand, whatever came before.
    const Json control{{"v4_entry_bytes", DynamicEntries::v4_bytes},
                       {"v6_entry_bytes", DynamicEntries::v6_bytes},
                       {"entries_bytes", engine_.dynamic().bytes()}};
    run_preview(engine_, request, caller, reply,
                [now = std::move(now), control, state = engine_.options().state, live = engine_.rules(),
                 dynamic_bytes = engine_.dynamic().bytes(), came_along = !request.value("config", "").empty(),
                 target = engine_.options().target,
                 model = engine_.offenders().at_hand()](const Preview &seen) mutable -> Result<Json> {
                  const config::Config &config = seen.candidate.rules->config;
                  now.offender_model = model.with(seen.candidate.offender_model.get());
                  const auto memory = TRY(memory_free());
                  build::BuildInput input = rules::build_input(seen.effective, config.policy);
                  input.family = family_of(target);
                  const auto packet_rules =
                      TRY(build::packet_rule_sections(config, seen.candidate.rules->flows, 0));
                  input.packet_rules = packet_rules.rules;
                  input.flows = packet_rules.flows;
                  const auto list_actions = build::list_action_section(config, seen.effective.lists);
                  input.list_actions = list_actions;
                  now.memory = memory;
                  now.image_copies = nodes_of_cores(config.eal.lcores).size();
                  now.lists = memory_of(seen.candidate, live.get(), dynamic_bytes, came_along);
                  now.calibration = plan::calibration_for(input, memory, state);
                  const auto plan = plan::make_plan(input, config, now);
                  if (!plan) return std::unexpected(plan.error());
                  Json answer = Json::parse(plan::to_json(*plan), nullptr, false);
                  if (!answer.is_object()) return fail(Errc::io, "the plan cannot be read");
                  answer["control"] = control;
                  answer["warnings"] = Json::array();
                  show_guards(answer, seen);
                  return answer;
                });
  });
}

void Api::apply(const Json &request, const Caller &caller, const Reply &reply) {
  auto files = files_of(caller, request.value("config", ""));
  if (!files) return reply(std::unexpected(std::move(files.error())));
  ask_stats([this, request, reply,
             asked = Asked{.files = std::move(*files), .by = user_text(caller.peer)}](const Json &) {
    engine_.apply(request.value("config", ""), request.value("confirm_s", std::uint64_t{0}),
                  request.value("force", false), change_reply(reply), asked);
  });
}

void Api::confirm(const Json &, const Caller &caller, const Reply &reply) {
  const auto generation = engine_.confirm();
  if (!generation) return reply(std::unexpected(generation.error()));
  engine_.audit(user_text(caller.peer), "confirm", fmt::format("generation {} stays", *generation));
  reply(Json{{"generation", *generation}});
}

void Api::rollback(const Json &request, const Caller &caller, const Reply &reply) {
  engine_.rollback(Generation(request.value("generation", Generation::rep{0})), change_reply(reply),
                   {.files = nullptr, .by = user_text(caller.peer)});
}

} // namespace weir::control
