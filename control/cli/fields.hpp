// Lenient reading of JSON answers (push/answers.hpp), for people.
#pragma once

#include "control/push/answers.hpp"

#include <nlohmann/json_fwd.hpp>

#include <cstdint>
#include <string>

namespace weir::cli {

using push::child, push::count_in, push::number_in;

[[nodiscard]] std::int64_t time_in(const nlohmann::json &object, const char *name);
[[nodiscard]] bool flag_in(const nlohmann::json &object, const char *name);
[[nodiscard]] bool has_number(const nlohmann::json &object, const char *name);
// Text as it is, numbers as they are written.
[[nodiscard]] std::string text_in(const nlohmann::json &object, const char *name,
                                  const std::string &fallback = "-");
// A count with separators, or "-" when it is not given.
[[nodiscard]] std::string thousands_in(const nlohmann::json &object, const char *name);

} // namespace weir::cli
