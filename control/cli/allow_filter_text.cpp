#include "control/cli/allow_filter_text.hpp"

#include "control/cli/fields.hpp"
#include "control/cli/text.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace weir::cli {

namespace {

std::string percent_in(const Json &object, const char *name) {
  if (!has_number(object, name)) return "-";
  const double value = 100 * number_in(object, name);
  return value > 0 && value < 0.001 ? "under 0.001 %" : fmt::format("{:.3g} %", value);
}

std::string size_text(const Json &filter) {
  return fmt::format("{} keys, room for {}, {}", thousands_in(filter, "keys"),
                     thousands_in(filter, "planned_keys"), bytes_text(count_in(filter, "bytes")));
}

// It favours no address over others.
bool is_alike_to_all(const Json &filter) { return !filter.contains("vulnerable"); }
bool has_layers(const Json &filter) { return filter.contains("layer_bytes"); }

} // namespace

std::string allow_filter_plan(const Json &filter) {
  if (!filter.is_object()) return {};
  std::string text =
      fmt::format("allow filter {}: {}\n", text_in(filter, "chosen"), text_in(filter, "why", ""));
  const Json &predicted = child(filter, "predicted");
  if (!predicted.is_object()) return text;
  text += fmt::format("  {}, {:.1f} bits a key, ", size_text(filter), number_in(filter, "bits_per_key"));
  if (has_number(filter, "fingerprint_bits"))
    text += fmt::format("fingerprints of {} bits; ", count_in(filter, "fingerprint_bits"));
  if (is_alike_to_all(filter))
    return text + fmt::format("confirm {}\n"
                              "  accepts in error: {} new, {} with all the keys there is room for; any "
                              "address alike\n",
                              text_in(filter, "confirm"), percent_in(predicted, "plain"),
                              percent_in(predicted, "plain_churned"));
  const std::uint64_t left_out = count_in(filter, "left_out");
  text +=
      fmt::format("{} functions{}; {} of {} vulnerable keys {}{}; confirm {}\n", count_in(filter, "hashes"),
                  has_layers(filter) ? " in the first of three layers" : "", thousands_in(filter, "guarded"),
                  thousands_in(filter, "vulnerable"), has_layers(filter) ? "known" : "guarded",
                  left_out == 0 ? "" : fmt::format(" ({} more left out)", thousands(left_out)),
                  text_in(filter, "confirm"));
  text +=
      fmt::format("  accepts in error: by cost {} new, {} after churn; a key that nobody guards {} and {}\n",
                  percent_in(predicted, "weighted"), percent_in(predicted, "weighted_churned"),
                  percent_in(predicted, "plain"), percent_in(predicted, "plain_churned"));
  return text;
}

std::string allow_filter_status(const Json &filter) {
  const Json &predicted = child(filter, "predicted");
  if (!predicted.is_object()) return {};
  std::string text = fmt::format("allow filter: {}, {}, confirm {}\n", text_in(filter, "chosen"),
                                 size_text(filter), text_in(filter, "confirm"));
  text += "  accepts in error: predicted ";
  text += is_alike_to_all(filter)
              ? fmt::format("{} of all, {} when full", percent_in(predicted, "plain"),
                            percent_in(predicted, "plain_churned"))
              : fmt::format("{} of denied, {} of others", percent_in(predicted, "weighted_churned"),
                            percent_in(predicted, "plain_churned"));
  if (const Json &measured = child(filter, "measured"); measured.is_object())
    text +=
        fmt::format("; measured {} of denied, {} of all not allowed; allow tables asked {} times, for {} of "
                    "the packets",
                    percent_in(measured, "denied_rate"), percent_in(measured, "rate"),
                    thousands_in(measured, "table_asked"), percent_in(measured, "table_asked_per_packet"));
  return text + '\n';
}

std::string allow_filter_counters(const Json &counters) {
  if (count_in(counters, "asked") == 0) return {};
  return fmt::format(
      "allow filter asked {}, accepted {}, in error {}; of denied addresses asked {}, in error {}; "
      "allow tables asked {}\n",
      thousands_in(counters, "asked"), thousands_in(counters, "accepted"),
      thousands_in(counters, "false_accepted"), thousands_in(counters, "denied_asked"),
      thousands_in(counters, "denied_false_accepted"), thousands_in(counters, "table_asked"));
}

} // namespace weir::cli
