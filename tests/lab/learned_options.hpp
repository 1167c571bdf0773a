#pragma once

#include "tests/lab/learned.hpp"

namespace CLI {
class App;
}

namespace weir::lab {

void add_learned(CLI::App &app, LearnedTask &task);

} // namespace weir::lab
