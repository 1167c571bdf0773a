// What each verb of api.hpp may be asked with: a table of verbs and fields, their types and ranges. A request
// is held against it before its verb runs, so that verbs may read their fields without a second look, now or
// in a callback later.
#pragma once

#include "weir/base/result.hpp"

#include <nlohmann/json_fwd.hpp>

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace weir::control {

inline constexpr std::uint64_t ttl_s_max = 100ull * 365 * 24 * 3600; // of an entry
inline constexpr std::uint64_t confirm_s_max = ttl_s_max;            // of an apply
inline constexpr std::size_t list_name_bytes_max = 255, path_bytes_max = 4096, address_bytes_max = 64;
inline constexpr std::size_t prefix_bytes_max = 64;
inline constexpr std::size_t packet_digits_max = 8192; // twice what is looked at, with room for blanks
inline constexpr std::uint64_t rows_max = 10'000;      // of top

// The verb's name, once the whole request has been found to be one of the table. Errc::usage names the field,
// what it holds and what it may hold.
[[nodiscard]] Result<std::string_view> check_fields(const nlohmann::json &request);

} // namespace weir::control
