#pragma once

#include "tests/lab/stacked.hpp"

namespace CLI {
class App;
}

namespace weir::lab {

void add_stacked(CLI::App &app, StackedTask &task);

} // namespace weir::lab
