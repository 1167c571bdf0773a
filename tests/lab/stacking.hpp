// When to stack: what the formulas and the planner say, without building anything.
#pragma once

#include <string>

namespace weir::lab {

// One JSON object [Stacked §6; Stacked-early §6].
[[nodiscard]] std::string stacking_json();

} // namespace weir::lab
