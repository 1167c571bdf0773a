// How many questions the dataplane has answered, and how many of them found something, from its report.
#pragma once

#include "control/plan/hit_meter.hpp"

#include <nlohmann/json_fwd.hpp>

namespace weir::plan {

[[nodiscard]] HitMeter::Reading lookups_in(const nlohmann::json &report);

} // namespace weir::plan
