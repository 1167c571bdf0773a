#include "control/cli/fields.hpp"

#include "control/cli/text.hpp"
#include "weir/config/values.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>

namespace weir::cli {

using Json = nlohmann::json;

std::int64_t time_in(const Json &object, const char *name) {
  return static_cast<std::int64_t>(number_in(object, name));
}

// JSON escapes C0 by itself; what else steers a terminal stands in strings alone, where \u is the same.
std::string json_line(const Json &object) {
  const std::string text = object.dump(-1, ' ', false, Json::error_handler_t::replace);
  std::string out;
  for (std::string_view rest = text; !rest.empty();) {
    const std::size_t steers = config::control_length(rest);
    const std::size_t length = std::max<std::size_t>(steers, 1);
    const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(rest[i]); };
    if (steers == 0)
      out += rest.front();
    else
      out += fmt::format("\\u{:04x}", steers == 1   ? byte(0)
                                      : steers == 2 ? (byte(0) & 0x1Fu) << 6 | (byte(1) & 0x3Fu)
                                                    : (byte(0) & 0x0Fu) << 12 | (byte(1) & 0x3Fu) << 6 |
                                                          (byte(2) & 0x3Fu));
    rest.remove_prefix(length);
  }
  return out;
}

std::string action_text(const nlohmann::json &list) {
  const std::string action = text_in(list, "action"), on_match = text_in(list, "on_match", "");
  return on_match.empty() ? action : action + ", " + on_match;
}

std::string thousands_in(const Json &object, const char *name) {
  return has_number(object, name) ? thousands(count_in(object, name)) : "-";
}

} // namespace weir::cli
