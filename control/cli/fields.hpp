// Lenient reading of JSON answers: a missing field, or one of another type, is its fallback.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include <cstdint>
#include <string>

namespace weir::cli {

// The field, or a null value.
[[nodiscard]] const nlohmann::json &child(const nlohmann::json &object, const char *name);
[[nodiscard]] std::uint64_t count_in(const nlohmann::json &object, const char *name);
[[nodiscard]] double number_in(const nlohmann::json &object, const char *name);
[[nodiscard]] std::int64_t time_in(const nlohmann::json &object, const char *name);
[[nodiscard]] bool flag_in(const nlohmann::json &object, const char *name);
[[nodiscard]] bool has_number(const nlohmann::json &object, const char *name);
// Text as it is, numbers as they are written.
[[nodiscard]] std::string text_in(const nlohmann::json &object, const char *name,
                                  const std::string &fallback = "-");
// A count with separators, or "-" when it is not given.
[[nodiscard]] std::string thousands_in(const nlohmann::json &object, const char *name);

} // namespace weir::cli
