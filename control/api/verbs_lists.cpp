#include "control/api/api.hpp"
#include "control/api/export.hpp"
#include "control/api/request_files.hpp"
#include "control/base/answers.hpp"

#include "control/rules/comment.hpp"
#include "weir/key/text.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace weir::control {

namespace {

constexpr std::size_t entries_shown_max = 1000;

Result<Prefix> prefix_of(const Json &entry) {
  const std::string text =
      entry.is_string() ? entry.get<std::string>() : entry.at("prefix").get<std::string>();
  const auto prefix = parse_prefix(text);
  if (!prefix) return fail(Errc::parse, fmt::format("{}: {}", text, prefix.error()));
  return *prefix;
}

// Cleaned, since it is shown on terminals and written into files of one entry a line.
Result<std::string> comment_of(const Json &entry) {
  const auto said = entry.is_object() ? entry.value("comment", "") : std::string();
  std::string comment = rules::clean_comment(said);
  if (comment.size() > rules::comment_bytes_max)
    return fail(
        Errc::usage,
        fmt::format("{}: the comment has {} bytes, and at most {} are kept; shorten it. Nothing was added",
                    entry.at("prefix").get<std::string>(), comment.size(), rules::comment_bytes_max));
  return comment;
}

std::string format_of(const RuleList &list) {
  if (!list.format.empty()) return list.format;
  return list.definition.dynamic ? "dynamic" : "inline";
}

struct ShownList {
  const RuleList *list;
  EntryCounts dynamic;
};

// Each list with what is in it and, where the dataplane says so in `hits`, how often it decided.
Json lists_json(std::span<const ShownList> shown, const Json &hits) {
  Json lists = Json::array();
  for (const auto &[list, dynamic] : shown) {
    const EntryCounts &file = list->body->counts;
    const std::string &name = list->definition.name;
    lists.push_back({{"name", name},
                     {"action", name_of(list->definition.action)},
                     {"format", format_of(*list)},
                     {"v4_hosts", file.v4_hosts + dynamic.v4_hosts},
                     {"v4_prefixes", file.v4_prefixes + dynamic.v4_prefixes},
                     {"v6", file.v6 + dynamic.v6},
                     {"dynamic", dynamic.total()},
                     {"hits", push::count_in(hits, name.c_str())},
                     {"updated_at", list->updated_at},
                     {"ttl", list->definition.ttl ? list->definition.ttl->count() : 0}});
    if (list->definition.on_match != RuleAction::drop)
      lists.back()["on_match"] = name_of(list->definition.on_match);
  }
  return lists;
}

constexpr std::size_t lists_at_once_max = 1000; // more are made on another thread: nobody waits for them

Json entries_json(const EntriesDone &done) {
  Json answer{{"sequence", done.sequence}, {"in_force", done.in_force}};
  if (done.in_force) answer["in_force_ms"] = done.in_force_ms;
  if (done.expires_at != 0) answer["expires_at"] = done.expires_at;
  if (!done.note.empty()) answer["note"] = done.note;
  return answer;
}

} // namespace

void Api::list_show(const Json &request, const Caller &, const Reply &reply) {
  const std::shared_ptr<const RuleSet> rules = engine_.rules();
  const std::string only = request.value("list", "");
  if (!only.empty() && (!rules || rules->find(only) == nullptr))
    return reply(fail(Errc::not_found, fmt::format("no list is named {}", only)));
  Json entries;
  if (!only.empty()) entries = first_entries(engine_, *rules->find(only), entries_shown_max);
  ask_stats([this, rules, only, entries = std::move(entries), reply](const Json &report) mutable {
    std::vector<ShownList> shown;
    for (const RuleList &list : rules ? std::span(rules->lists) : std::span<const RuleList>())
      if (only.empty() || list.definition.name == only)
        shown.push_back({&list, engine_.dynamic().counts(list.number)});
    const Json hits = hits_of_lists(report);
    const auto answer = [entries = std::move(entries)](Json lists) {
      Json result{{"lists", std::move(lists)}};
      if (!entries.is_null()) result["entries"] = entries;
      return Result<Json>(std::move(result));
    };
    if (shown.size() <= lists_at_once_max) return reply(answer(lists_json(shown, hits)));
    engine_.background().run(
        [rules, shown = std::move(shown), hits, answer] { return answer(lists_json(shown, hits)); }, reply);
  });
}

void Api::list_add(const Json &request, const Caller &caller, const Reply &reply) {
  EntryRequest add{.verb = "list_add",
                   .list = request.at("list").get<std::string>(),
                   .entries = {},
                   .force = request.value("force", false),
                   .by = user_text(caller.peer),
                   .arrived = caller.arrived};
  for (const Json &entry : request.at("entries")) {
    const auto prefix = prefix_of(entry);
    if (!prefix) return reply(std::unexpected(prefix.error()));
    NewEntry added{.prefix = *prefix, .ttl_s = {}, .comment = {}};
    if (entry.is_object()) {
      if (const auto ttl = entry.find("ttl"); ttl != entry.end() && !ttl->is_null())
        added.ttl_s = ttl->get<std::uint64_t>();
    }
    auto comment = comment_of(entry);
    if (!comment) return reply(std::unexpected(comment.error()));
    added.comment = std::move(*comment);
    add.entries.push_back(std::move(added));
  }
  change_entries(std::move(add), reply);
}

void Api::list_del(const Json &request, const Caller &caller, const Reply &reply) {
  EntryRequest del{.verb = "list_del",
                   .list = request.at("list").get<std::string>(),
                   .entries = {},
                   .by = user_text(caller.peer),
                   .arrived = caller.arrived};
  for (const Json &entry : request.at("entries")) {
    const auto prefix = prefix_of(entry);
    if (!prefix) return reply(std::unexpected(prefix.error()));
    del.entries.push_back({.prefix = *prefix, .ttl_s = {}, .comment = {}});
  }
  change_entries(std::move(del), reply);
}

void Api::change_entries(EntryRequest request, const Reply &reply) {
  const bool adds = request.verb == "list_add";
  const auto done = [reply = in_time(reply), adds](const Result<EntriesDone> &result) {
    if (!result) return reply(std::unexpected(result.error()));
    Json answer = entries_json(*result);
    if (adds) {
      answer["added"] = result->added;
      answer["refreshed"] = result->refreshed;
    } else {
      answer["deleted"] = result->deleted;
    }
    reply(std::move(answer));
  };
  if (adds)
    return engine_.add(std::move(request.list), std::move(request.entries), done, request.force,
                       request.arrived, std::move(request.by));
  std::vector<Prefix> prefixes;
  prefixes.reserve(request.entries.size());
  for (const NewEntry &entry : request.entries) prefixes.push_back(entry.prefix);
  engine_.remove(std::move(request.list), std::move(prefixes), done, request.arrived, std::move(request.by));
}

void Api::list_replace(const Json &request, const Caller &caller, const Reply &reply) {
  const auto list = request.at("list").get<std::string>();
  const auto file = request.at("file").get<std::string>();
  if (file.empty()) return reply(fail(Errc::usage, "list_replace: the file has no name"));
  auto files = files_of(caller, file);
  if (!files) return reply(std::unexpected(std::move(files.error())));
  engine_.replace(list, file, request.value("force", false), change_reply(reply, list),
                  {.files = std::move(*files), .by = user_text(caller.peer)});
}

void Api::list_export(const Json &request, const Caller &caller, const Reply &reply) {
  const auto name = request.at("list").get<std::string>();
  const std::shared_ptr<const RuleSet> rules = engine_.rules();
  const RuleList *list = rules ? rules->find(name) : nullptr;
  if (list == nullptr) return reply(fail(Errc::not_found, fmt::format("no list is named {}", name)));
  if (caller.fds.empty())
    return reply(fail(Errc::usage,
                      "list_export: weir-control opens no file that a request names; the weirctl "
                      "of this version passes one along, an older one does not"));
  if (const Status fit = check_export_target(caller.fds.front()->get()); !fit)
    return reply(std::unexpected(fit.error()));
  engine_.background().run([list = *list, &store = engine_.store(),
                            fd = caller.fds.front()] { return export_list(list, store, fd->get()); },
                           [reply](const Result<std::uint64_t> &entries) {
                             if (!entries) return reply(std::unexpected(entries.error()));
                             reply(Json{{"entries", *entries}});
                           });
}

} // namespace weir::control
