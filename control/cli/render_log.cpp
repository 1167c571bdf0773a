// Who changed what: log.
#include "control/cli/fields.hpp"
#include "control/cli/render.hpp"
#include "control/cli/text.hpp"

#include <fmt/chrono.h>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <charconv>
#include <ctime>
#include <optional>
#include <string_view>
#include <vector>

#include <pwd.h>

namespace weir::cli {

namespace {

std::optional<uid_t> uid_in(std::string_view by) {
  constexpr std::string_view start = "uid ";
  if (!by.starts_with(start)) return std::nullopt;
  by.remove_prefix(start.size());
  uid_t uid = 0;
  const auto [stopped, fault] = std::from_chars(by.data(), by.data() + by.size(), uid);
  if (fault != std::errc() || stopped != by.data() + by.size()) return std::nullopt;
  return uid;
}

// "root (uid 0)", where this machine knows the name now.
std::string who_text(const std::string &by) {
  const auto uid = uid_in(by);
  if (!uid) return by;
  std::vector<char> buffer(4096);
  passwd entry{};
  passwd *found = nullptr;
  if (getpwuid_r(*uid, &entry, buffer.data(), buffer.size(), &found) != 0 || found == nullptr) return by;
  return fmt::format("{} ({})", found->pw_name, by);
}

std::string time_text(std::int64_t at) {
  const std::time_t time = at;
  std::tm parts{};
  localtime_r(&time, &parts);
  return fmt::format("{:%Y-%m-%d %H:%M:%S}", parts);
}

} // namespace

std::string render_log(const Json &answer) {
  using enum Table::Align;
  Table table({{"TIME"}, {"WHO"}, {"GENERATION", right}, {"WHAT"}, {"DETAIL"}});
  for (const Json &change : child(answer, "changes")) {
    const std::uint64_t generation = count_in(change, "generation");
    table.add({time_text(time_in(change, "at")), who_text(text_in(change, "by")),
               generation == 0 ? "-" : std::to_string(generation), text_in(change, "what"),
               text_in(change, "detail", "")});
  }
  return table.empty() ? "no change is recorded\n" : table.text();
}

} // namespace weir::cli
