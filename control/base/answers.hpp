// Lenient reading of JSON answers and records: a missing field, or one of another type, is its fallback.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include <cstdint>

namespace weir::push {

// The field, or a null value.
[[nodiscard]] const nlohmann::json &child(const nlohmann::json &object, const char *name);
[[nodiscard]] std::uint64_t count_in(const nlohmann::json &object, const char *name);
[[nodiscard]] double number_in(const nlohmann::json &object, const char *name);

} // namespace weir::push
