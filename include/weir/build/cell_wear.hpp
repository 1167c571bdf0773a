// How many cells of a counting filter are in use, which is what its rate hangs on.
#pragma once

#include <cmath>
#include <functional>

namespace weir::build {

// Share of the cells that have a count where the mean count is `mean`. Sizing asks for nothing else, so that
// it can be told what churn has left behind in narrow cells (control/plan/seesaw_model.hpp, occupied()).
using CellsInUse = std::function<double(double mean)>;

[[nodiscard]] inline double in_use_as_built(double mean) { return -std::expm1(-mean); }

} // namespace weir::build
