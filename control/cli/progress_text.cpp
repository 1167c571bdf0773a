#include "control/cli/progress_text.hpp"

#include "control/cli/fields.hpp"
#include "control/cli/text.hpp"
#include "control/cli/top_readings.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cmath>

namespace weir::cli {

namespace {

constexpr double seconds_to_tell = 0.5; // before that a rate is chance

std::string amount_text(const WorkPart &part, double amount) {
  return part.unit == "bytes" ? bytes_text(static_cast<std::uint64_t>(amount)) : short_count(amount);
}

std::string left_text(double seconds) {
  return fmt::format("about {} left",
                     duration_text(static_cast<std::uint64_t>(std::max(1.0, std::ceil(seconds)))));
}

void add(std::string &text, const std::string &more) { text += (text.empty() ? "" : "  ") + more; }

} // namespace

WorkPart work_part(const control::Progress::Now &now) {
  return {.what = std::string(control::Progress::name_of(now.phase)),
          .unit = std::string(control::Progress::unit_of(now.phase)),
          .done = now.done,
          .total = now.total,
          .entries = now.entries,
          .seconds = static_cast<double>(now.phase_ms) / 1000,
          .expected_s = static_cast<double>(now.expected_ms) / 1000};
}

WorkPart work_part(const Json &progress) {
  return {.what = text_in(progress, "phase", ""),
          .unit = text_in(progress, "unit", ""),
          .done = count_in(progress, "done"),
          .total = count_in(progress, "total"),
          .entries = count_in(progress, "entries"),
          .seconds = number_in(progress, "phase_ms") / 1000,
          .expected_s = number_in(progress, "expected_ms") / 1000};
}

WorkPart work_part(const ReplayProgress &progress) {
  const std::int64_t began = progress.began_ns;
  if (began == 0) return {.what = "starting a pair", .unit = {}};
  const auto now = std::chrono::steady_clock::now().time_since_epoch() / std::chrono::nanoseconds(1);
  return {.what = "replaying",
          .unit = "packets",
          .done = progress.packets,
          .total = progress.total,
          .seconds = static_cast<double>(now - began) / 1e9};
}

std::string progress_text(const WorkPart &part) {
  std::string text = part.what;
  const auto done = static_cast<double>(std::min(part.done, part.total != 0 ? part.total : part.done));
  const auto total = static_cast<double>(part.total);
  const std::string unit = part.unit == "bytes" || part.unit.empty() ? "" : " " + part.unit;
  if (done > 0 && total > 0)
    add(text, fmt::format("{:.0f} %  {} of {}{}", std::floor(100 * done / total), amount_text(part, done),
                          amount_text(part, total), unit));
  else if (done > 0 || total > 0)
    add(text, amount_text(part, std::max(done, total)) + unit);
  if (part.unit == "bytes" && part.entries > 0)
    add(text, short_count(static_cast<double>(part.entries)) + " entries");
  const double rate = part.seconds >= seconds_to_tell ? done / part.seconds : 0;
  if (rate > 0) add(text, amount_text(part, rate) + "/s");
  if (rate > 0 && total > done)
    add(text, left_text((total - done) / rate));
  else if (part.expected_s > part.seconds)
    add(text, left_text(part.expected_s - part.seconds));
  return text;
}

std::string progress_text(const Json &progress, const std::string &asked) {
  const std::string doing = text_in(progress, "doing", "");
  if (doing.empty()) return {};
  std::string text = progress_text(work_part(progress));
  if (!asked.empty() && doing.starts_with(asked)) return text.empty() ? doing : text;
  return text.empty() ? doing : doing + ": " + text;
}

} // namespace weir::cli
