// Lenient reading of JSON answers (base/answers.hpp), for people.
#pragma once

#include "control/base/answers.hpp"

#include <nlohmann/json_fwd.hpp>

#include <cstdint>
#include <string>

namespace weir::cli {

using push::child, push::count_in, push::number_in;

[[nodiscard]] std::int64_t time_in(const nlohmann::json &object, const char *name);
[[nodiscard]] bool flag_in(const nlohmann::json &object, const char *name);
[[nodiscard]] bool has_number(const nlohmann::json &object, const char *name);
// Text of one line, with what a terminal would obey as \xNN; numbers as they are written.
[[nodiscard]] std::string text_in(const nlohmann::json &object, const char *name,
                                  const std::string &fallback = "-");
// The same of text that may have several lines: reasons and remedies.
[[nodiscard]] std::string lines_in(const nlohmann::json &object, const char *name,
                                   const std::string &fallback = "");
// The object as one line: valid UTF-8 whatever it holds, and nothing in it that a terminal would obey.
[[nodiscard]] std::string json_line(const nlohmann::json &object);
// A count with separators, or "-" when it is not given.
[[nodiscard]] std::string thousands_in(const nlohmann::json &object, const char *name);

} // namespace weir::cli
