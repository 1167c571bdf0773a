// Counters: stats, drops, top.
#include "control/cli/allow_filter_text.hpp"
#include "control/cli/deny_filter_text.hpp"
#include "control/cli/fields.hpp"
#include "control/cli/render.hpp"
#include "control/cli/text.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace weir::cli {

namespace {

using enum Table::Align;

std::string ports_table(const Json &ports) {
  Table table({{"PORT"},
               {"LINK"},
               {"RX PACKETS", right},
               {"RX BYTES", right},
               {"TX PACKETS", right},
               {"TX BYTES", right},
               {"MISSED", right},
               {"TX REFUSED", right}});
  for (const Json &port : ports)
    table.add({text_in(port, "name"), text_in(port, "link"), thousands_in(port, "rx_packets"),
               thousands_in(port, "rx_bytes"), thousands_in(port, "tx_packets"),
               thousands_in(port, "tx_bytes"), thousands_in(port, "rx_missed"),
               thousands_in(port, "tx_refused")});
  return table.empty() ? "" : table.text() + '\n';
}

std::string verdicts_table(const Json &verdicts) {
  Table table({{"VERDICT"}, {"REASON"}, {"FAMILY"}, {"PACKETS", right}});
  for (const Json &row : verdicts)
    table.add({text_in(row, "verdict"), text_in(row, "reason"), text_in(row, "family"),
               thousands_in(row, "packets")});
  return table.empty() ? "" : table.text() + '\n';
}

std::string lists_table(const Json &lists) {
  Table table({{"LIST"}, {"HITS", right}});
  for (const Json &row : lists) table.add({text_in(row, "name"), thousands_in(row, "hits")});
  return table.empty() ? "" : table.text() + '\n';
}

std::string rules_table(const Json &rules) {
  Table table({{"RULE"}, {"PACKETS", right}, {"PASSED", right}, {"DROPPED", right}});
  for (const Json &row : rules)
    table.add({text_in(row, "name"), thousands_in(row, "packets"), thousands_in(row, "passed"),
               thousands_in(row, "dropped")});
  return table.empty() ? "" : table.text() + '\n';
}

std::string workers_table(const Json &workers) {
  Table table({{"WORKER", right}, {"LCORE", right}, {"PACKETS", right}, {"BUSY", right}});
  for (const Json &row : workers) {
    const double busy = number_in(row, "busy_cycles");
    const double all = busy + number_in(row, "idle_cycles");
    table.add({text_in(row, "id"), text_in(row, "lcore"), thousands_in(row, "packets"),
               all > 0 ? fmt::format("{:.0f} %", 100 * busy / all) : "-"});
  }
  return table.empty() ? "" : table.text() + '\n';
}

std::string generations_table(const Json &generations) {
  Table table({{"GENERATION", right}, {"PACKETS JUDGED", right}});
  for (const Json &row : generations) table.add({text_in(row, "generation"), thousands_in(row, "packets")});
  return table.empty() ? "" : table.text() + '\n';
}

} // namespace

std::string render_stats(const Json &answer) {
  std::string text = ports_table(child(answer, "ports"));
  text += verdicts_table(child(answer, "verdicts"));
  text += rules_table(child(answer, "rules"));
  text += lists_table(child(answer, "lists"));
  text += workers_table(child(answer, "workers"));
  text += generations_table(child(answer, "generations"));
  text += allow_filter_counters(child(answer, "allow_filter"));
  text += deny_filter_counters(child(answer, "deny_filter"));
  text += fmt::format("lost {}   samples dropped {}\n", thousands_in(answer, "lost"),
                      thousands_in(answer, "samples_dropped"));
  return text;
}

std::string render_drops(const Json &answer) {
  Table reasons({{"REASON"}, {"PACKETS", right}});
  for (const Json &row : child(answer, "reasons"))
    reasons.add({text_in(row, "reason"), thousands_in(row, "packets")});
  std::string text = reasons.empty() ? "nothing was dropped\n" : reasons.text();
  if (const std::string lists = lists_table(child(answer, "lists")); !lists.empty())
    text += '\n' + lists.substr(0, lists.size() - 1);
  if (const std::string rules = rules_table(child(answer, "rules")); !rules.empty())
    text += '\n' + rules.substr(0, rules.size() - 1);
  Table recent({{"ADDRESS"}, {"LIST"}, {"SAMPLES", right}});
  for (const Json &row : child(answer, "recent"))
    recent.add({text_in(row, "address"), text_in(row, "list"), thousands_in(row, "count")});
  if (!recent.empty()) text += '\n' + recent.text();
  return text;
}

} // namespace weir::cli
