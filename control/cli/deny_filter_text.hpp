// The stacked filter of the deny side as lines of text: what was planned, what is measured, whether it pays.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include <cstdint>
#include <string>

namespace weir::cli {

using Json = nlohmann::json;

// From a plan's "deny_filter"; empty when it has none. Whole lines.
[[nodiscard]] std::string deny_filter_plan(const Json &filter);
// The same for `status`, from the whole plan: empty without a filter, with "measured" once there are
// counters.
[[nodiscard]] std::string deny_filter_status(const Json &plan, std::int64_t now);
// The dataplane's "deny_filter" counters; empty while nothing was asked.
[[nodiscard]] std::string deny_filter_counters(const Json &stack);

} // namespace weir::cli
