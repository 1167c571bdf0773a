// Lenient reading of flags and texts in JSON answers, as answers.hpp reads numbers: what a text holds may be shown.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include <string>

namespace weir::push {

[[nodiscard]] bool flag_in(const nlohmann::json &object, const char *name);
[[nodiscard]] bool has_number(const nlohmann::json &object, const char *name);
// Text of one line, with what a terminal would obey as \xNN; numbers as they are written.
[[nodiscard]] std::string text_in(const nlohmann::json &object, const char *name,
                                  const std::string &fallback = "-");
// The same of text that may have several lines: reasons and remedies.
[[nodiscard]] std::string lines_in(const nlohmann::json &object, const char *name,
                                   const std::string &fallback = "");

} // namespace weir::push
