#include "control/cli/deny_filter_text.hpp"

#include "control/cli/fields.hpp"
#include "control/cli/text.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace weir::cli {

namespace {

std::string tiny_percent_in(const Json &object, const char *name) {
  if (!has_number(object, name)) return "-";
  const double value = 100 * number_in(object, name);
  return value > 0 && value < 1e-6 ? "under 0.000001 %" : fmt::format("{:.3g} %", value);
}

bool is_compact(const Json &filter) { return text_in(filter, "mode") == "compact"; }

const char *what_of(const Json &filter) {
  return is_compact(filter) ? "judge of denied hosts" : "stacked front filter";
}

std::string shape_text(const Json &filter) {
  const Json &built = child(filter, "built");
  const std::uint64_t bytes = count_in(built.is_object() ? built : filter, "bytes");
  return fmt::format(
      "{} of {} {}{}, {} hosts, room for {}, {}, {:.1f} bits a host; {} known negatives, {} of them "
      "hot",
      text_in(filter, "base"), child(filter, "layers").size(),
      text_in(filter, "chosen") == "chained_and" ? "stage" : "layer",
      child(filter, "layers").size() == 1 ? "" : "s", thousands_in(filter, "keys"),
      thousands_in(filter, "planned_keys"), bytes_text(bytes), number_in(filter, "bits_per_key"),
      thousands_in(filter, "known_negatives"), thousands_in(filter, "hot"));
}

std::string budget_text(const Json &filter) {
  if (!is_compact(filter)) return {};
  return fmt::format(
      "  budgets: {} of questions that no list answers, {} of unknown sources{}\n",
      tiny_percent_in(filter, "false_positive_budget"), tiny_percent_in(filter, "unknown_budget"),
      flag_in(filter, "keeps_budget")
          ? ""
          : "; the first is not kept" +
                (has_number(filter, "needed_bytes")
                     ? fmt::format(": {} would do", bytes_text(count_in(filter, "needed_bytes")))
                     : std::string()));
}

// A form that was sized, or why it was not.
std::string tried_text(const Json &tried) {
  const std::string why_not = text_in(tried, "why_not", "");
  const std::string name =
      fmt::format("  {} {}", flag_in(tried, "chosen") ? "->" : "  ", text_in(tried, "base"));
  if (number_in(tried, "bytes") == 0) return fmt::format("{}: {}\n", name, why_not);
  return fmt::format(
      "{}: {}, {:.2f} bits a host, in error {}, {} of known sources, {} of unknown ones; additions {}; "
      "{:.1f} ns{}{}\n",
      name, bytes_text(static_cast<std::uint64_t>(number_in(tried, "bytes"))),
      number_in(tried, "bits_per_key"), tiny_percent_in(tried, "efpr"), tiny_percent_in(tried, "known"),
      tiny_percent_in(tried, "efpb"),
      text_in(tried, "update", "") == "in_place" ? "in place" : "to the overlay",
      number_in(tried, "ns_per_lookup"), why_not.empty() ? "" : ": ", why_not);
}

} // namespace

std::string deny_filter_plan(const Json &filter) {
  if (!filter.is_object()) return {};
  std::string text =
      fmt::format("{} {}: {}\n", what_of(filter), text_in(filter, "chosen"), text_in(filter, "why", ""));
  if (const Json &predicted = child(filter, "predicted"); predicted.is_object()) {
    text += fmt::format("  {}\n", shape_text(filter));
    text += fmt::format(
        "  in error: {} of questions that no list answers, with psi {}; {} of known sources, {} of "
        "unknown ones; one layer {}\n",
        tiny_percent_in(predicted, "efpr"), tiny_percent_in(predicted, "psi"),
        tiny_percent_in(predicted, "known"), tiny_percent_in(predicted, "efpb"),
        tiny_percent_in(predicted, "single"));
    text += budget_text(filter);
    if (const std::uint64_t bytes = count_in(filter, "class_map_bytes"); bytes != 0)
      text += fmt::format("  class map, which names the lists of what it denies: {}\n", bytes_text(bytes));
  }
  if (child(filter, "tried").size() > 1)
    for (const Json &tried : child(filter, "tried")) text += tried_text(tried);
  const Json &advice = child(filter, "advice");
  text += "should it stack? ";
  text += advice.is_object() ? text_in(advice, "words", "") + '\n'
                             : fmt::format("not known yet: {} samples of what no list answers are too few\n",
                                           thousands_in(filter, "samples"));
  return text;
}

std::string deny_filter_status(const Json &plan, std::int64_t now) {
  const Json &filter = child(plan, "deny_filter");
  const Json &predicted = child(filter, "predicted"), &built = child(filter, "built"),
             &measured = child(filter, "measured");
  if (!predicted.is_object()) return {};
  std::string text = fmt::format("{}: {}\n", what_of(filter), shape_text(filter));
  text += fmt::format("  in error: predicted {} of questions that no list answers, {} of unknown sources",
                      tiny_percent_in(built.is_object() ? built : predicted, "efpr"),
                      tiny_percent_in(built.is_object() ? built : predicted, "efpb"));
  if (has_number(measured, "efpr")) text += fmt::format("; measured {}", tiny_percent_in(measured, "efpr"));
  if (is_compact(filter) && measured.is_object())
    text += fmt::format(", {} of {} denials that were checked; {} sources relieved",
                        thousands_in(measured, "errors"), thousands_in(measured, "checked"),
                        thousands_in(measured, "relieved"));
  text += fmt::format("\n  psi: predicted {}", tiny_percent_in(predicted, "psi"));
  if (has_number(measured, "psi"))
    text += fmt::format(", measured {} over {} samples", tiny_percent_in(measured, "psi"),
                        thousands_in(measured, "psi_samples"));
  text += fmt::format("; planned {}", when_text(time_in(plan, "planned_at"), now));
  if (const std::string why = text_in(plan, "built_for", ""); !why.empty()) text += ", " + why;
  return text + '\n' + budget_text(filter);
}

std::string deny_filter_counters(const Json &stack) {
  if (count_in(stack, "asked") == 0) return {};
  return fmt::format(
      "stacked filter asked {}, accepted {}, in error (known behind tables) {}, denied alone {}\n",
      thousands_in(stack, "asked"), thousands_in(stack, "accepted"), thousands_in(stack, "false_accepted"),
      thousands_in(stack, "denied"));
}

} // namespace weir::cli
