#pragma once

#include "tests/lab/learned.hpp"
#include "tests/lab/learned_rival.hpp"

namespace CLI {
class App;
}

namespace weir::lab {

void add_learned(CLI::App &app, LearnedTask &task);
void add_rival(CLI::App &app, RivalTask &task);

} // namespace weir::lab
