// What weirctl finds out by itself: replay, check, doctor.
#include "control/cli/fields.hpp"
#include "control/cli/render.hpp"
#include "control/cli/text.hpp"
#include "weir/config/values.hpp"
#include "weir/key/verdict.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>

namespace weir::cli {

namespace {

using enum Table::Align;

// Rows of the lists whose hits explain a reason: deny lists under deny, allow lists under allow.
void add_list_rows(Table &table, const Json &report, std::string_view action, const std::string &packets) {
  const Json &actions = child(report, "actions");
  bool any = false;
  for (const auto &[name, hits] : child(report, "lists").items()) {
    if (text_in(actions, name.c_str(), "allow") != action || hits.get<std::uint64_t>() == 0) continue;
    table.add({action == "deny" ? "drop" : "pass", std::string(action), name,
               thousands(hits.get<std::uint64_t>())});
    any = true;
  }
  if (!any) table.add({action == "deny" ? "drop" : "pass", std::string(action), "-", packets});
}

// Rows of the packet rules that gave a verdict.
void add_rule_rows(Table &table, const Json &report, const char *verdict) {
  const char *const counted = verdict == std::string_view("drop") ? "dropped" : "passed";
  for (const auto &[name, counts] : child(report, "rules").items())
    if (const std::uint64_t packets = count_in(counts, counted); packets > 0)
      table.add({verdict, "rule", name, thousands(packets)});
}

std::string verdict_table(const Json &report) {
  Table table({{"VERDICT"}, {"REASON"}, {"LIST"}, {"PACKETS", right}});
  for (const char *verdict : {"pass", "drop"})
    for (const ReasonInfo &info : reasons) {
      const std::string name(info.name);
      const Json &counts = child(child(report, "reasons_by_verdict"), name.c_str());
      if (count_in(counts, verdict) == 0) continue;
      if (info.reason == Reason::rule) {
        add_rule_rows(table, report, verdict);
        continue;
      }
      const bool listed = info.reason == Reason::allow || info.reason == Reason::deny;
      if (listed)
        add_list_rows(table, report, name, thousands_in(counts, verdict));
      else
        table.add({verdict, name, "-", thousands_in(counts, verdict)});
    }
  return table.empty() ? "" : table.text() + '\n';
}

std::string generation_table(const Json &report) {
  Table table({{"GENERATION", right},
               {"PACKETS JUDGED", right},
               {"LIVE AFTER", right},
               {"SWAP", right},
               {"CONFIGURATION"}});
  for (const Json &row : child(report, "configurations")) {
    const std::string generation = text_in(row, "generation");
    std::string swap = "-";
    for (const Json &entry : child(report, "swaps"))
      if (text_in(entry, "generation") == generation) swap = nanoseconds_text(number_in(entry, "swap_ns"));
    table.add({generation, thousands(count_in(child(report, "generations"), generation.c_str())),
               has_number(row, "live_ms") ? milliseconds_text(number_in(row, "live_ms")) : "-", swap,
               text_in(row, "config")});
  }
  return table.text() + '\n';
}

} // namespace

std::string render_replay(const Json &report) {
  std::string text = verdict_table(report) + generation_table(report);
  text += offenders_line(report);
  text += fmt::format("packets {}   pass {}   drop {}   lost {}   {}   memory: {}\n",
                      thousands_in(report, "packets"), thousands_in(report, "pass"),
                      thousands_in(report, "drop"), thousands_in(report, "lost"),
                      rate_text(number_in(report, "mpps") * 1e6), text_in(report, "memory"));
  if (flag_in(report, "truncated"))
    text += fmt::format("{} ends in the middle of a packet: everything before that was replayed\n",
                        text_in(report, "input"));
  return text;
}

std::string render_registers(const Json &answer) {
  return fmt::format("{}: {} bytes of text for {} entries\n", text_in(answer, "out"),
                     thousands_in(answer, "bytes"), thousands_in(answer, "entries"));
}

std::string render_check(const Json &answer) {
  Table table({{"NAME"},
               {"ACTION"},
               {"FORMAT"},
               {"V4 HOSTS", right},
               {"V4 NETS", right},
               {"V6", right},
               {"DUPLICATES", right},
               {"SKIPPED", right}});
  for (const Json &list : child(answer, "lists"))
    table.add({text_in(list, "name"), action_text(list), text_in(list, "format"),
               thousands_in(list, "v4_hosts"), thousands_in(list, "v4_prefixes"), thousands_in(list, "v6"),
               thousands_in(list, "duplicates"), thousands_in(list, "skipped")});
  std::string text = table.empty() ? "" : table.text();
  Table rules({{"RULE"}, {"ACTION"}, {"PATTERNS", right}, {"FLOWS", right}});
  for (const Json &rule : child(answer, "rules"))
    rules.add({text_in(rule, "name"), text_in(rule, "action"), thousands_in(rule, "patterns"),
               thousands_in(rule, "flows")});
  if (!rules.empty()) text += (text.empty() ? "" : "\n") + rules.text();
  for (const char *name : {"conflicts", "warnings"})
    for (const Json &line : child(answer, name))
      if (line.is_string()) text += "note: " + config::printable(line.get<std::string>()) + '\n';
  return text + fmt::format("{}: good\n", text_in(answer, "config"));
}

std::string render_doctor(const Json &answer) {
  std::string text;
  std::size_t width = 0;
  for (const Json &finding : child(answer, "findings"))
    width = std::max(width, text_in(finding, "topic").size());
  for (const Json &finding : child(answer, "findings")) {
    text += fmt::format("{:<5} {:<{}}  {}\n", text_in(finding, "level"), text_in(finding, "topic"), width,
                        lines_in(finding, "finding", "-"));
    if (const auto remedy = lines_in(finding, "remedy"); !remedy.empty())
      text += fmt::format("{:<5} {:<{}}  -> {}\n", "", "", width, remedy);
  }
  const auto wrong = count_in(answer, "wrong");
  const auto notes = count_in(answer, "notes");
  if (wrong > 0) return text + fmt::format("{} thing{} wrong\n", wrong, wrong == 1 ? " is" : "s are");
  if (notes > 0)
    return text +
           fmt::format("weir can run here; {} thing{} could be better\n", notes, notes == 1 ? "" : "s");
  return text + "all is well\n";
}

} // namespace weir::cli
