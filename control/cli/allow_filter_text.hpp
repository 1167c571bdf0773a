// The filter in front of the allow tables as lines of text: what was planned, what is measured.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include <string>

namespace weir::cli {

using Json = nlohmann::json;

// From a plan's "allow_filter"; empty when it has none. Whole lines.
[[nodiscard]] std::string allow_filter_plan(const Json &filter);
// The same for `status`: empty without a filter, with "measured" once there are counters.
[[nodiscard]] std::string allow_filter_status(const Json &filter);
// The dataplane's "allow_filter" counters; empty while nothing was asked.
[[nodiscard]] std::string allow_filter_counters(const Json &counters);

} // namespace weir::cli
