#include "control/cli/check.hpp"

#include "control/base/progress.hpp"
#include "control/offenders/model_file.hpp"
#include "control/rules/bundled_feed.hpp"
#include "control/rules/comment.hpp"
#include "control/rules/embedded.hpp"
#include "control/rules/guards.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <memory>
#include <utility>

namespace weir::cli {

using Json = nlohmann::json;

namespace {

Json list_json(const config::List &list, const rules::ListContent &content, const rules::ListCounts &counts) {
  Json json{
      {"name", list.name},
      {"action", list.action == Side::allow ? "allow" : "deny"},
      {"format", list.file.empty() ? (list.dynamic ? "dynamic" : "inline") : config::name_of(content.format)},
      {"v4_hosts", counts.v4_hosts},
      {"v4_prefixes", counts.v4_prefixes},
      {"v6", counts.v6},
      {"duplicates", content.duplicates},
      {"skipped", content.skipped_count}};
  if (list.on_match != RuleAction::drop) json["on_match"] = name_of(list.on_match);
  return json;
}

void warn_of(const config::List &list, const rules::ListContent &content, Json &warnings) {
  if (content.skipped_count > 0)
    warnings.push_back(
        fmt::format("list {}: {} bad lines are left out (on_error: skip), the first is {}:{}: \"{}\": {}",
                    list.name, content.skipped_count, list.file.string(), content.skipped.front().line,
                    content.skipped.front().text, content.skipped.front().reason));
  if (content.comments_cut > 0)
    warnings.push_back(fmt::format("list {}: {} comments are cut to {} bytes", list.name,
                                   content.comments_cut, rules::comment_bytes_max));
  if (std::string told = rules::embedded_text(list, rules::embedded_in(content)); !told.empty())
    warnings.push_back(std::move(told));
  if (content.empty() && !list.dynamic) warnings.push_back(fmt::format("list {} has no entries", list.name));
}

// The guards that need no rules in force: an apply to an empty store would refuse the same.
Result<std::vector<std::string>> check_guards(const ReadRules &read) {
  std::vector<rules::ListAtHand> lists;
  for (std::size_t i = 0; i < read.contents.size(); ++i) {
    const rules::ListContent &content = read.contents[i];
    const rules::Entries entries{.v4 = content.v4, .v6 = content.v6};
    lists.push_back({.list = &read.config.lists[i],
                     .file = read.config.lists[i].file,
                     .after = entries,
                     .before = {},
                     .covered_after = rules::covered_by(entries),
                     .covered_before = {}});
  }
  auto told = rules::ask_guards(read.config.guard, lists, {});
  if (told)
    for (std::string &warning : *told) // its lines stand below a sentence, and a warning is one line
      for (std::size_t at = 0; (at = warning.find('\n', at)) != std::string::npos;)
        warning.replace(at, 1, "; ");
  return told;
}

} // namespace

Result<ReadRules> read_rules(const std::filesystem::path &file, control::Progress *progress) {
  auto config = config::load(file);
  if (!config) return std::unexpected(config.error());
  ReadRules read{.config = std::move(*config), .contents = {}, .flows = {}, .effective = {}, .warnings = {}};
  std::string faults;
  if (progress != nullptr) {
    std::uint64_t bytes = 0;
    for (const config::List &list : read.config.lists) bytes += rules::bytes_of(list, nullptr);
    progress->begin(control::Progress::Phase::reading, bytes);
  }
  for (const config::List &list : read.config.lists) {
    auto content = rules::load_list(list, nullptr, progress);
    if (!content) faults += (faults.empty() ? "" : "\n") + content.error().message;
    read.contents.push_back(content ? std::move(*content) : rules::ListContent{});
  }
  for (const config::PacketRule &rule : read.config.rules) {
    if (rule.file.empty()) continue;
    auto flows = rules::load_flows(rule.file, nullptr);
    if (!flows) faults += (faults.empty() ? "" : "\n") + flows.error().message;
    read.flows.push_back(
        {.rule = rule.name,
         .body = std::make_shared<const rules::FlowBody>(flows ? std::move(*flows) : rules::FlowBody{})});
  }
  if (auto model = offenders::load_model_file(read.config, nullptr); !model)
    faults += (faults.empty() ? "" : "\n") + model.error().message;
  if (!faults.empty()) return fail(Errc::parse, faults);
  if (progress != nullptr) progress->begin(control::Progress::Phase::checking);
  auto told = check_guards(read);
  if (!told) return std::unexpected(std::move(told.error()));
  read.warnings = std::move(*told);

  const rules::NeverDeny never_deny(read.config.guard.never_deny);
  std::vector<rules::ListSource> sources{never_deny.source(0)};
  for (std::size_t i = 0; i < read.contents.size(); ++i)
    sources.push_back({read.config.lists[i].name, ListId(i + 1), read.config.lists[i].action,
                       read.contents[i].v4, read.contents[i].v6, goes_on(read.config.lists[i].on_match)});
  rules::put_deciding_first(sources);
  auto effective = TRY(rules::normalise(sources));
  read.effective = std::move(effective);
  if (auto filled = rules::check_not_empty(read.config, read.effective, false); !filled)
    return std::unexpected(std::move(filled.error()));
  return read;
}

Result<Json> check_configuration(const std::filesystem::path &file, control::Progress *progress) {
  const auto read = TRY(read_rules(file, progress));
  const auto &[config, contents, flows, effective, warnings] = read;
  Json answer{{"ok", true},
              {"config", file.string()},
              {"lists", Json::array()},
              {"conflicts", Json::array()},
              {"warnings", warnings}};
  for (std::size_t i = 0; i < contents.size(); ++i) {
    const auto counts = std::ranges::find(effective.counts, config.lists[i].name, &rules::ListCounts::name);
    answer["lists"].push_back(list_json(config.lists[i], contents[i], *counts));
    warn_of(config.lists[i], contents[i], answer["warnings"]);
  }
  for (const rules::Conflict &conflict : effective.conflicts) answer["conflicts"].push_back(conflict.text());
  answer["rules"] = Json::array();
  for (const config::PacketRule &rule : config.rules) {
    answer["rules"].push_back({{"name", rule.name}, {"action", name_of(rule.action)}});
    const auto of = std::ranges::find(flows, rule.name, &rules::RuleFlows::rule);
    if (of == flows.end()) {
      answer["rules"].back()["patterns"] = config::patterns_of(rule);
      continue;
    }
    answer["rules"].back()["flows"] = of->body->size();
    if (of->body->duplicates > 0)
      answer["warnings"].push_back(
          fmt::format("rule {}: {} flows stand there twice and count once", rule.name, of->body->duplicates));
  }
  return answer;
}

} // namespace weir::cli
