#pragma once

#include "tests/lab/building.hpp"
#include "tests/lab/stacked.hpp"

namespace CLI {
class App;
}

namespace weir::lab {

void add_stacked(CLI::App &app, StackedTask &task);
void add_building(CLI::App &app, BuildingTask &task);
void add_stacking(CLI::App &app, std::vector<std::string> &parts);

} // namespace weir::lab
