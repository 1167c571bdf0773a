// Lenient reading of JSON answers (base/answers.hpp), for people.
#pragma once

#include "control/base/answers.hpp"
#include "control/base/texts.hpp"

#include <nlohmann/json_fwd.hpp>

#include <cstdint>
#include <string>

namespace weir::cli {

using push::child, push::count_in, push::number_in;
using push::flag_in, push::has_number, push::lines_in, push::text_in;

[[nodiscard]] std::int64_t time_in(const nlohmann::json &object, const char *name);
// The object as one line: valid UTF-8 whatever it holds, and nothing in it that a terminal would obey.
[[nodiscard]] std::string json_line(const nlohmann::json &object);
// Of a list: "deny", or "deny, count" where it does not just drop.
[[nodiscard]] std::string action_text(const nlohmann::json &list);
// A count with separators, or "-" when it is not given.
[[nodiscard]] std::string thousands_in(const nlohmann::json &object, const char *name);

} // namespace weir::cli
