// Lenient reading of JSON answers and records: a missing field, or one of another type, is its fallback.
#pragma once

#include "weir/wire/counters.hpp"

#include <nlohmann/json_fwd.hpp>

#include <cstdint>

namespace weir::push {

// The field, or a null value.
[[nodiscard]] const nlohmann::json &child(const nlohmann::json &object, const char *name);
[[nodiscard]] std::uint64_t count_in(const nlohmann::json &object, const char *name);
[[nodiscard]] double number_in(const nlohmann::json &object, const char *name);
// The counters of a group from the object that has them.
[[nodiscard]] wire::CounterValues counters_in(const nlohmann::json &object, wire::CounterGroup group);

} // namespace weir::push
