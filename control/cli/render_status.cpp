// What is in force, and what was before: status, health, generations, explain.
#include "control/base/health.hpp"
#include "control/cli/allow_filter_text.hpp"
#include "control/cli/deny_filter_text.hpp"
#include "control/cli/fields.hpp"
#include "control/cli/progress_text.hpp"
#include "control/cli/render.hpp"
#include "control/cli/text.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <sstream>

namespace weir::cli {

namespace {

std::string short_digest(const Json &answer) {
  const std::string digest = text_in(answer, "digest");
  return digest.size() > 8 ? digest.substr(0, 8) + "…" : digest;
}

// "predictor inline_bits, front filter none": known parts first, in a fixed order.
std::string plan_text(const Json &plan) {
  if (!plan.is_object() || plan.empty()) return plan.is_string() ? plan.get<std::string>() : "-";
  std::string text = "predictor " + text_in(plan, "predictor");
  if (const auto filter = text_in(plan, "front_filter", ""); !filter.empty())
    text += ", front filter " + filter;
  if (has_number(plan, "predicted_lines"))
    text += fmt::format(", predicted {:.2f} lines/lookup", number_in(plan, "predicted_lines"));
  if (has_number(plan, "measured_lines"))
    text += fmt::format(", measured {:.2f}", number_in(plan, "measured_lines"));
  if (has_number(plan, "measured_hit_ratio"))
    text += fmt::format(", {:.3g} % hits", 100 * number_in(plan, "measured_hit_ratio"));
  const Json &trained = child(plan, "trained");
  if (trained.is_object())
    text += fmt::format(", {:.2f} bits/key trained in {}{}", number_in(trained, "bits_per_key"),
                        milliseconds_text(number_in(trained, "train_ms")),
                        flag_in(trained, "exact") ? "" : " (not exact: not used)");
  return text;
}

// "inline_bits", "chained, bloom, seesaw"
std::string short_plan(const Json &plan) {
  if (!plan.is_object() || plan.empty()) return "-";
  const bool front = text_in(plan, "front_filter", "none") != "none";
  const std::string allow = text_in(child(plan, "allow_filter"), "chosen", "none");
  const Json &deny = child(plan, "deny_filter");
  const bool stacked = text_in(deny, "chosen", "none") != "none";
  const std::string hosts = text_in(deny, "mode", "") == "compact" ? ", compact" : ", stacked";
  return text_in(plan, "predictor") +
         (stacked ? hosts
          : front ? ", bloom"
                  : "") +
         (allow != "none" ? ", " + allow : "");
}

// What was asked for, and why the image was built once more since.
std::string cause_text(const Json &generation) {
  const std::string again = text_in(child(generation, "plan"), "built_for", "");
  return text_in(generation, "cause") + (again.empty() ? "" : "; then " + again);
}

std::string policy_text(const Json &policy) {
  if (!policy.is_object()) return "-";
  std::string text;
  for (const char *name :
       {"match", "default", "no_image", "non_ip", "too_many_tags", "link_local", "malformed", "tunnels"}) {
    const std::string value = text_in(policy, name, "");
    if (!value.empty()) text += fmt::format("{}{}={}", text.empty() ? "" : " ", name, value);
  }
  return text;
}

// Why not stands at the top.
std::string dataplane_text(const Json &dataplane) {
  if (!flag_in(dataplane, "connected")) return "dataplane not connected";
  if (!text_in(dataplane, "silence", "").empty()) return "dataplane connected, and does not answer";
  std::string text =
      fmt::format("dataplane connected, pid {}, generation {}, sequence {}", text_in(dataplane, "pid"),
                  text_in(dataplane, "generation"), thousands_in(dataplane, "sequence"));
  if (has_number(dataplane, "not_forwarded_ms"))
    text += fmt::format("; packets were not forwarded for {:.1f} s before it started",
                        number_in(dataplane, "not_forwarded_ms") / 1e3);
  return text;
}

// Nothing when nothing waits.
std::string held_back_text(const Json &held) {
  std::string text;
  const auto what = [&](std::uint64_t count, const char *words) {
    if (count > 0) text += fmt::format("{}{} {}", text.empty() ? "" : ", ", thousands(count), words);
  };
  what(count_in(held, "samples"), "samples not held against the rules");
  what(count_in(held, "reliefs"), "sources that were denied in error without a place");
  if (!text.empty()) {
    std::string networks;
    for (const Json &row : child(held, "networks"))
      networks += (networks.empty() ? ", most from " : ", ") + text_in(row, "network");
    text = "held back within two minutes: " + text + networks + "\n";
  }
  if (const auto image = text_in(held, "image", ""); !image.empty())
    text += fmt::format("an image waits for {}: {}\n", duration_text(count_in(held, "image_wait_s")), image);
  return text;
}

} // namespace

std::string render_health(const Json &answer) {
  std::string text;
  if (flag_in(answer, "healthy"))
    text = fmt::format("healthy: generation {} is in force\n", text_in(answer, "generation"));
  for (const auto &[name, before] : {std::pair("faults", "WRONG: "), std::pair("warnings", "warning: ")})
    for (const Json &sentence : child(answer, name))
      if (sentence.is_string()) text += before + sentence.get<std::string>() + '\n';
  return text;
}

namespace {

std::string work_text(const Json &progress) {
  const std::string text = progress_text(work_part(progress));
  return text.empty() ? text : ", " + text;
}

// What is in force, whether well or not.
std::string facts_text(const Json &answer, std::int64_t now) {
  const Json &counts = child(answer, "counts");
  const Json &memory = child(answer, "memory");
  const Json &swap = child(answer, "last_swap");
  const Json &store = child(answer, "store");
  std::string text;
  if (count_in(answer, "generation") != 0) {
    text += fmt::format("generation {} (applied {}", text_in(answer, "generation"),
                        when_text(time_in(answer, "applied_at"), now));
    if (count_in(answer, "previous") != 0) text += fmt::format(", previous {}", text_in(answer, "previous"));
    text += fmt::format(", rules digest {})\n", short_digest(answer));
  }
  text += fmt::format("policy {}   mode {}\n", policy_text(child(answer, "policy")),
                      text_in(answer, "mode", "exact"));
  text += fmt::format("ipv4 {} hosts {} prefixes   ipv6 {}   allow {}   memory {} {}\n",
                      thousands_in(counts, "ipv4_hosts"), thousands_in(counts, "ipv4_prefixes"),
                      thousands_in(counts, "ipv6"), thousands_in(counts, "allow"),
                      bytes_text(count_in(memory, "image_bytes")), text_in(memory, "kind", ""));
  if (const Json &lists = child(answer, "on_match"); lists.is_array()) {
    text += "lists that do not just drop:";
    for (const Json &list : lists)
      text += fmt::format(" {} {}{}", text_in(list, "list"), text_in(list, "on_match"),
                          &list == &lists.back() ? "\n" : ",");
  }
  text += fmt::format("plan: {}\n", plan_text(child(answer, "plan")));
  text += allow_filter_status(child(child(answer, "plan"), "allow_filter"));
  text += deny_filter_status(child(answer, "plan"), now);
  if (const Json &offenders = child(child(answer, "plan"), "offenders"); offenders.is_object())
    text += fmt::format("offenders: {}{}, {}; see weirctl offenders\n", text_in(offenders, "filter"),
                        flag_in(offenders, "learned") ? " behind scores" : "",
                        bytes_text(count_in(offenders, "cell_bytes")));
  text += fmt::format("last swap {}, lost {}   control up {}, store {}\n",
                      count_in(swap, "ns") == 0 ? "-" : nanoseconds_text(number_in(swap, "ns")),
                      thousands(count_in(swap, "lost")), duration_text(count_in(answer, "uptime_s")),
                      bytes_text(count_in(store, "bytes")));
  text += dataplane_text(child(answer, "dataplane")) + '\n';
  text += held_back_text(child(answer, "held_back"));
  if (const auto doing = text_in(answer, "doing", ""); !doing.empty())
    text += fmt::format("at work: {}{}\n", doing, work_text(child(answer, "progress")));
  if (const auto left = count_in(answer, "pending_confirm_s"); left > 0)
    text +=
        fmt::format("waiting for `weirctl confirm`: the change is taken back in {}\n", duration_text(left));
  return text;
}

// Each line broken between words; what follows is set in.
std::vector<std::string> lines_for(const std::string &text, std::size_t columns) {
  std::vector<std::string> lines;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) {
    const std::size_t indent = std::min(line.find_first_not_of(' '), line.size());
    const std::size_t room = columns > indent + 12 ? columns - indent - 2 : columns;
    const std::string words = columns == 0 || width_of(line) <= columns ? line : line.substr(indent);
    std::size_t further = 0;
    for (const std::string &part : wrapped(words, words.size() == line.size() ? columns : room))
      lines.push_back(std::string(words.size() == line.size() ? 0 : indent, ' ') +
                      std::string(further++ == 0 ? 0 : 2, ' ') + part);
  }
  return lines;
}

// Sentences as long as there is room for them, whole; says how many there was none for.
void add_while_they_fit(std::vector<std::string> &lines, const std::vector<std::string> &sentences,
                        const char *before, std::size_t columns, std::size_t rows) {
  std::size_t left_out = 0;
  for (std::size_t i = 0; i < sentences.size(); ++i) {
    const auto more = lines_for(before + sentences[i], columns);
    const std::size_t for_the_count = i + 1 == sentences.size() && left_out == 0 ? 0 : 1;
    if (left_out > 0 || (lines.size() + more.size() + for_the_count > rows && i > 0))
      ++left_out;
    else
      lines.insert(lines.end(), more.begin(), more.end());
  }
  if (left_out > 0) lines.push_back(fmt::format("{}{} more, see weirctl health", before, left_out));
}

} // namespace

std::string render_status(const Json &answer, std::int64_t now, Size size) {
  const control::Health health = control::health_of(answer);
  const std::vector<std::string> facts = lines_for(facts_text(answer, now), size.columns);
  const std::size_t rows =
      size.rows == 0 ? ~std::size_t{0} : size.rows - std::min(size.rows, facts.size() + 1);
  std::vector<std::string> lines;
  add_while_they_fit(lines, health.faults, "WRONG: ", size.columns, rows);
  add_while_they_fit(lines, health.warnings, "warning: ", size.columns, rows);
  lines.insert(lines.end(), facts.begin(), facts.end());
  std::string text;
  for (const std::string &line : lines) text += line + '\n';
  return text;
}

std::string render_generations(const Json &answer, std::int64_t now) {
  using enum Table::Align;
  Table table({{"GENERATION", right},
               {"APPLIED", left},
               {"V4 HOSTS", right},
               {"V4 NETS", right},
               {"V6", right},
               {"ALLOW", right},
               {"IMAGE", right},
               {"PLAN", left},
               {"BUILD", right},
               {"TRAIN", right},
               {"DIGEST", left},
               {"CAUSE", left},
               {"", left}});
  for (const Json &generation : child(answer, "generations")) {
    const Json &counts = child(generation, "counts");
    const Json &trained = child(child(generation, "plan"), "trained");
    table.add({text_in(generation, "generation"), when_text(time_in(generation, "applied_at"), now),
               thousands_in(counts, "ipv4_hosts"), thousands_in(counts, "ipv4_prefixes"),
               thousands_in(counts, "ipv6"), thousands_in(counts, "allow"),
               bytes_text(count_in(generation, "image_bytes")), short_plan(child(generation, "plan")),
               milliseconds_text(number_in(generation, "build_ms")),
               trained.is_object() ? milliseconds_text(number_in(trained, "train_ms")) : "-",
               short_digest(generation), cause_text(generation), flag_in(generation, "live") ? "live" : ""});
  }
  return table.empty() ? "no generation yet\n" : table.text();
}

// All entries around the address, if there are more than the one that decides.
std::string held_by_text(const Json &answer, std::int64_t now) {
  const Json &holders = child(answer, "held_by");
  if (!holders.is_array() || holders.size() < 2) return {};
  Table table({{"ENTRY"}, {"LIST"}, {"ACTION"}, {"ADDED"}, {"EXPIRES"}, {"COMMENT"}});
  for (const Json &holder : holders)
    table.add({text_in(holder, "entry"), text_in(holder, "list"), action_text(holder),
               when_text(time_in(holder, "added_at"), now), when_text(time_in(holder, "expires_at"), now),
               text_in(holder, "comment", "")});
  std::string text = "held by\n" + table.text();
  if (count_in(answer, "held_by_total") > holders.size())
    text += fmt::format("(the first {} of {})\n", holders.size(), thousands_in(answer, "held_by_total"));
  return text;
}

std::string render_explain(const Json &answer, std::int64_t now) {
  std::string text;
  if (const auto by = text_in(answer, "by", ""); !by.empty())
    text = fmt::format("by the rules of {}{}:\n", by,
                       flag_in(answer, "in_force") ? "" : ", which packets are not judged by now");
  text += fmt::format("{}  reason {}", in_capitals(text_in(answer, "verdict")), text_in(answer, "reason"));
  if (const auto rule = text_in(answer, "rule", ""); !rule.empty()) text += "  rule " + rule;
  if (const auto list = text_in(answer, "list", ""); !list.empty()) text += "  list " + list;
  if (const auto entry = text_in(answer, "entry", ""); !entry.empty()) text += "  entry " + entry;
  if (const auto comment = text_in(answer, "comment", ""); !comment.empty())
    text += fmt::format(" \"{}\"", comment);
  if (const auto added = number_in(answer, "added_at"); added > 0)
    text += "  added " + when_text(static_cast<std::int64_t>(added), now);
  text += '\n';
  std::size_t width = 0;
  for (const Json &step : child(answer, "path")) width = std::max(width, text_in(step, "step").size());
  for (const Json &step : child(answer, "path"))
    text += fmt::format("  {:<{}}  {}\n", text_in(step, "step"), width, text_in(step, "text"));
  return text + held_by_text(answer, now);
}

} // namespace weir::cli
