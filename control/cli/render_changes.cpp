// Lists, and what changes them: list verbs, plan, diff, apply.
#include "control/cli/allow_filter_text.hpp"
#include "control/cli/deny_filter_text.hpp"
#include "control/cli/fields.hpp"
#include "control/cli/render.hpp"
#include "control/cli/text.hpp"
#include "weir/config/values.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace weir::cli {

namespace {

std::string entries_table(const Json &entries, std::int64_t now) {
  Table table({{"ENTRY"}, {"ADDED"}, {"EXPIRES"}, {"COMMENT"}});
  for (const Json &entry : entries)
    table.add({text_in(entry, "prefix"), when_text(time_in(entry, "added_at"), now),
               when_text(time_in(entry, "expires_at"), now), text_in(entry, "comment", "")});
  if (table.empty()) return "the list has no entries\n";
  std::string text = table.text();
  if (entries.size() >= 1000)
    text += "(the first 1,000 entries; `weirctl list export` writes all of them to a file)\n";
  return text;
}

std::string ttl_text(const Json &list) {
  const std::uint64_t seconds = count_in(list, "ttl");
  return seconds == 0 ? "-" : duration_text(seconds);
}

// Without a dataplane a change is stored; older answers say it by leaving the time out.
bool in_force(const Json &answer) {
  const Json &said = child(answer, "in_force");
  return said.is_boolean() ? said.get<bool>()
                           : has_number(answer, "in_force_ms") || has_number(answer, "live_ms");
}

std::string warnings(const Json &answer) {
  std::string text;
  for (const Json &warning : child(answer, "warnings"))
    if (warning.is_string()) text += "warning: " + config::printable_lines(warning.get<std::string>()) + '\n';
  return text;
}

// What weir-control wants people to know besides, a line each.
std::string notes(const Json &answer) {
  std::string text;
  if (const std::string note = lines_in(answer, "note"); !note.empty())
    text += "note: " + note + '\n';
  else if (!in_force(answer))
    text += "note: the dataplane is not connected and takes it when it is back\n";
  return text + warnings(answer);
}

// "generation 43 live after 18 ms, swap 2.1 us, lost 0"
std::string live_text(const Json &answer) {
  std::string text =
      fmt::format("generation {} {}", text_in(answer, "generation"), in_force(answer) ? "live" : "stored");
  if (has_number(answer, "live_ms")) text += " after " + milliseconds_text(number_in(answer, "live_ms"));
  if (count_in(answer, "swap_ns") > 0) text += ", swap " + nanoseconds_text(number_in(answer, "swap_ns"));
  if (in_force(answer) && has_number(answer, "lost")) text += ", lost " + thousands_in(answer, "lost");
  return text;
}

std::string change_counts(const Json &change) {
  return fmt::format("+{} -{}", thousands_in(change, "added"), thousands_in(change, "removed"));
}

// ", from the measured figures"
std::string from_text(const Json &answer) {
  const std::string from = text_in(answer, "build_from", "");
  return from.empty() ? "" : ", " + from;
}

std::string examples_text(const Json &examples) {
  std::string text;
  for (const Json &example : examples)
    if (example.is_string())
      text += (text.empty() ? "" : " ") + config::printable(example.get<std::string>());
  return text;
}

} // namespace

std::string render_list_show(const Json &answer, std::int64_t now) {
  if (child(answer, "entries").is_array()) return entries_table(child(answer, "entries"), now);
  using enum Table::Align;
  Table table({{"NAME"},
               {"ACTION"},
               {"FORMAT"},
               {"V4 HOSTS", right},
               {"V4 NETS", right},
               {"V6", right},
               {"HITS", right},
               {"UPDATED"},
               {"TTL"}});
  for (const Json &list : child(answer, "lists"))
    table.add({text_in(list, "name"), action_text(list), text_in(list, "format"),
               thousands_in(list, "v4_hosts"), thousands_in(list, "v4_prefixes"), thousands_in(list, "v6"),
               thousands_in(list, "hits"), when_text(time_in(list, "updated_at"), now), ttl_text(list)});
  return table.empty() ? "there are no lists\n" : table.text();
}

std::string render_list_change(const Options &options, const Json &answer, std::int64_t now) {
  const auto force_text = [&] {
    return in_force(answer) ? ", in force after " + milliseconds_text(number_in(answer, "in_force_ms"))
                            : std::string(", stored");
  };
  std::string text;
  switch (options.verb) {
  case Verb::list_add:
    text = fmt::format("{}: {} added, {} refreshed{}", options.list, thousands_in(answer, "added"),
                       thousands(count_in(answer, "refreshed")), force_text());
    if (const auto expires = number_in(answer, "expires_at"); expires > 0)
      text += ", expires " + clock_text(static_cast<std::int64_t>(expires), now);
    break;
  case Verb::list_del:
    text = fmt::format("{}: {} deleted{}", options.list, thousands_in(answer, "deleted"), force_text());
    break;
  case Verb::list_replace:
    text = fmt::format("{}: {}, {}", options.list, change_counts(answer), live_text(answer));
    break;
  default:
    text = fmt::format("{}: {} entries written to {}", options.list, thousands_in(answer, "entries"),
                       options.file.string());
    return text + '\n';
  }
  return text + '\n' + notes(answer);
}

std::string render_plan(const Json &answer) {
  using enum Table::Align;
  Table tables({{"TABLE"}, {"HOSTS", right}, {"PREFIXES", right}, {"LENGTHS", right}, {"SIZE", right}});
  for (const Json &table : child(answer, "tables"))
    if (count_in(table, "hosts") + count_in(table, "prefixes") > 0)
      tables.add({text_in(table, "name"), thousands_in(table, "hosts"), thousands_in(table, "prefixes"),
                  thousands_in(table, "prefix_lengths"), bytes_text(count_in(table, "bytes"))});
  std::string text = tables.empty() ? "" : tables.text();
  for (const Json &table : child(answer, "tables"))
    if (const std::string why = text_in(table, "hosts_why", ""); !why.empty()) {
      const std::string home = text_in(table, "hosts_in", "table");
      const std::string where = home == "table"   ? "the table"
                                : home == "words" ? "lines of words"
                                                  : "the range map, as " + home;
      text += fmt::format("{}: hosts stand in {}: {}\n", text_in(table, "name"), where, why);
    }
  if (!text.empty()) text += '\n';

  Table candidates({{""},
                    {"PREDICTOR"},
                    {"FRONT FILTER"},
                    {"SIZE", right},
                    {"LINES, HIT", right},
                    {"LINES, ABSENT", right},
                    {"NS", right},
                    {""}});
  const auto figure = [](const Json &candidate, const char *name, int digits) {
    return has_number(candidate, name) ? fmt::format("{:.{}f}", number_in(candidate, name), digits)
                                       : std::string("-");
  };
  for (const Json &candidate : child(answer, "candidates"))
    candidates.add({flag_in(candidate, "chosen") ? "->" : "", text_in(candidate, "predictor"),
                    text_in(candidate, "front_filter"), bytes_text(count_in(candidate, "bytes")),
                    figure(candidate, "lines_hit", 2), figure(candidate, "lines_absent", 2),
                    figure(candidate, "ns_per_lookup", 1), text_in(candidate, "why_not", "")});
  if (!candidates.empty()) text += candidates.text();
  if (const std::string why = text_in(answer, "why", ""); !why.empty()) text += "why: " + why + '\n';
  if (const std::string from = text_in(answer, "calibration", ""); !from.empty())
    text += "figures: " + from + '\n';
  text += allow_filter_plan(child(answer, "allow_filter"));
  text += deny_filter_plan(child(answer, "deny_filter"));

  const Json &memory = child(answer, "memory");
  text +=
      fmt::format("memory: image {} now, {} after; {} needed during the change, {} free in {}{}\n",
                  bytes_text(count_in(memory, "before_bytes")), bytes_text(count_in(memory, "after_bytes")),
                  bytes_text(count_in(memory, "needed_bytes")), bytes_text(count_in(memory, "free_bytes")),
                  text_in(memory, "kind", "ordinary pages"),
                  has_number(memory, "needed_bytes") && !flag_in(memory, "fits") ? ": too little" : "");
  if (has_number(memory, "control_peak_bytes"))
    text += fmt::format(
        "weir-control: {} while it builds, {} afterwards; weir-dataplane, beside packets: {} during the "
        "swap, {} afterwards{}\n",
        bytes_text(count_in(memory, "control_peak_bytes")), bytes_text(count_in(memory, "control_bytes")),
        bytes_text(count_in(memory, "dataplane_peak_bytes")), bytes_text(count_in(memory, "dataplane_bytes")),
        count_in(memory, "image_copies") > 1
            ? fmt::format(" (an image on each of {} NUMA nodes)", count_in(memory, "image_copies"))
            : std::string());
  if (const Json &control = child(answer, "control"); control.is_object())
    text += fmt::format(
        "control: {} bytes an IPv4 entry added by hand, {} an IPv6 entry; {} for those there are\n",
        count_in(control, "v4_entry_bytes"), count_in(control, "v6_entry_bytes"),
        bytes_text(count_in(control, "entries_bytes")));
  if (has_number(answer, "build_ms"))
    text += fmt::format("build: about {}{}\n", milliseconds_text(number_in(answer, "build_ms")),
                        from_text(answer));
  return text + warnings(answer);
}

std::string render_diff(const Json &answer) {
  using enum Table::Align;
  Table table({{"LIST"}, {"ADDED", right}, {"REMOVED", right}, {"EXAMPLES"}});
  std::uint64_t changed = 0;
  for (const Json &list : child(answer, "lists")) {
    const std::uint64_t entries = count_in(list, "added") + count_in(list, "removed");
    if (entries == 0 && child(list, "examples").empty()) continue;
    changed += entries + child(list, "examples").size();
    table.add({text_in(list, "name"), thousands_in(list, "added"), thousands_in(list, "removed"),
               examples_text(child(list, "examples"))});
  }
  const Json &settings = child(answer, "settings");
  std::string text = changed == 0 ? std::string() : table.text();
  Table rules({{"FLOWS OF RULE"}, {"ADDED", right}, {"REMOVED", right}, {"EXAMPLES"}});
  for (const Json &rule : child(answer, "rules"))
    rules.add({text_in(rule, "name"), thousands_in(rule, "added"), thousands_in(rule, "removed"),
               examples_text(child(rule, "examples"))});
  if (!rules.empty()) text += (text.empty() ? "" : "\n") + rules.text();
  if (settings.is_array() && !settings.empty()) {
    text += "configuration\n";
    for (const Json &line : settings)
      if (line.is_string()) text += "  " + config::printable(line.get<std::string>()) + '\n';
  }
  if (text.empty()) text = has_number(answer, "from") ? "nothing differs\n" : "nothing would change\n";
  return text + warnings(answer);
}

std::string render_confirm(const Json &answer) {
  return fmt::format("generation {} stays\n", text_in(answer, "generation"));
}

std::string render_apply(const Json &answer, std::int64_t now) {
  std::string text = live_text(answer);
  if (count_in(answer, "to") != 0)
    text += fmt::format(", with the lists of generation {}", text_in(answer, "to"));
  if (const auto reverts = number_in(answer, "reverts_at"); reverts > 0)
    text += fmt::format("; reverts in {} unless confirmed",
                        duration_text(static_cast<std::uint64_t>(
                            std::max<std::int64_t>(0, static_cast<std::int64_t>(reverts) - now))));
  text += '\n';
  for (const Json &list : child(answer, "lists"))
    if (count_in(list, "added") + count_in(list, "removed") > 0)
      text += fmt::format("  {}: {}\n", text_in(list, "name"), change_counts(list));
  return text + notes(answer);
}

} // namespace weir::cli
