#pragma once

#include "tests/lab/predictor.hpp"

namespace CLI {
class App;
}

namespace weir::lab {

void add_predictor(CLI::App &app, PredictorTask &task);

} // namespace weir::lab
