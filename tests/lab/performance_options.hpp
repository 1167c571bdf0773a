#pragma once

#include "tests/lab/performance.hpp"

namespace CLI {
class App;
}

namespace weir::lab {

void add_performance(CLI::App &app, PerformanceTask &task);

} // namespace weir::lab
