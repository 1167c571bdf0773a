#include "control/cli/fields.hpp"
#include "control/cli/render.hpp"
#include "control/cli/text.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace weir::cli {
namespace {

std::string percent(double share) { return fmt::format("{:.3g} %", 100 * share); }

// "0.97 % (of 12,003 asked)", or that nothing is known yet.
std::string measured(const Json &counters, const char *part, const char *whole) {
  const std::uint64_t of = count_in(counters, whole);
  if (of == 0) return "not measured yet";
  return fmt::format("{} of {} packets",
                     percent(static_cast<double>(count_in(counters, part)) / static_cast<double>(of)),
                     thousands(of));
}

std::string model_text(const Json &learned, std::int64_t now) {
  const Json &model = child(learned, "model"), &samples = child(learned, "samples");
  std::string text;
  if (!model.is_object()) {
    text = fmt::format("nothing has been learned yet; samples {} told, {} others\n",
                       thousands_in(samples, "told"), thousands_in(samples, "others"));
  } else {
    text = fmt::format("model {} learned {} from {} told and {} others: AUC {:.3f}, {}\n",
                       text_in(model, "number"), when_text(time_in(model, "trained_at"), now),
                       thousands_in(model, "told"), thousands_in(model, "others"), number_in(model, "auc"),
                       bytes_text(count_in(model, "bytes")));
    std::string looks_at;
    std::size_t named = 0;
    for (const Json &feature : child(model, "looks_at"))
      if (named++ < 4)
        looks_at += fmt::format("{}{} {:.0f} %", looks_at.empty() ? "" : ", ", text_in(feature, "feature"),
                                100 * number_in(feature, "share"));
    text += fmt::format("  looks at {}\n", looks_at);
  }
  if (const std::string why = lines_in(learned, "why_not"); !why.empty())
    text += fmt::format("  the last training was refused: {}\n", why);
  return text;
}

std::string groups_text(const Json &answer) {
  using enum Table::Align;
  Table table({{"GROUP", right},
               {"SCORES TO", right},
               {"TOLD", right},
               {"OTHERS", right},
               {"MEMORY", right},
               {"IN USE", right}});
  unsigned number = 0;
  for (const Json &group : child(answer, "groups")) {
    const bool filter = text_in(group, "answer") == "filter";
    table.add({std::to_string(++number),
               has_number(group, "below") ? fmt::format("{:.2f}", number_in(group, "below")) : "-",
               percent(number_in(group, "told")), percent(number_in(group, "other")),
               filter ? bytes_text(count_in(group, "bits") / 8) : text_in(group, "answer") + "s all",
               filter ? percent(number_in(group, "in_use")) : "-"});
  }
  return table.text();
}

} // namespace

std::string render_offenders(const Json &answer, std::int64_t now) {
  if (text_in(answer, "filter") == "none")
    return "no offenders are remembered: the configuration has no key offenders\n";
  const Json &wanted = child(answer, "wanted"), &predicted = child(answer, "predicted"),
             &counters = child(answer, "counters"), &bans = child(child(answer, "learned"), "bans");
  std::string text =
      fmt::format("{} filter, element {}, action {}; the last {} told are remembered, in {}\n",
                  text_in(answer, "filter"), text_in(answer, "element"), text_in(answer, "action"),
                  thousands_in(answer, "gap"), bytes_text(count_in(answer, "cell_bits") / 8));
  text += fmt::format(
      "told {} since it was empty{}; cleared {} times; {} marks, {} unmarked\n", thousands_in(answer, "told"),
      flag_in(answer, "loaded") ? " (taken up from the disk)" : "", thousands_in(answer, "cleared"),
      thousands_in(answer, "marks"), thousands_in(answer, "forgotten"));
  text += fmt::format("accepted wrongly: at most {} wanted, {} predicted, measured {}\n",
                      percent(number_in(wanted, "accepted")), percent(number_in(predicted, "accepted")),
                      measured(counters, "shadow_accepted", "shadow_others"));
  text += fmt::format("missed after {}: at most {} wanted, {} predicted; within it measured {}\n",
                      thousands_in(answer, "gap"), percent(number_in(wanted, "missed")),
                      percent(number_in(predicted, "missed")),
                      measured(counters, "shadow_missed", "shadow_told"));
  text += fmt::format(
      "packets: asked {}, met {}, limited {}, spared {}; told {}, {} of them for their rate\n",
      thousands_in(counters, "asked"), thousands_in(counters, "met"), thousands_in(counters, "limited"),
      thousands_in(counters, "spared"), thousands_in(counters, "told"), thousands_in(counters, "over_rate"));
  if (text_in(answer, "action") == "ban")
    text += fmt::format("banned {}, left out {} beyond the budget\n", thousands_in(bans, "added"),
                        thousands_in(bans, "left_out"));
  text += model_text(child(answer, "learned"), now);
  if (const std::string warning = lines_in(answer, "warning"); !warning.empty()) text += warning + "\n";
  return text + groups_text(answer);
}

// Of a replay: the line that says how offenders were remembered; empty: they were not.
std::string offenders_line(const Json &report) {
  const Json &memory = child(report, "offender_memory"), &counted = child(report, "offenders");
  if (!memory.is_object()) return {};
  const std::size_t groups = child(memory, "groups").size();
  const bool stable = text_in(memory, "filter") == "stable";
  const std::string filter =
      groups > 1 ? fmt::format("{}, {} groups of scores", stable ? "g-SLBF" : "rotating", groups)
                 : text_in(memory, "filter");
  return fmt::format("offenders: {} in {}   told {}   asked {}   met {}   action {}\n", filter,
                     bytes_text(count_in(memory, "cell_bits") / 8), thousands_in(counted, "told"),
                     thousands_in(counted, "asked"), thousands_in(counted, "met"), text_in(memory, "action"));
}

std::string render_offender_change(const Options &options, const Json &answer, std::int64_t now) {
  if (options.verb == Verb::offender_train) return model_text(answer, now);
  if (options.verb == Verb::offender_model)
    return fmt::format("model {}, {} bytes: {}\n", text_in(answer, "model"), thousands_in(answer, "bytes"),
                       options.file.string());
  return fmt::format("{} {}; {} marks in all\n", thousands_in(answer, "done"),
                     options.verb == Verb::offender_mark ? "marked" : "unmarked",
                     thousands_in(answer, "marks"));
}

} // namespace weir::cli
